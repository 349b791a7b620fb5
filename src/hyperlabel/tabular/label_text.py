"""Labels in words: their names, and what a file says of them besides (synonyms, descriptions, parents)."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.tabular.pipeline import WIDE_ROWS

# What stands in brackets behind a name tells it from another of that name: "magic (card game)".
_QUALIFIER = re.compile(r"(?<=\S)\s*\([^)]*\)")


@dataclass(frozen=True)
class LabelText:
    """What a file says of labels: words besides their names, and the labels they lie under."""

    words: dict[str, str]
    parents: dict[str, list[str]]  # empty where the file has no column of parents

    @property
    def names(self) -> list[str]:
        """Return all labels of the file, parents too."""
        return list(
            dict.fromkeys([*self.words, *(name for above in self.parents.values() for name in above)])
        )


def read_label_text(path: str) -> LabelText:
    """Read a CSV or TSV file: a label in the first column, in all others what is said of it.

    Lines of the same label are joined. A first line that starts with ``label`` is a header; its column
    ``parent`` (or ``parents``) names the labels above, several separated by ``;``.
    """
    rows, parent_column = _read_rows(path)
    texts_of_label: dict[str, list[str]] = {}
    parents: dict[str, list[str]] = {}
    for name, *cells in rows:
        if name:
            above = cells.pop(parent_column - 1) if 0 < parent_column <= len(cells) else ""
            texts_of_label.setdefault(name, []).extend(filter(None, cells))
            parents.setdefault(name, []).extend(filter(None, map(str.strip, above.split(";"))))
    if not texts_of_label:
        raise ValueError(f"{path} names no label: write one a line, then its synonyms or description.")
    words = {name: " ".join(texts) for name, texts in texts_of_label.items()}
    return LabelText(words, parents if parent_column else {})


def _read_rows(path: str) -> tuple[list[list[str]], int]:
    """Return the lines of a file without its header, and the column of parents, 0 where there is none."""
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {path}: check the path of --label-text.")
    with Path(path).open(encoding="utf-8-sig", newline="") as lines:
        delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else ","
        rows = [[cell.strip() for cell in cells] for cells in csv.reader(lines, delimiter=delimiter) if cells]
    titles = [title.lower() for title in rows[0]] if rows else [""]
    if titles[0] not in ("label", "labels"):
        return rows, 0
    return rows[1:], next((j for j, title in enumerate(titles) if title in ("parent", "parents")), 0)


def add_labels(dataset: Any, columns: Any, choices: Any) -> Any:
    """Return the data set with the ancestors of its labels, and columns of zeros for labels without rows.

    Without names as features only ancestors are added: nothing could score the others.
    """
    label_text: LabelText | None = choices.label_text
    if label_text is None:
        return dataset
    from hyperlabel.geometry import LabelTree

    own_names = [str(name) for name in dataset.label_names]
    tree = LabelTree(label_text.parents)
    named = label_text.names if columns.text and choices.method == "ridge" else []
    names = [*named, *(above for name in own_names for above in tree.ancestors(name))]
    new_names = list(dict.fromkeys(name for name in names if name not in set(own_names)))
    if dataset.missing is not None and dataset.missing.nnz:
        raise ValueError("Where entries are unknown names cannot help yet: leave out --label-text.")
    blank = sparse.csr_array((dataset.n_rows, len(new_names)), dtype=dataset.Y.dtype)
    Y = sparse.csr_array(sparse.hstack([dataset.Y, blank], format="csr"))
    label_names = [*own_names, *new_names]
    if label_text.parents:
        Y = tree.imply(Y, label_names)
    return replace(dataset, Y=Y, label_names=label_names, missing=None)


def use_label_tree(classifier: Any, label_text: LabelText | None) -> bool:
    """Give the outermost classifier the tree of a file, if that has one; say whether it has."""
    if label_text is None or not label_text.parents:
        return False
    from hyperlabel.geometry import LabelTree

    if "label_tree" not in classifier.get_params(deep=False):
        raise ValueError("Labels with parents need thresholds: leave out --thresholds none.")
    classifier.set_params(label_tree=LabelTree(label_text.parents))
    return True


def name_in_words(name: str) -> str:
    """Return a label's name as a text; nothing of an address.

    Examples
    --------
    >>> name_in_words("magic (card game)"), name_in_words("birds/blue_tit"), name_in_words("http://a.org/7")
    ('magic', 'birds blue tit', '')
    """
    return "" if "://" in name else re.sub(r"[_/]+", " ", _QUALIFIER.sub("", name))


def use_label_names(classifier: Any, columns: Any, features: Any, row_features: Any, choices: Any) -> None:
    """Give the ridge inside a classifier the names of the labels, and what is said of them, as rows.

    Where names say nothing and rows are too wide for weights of each feature, these are rows of zeros: then
    weights over the rows of the fit take their place (`linear.label_features`).
    """
    from hyperlabel.linear.label_features import WIDE_BYTES

    ridge = _find_ridge(classifier) if choices.method == "ridge" else None
    is_needed = choices.label_text is not None and not choices.label_text.parents
    if ridge is None or not columns.text:
        if is_needed:
            raise ValueError("--label-text needs a column of text, and --method ridge.")
        return
    label_rows = make_label_rows(columns.label_names, features, row_features.shape[1], choices)
    if is_needed and not label_rows.nnz:
        raise ValueError("No word of the label names occurs in the texts: leave out --label-text.")
    is_wide = 8 * label_rows.shape[0] * label_rows.shape[1] > WIDE_BYTES
    if label_rows.nnz or (is_wide and row_features.shape[0] <= WIDE_ROWS and not choices.slim):
        ridge.set_params(label_features=label_rows)
    if is_wide and choices.slim:
        ridge.set_params(solver="krylov")  # a slim file holds no rows for weights to lie over


def _find_ridge(classifier: Any) -> Any:
    """Return the unfitted shared ridge inside a classifier, or None."""
    from hyperlabel.linear import BinaryRelevance
    from hyperlabel.meta.wrapper_base import iter_nested_estimators

    nested = iter_nested_estimators(classifier, "estimator")
    ridges = (estimator for estimator in nested if isinstance(estimator, BinaryRelevance))
    return next((ridge for ridge in ridges if ridge._is_ridge()), None)


def make_label_rows(label_names: list[str], features: Any, n_features: int, choices: Any) -> sparse.csr_array:
    """Return the names of labels with what a file says of them as rows, zeros if they are not to count."""
    if not choices.label_names and choices.label_text is None:
        return sparse.csr_array((len(label_names), n_features))
    said = {} if choices.label_text is None else choices.label_text.words
    return transform_names(
        features, [f"{name_in_words(name)} {said.get(name, '')}".strip() for name in label_names]
    )


def transform_names(features: Any, texts: list[str]) -> sparse.csr_array:
    """Return the names of labels as rows of the same features, zeros but for those of texts."""
    if not hasattr(features, "transformers_"):
        return sparse.csr_array(features.transform(texts))
    blocks = []
    for step_name, step, _ in features.transformers_:
        columns = features.output_indices_[step_name]
        reads_text = hasattr(step, "vocabulary_")
        empty_block = sparse.csr_array((len(texts), columns.stop - columns.start))
        blocks.append(sparse.csr_array(step.transform(texts)) if reads_text else empty_block)
    return sparse.csr_array(sparse.hstack(blocks, format="csr", dtype=np.float64))


def move_label_rows(label_rows: sparse.csr_array, old_features: Any, new_features: Any) -> sparse.csr_array:
    """Return names of labels, rows of fitted features, as rows of others; what these lack is left out."""
    old_columns = {str(name): j for j, name in enumerate(old_features.get_feature_names_out())}
    new_names = [str(name) for name in new_features.get_feature_names_out()]
    shared = [j for j, name in enumerate(new_names) if name in old_columns]
    picked = [old_columns[new_names[j]] for j in shared]
    ones = np.ones(len(shared))
    places = sparse.csr_array((ones, (picked, shared)), shape=(len(old_columns), len(new_names)))
    return sparse.csr_array(sparse.csr_array(label_rows) @ places)

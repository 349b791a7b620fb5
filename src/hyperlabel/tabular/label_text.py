"""What a file says of labels in words: synonyms and descriptions beside the name of each label."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def read_label_text(path: str) -> dict[str, str]:
    """Read label names and what is said of them: the first column of a CSV or TSV file, and all others.

    Lines of the same label are joined. A first line that starts with ``label`` is a header.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {path}: check the path of --label-text.")
    texts_of_label: dict[str, list[str]] = {}
    with Path(path).open(encoding="utf-8-sig", newline="") as lines:
        delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else ","
        for number, cells in enumerate(csv.reader(lines, delimiter=delimiter)):
            name = cells[0].strip() if cells else ""
            if name and not (number == 0 and name.lower() in ("label", "labels")):
                texts_of_label.setdefault(name, []).extend(cell.strip() for cell in cells[1:] if cell.strip())
    if not texts_of_label:
        raise ValueError(f"{path} names no label: write one a line, then its synonyms or description.")
    return {name: " ".join(texts) for name, texts in texts_of_label.items()}


def add_labels(dataset: Any, names: Sequence[str]) -> Any:
    """Return the data set with columns of zeros for labels that no row carries."""
    own_names = [str(name) for name in dataset.label_names]
    new_names = [name for name in names if name not in set(own_names)]
    if not new_names:
        return dataset
    if dataset.missing is not None and dataset.missing.nnz:
        raise ValueError("Where entries are unknown names cannot help yet: leave out --label-text.")
    Y = sparse.hstack([dataset.Y, sparse.csr_array((len(dataset), len(new_names)), dtype=dataset.Y.dtype)])
    return replace(dataset, Y=Y.tocsr(), label_names=[*own_names, *new_names], missing=None)


def use_label_text(classifier: Any, columns: Any, features: Any, label_text: dict[str, str]) -> None:
    """Give the ridge inside a classifier the names of the labels, and what is said of them, as rows."""
    from hyperlabel.linear import BinaryRelevance
    from hyperlabel.meta.wrapper_base import iter_nested_estimators

    nested = iter_nested_estimators(classifier, "estimator")
    ridge = next((estimator for estimator in nested if isinstance(estimator, BinaryRelevance)), None)
    if not columns.text_only or ridge is None or not ridge._is_ridge():
        raise ValueError("--label-text needs rows that are one text each, and --method ridge.")
    texts = [f"{name} {label_text.get(name, '')}".strip() for name in columns.label_names]
    label_rows = features.transform(texts)
    if not np.asarray(label_rows.getnnz()).any():
        raise ValueError("No word of the label names occurs in the texts: leave out --label-text.")
    ridge.set_params(label_features=sparse.csr_array(label_rows))

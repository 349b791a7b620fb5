"""``hyperlabel data drift``: has something changed between two files, and what has moved most?"""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import click

from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._input import READING, input_options_without, refuse_options, say
from hyperlabel.apps.cli._output import print_json, print_table
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.tabular.table_io import is_table, need_data, need_model
from hyperlabel.tabular.wording import plural, some_names

_WORD = re.compile(r"(?u)\b\w\w+\b")


@click.command()
@click.argument("old")
@click.argument("new")
@config_option
@input_options_without("time")
@click.option("--model", help="Also compare this model's scores; the columns are the model's.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(min=1), help="Lines to list.")
@click.option("--seed", default=0, show_default=True, help="Seed of the permutations.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def drift(old: str, new: str, model: str | None, top: int, seed: int, as_json: bool, **options: Any) -> None:
    """Say whether the rows of NEW differ from those of OLD, and in what most.

    One permutation test looks at words, numbers, categories and, where both files have them, labels: if
    nothing has changed and rows (with --group: groups of rows) are independent of each other, it raises a
    false alarm in at most one case of twenty. Labels need not be named; with --model scores are compared,
    too: the model's, or where OLD holds rows of its fit, those of models that have not seen the row.
    """
    need_data(old, new)
    if model is not None:
        refuse_options("With --model the columns are the model's", *(set(READING) - {"group", "vectors"}))
        need_model(model)
    reading = {key: options.get(key) for key in READING}
    before, after, columns, file = _read_both_files(old, new, model, reading)
    from hyperlabel.tabular.two_sample_test import LEVEL, two_sample_test

    groups = None if reading["group"] is None else joined_groups(before, after)
    scores, source = None, ""
    if file is not None:
        from hyperlabel.apps.cli._drift_scores import comparable_scores

        with show_step("scoring"):
            scores, source = comparable_scores(file, before, after, groups, seed)
        if source:
            say(f"Scores{' were not compared' if scores is None else ''}: {source}.")
    with show_step("comparing"):
        compared = column_groups(before, after, columns, scores)
        shift = two_sample_test(compared, len(before), groups=groups, seed=seed)
    found: dict[str, Any] = {
        "old": {"file": old, "rows": len(before)},
        "new": {"file": new, "rows": len(after)},
        "drift": shift.alarm,
        "p_value": shift.p_value,
        "level": LEVEL,
        "labels_compared": bool(before.n_labels and after.n_labels),
        "scores_compared": scores is not None,
        "moved": shift.moved if as_json else shift.moved[:top],
    }
    if columns.text and before.text is not None and after.text is not None:
        found["words"] = new_words(before.text, after.text, top)
    if as_json:
        print_json(found)
    else:
        _print_drift(found)


def _read_both_files(
    old: str, new: str, model: str | None, reading: dict[str, Any]
) -> tuple[Any, Any, Any, Any]:
    from hyperlabel.tabular.model_file import open_model, read_with_cells
    from hyperlabel.tabular.table_io import vectors_of
    from hyperlabel.tabular.training_table import read_training

    file, group = None, reading["group"]
    beside = vectors_of([old, new], reading["vectors"])
    if model is not None:
        with show_step(f"loading {model}"):
            file = open_model(model)
        columns = file.columns
        with show_step(f"reading {old}"):
            before, _ = read_with_cells(
                old, columns, labelled=_says_labels(old, columns), ids=group, vectors=beside[0]
            )
    else:
        if is_table(old) and reading["labels"] is None and reading["label_column"] is None:
            reading |= {"labels": []}
        with show_step(f"reading {old}"):
            before, columns = read_training(old, reading | {"vectors": beside[0] and (beside[0],)})
            if is_table(old) and is_table(new):
                before, columns = _keep_shared_columns(old, new, before, columns, group, beside[0])
    with show_step(f"reading {new}"):
        nameless, labelled = replace(columns, label_names=[]), _says_labels(new, columns)
        after, _ = read_with_cells(new, nameless, labelled=labelled, ids=group, vectors=beside[1])
    return before, after, columns, file


def _keep_shared_columns(
    old: str, new: str, before: Any, columns: Any, group: str | None, vectors: str | None
) -> tuple[Any, Any]:
    """Return the old rows with those columns only that the new file has, too."""
    from hyperlabel.tabular.column_types import column_names
    from hyperlabel.tabular.model_file import read_with_cells

    used = [*columns.text, *columns.categories, *columns.numbers]
    there = set(column_names(new, used))
    missing = [name for name in used if name not in there]
    if not missing:
        return before, columns
    if len(missing) == len(used):
        raise ValueError(f"{new} has none of the columns of {old}: {some_names(missing)}.")
    say(f"Warning: {new} has no {some_names([repr(name) for name in missing])}: left out.")
    fewer = {
        key: [name for name in getattr(columns, key) if name in there]
        for key in ("text", "categories", "numbers")
    }
    columns = replace(columns, **fewer, feature_names=[], n_features=0)
    labelled = bool(columns.labels or columns.label_column)
    before, _ = read_with_cells(old, columns, labelled=labelled, ids=group, vectors=vectors)
    return before, replace(columns, feature_names=list(before.feature_names), n_features=before.n_features)


def _says_labels(path: str, columns: Any) -> bool:
    """Tell whether a file has the columns of labels; files other than tables always have labels."""
    from hyperlabel.tabular.column_types import column_names

    if path == "-" or not is_table(path):
        return path != "-"
    wanted = [columns.label_column] if columns.label_column else columns.labels
    return bool(wanted) and set(wanted) <= set(column_names(path, wanted))


def joined_groups(before: Any, after: Any) -> Any:
    """Number the groups of the old and then the new rows; a row that names none is a group of its own."""
    import numpy as np

    names, groups = np.unique(np.concatenate([before.groups, after.groups]), return_inverse=True)
    alone = np.isin(names, ["", "None", "nan"])[groups]
    groups[alone] = len(names) + np.arange(alone.sum())
    return groups


def column_groups(before: Any, after: Any, columns: Any, scores: Any = None) -> list[Any]:
    """Return what two data sets are compared by; `scores` are of the old and then the new rows."""
    import numpy as np
    from scipy import sparse

    from hyperlabel.tabular import two_sample_test

    found = []
    if before.n_labels and after.n_labels:
        found.append(two_sample_test.label_section(before, after))
    old, new = ((columns.cells(data) if columns.text_columns else []) for data in (before, after))
    for j, (name, here, there) in enumerate(zip(columns.text_columns, old, new, strict=True)):
        if j < len(columns.text):
            found.append(two_sample_test.word_section(here + there, name if len(columns.text) > 1 else None))
        else:
            found.append(two_sample_test.category_section(here + there, name))
    if columns.n_features:
        parts = [before.X, after.X]
        if any(map(sparse.issparse, parts)):
            X = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        else:
            X = np.vstack(parts)
        found += two_sample_test.number_sections(X, columns.feature_names or before.feature_names)
    if scores is not None:
        found += two_sample_test.number_sections(scores, columns.label_names, "scores")[:1]
    return found


def new_words(before: list[str], after: list[str], top: int) -> dict[str, Any]:
    """Words of the new texts that the old ones never used, by the number of texts that use them."""
    known = {word for text in before for word in _WORD.findall(text.lower())}
    texts = [_WORD.findall(text.lower()) for text in after]
    used = [word for words in texts for word in words]
    fresh = Counter(word for words in texts for word in set(words) - known)
    ordered = sorted(fresh.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    return {
        "share_of_words_never_seen": sum(word not in known for word in used) / max(len(used), 1),
        "most_frequent": [{"word": word, "texts": count} for word, count in ordered],
    }


def _print_drift(found: dict[str, Any]) -> None:
    for place in ("old", "new"):
        click.echo(f"{place}: {plural(found[place]['rows'], 'row')} ({found[place]['file']})")
    labels = "" if found["labels_compared"] else "; labels were not compared: not both files have them"
    if found["drift"]:
        click.echo(f"Drift: the files differ significantly (p = {found['p_value']:.4f}){labels}.")
    else:
        click.echo(f"No drift found (p = {found['p_value']:.2f}){labels}.")
    if "words" in found:
        words = found["words"]
        shown = ", ".join(f"{w['word']} ({w['texts']})" for w in words["most_frequent"])
        share = f"words never seen before: {words['share_of_words_never_seen']:.2%} of all"
        click.echo(share + (f"; in most texts: {shown}" if shown else ""))
    if found["moved"]:
        keys = ("name", "kind", "old", "new")
        rows = [[*(one[key] for key in keys), f"{one['z']:+.1f}"] for one in found["moved"]]
        head = ["what moved most", "kind", "old mean", "new mean", "z"]
        print_table(head, rows, n_text_columns=2)

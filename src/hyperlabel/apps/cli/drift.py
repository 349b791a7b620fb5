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
    reading_options = {option_name: options.get(option_name) for option_name in READING}
    old_table, new_table, columns, file = _read_both_files(old, new, model, reading_options)
    from hyperlabel.tabular.permutation_test import LEVEL, two_sample_test

    row_groups = None if reading_options["group"] is None else joined_groups(old_table, new_table)
    row_scores, score_note = None, ""
    if file is not None:
        from hyperlabel.apps.cli._drift_scores import comparable_scores

        with show_step("scoring"):
            row_scores, score_note = comparable_scores(file, old_table, new_table, row_groups, seed)
        if score_note:
            say(f"Scores{' were not compared' if row_scores is None else ''}: {score_note}.")
    with show_step("comparing"):
        drift_test = two_sample_test(
            old_table, new_table, columns=columns, scores=row_scores, groups=row_groups, random_state=seed
        )
    findings: dict[str, Any] = {
        "old": {"file": old, "rows": len(old_table)},
        "new": {"file": new, "rows": len(new_table)},
        "drift": drift_test.alarm,
        "p_value": drift_test.p_value,
        "level": LEVEL,
        "labels_compared": bool(old_table.n_labels and new_table.n_labels),
        "scores_compared": row_scores is not None,
        "moved": drift_test.moved if as_json else drift_test.moved[:top],
    }
    if columns.text and old_table.text is not None and new_table.text is not None:
        findings["words"] = new_words(old_table.text, new_table.text, top)
    if as_json:
        print_json(findings)
    else:
        _print_drift(findings)


def _read_both_files(
    old: str, new: str, model: str | None, reading_options: dict[str, Any]
) -> tuple[Any, Any, Any, Any]:
    from hyperlabel.tabular.model_file import open_model, read_with_cells
    from hyperlabel.tabular.table_io import vectors_of
    from hyperlabel.tabular.training_table import read_training

    file, group_column = None, reading_options["group"]
    vector_files = vectors_of([old, new], reading_options["vectors"])
    if model is not None:
        with show_step(f"loading {model}"):
            file = open_model(model)
        columns = file.columns
        with show_step(f"reading {old}"):
            has_labels = _has_label_columns(old, columns)
            old_table, _ = read_with_cells(
                old, columns, labelled=has_labels, ids=group_column, vectors=vector_files[0]
            )
    else:
        if is_table(old) and reading_options["labels"] is None and reading_options["label_column"] is None:
            reading_options |= {"labels": []}
        with show_step(f"reading {old}"):
            old_table, columns = read_training(
                old, **reading_options | {"vectors": vector_files[0] and (vector_files[0],)}
            )
            if is_table(old) and is_table(new):
                old_table, columns = _keep_shared_columns(
                    old, new, old_table, columns, group_column, vector_files[0]
                )
    with show_step(f"reading {new}"):
        unnamed_columns, has_labels = replace(columns, label_names=[]), _has_label_columns(new, columns)
        new_table, _ = read_with_cells(
            new, unnamed_columns, labelled=has_labels, ids=group_column, vectors=vector_files[1]
        )
    return old_table, new_table, columns, file


def _keep_shared_columns(
    old: str, new: str, old_table: Any, columns: Any, group_column: str | None, vectors: str | None
) -> tuple[Any, Any]:
    """Return the old rows with those columns only that the new file has, too."""
    from hyperlabel.tabular.column_types import column_names
    from hyperlabel.tabular.model_file import read_with_cells

    input_names = [*columns.text, *columns.categories, *columns.numbers]
    new_names = set(column_names(new, input_names))
    missing_names = [name for name in input_names if name not in new_names]
    if not missing_names:
        return old_table, columns
    if len(missing_names) == len(input_names):
        raise ValueError(f"{new} has none of the columns of {old}: {some_names(missing_names)}.")
    say(f"Warning: {new} has no {some_names([repr(name) for name in missing_names])}: left out.")
    shared_names = {
        field_name: [name for name in getattr(columns, field_name) if name in new_names]
        for field_name in ("text", "categories", "numbers")
    }
    columns = replace(columns, **shared_names, feature_names=[], n_features=0)
    has_labels = bool(columns.labels or columns.label_column)
    old_table, _ = read_with_cells(old, columns, labelled=has_labels, ids=group_column, vectors=vectors)
    return old_table, replace(
        columns, feature_names=list(old_table.feature_names), n_features=old_table.n_features
    )


def _has_label_columns(path: str, columns: Any) -> bool:
    """Tell whether a file has the columns of labels; files other than tables always have labels."""
    from hyperlabel.tabular.column_types import column_names

    if path == "-" or not is_table(path):
        return path != "-"
    label_names = [columns.label_column] if columns.label_column else columns.labels
    return bool(label_names) and set(label_names) <= set(column_names(path, label_names))


def joined_groups(old_table: Any, new_table: Any) -> Any:
    """Number the groups of the old and then the new rows; a row that names none is a group of its own."""
    import numpy as np

    group_names, group_of_row = np.unique(
        np.concatenate([old_table.groups, new_table.groups]), return_inverse=True
    )
    is_ungrouped = np.isin(group_names, ["", "None", "nan"])[group_of_row]
    group_of_row[is_ungrouped] = len(group_names) + np.arange(is_ungrouped.sum())
    return group_of_row


def new_words(old_texts: list[str], new_texts: list[str], top: int) -> dict[str, Any]:
    """Return the words that only the new texts use, by the number of texts that use them."""
    old_words = {word for text in old_texts for word in _WORD.findall(text.lower())}
    words_by_text = [_WORD.findall(text.lower()) for text in new_texts]
    used_words = [word for text_words in words_by_text for word in text_words]
    text_counts = Counter(word for text_words in words_by_text for word in set(text_words) - old_words)
    frequent_words = sorted(text_counts.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    return {
        "share_of_words_never_seen": sum(word not in old_words for word in used_words)
        / max(len(used_words), 1),
        "most_frequent": [{"word": word, "texts": count} for word, count in frequent_words],
    }


def _print_drift(findings: dict[str, Any]) -> None:
    for file_side in ("old", "new"):
        click.echo(
            f"{file_side}: {plural(findings[file_side]['rows'], 'row')} ({findings[file_side]['file']})"
        )
    label_note = "" if findings["labels_compared"] else "; labels were not compared: not both files have them"
    if findings["drift"]:
        click.echo(f"Drift: the files differ significantly (p = {findings['p_value']:.4f}){label_note}.")
    else:
        click.echo(f"No drift detected (p = {findings['p_value']:.2f}){label_note}.")
    if "words" in findings:
        word_findings = findings["words"]
        word_list = ", ".join(f"{w['word']} ({w['texts']})" for w in word_findings["most_frequent"])
        new_share = f"words never seen before: {word_findings['share_of_words_never_seen']:.2%} of all"
        click.echo(new_share + (f"; in most texts: {word_list}" if word_list else ""))
    if findings["moved"]:
        column_keys = ("name", "kind", "old", "new")
        moved_rows = [
            [*(moved_column[key] for key in column_keys), f"{moved_column['z']:+.1f}"]
            for moved_column in findings["moved"]
        ]
        column_titles = ["what moved most", "kind", "old mean", "new mean", "z"]
        print_table(column_titles, moved_rows, n_text_columns=2)

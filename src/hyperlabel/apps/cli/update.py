"""``hyperlabel update``: a model learns and forgets rows and labels without its old training file."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import click

from hyperlabel._files import locked
from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._input import MODEL_FILE, check_target, output_option, vectors_option
from hyperlabel.apps.cli._output import print_json, tell
from hyperlabel.tabular.table_io import need_data, need_model
from hyperlabel.tabular.wording import need_labels, plural, some_names

OtherLabels = Literal["add", "ignore", "refuse"]  # what happens to labels the model does not know


@click.command()
@click.argument("model")
@click.argument("new", required=False)
@config_option
@vectors_option("The npy files of vectors: of NEW, then of each file of --forget", multiple=True)
@click.option(
    "--forget",
    "leaving",
    multiple=True,
    help="File of rows to take out again, which must be among those learned; may be repeated.",
)
@click.option("--add-label", "added", multiple=True, help="New label, so far on no row; may be repeated.")
@click.option("--add-labels", "add_all", is_flag=True, help="Add every label of NEW the model does not know.")
@click.option("--ignore-unknown", is_flag=True, help="Learn NEW without the labels the model does not know.")
@click.option("--drop-label", "dropped", multiple=True, help="Label to remove; may be repeated.")
@click.option("--rename-label", "renamed", multiple=True, metavar="OLD=NEW", help="May be repeated.")
@click.option(
    "--merge-label",
    "merged",
    multiple=True,
    metavar="OLD=INTO",
    help="Rows with OLD carry INTO instead, a label there is or a new one; may be repeated.",
)
@output_option("output", None, "Write the changed model here. [default: in place of MODEL]")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def update(
    model: str,
    new: str | None,
    vectors: tuple[str, ...],
    leaving: tuple[str, ...],
    added: tuple[str, ...],
    add_all: bool,
    ignore_unknown: bool,
    dropped: tuple[str, ...],
    renamed: tuple[str, ...],
    merged: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> None:
    """Merge the labelled rows of NEW into MODEL, forget rows, and add, drop, rename or merge labels.

    Equal to a fit on all rows at once, with the words and λ of the first fit; thresholds are kept. The file
    changes only once everything has worked: the rows of every file are forgotten, or none; a second update
    of it waits for the first. Labels change first, so NEW uses the new names. NEW may be a queue of predict
    --review: where the column labels is filled in it learns the whole row, elsewhere the answers alone.
    """
    need_model(model)
    need_data(new, *leaving)
    from hyperlabel.apps.cli._progress import show_step
    from hyperlabel.meta import update as update_model
    from hyperlabel.tabular.fit_rows import change_hashes
    from hyperlabel.tabular.model_file import (
        ModelFile,
        need_updatable,
        open_model,
        save_model,
        with_columns,
    )

    renames, merges = _parse_renames(renamed, "--rename-label"), _parse_renames(merged, "--merge-label")
    _check_arguments(new, leaving, add_all, output, any((new, leaving, added, dropped, renames, merges)))
    other_labels = _choose_for_other_labels(add_all, ignore_unknown, has_files=bool(new or leaving))
    forget_labels: OtherLabels = "ignore" if ignore_unknown else "refuse"
    waiting_message = f"{model} is being updated by another process: waiting until it is done."
    # others must not update the file until the command ends: their change would be lost
    click.get_current_context().with_resource(locked(model, lambda: click.echo(waiting_message, err=True)))
    with show_step(f"loading {model}"):
        file = open_model(model)
        need_updatable(file)
    label_names = _edit_label_names(file.columns.label_names, renames, merges, dropped, added)
    # a file of rows may use the old names still
    label_change = (
        dropped,
        renames | {old: merges.get(renames.get(old, old), new) for old, new in renames.items()} | merges,
    )
    vector_files = _match_vector_files(new, leaving, vectors)
    entering, new_labels = (
        (None, [])
        if new is None
        else _read_change(file, new, vector_files, label_names, other_labels, *label_change)
    )
    forgotten = _concat_changes(
        [
            _read_change(file, path, vector_files, label_names, forget_labels, *label_change)[0]
            for path in leaving
        ]
    )
    label_names += new_labels
    if forgotten is not None:  # labels that only another file has
        forgotten[1].resize((forgotten[1].shape[0], len(label_names)))
    with show_step("updating"):
        changed_model = update_model(
            file.model,
            entering,
            forget=forgotten,
            add_labels=[*added, *new_labels],
            drop_labels=dropped,
            rename_labels=renames,
            merge_labels=merges,
        )
    n_merged, n_forgotten = (rows[1].shape[0] if rows else 0 for rows in (entering, forgotten))
    updated_file = with_columns(
        ModelFile(changed_model, file.columns, output or model),
        label_names=label_names,
        rows=file.columns.rows + n_merged - n_forgotten,
        row_hashes=change_hashes(file.columns, entering and entering[0], forgotten and forgotten[0]),
        labels=label_names if file.columns.labels else [],
        left_out=_without(file.columns.left_out, label_names),
    )
    save_model(updated_file)
    update_summary = {
        "model": updated_file.path,
        "rows": updated_file.columns.rows,
        "labels": len(label_names),
        "merged": n_merged,
        "forgotten": n_forgotten,
        "added": [*added, *new_labels],
        "dropped": list(dropped),
        "renamed": renames,
        "merged_labels": merges,
    }
    if as_json:
        print_json(update_summary)
    else:
        _tell_update(update_summary)


def _without(label_names: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the labels that are none of the others, in their order."""
    return [label_name for label_name in label_names if label_name not in set(others)]


def _tell_update(summary: dict[str, Any]) -> None:
    """Print in a sentence what the update did."""
    tell(
        f"Wrote {summary['model']}: {plural(summary['merged'], 'row')} merged, {summary['forgotten']} "
        f"forgotten, now {plural(summary['rows'], 'row')} and {plural(summary['labels'], 'label')}; "
        "thresholds of known labels and the words are those of the first fit."
    )


def _choose_for_other_labels(add_all: bool, ignore_unknown: bool, *, has_files: bool) -> OtherLabels:
    """Return what happens to labels of NEW that the model does not know."""
    if ignore_unknown and add_all:
        raise ValueError("--add-labels takes in what --ignore-unknown leaves out: name one of them.")
    if ignore_unknown and not has_files:
        raise ValueError("--ignore-unknown is about the labels of files of rows: name one, or leave it out.")
    if add_all:
        return "add"
    return "ignore" if ignore_unknown else "refuse"


def _match_vector_files(
    new: str | None, leaving: tuple[str, ...], vectors: tuple[str, ...]
) -> dict[str, str | None]:
    """Return the file of vectors of each file of rows."""
    from hyperlabel.tabular.table_io import vectors_of

    row_files = [path for path in (new, *leaving) if path is not None]
    return dict(zip(row_files, vectors_of(row_files, vectors), strict=True))


def _parse_renames(renamed: tuple[str, ...], option: str) -> dict[str, str]:
    name_pairs = [rename_text.partition("=") for rename_text in renamed]
    for (old_name, equals_sign, new_name), rename_text in zip(name_pairs, renamed, strict=True):
        if not (old_name and equals_sign and new_name):
            raise ValueError(f"{option} takes OLD=NEW, not {rename_text!r}.")
    return {old_name: new_name for old_name, _, new_name in name_pairs}


def _read_change(
    file: Any,
    path: str,
    vector_files: dict[str, str | None],
    label_names: list[str],
    other_labels: OtherLabels,
    dropped: tuple[str, ...],
    renames: dict[str, str],
) -> tuple[tuple[Any, Any], list[str]]:
    """Return rows, their labels in the order of `label_names` (and the new ones), and the new labels."""
    from dataclasses import replace

    from hyperlabel.tabular.model_file import aligned_labels, read_rows
    from hyperlabel.tabular.review_queue import answered_entries, answered_rows

    columns = file.columns
    if columns.labels:
        columns = replace(columns, labels=label_names)
    with answered_rows(path, columns) as (answers_path, row_answers):
        change_table = read_rows(answers_path, columns, labelled=True, vectors=vector_files[path])
    if renames:  # a file may still use the old names
        renamed_labels = [renames.get(name, name) for name in change_table.label_names]
        change_table = replace(change_table, label_names=renamed_labels)
    Y, unknown_labels = aligned_labels(change_table, label_names, normalise=columns.normalise)
    unknown_labels = _without(unknown_labels, dropped)
    new_labels = _select_new_labels(path, unknown_labels, columns.left_out, other_labels)
    if new_labels:
        Y, _ = aligned_labels(change_table, [*label_names, *new_labels], normalise=columns.normalise)
    if row_answers is not None:  # a queue names the labels as the model did when it was written
        row_answers = [
            answers and {renames.get(q, q): yes for q, yes in answers.items() if q not in dropped}
            for answers in row_answers
        ]
        Y = answered_entries(Y, row_answers, [*label_names, *new_labels])
    return (columns.inputs(change_table), Y), new_labels


def _select_new_labels(
    path: str, unknown_labels: list[str], too_rare: Any, other_labels: OtherLabels
) -> list[str]:
    """Return the labels the model shall learn to know; say which others a file has, or refuse them."""
    rare_labels = [label_name for label_name in unknown_labels if label_name in too_rare]
    if rare_labels and other_labels != "add":
        click.echo(f"{path}: ignored {plural(len(rare_labels), 'label')} that the fit left out as too rare: "
                   f"{some_names(rare_labels)}", err=True)  # fmt: skip
        unknown_labels = _without(unknown_labels, rare_labels)
    if unknown_labels and other_labels == "ignore":
        click.echo(f"{path}: ignored {plural(len(unknown_labels), 'label')} the model does not know: "
                   f"{some_names(unknown_labels)}", err=True)  # fmt: skip
        unknown_labels = []
    if unknown_labels and other_labels == "refuse":
        raise ValueError(
            f"{path} has {plural(len(unknown_labels), 'label')} the model does not know "
            f"({some_names(unknown_labels)}): add them with --add-labels, or each with --add-label, or learn "
            "the rows without them with --ignore-unknown."
        )
    return unknown_labels


def _check_arguments(
    new: str | None, leaving: tuple[str, ...], add_all: bool, output: str | None, has_change: bool
) -> None:
    if output is not None:
        check_target(output, MODEL_FILE)
    if add_all and new is None:
        raise ValueError("--add-labels takes the labels of NEW: name that file.")
    if not has_change:
        raise ValueError("There is nothing to do: name a file of new rows, --forget, or labels to change.")
    if len({Path(path).resolve() for path in leaving}) < len(leaving):
        raise ValueError("--forget names a file twice: its rows can leave once only.")


def _edit_label_names(
    label_names: list[str], renames: dict[str, str], merges: dict[str, str], dropped: Any, added: Any
) -> list[str]:
    """Return the names of the labels after renaming, merging, dropping and adding."""
    need_labels(renames, label_names)
    label_names = [renames.get(label_name, label_name) for label_name in label_names]
    need_labels(merges, label_names)
    label_names += _without(dict.fromkeys(merges.values()), label_names)
    need_labels(dropped, label_names)
    return _without(label_names, {*merges, *dropped}) + list(added)


def _concat_changes(changes: list[tuple[Any, Any]]) -> tuple[Any, Any] | None:
    """Put the rows and labels of several files on top of each other, so that they leave in one step."""
    import numpy as np
    from scipy import sparse

    if not changes:
        return None
    rows_by_file = [file_rows for file_rows, _ in changes]
    Y = sparse.vstack([Y for _, Y in changes], format="csr")
    if isinstance(rows_by_file[0], list):
        return [row for file_rows in rows_by_file for row in file_rows], Y
    if any(sparse.issparse(file_rows) for file_rows in rows_by_file):
        return sparse.vstack(rows_by_file, format="csr"), Y
    return np.concatenate(rows_by_file), Y

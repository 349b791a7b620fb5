"""``hyperlabel update``: a model learns and forgets rows and labels without its old training file."""

from __future__ import annotations

import json
from typing import Any

import click

from hyperlabel.cli._config import config_option


@click.command()
@click.argument("model")
@click.argument("new", required=False)
@config_option
@click.option("--forget", help="File of rows to take out again; they must be among those learned.")
@click.option("--add-label", "added", multiple=True, help="New label, so far on no row; may be repeated.")
@click.option("--add-labels", "add_all", is_flag=True, help="Add every label of NEW the model does not know.")
@click.option("--drop-label", "dropped", multiple=True, help="Label to remove; may be repeated.")
@click.option("--rename-label", "renamed", multiple=True, metavar="OLD=NEW", help="May be repeated.")
@click.option("-o", "--output", help="Write the changed model here. [default: in place of MODEL]")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def update(
    model: str,
    new: str | None,
    forget: str | None,
    added: tuple[str, ...],
    add_all: bool,
    dropped: tuple[str, ...],
    renamed: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> None:
    """Merge the labelled rows of NEW into MODEL, forget rows, and add, drop or rename labels.

    Equal to a fit on all rows at once, with the words and λ of the first fit; cuts are kept. The file
    changes only once everything has worked. Labels change first, so NEW uses the new names.
    """
    from hyperlabel.cli._model import ModelFile, open_model, save_model, with_columns
    from hyperlabel.cli._progress import step
    from hyperlabel.meta import update as update_model

    renames = _renames(renamed)
    if new is None and forget is None and not (added or dropped or renames):
        raise ValueError("There is nothing to do: name a file of new rows, --forget, or labels to change.")
    if add_all and new is None:
        raise ValueError("--add-labels takes the labels of NEW: name that file.")
    with step(f"loading {model}"):
        file = open_model(model)
    names = [renames.get(name, name) for name in file.columns.label_names]
    names = [name for name in names if name not in dropped] + list(added)
    tables: dict[str, Any] = {}
    for role, path in (("new", new), ("forget", forget)):
        if path is not None:
            tables[role] = _read(file, path, names, add_all and role == "new", dropped, renames)
    extra = tables["new"][3] if "new" in tables else []
    names += extra
    changes = {role: (rows, _widened(Y, len(names))) for role, (rows, Y, _, _) in tables.items()}
    with step("updating"):
        changed = update_model(
            file.model,
            changes.get("new"),
            forget=changes.get("forget"),
            add_labels=[*added, *extra],
            drop_labels=dropped,
            rename_labels=renames,
        )
    counts = {role: table[2] for role, table in tables.items()}
    rows = file.columns.rows + counts.get("new", 0) - counts.get("forget", 0)
    labels = file.columns.labels and names
    updated = with_columns(ModelFile(changed, file.columns, output or model), label_names=names, rows=rows)
    updated = with_columns(updated, labels=list(labels or []))
    save_model(updated, changes["new"][0] if "new" in changes else None)
    found = {
        "model": updated.path,
        "rows": rows,
        "labels": len(names),
        "merged": counts.get("new", 0),
        "forgotten": counts.get("forget", 0),
        "added": [*added, *extra],
        "dropped": list(dropped),
        "renamed": renames,
    }
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    click.echo(
        f"Wrote {updated.path}: {found['merged']} rows merged, {found['forgotten']} forgotten, now {rows} "
        f"rows and {len(names)} labels; cuts of known labels and the words are those of the first fit."
    )


def _renames(renamed: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in renamed]
    for (old, mark, name), text in zip(pairs, renamed, strict=True):
        if not (old and mark and name):
            raise ValueError(f"--rename-label takes OLD=NEW, not {text!r}.")
    return {old: name for old, _, name in pairs}


def _read(
    file: Any,
    path: str,
    names: list[str],
    add_all: bool,
    dropped: tuple[str, ...],
    renames: dict[str, str],
) -> tuple[Any, Any, int, list[str]]:
    """Rows, their labels in the order of `names` (and the new ones), their number, the new labels."""
    from dataclasses import replace

    from hyperlabel.cli._model import aligned_labels, read_rows

    columns = file.columns
    if columns.labels:
        columns = replace(columns, labels=names)
    table = read_rows(path, columns, labelled=True)
    if renames:  # a file may still use the old names
        table = replace(table, label_names=[renames.get(name, name) for name in table.label_names])
    Y, unknown = aligned_labels(table, names)
    unknown = [name for name in unknown if name not in dropped]
    if unknown and not add_all:
        shown = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        raise ValueError(
            f"{path} has {len(unknown)} labels the model does not know ({shown}): add them with "
            "--add-labels, or each with --add-label."
        )
    if unknown:
        Y, _ = aligned_labels(table, [*names, *unknown])
    return columns.inputs(table), Y, len(table), unknown


def _widened(Y: Any, n_labels: int) -> Any:
    """Give Y columns of zeros for labels that only another file has."""
    from scipy import sparse

    return sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels))

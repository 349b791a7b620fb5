"""A queue of questions for a person, and the answers back into the model."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hyperlabel.cli._words import plural

_OWN = ("row", "question", "probability", "answer", "decided")


def probabilities(file: Any, rows: Any) -> Any:
    """Return calibrated probabilities, or say how to get them."""
    from hyperlabel._base import label_probabilities

    if not hasattr(file.model, "predict_proba"):
        raise ValueError(
            f"{file.path} gives no probabilities: {file.columns.method or 'its method'} has none, and "
            "no cuts were tuned on scores that could be calibrated; fit it without --thresholds none."
        )
    return label_probabilities(file.model, rows)


def positives(model: Any) -> Any:
    """Return how many positives the probabilities of each label rest on: a tuner's curves, or its own."""
    found = (getattr(getattr(model, name, None), "positives", None) for name in ("curves_", "calibration_"))
    return next((counts for counts in found if counts is not None), None)


def write_queue(
    model: str, data: str | None, output: str, entries: int, group: str | None, ids: str | None
) -> None:
    """Write the entries a person should see, one a line, beside the columns the model reads.

    `ids` is the column that names the rows; by default they are numbered.
    """
    import numpy as np

    from hyperlabel.cli._model import open_model, read_with_cells
    from hyperlabel.cli.predict import written
    from hyperlabel.decision.review import review_gains, review_order

    file = open_model(model)
    columns = file.columns
    if columns.format != "table" or data is None or data == "-":
        raise ValueError("--review reads a table (CSV, JSON lines, Parquet): name such a file.")
    if columns.vectors:
        raise ValueError(
            "--review writes a queue for update, which cannot hold the vectors this model needs."
        )
    table, cells = read_with_cells(data, columns, ids=group, cells=True)
    keys = _row_keys(cells, ids)
    rows = columns.inputs(table)
    p, sets = probabilities(file, rows), file.predict(rows)
    promised = getattr(file.model[-1], "promises_", None)
    sure = sets if promised is not None and promised.kind == "precision" else None
    groups = None if group is None else np.asarray(table.groups)
    gains = review_gains(p, sets, sure, entries, positives(file.model[-1]))
    order = review_order(gains, groups, entries)
    wanted = [*columns.words, *(columns.numbers or columns.feature_names)]
    mark = columns.label_separator or ";"
    k = len(columns.label_names)
    asked: dict[int, set[int]] = {}
    for entry in order:
        asked.setdefault(int(entry) // k, set()).add(int(entry) % k)
    beside = [cells.column(name) for name in wanted]
    with written(output) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*_OWN, *wanted])
        for entry in order:
            i, j = divmod(int(entry), k)
            decided = [columns.label_names[m] for m in np.flatnonzero(sets[i]) if m not in asked[i]]
            line = [keys[i], columns.label_names[j], f"{p[i, j]:.4f}", "", mark.join(decided)]
            writer.writerow([*line, *(cell[i] for cell in beside)])
    if output != "-":
        click.echo(f"Wrote {output}: {plural(len(order), 'question')}.", err=True)


def _row_keys(cells: Any, ids: str | None) -> list[str]:
    """Return what a queue calls the rows: their numbers, or a column in which no value comes twice."""
    if ids is None:
        return [str(i + 1) for i in range(len(cells.places))]
    if ids not in cells.reaching([ids]).columns:
        raise ValueError(f"{cells.path.name} has no column {ids!r} to name rows by.")
    keys = [str(cell) for cell in cells.column(ids)]
    twice = next((key for key, count in Counter(keys).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"--id {ids} names several rows {twice!r}: answers could not be told apart.")
    return keys


@contextmanager
def answered(path: str, columns: Any) -> Iterator[str]:
    """Turn a queue with answers into rows with their labels; other files pass as they are."""
    if not _is_queue(path):
        yield path
        return
    from hyperlabel.cli._model import as_temporary

    rows, left = _learned(path, columns)
    if not rows:
        raise ValueError(f"{path} has no row whose questions are all answered: fill in the column answer.")
    if left:
        click.echo(
            f"Left out {left} of {plural(left + len(rows), 'row')}: questions without an answer.", err=True
        )
    with as_temporary("\n".join(json.dumps(row) for row in rows).encode(), ".jsonl") as place:
        yield place


def _is_queue(path: str) -> bool:
    if Path(path).suffix.lower() != ".csv" or not Path(path).is_file():
        return False
    with open(path, encoding="utf-8-sig", newline="") as file:
        return tuple(next(csv.reader(file), []))[: len(_OWN)] == _OWN


def _learned(path: str, columns: Any) -> tuple[list[dict[str, Any]], int]:
    """Return the rows whose questions are all answered, and how many others there are."""
    from hyperlabel.datasets.table_columns import zero_one

    mark = columns.label_separator or ";"
    found: dict[str, tuple[dict[str, Any], set[str]]] = {}
    open_rows = set()
    with open(path, encoding="utf-8-sig", newline="") as file:
        for line in csv.DictReader(file):
            key, answer = line["row"], (line["answer"] or "").strip()
            inputs = {name: value for name, value in line.items() if name not in _OWN}
            decided = {name for name in (line["decided"] or "").split(mark) if name}
            _, labels = found.setdefault(key, (inputs, decided))
            try:
                if not answer:
                    open_rows.add(key)
                elif zero_one(answer):
                    labels.add(line["question"])
            except ValueError:
                raise ValueError(f"{path}, row {key}: answer yes or no, not {answer!r}.") from None
    answered = [row for key, row in found.items() if key not in open_rows]
    return [inputs | _cells_of(labels, columns) for inputs, labels in answered], len(open_rows)


def _cells_of(labels: set[str], columns: Any) -> dict[str, Any]:
    """Write labels as the training file does: in one cell, or one column for each."""
    if columns.label_column:
        return {columns.label_column: sorted(labels)}
    return {name: int(name in labels) for name in columns.labels}

"""A queue of questions for a person, and the answers back into the model."""

import csv
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperlabel.datasets.label_cells import NO_LABEL
from hyperlabel.tabular.wording import plural

# what a line of a queue begins with; the columns that the model reads follow
_OWN = ("row", "question", "probability", "answer", "predicted", "labels")
_NO_LABELS = ("-", "none")  # what a person writes for a row without labels
_DO_NOT_KNOW = tuple(word for word in NO_LABEL if word not in _NO_LABELS)


def review_probabilities(file: Any, rows: Any) -> Any:
    """Return calibrated probabilities, or say how to get them."""
    from hyperlabel._base import label_probabilities

    if not hasattr(file.model, "predict_proba"):
        raise ValueError(
            f"{file.path} gives no probabilities: {file.columns.method or 'its method'} has none, and "
            "no thresholds were tuned on scores that could be calibrated; fit it without --thresholds none."
        )
    return label_probabilities(file.model, rows)


def calibration_positives(model: Any) -> Any:
    """Return how many positives the probabilities of each label rest on: a tuner's curves, or its own."""
    found = (
        getattr(getattr(model, name, None), "positives", None) for name in ("calibrators_", "calibrators_")
    )
    return next((counts for counts in found if counts is not None), None)


def write_queue(
    model: str, data: str | None, output: str, entries: int, group: str | None, ids: str | None
) -> None:
    """Write the entries a person should see, one a line, beside the columns the model reads.

    `ids` is the column that names the rows; by default they are numbered.
    """
    import numpy as np

    from hyperlabel.decision.review import review_gains, review_order
    from hyperlabel.tabular.model_file import open_model, read_with_cells
    from hyperlabel.tabular.table_io import open_output

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
    p, sets = review_probabilities(file, rows), file.predict(rows)
    guaranteed = getattr(file.model[-1], "guarantees_", None)
    sure = sets if guaranteed is not None and guaranteed.kind == "precision" else None
    groups = None if group is None else np.asarray(table.groups)
    gains = review_gains(p, sets, sure, entries, calibration_positives(file.model[-1]))
    order = review_order(gains, groups, entries)
    wanted = [*columns.text_columns, *(columns.numbers or columns.feature_names)]
    mark = columns.label_separator or ";"
    k = len(columns.label_names)
    beside = [cells.column(name) for name in wanted]
    with open_output(output) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*_OWN, *wanted])
        for entry in order:
            i, j = divmod(int(entry), k)
            predicted = mark.join(columns.label_names[m] for m in np.flatnonzero(sets[i]))
            line = [keys[i], columns.label_names[j], f"{p[i, j]:.4f}", "", predicted, ""]
            writer.writerow([*line, *(cell[i] for cell in beside)])
    if output != "-":
        warnings.warn(f"Wrote {output}: {plural(len(order), 'question')}.", stacklevel=2)


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
def answered_rows(path: str, columns: Any) -> Iterator[str]:
    """Turn a queue into the rows whose whole label set a person wrote down; other files pass as they are."""
    if not _is_queue(path):
        yield path
        return
    from hyperlabel.tabular.model_file import as_temporary

    rows, n_partial, n_open = _complete_rows(path, columns)
    if not rows:
        raise ValueError(
            f"{path} has no row to learn: fill in the column labels with all labels of a row (- for none). "
            "The answer to one question leaves the other labels of its row unchecked."
        )
    if n_partial or n_open:
        n_asked = plural(len(rows) + n_partial + n_open, "row")
        warnings.warn(
            f"{path}: {len(rows)} of {n_asked} have all their labels in the column labels. Left out: "
            f"{n_partial} with answers to single questions only, {n_open} untouched.",
            stacklevel=2,
        )
    with as_temporary("\n".join(json.dumps(row) for row in rows).encode(), ".jsonl") as jsonl_path:
        yield jsonl_path


def _is_queue(path: str) -> bool:
    if Path(path).suffix.lower() != ".csv" or not Path(path).is_file():
        return False
    with open(path, encoding="utf-8-sig", newline="") as file:
        return tuple(next(csv.reader(file), []))[: len(_OWN)] == _OWN


def _complete_rows(path: str, columns: Any) -> tuple[list[dict[str, Any]], int, int]:
    """Return the rows with a whole label set; count those with an answer only, and those with nothing."""
    complete: dict[str, tuple[dict[str, Any], set[str]]] = {}
    answers: dict[str, dict[str, bool]] = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        header, *lines = filter(None, csv.reader(file))
    for line in lines:
        own = dict(zip(_OWN, line, strict=False))
        row, labels_cell = own["row"], own.get("labels", "").strip()
        if labels_cell.lower() in _DO_NOT_KNOW:
            labels_cell = ""
        row_answers = answers.setdefault(row, {})
        if answer := own.get("answer", "").strip():
            row_answers[own["question"]] = _yes_or_no(answer, f"{path}, row {row}")
        if not labels_cell:
            continue
        label_set = _label_set(labels_cell, columns, f"{path}, row {row}")
        inputs = dict(zip(header[len(_OWN) :], line[len(_OWN) :], strict=False))
        if complete.setdefault(row, (inputs, label_set))[1] != label_set:
            raise ValueError(f"{path}, row {row}: two lines of the column labels say different things.")
    for row, (_, label_set) in complete.items():
        for question, is_yes in answers[row].items():
            if is_yes != (question in label_set):
                said = "yes" if is_yes else "no"
                raise ValueError(f"{path}, row {row}: {question!r} is answered {said}, but not so in labels.")
    n_partial = sum(bool(given) for row, given in answers.items() if row not in complete)
    rows = [inputs | _label_cells(label_set, columns) for inputs, label_set in complete.values()]
    return rows, n_partial, len(answers) - len(complete) - n_partial


def _yes_or_no(answer: str, where: str) -> bool:
    from hyperlabel.datasets.table_columns import zero_one

    try:
        return bool(zero_one(answer))
    except ValueError:
        raise ValueError(f"{where}: answer yes or no, not {answer!r}.") from None


def _label_set(cell: str, columns: Any, where: str) -> set[str]:
    """Read the labels of a row as a person wrote them; - means that it has none."""
    if cell.lower() in _NO_LABELS:
        return set()
    if cell in columns.label_names:  # a name may hold the mark
        return {cell}
    label_set = {name for part in cell.split(columns.label_separator or ";") if (name := part.strip())}
    strange = sorted(label_set - set(columns.labels)) if columns.labels else []
    if strange:
        raise ValueError(f"{where}: the model has no label {strange[0]!r}: add it with --add-label first.")
    return label_set


def _label_cells(labels: set[str], columns: Any) -> dict[str, Any]:
    """Write labels as the training file does: in one cell, or one column for each."""
    if columns.label_column:
        return {columns.label_column: sorted(labels)}
    return {name: int(name in labels) for name in columns.labels}

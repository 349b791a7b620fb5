"""A queue of questions for a person, and the answers back into the model."""

import csv
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperlabel.datasets.formats import TABLE_TITLES
from hyperlabel.datasets.label_cells import NO_LABEL
from hyperlabel.tabular.wording import closest_name, plural

# what a line of a queue begins with; the columns that the model reads follow
_QUEUE_COLUMNS = ("row", "question", "probability", "answer", "predicted", "labels")
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
    """Return the number of positives that each label was calibrated on; None without calibrators."""
    return getattr(getattr(model, "calibrators_", None), "positives", None)


def write_queue(
    model: str,
    data: str,
    output: str,
    *,
    n_entries: int = 100,
    group: str | None = None,
    id_column: str | None = None,
) -> int:
    r"""Write the predictions a person should check to a CSV file, the one worth most first.

    Parameters
    ----------
    model, data, output : str
        The model file, a table of new rows, and the file to write ("-" is stdout).
    n_entries : int, default=100
        Number of questions; each is one label of one row.
    group : str, optional
        A column whose rows are shown together.
    id_column : str, optional
        A column that names the rows; by default they are numbered.

    Returns
    -------
    n_questions : int
        Lines written; ``hyperlabel update MODEL QUEUE`` learns those that are answered.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.tabular import fit_table, write_queue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "a.csv")
    ...     rows = ["a red bird sings;red", "the blue bird sleeps;blue"] * 9
    ...     _ = table.write_text("text;tags\n" + "\n".join(rows) + "\n")
    ...     model_path, queue = str(pathlib.Path(folder, "a.hyper")), pathlib.Path(folder, "queue.csv")
    ...     _ = fit_table(str(table), model_path, labels="tags")
    ...     n_questions = write_queue(model_path, str(table), str(queue), n_entries=2)
    ...     n_questions, queue.read_text().splitlines()[0]
    (2, 'row,question,probability,answer,predicted,labels,text')
    """
    import numpy as np

    from hyperlabel.decision.review import review_gains, review_order
    from hyperlabel.tabular.model_file import open_model, read_with_cells
    from hyperlabel.tabular.table_io import open_output

    file = open_model(model)
    columns = file.columns
    if columns.format != "table" or data == "-":
        raise ValueError(f"--review reads a table ({TABLE_TITLES}): name such a file.")
    if columns.vectors:
        raise ValueError(
            "--review writes a queue for update, which cannot hold the vectors this model needs."
        )
    dataset, table_cells = read_with_cells(data, columns, ids=group, cells=True)
    row_keys = _name_rows(table_cells, id_column)
    input_rows = columns.inputs(dataset)
    p, label_sets = review_probabilities(file, input_rows), file.predict(input_rows)
    guarantees = getattr(file.model[-1], "guarantees_", None)
    sure_sets = label_sets if guarantees is not None and guarantees.kind == "precision" else None
    groups = None if group is None else np.asarray(dataset.groups)
    entry_gains = review_gains(p, label_sets, sure_sets, n_entries, calibration_positives(file.model[-1]))
    entry_order = review_order(entry_gains, groups, n_entries)
    input_names = [*columns.text_columns, *(columns.numbers or columns.feature_names)]
    label_mark = columns.label_separator or ";"
    k = len(columns.label_names)
    input_columns = [table_cells.column(name) for name in input_names]
    with open_output(output) as output_file:
        writer = csv.writer(output_file, lineterminator="\n")
        writer.writerow([*_QUEUE_COLUMNS, *input_names])
        for entry in entry_order:
            i, j = divmod(int(entry), k)
            predicted = label_mark.join(columns.label_names[m] for m in np.flatnonzero(label_sets[i]))
            entry_cells = [row_keys[i], columns.label_names[j], f"{p[i, j]:.4f}", "", predicted, ""]
            writer.writerow([*entry_cells, *(column_values[i] for column_values in input_columns)])
    return len(entry_order)


def _name_rows(table_cells: Any, ids: str | None) -> list[str]:
    """Return the name of each row in a queue: its number, or its value in a column without duplicates."""
    if ids is None:
        return [str(i + 1) for i in range(len(table_cells.places))]
    if ids not in table_cells.reaching([ids]).columns:
        raise ValueError(
            f"{table_cells.path.name} has no column {ids!r} to name rows by"
            f"{closest_name(ids, table_cells.columns)}."
        )
    row_keys = [str(cell) for cell in table_cells.column(ids)]
    repeated_key = next((key for key, count in Counter(row_keys).items() if count > 1), None)
    if repeated_key is not None:
        raise ValueError(
            f"--id {ids} names several rows {repeated_key!r}: answers could not be matched to rows."
        )
    return row_keys


@contextmanager
def answered_rows(path: str, columns: Any) -> Iterator[str]:
    """Turn a queue into the rows whose whole label set a person wrote down; other files pass as they are."""
    if not _is_queue(path):
        yield path
        return
    from hyperlabel.tabular.model_file import as_temporary

    complete_rows, n_partial, n_open = _read_complete_rows(path, columns)
    if not complete_rows:
        raise ValueError(
            f"{path} has no row to learn: fill in the column labels with all labels of a row (- for none). "
            "The answer to one question leaves the other labels of its row unchecked."
        )
    if n_partial or n_open:
        n_asked = plural(len(complete_rows) + n_partial + n_open, "row")
        warnings.warn(
            f"{path}: {len(complete_rows)} of {n_asked} have all their labels in the column labels. Left "
            f"out: {n_partial} with answers to single questions only, {n_open} untouched.",
            stacklevel=2,
        )
    with as_temporary("\n".join(json.dumps(row) for row in complete_rows).encode(), ".jsonl") as jsonl_path:
        yield jsonl_path


def _is_queue(path: str) -> bool:
    if Path(path).suffix.lower() != ".csv" or not Path(path).is_file():
        return False
    with open(path, encoding="utf-8-sig", newline="") as file:
        return tuple(next(csv.reader(file), []))[: len(_QUEUE_COLUMNS)] == _QUEUE_COLUMNS


def _read_complete_rows(path: str, columns: Any) -> tuple[list[dict[str, Any]], int, int]:
    """Return the rows with a whole label set; count those with an answer only, and those with nothing."""
    complete: dict[str, tuple[dict[str, Any], set[str]]] = {}
    answers: dict[str, dict[str, bool]] = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        header, *queue_lines = filter(None, csv.reader(file))
    for queue_line in queue_lines:
        queue_fields = dict(zip(_QUEUE_COLUMNS, queue_line, strict=False))
        row, labels_cell = queue_fields["row"], queue_fields.get("labels", "").strip()
        if labels_cell.lower() in _DO_NOT_KNOW:
            labels_cell = ""
        row_answers = answers.setdefault(row, {})
        if answer := queue_fields.get("answer", "").strip():
            row_answers[queue_fields["question"]] = _read_answer(answer, f"{path}, row {row}")
        if not labels_cell:
            continue
        label_set = _read_label_set(labels_cell, columns, f"{path}, row {row}")
        inputs = dict(zip(header[len(_QUEUE_COLUMNS) :], queue_line[len(_QUEUE_COLUMNS) :], strict=False))
        if complete.setdefault(row, (inputs, label_set))[1] != label_set:
            raise ValueError(f"{path}, row {row}: two lines of the column labels say different things.")
    for row, (_, label_set) in complete.items():
        for question, is_yes in answers[row].items():
            if is_yes != (question in label_set):
                answer_word = "yes" if is_yes else "no"
                raise ValueError(
                    f"{path}, row {row}: {question!r} is answered {answer_word}, but not so in labels."
                )
    n_partial = sum(bool(row_answers) for row, row_answers in answers.items() if row not in complete)
    complete_rows = [
        inputs | _write_label_cells(label_set, columns) for inputs, label_set in complete.values()
    ]
    return complete_rows, n_partial, len(answers) - len(complete) - n_partial


def _read_answer(answer: str, where: str) -> bool:
    from hyperlabel.datasets.table_columns import zero_one

    try:
        return bool(zero_one(answer))
    except ValueError:
        raise ValueError(f"{where}: answer yes or no, not {answer!r}.") from None


def _read_label_set(labels_cell: str, columns: Any, where: str) -> set[str]:
    """Read the labels of a row as a person wrote them; - means that it has none."""
    if labels_cell.lower() in _NO_LABELS:
        return set()
    if labels_cell in columns.label_names:  # a name may hold the mark
        return {labels_cell}
    label_set = {
        name
        for label_piece in labels_cell.split(columns.label_separator or ";")
        if (name := label_piece.strip())
    }
    unknown_labels = sorted(label_set - set(columns.labels)) if columns.labels else []
    if unknown_labels:
        raise ValueError(
            f"{where}: the model has no label {unknown_labels[0]!r}: add it with --add-label first."
        )
    return label_set


def _write_label_cells(labels: set[str], columns: Any) -> dict[str, Any]:
    """Write labels as the training file does: in one cell, or one column for each."""
    if columns.label_column:
        return {columns.label_column: sorted(labels)}
    return {name: int(name in labels) for name in columns.labels}

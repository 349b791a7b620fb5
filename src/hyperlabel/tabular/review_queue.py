"""A queue of questions for a person, and the answers back into the model."""

import csv
import json
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from hyperlabel.datasets.formats import TABLE_TITLES
from hyperlabel.datasets.label_cells import NO_LABEL
from hyperlabel.datasets.table_sources import decode_bytes
from hyperlabel.tabular.wording import closest_name, plural

# what a line of a queue begins with; the columns that the model reads follow
_QUEUE_COLUMNS = ("row", "question", "probability", "answer", "predicted", "labels")
_NO_LABELS = ("-", "none")  # what a person writes for a row without labels
Answers = dict[str, bool] | None  # to single questions about a row; None where all its labels are known
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
def answered_rows(path: str, columns: Any) -> Iterator[tuple[str, list[Answers] | None]]:
    """Turn a queue into the rows with an answer, and the answers of each; other files pass as they are.

    A row whose whole label set a person wrote down has no answers (None) but its labels.
    """
    if not _is_queue(path):
        yield path, None
        return
    from hyperlabel.tabular.data_as_path import as_temporary

    table_rows, row_answers, n_untouched = _read_answered_rows(path, columns)
    if not table_rows:
        raise ValueError(
            f"{path} has no row to learn: answer its questions with yes or no, or fill in the column labels "
            "with all labels of a row (- for none)."
        )
    n_partial = sum(answers is not None for answers in row_answers)
    if n_partial or n_untouched:
        warnings.warn(
            f"{path}: {len(table_rows) - n_partial} of {plural(len(table_rows) + n_untouched, 'row')} have "
            f"all their labels in the column labels. Of {n_partial} only the answers are learned, the other "
            f"labels stay unknown. Left out: {n_untouched} untouched.",
            stacklevel=2,
        )
    with as_temporary("\n".join(json.dumps(row) for row in table_rows).encode(), ".jsonl") as jsonl_path:
        yield jsonl_path, row_answers


def answered_entries(Y: Any, row_answers: list[Answers], label_names: list[str]) -> Any:
    """Return the labels of the rows of a queue, NaN where a row has answers but none to that label."""
    import numpy as np
    from scipy import sparse

    column_of_name = {name: j for j, name in enumerate(label_names)}
    targets = sparse.csr_array(Y).toarray().astype(float)
    for i, answers in enumerate(row_answers):
        if answers is not None:
            targets[i] = np.nan
            for question, is_yes in answers.items():
                if question not in column_of_name:
                    raise ValueError(f"The model has no label {question!r}, which the answers are about.")
                targets[i, column_of_name[question]] = is_yes
    return sparse.csr_array(targets)


def _is_queue(path: str) -> bool:
    if Path(path).suffix.lower() != ".csv" or not Path(path).is_file():
        return False
    with closing(_read_queue_lines(path)) as queue_lines:
        return tuple(next(queue_lines, []))[: len(_QUEUE_COLUMNS)] == _QUEUE_COLUMNS


def _read_queue_lines(path: str) -> Generator[list[str]]:
    """Yield the lines of a queue as a spreadsheet may save it: UTF-8 or Latin-1, with , or ; between."""
    with open(path, "rb") as file:
        header = decode_bytes(file.readline()).removeprefix("\ufeff")
        delimiter = ";" if header.count(";") > header.count(",") else ","
        yield from csv.reader(chain([header], map(decode_bytes, file)), delimiter=delimiter)


def _read_answered_rows(path: str, columns: Any) -> tuple[list[dict[str, Any]], list[Answers], int]:
    """Return rows with labels or answers, the answers (None: it has labels), and how many have neither."""
    complete: dict[str, set[str]] = {}
    answers: dict[str, dict[str, bool]] = {}
    row_inputs: dict[str, dict[str, Any]] = {}
    header, *queue_lines = filter(None, _read_queue_lines(path))
    for queue_line in queue_lines:
        queue_fields = dict(zip(_QUEUE_COLUMNS, queue_line, strict=False))
        row, labels_cell = queue_fields["row"], queue_fields.get("labels", "").strip()
        if labels_cell.lower() in _DO_NOT_KNOW:
            labels_cell = ""
        row_answers = answers.setdefault(row, {})
        inputs = zip(header[len(_QUEUE_COLUMNS) :], queue_line[len(_QUEUE_COLUMNS) :], strict=False)
        row_inputs.setdefault(row, dict(inputs))
        if answer := queue_fields.get("answer", "").strip():
            row_answers[queue_fields["question"]] = _read_answer(answer, f"{path}, row {row}")
        if not labels_cell:
            continue
        label_set = _read_label_set(labels_cell, columns, f"{path}, row {row}")
        if complete.setdefault(row, label_set) != label_set:
            raise ValueError(f"{path}, row {row}: two lines of the column labels say different things.")
    _refuse_contradictions(complete, answers, path)
    learned = [row for row, row_answers in answers.items() if row in complete or row_answers]
    table_rows = [row_inputs[row] | _write_label_cells(complete.get(row, set()), columns) for row in learned]
    entry_answers = [None if row in complete else answers[row] for row in learned]
    return table_rows, entry_answers, len(answers) - len(learned)


def _refuse_contradictions(
    complete: dict[str, set[str]], answers: dict[str, dict[str, bool]], path: str
) -> None:
    """Refuse a row whose label set says something else than an answer to a question about it."""
    for row, label_set in complete.items():
        for question, is_yes in answers[row].items():
            if is_yes != (question in label_set):
                answer_word = "yes" if is_yes else "no"
                raise ValueError(
                    f"{path}, row {row}: {question!r} is answered {answer_word}, but not so in labels."
                )


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

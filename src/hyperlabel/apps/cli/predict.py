"""``hyperlabel predict``: labels with scores for new rows, as CSV or JSON lines."""

import json
import sys
from collections.abc import Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import click

from hyperlabel._files import opened
from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._input import check_target, output_option, refuse_options, say, vectors_option
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.datasets.formats import WRITTEN_TABLES, target_format
from hyperlabel.tabular.table_io import delimiter_of, need_data, need_model, open_output
from hyperlabel.tabular.wording import plural, some_names

_BLOCK = 4096  # rows scored at a time


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@config_option
@vectors_option("The npy file of the vectors of DATA's rows")
@click.option("--text", "one_text", help="Label this text instead of a file.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help="The K best labels of each row, best first. [default: those predicted]",
)
@click.option("--scores", is_flag=True, help="The model's scores in place of probabilities.")
@click.option(
    "--probabilities",
    is_flag=True,
    help="Refuse a model without probabilities; with --wide, write those of all labels.",
)
@click.option(
    "--review", is_flag=True, help="Write the answers a person should check, the one worth most first."
)
@click.option("--entries", type=click.IntRange(min=1), help="Of --review. [default: 100]")
@click.option("--group", help="With --review: a column whose rows are shown together.")
@click.option("--id", "ids", help="A column of DATA to name rows by; by default they are numbered from 1.")
@click.option("--keep", is_flag=True, help="Append the answers to all columns of DATA.")
@click.option(
    "--wide",
    is_flag=True,
    help="One column for each label: 1 where it is predicted, 0 elsewhere; "
    "with --probabilities or --scores their value.",
)
@output_option("output", "-", "The file to write; - is stdout.")
@click.option(
    "--format",
    "form",
    type=click.Choice(WRITTEN_TABLES),
    help="Given by --output's ending. [default: csv]",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")
def predict(
    model: str, data: str | None, one_text: str | None, output: str, form: str | None, **options: Any
) -> None:
    """Predict the labels of DATA with MODEL; - reads stdin (CSV, JSON lines, or a text per line).

    CSV has the columns row, labels and probabilities, the last two separated by the marks of the training
    file; JSON lines list {"label", "probability", "predicted"} for each row, and json is one array of these.
    Where labels have no rows, or lie in a tree, "source" says what a score comes from: rows, the label's own
    name, or a label below it (child).
    predicted says which labels passed their threshold, which need not be a probability of one half. With
    --keep or --wide the answer is a table, in every format. A text without any word the model knows gets no
    labels.

    --review writes a queue instead: one question a line (does this row have this label?), the one whose
    answer raises the expected F1 most first, labels guaranteed by fit --precision never among them. Answer it
    in the column answer (yes or no). To let hyperlabel update MODEL QUEUE learn the row, write all its labels
    into the column labels (- for none), which starts empty: a guess of the model is never learned.
    """
    if (data is None) == (one_text is None):
        raise ValueError("Name a file to predict (- for stdin), or one text with --text.")
    _refuse_unused_options(one_text, form, options)
    form = _check_form(output, "jsonl" if options["as_json"] else form, options["review"])
    need_model(model)
    need_data(data)
    if options["review"]:
        _write_review_queue(model, data, output, options)
        return
    file, model_inputs, data_columns, column_delimiter = _read_model_and_rows(model, data, one_text, options)
    value_name = _choose_values(file, options)
    with show_step("predicting"):
        is_wide, has_values = options["wide"], options["scores"] or options["probabilities"]
        n_labels = len(file.columns.label_names) if has_values and is_wide else None
        row_answers = _iter_row_answers(file, model_inputs, options["top"] or n_labels, value_name)
        if is_wide:
            wide_columns = _build_wide_columns(
                data_columns, row_answers, file.columns.label_names, value_name if has_values else None
            )
            write_table(output, wide_columns, form, delimiter_of(output, column_delimiter))
        elif form in ("jsonl", "json") and not options["keep"]:
            _write_records(output, data_columns["row"], row_answers, is_array=form == "json")
        else:
            answer_columns = _build_answer_columns(data_columns, row_answers, file.columns, form, value_name)
            write_table(output, answer_columns, form, delimiter_of(output, column_delimiter))
    if output != "-":
        click.echo(f"Wrote {output}: {plural(n_rows(model_inputs), 'row')}.", err=True)


def _write_review_queue(model: str, data: str | None, output: str, options: dict[str, Any]) -> None:
    """Write the questions a person should answer first."""
    from hyperlabel.tabular.review_queue import write_queue

    queue_options = {"group": options["group"], "id_column": options["ids"]}
    n_entries = options["entries"] or 100
    n_questions = write_queue(model, data or "-", output, n_entries=n_entries, **queue_options)
    if output != "-":
        click.echo(f"Wrote {output}: {plural(n_questions, 'question')}.", err=True)


def _check_form(output: str, form: str | None, review: bool) -> str:
    """Return the output format, checked before any work is done."""
    if output != "-":
        check_target(output)
    form = target_format(output, form, table=True)
    if review and (form != "csv" or delimiter_of(output) != ","):
        raise ValueError(f"--review writes a CSV file: end {output} with .csv.")
    return form


def _write_records(
    output: str, row_names: list[Any], answers: Iterator[list[dict[str, Any]]], *, is_array: bool
) -> None:
    """Write the answers as JSON, one record a line."""
    records = ({"row": name, "labels": row} for name, row in zip(row_names, answers, strict=True))
    json_records = (json.dumps(record, ensure_ascii=False) for record in records)
    with open_output(output) as output_file:
        if is_array:
            output_file.write("[\n" + ",\n".join(json_records) + "\n]\n")
        else:
            output_file.writelines(f"{json_record}\n" for json_record in json_records)


def _refuse_unused_options(one_text: str | None, form: str | None, options: dict[str, Any]) -> None:
    """Refuse options that have no effect beside the others."""
    if options["keep"]:
        refuse_options("--keep keeps every column", "ids")
    if options["as_json"] and form not in (None, "jsonl"):
        raise ValueError(f"--json is --format jsonl: leave it out, or --format {form}.")
    if one_text is not None:
        refuse_options("One text is no file of rows", "ids", "vectors")
    if options["scores"]:
        refuse_options("--scores takes the place of probabilities", "probabilities")
    if options["review"]:
        answer_options = ("top", "probabilities", "scores", "keep", "wide", "as_json")
        refuse_options("--review writes questions, not answers", *answer_options)
    else:
        refuse_options("There is no queue without --review", "entries", "group")


def _read_model_and_rows(
    model: str, data: str | None, one_text: str | None, options: dict[str, Any]
) -> tuple[Any, Any, dict[str, list[Any]], str | None]:
    """Return the model, its input rows, the data columns to write beside the answers, and their delimiter."""
    from hyperlabel.tabular.model_file import open_model, read_columns, read_with_cells

    id_column, keeps_columns = options["ids"], options["keep"]
    with show_step(f"loading {model}"):
        file = (None if one_text is None else _open_plain_model(model, read_columns(model))) or open_model(
            model
        )
    if one_text is not None:
        file.columns.need_text_only()
        return file, [one_text], {"text": [one_text]} if keeps_columns else {"row": ["1"]}, None
    with show_step(f"reading {data}"):
        dataset, table_cells = read_with_cells(
            str(data), file.columns, ids=id_column, cells=keeps_columns, vectors=options["vectors"]
        )
    if keeps_columns:
        return file, file.columns.inputs(dataset), table_cells.columns, table_cells.delimiter
    row_names = (
        [str(i + 1) for i in range(len(dataset))] if id_column is None else [str(v) for v in dataset.groups]
    )
    return file, file.columns.inputs(dataset), {"row": row_names}, None


def _open_plain_model(model: str, columns: Any) -> Any:
    """Return what answers one text without scikit-learn; None where the whole model is needed."""
    from hyperlabel.tabular.model_file import open_plain

    plain_model = open_plain(model, columns)
    if plain_model is None or plain_model.thresholds is None:
        return None

    def answer(texts: list[str], *, probabilities: bool) -> Any:
        scores = plain_model.scores(texts)
        return SimpleNamespace(
            label_sets=plain_model.predict(texts),
            is_known=plain_model.knows(texts),
            values=plain_model.calibrate(scores) if probabilities else scores,
            scores=scores,
            sources=plain_model.sources(len(texts)),
        )

    return SimpleNamespace(columns=columns, answer=answer, has_probabilities=True)


def _choose_values(file: Any, options: dict[str, Any]) -> str:
    """Return what stands beside each label: its probability where the model has such, else its score."""
    if options["scores"]:
        return "score"
    if file.has_probabilities:
        return "probability"
    if options["probabilities"]:
        from hyperlabel.tabular.review_queue import review_probabilities

        review_probabilities(file, [])  # says how to get them
    click.echo(
        "Scores order the labels of a row; this model has no probabilities (fit it with thresholds).",
        err=True,
    )
    return "score"


def n_rows(rows: Any) -> int:
    """Count rows of a list or a matrix."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _build_wide_columns(
    data_columns: dict[str, list[Any]],
    row_answers: Iterator[list[dict[str, Any]]],
    label_names: list[str],
    value_name: str | None,
) -> dict[str, list[Any]]:
    """Put a column for each label beside those of the data: its values, or 1 where predicted."""
    wide_columns = dict(data_columns)
    values_by_row = [
        {answer["label"]: answer[value_name] if value_name else 1 for answer in row_answer}
        for row_answer in row_answers
    ]
    for label_name in label_names:
        label_values = [
            row_values.get(label_name) if value_name else row_values.get(label_name, 0)
            for row_values in values_by_row
        ]
        wide_columns[_make_unused_name(label_name, wide_columns)] = label_values
    return wide_columns


def _build_answer_columns(
    data_columns: dict[str, list[Any]],
    row_answers: Iterator[list[dict[str, Any]]],
    columns: Any,
    form: str,
    value_name: str,
) -> dict[str, list[Any]]:
    """Put the answers beside the columns of the data; a name in use gets the suffix (predicted)."""
    from hyperlabel.datasets.writing import list_cells

    answer_columns, label_sets = dict(data_columns), []
    value_cells: list[Any] = []
    label_separator = columns.label_separator or ";"
    for row_answer in row_answers:
        label_sets.append([str(label_answer["label"]) for label_answer in row_answer])
        row_values = [label_answer[value_name] for label_answer in row_answer]
        value_text = label_separator.join(f"{value:.4f}" for value in row_values)
        value_cells.append(value_text if form == "csv" else row_values)
    joins_labels = form == "csv" and columns.label_separator
    label_cells = (
        [label_separator.join(label_set) for label_set in label_sets]
        if joins_labels
        else list_cells(label_sets, columns.label_names, form)
    )
    answer_columns[_make_unused_name("labels", answer_columns)] = label_cells
    value_title = "scores" if value_name == "score" else "probabilities"
    answer_columns[_make_unused_name(value_title, answer_columns)] = value_cells
    return answer_columns


def _make_unused_name(column_name: str, used_names: dict[str, Any]) -> str:
    while column_name in used_names:
        column_name += " (predicted)"
    return column_name


def write_table(
    output: str, columns: dict[str, list[Any]], form: str = "csv", delimiter: str | None = None
) -> None:
    """Write columns to stdout, or to a file that appears only once it is complete."""
    from hyperlabel.datasets.writing import write_columns

    if output == "-":
        sys.stdout.flush()
        write_columns(columns, sys.stdout.buffer, form, delimiter=delimiter or ",")
        sys.stdout.buffer.flush()
        return
    with opened(output) as output_file:
        write_columns(columns, output_file, form, delimiter=delimiter or delimiter_of(output))


def _iter_row_answers(
    file: Any, rows: Any, top: int | None, value_name: str
) -> Iterator[list[dict[str, Any]]]:
    """Yield the labels of each row, best first, a block of rows at a time."""
    import numpy as np

    label_names = file.columns.label_names
    unknown_rows: list[int] = []
    for block_start in range(0, n_rows(rows), _BLOCK):
        row_block = rows[block_start : block_start + _BLOCK]
        answers = file.answer(row_block, probabilities=value_name == "probability")
        unknown_rows += (block_start + 1 + np.flatnonzero(~answers.is_known)).tolist()
        sources = repeat(None) if answers.sources is None else answers.sources
        row_blocks = zip(answers.values, answers.scores, answers.label_sets, sources)  # noqa: B905
        for row_values, row_scores, is_predicted, row_sources in row_blocks:
            label_order = np.lexsort((-row_scores, -row_values))  # scores order labels of one probability
            label_order = label_order[:top] if top is not None else label_order[is_predicted[label_order]]
            yield [
                {
                    "label": label_names[j],
                    value_name: round(float(row_values[j]), 6),
                    "predicted": bool(is_predicted[j]),
                    **({} if row_sources is None else {"source": str(row_sources[j])}),
                }
                for j in label_order
            ]
    if unknown_rows:
        verb = "has" if len(unknown_rows) == 1 else "have"
        say(
            f"Warning: {plural(len(unknown_rows), 'row')} {verb} no word the model knows, so no label is "
            f"predicted there: row {some_names(list(map(str, unknown_rows)))}."
        )

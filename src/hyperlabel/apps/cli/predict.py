"""``hyperlabel predict``: labels with scores for new rows, as CSV or JSON lines."""

import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import click

from hyperlabel._files import opened
from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._input import check_target, output_option, refuse_options, vectors_option
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.datasets.writing import output_kind
from hyperlabel.tabular.table_io import TABLE_KINDS, delimiter_of, need_data, need_model, open_output
from hyperlabel.tabular.wording import plural

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
@click.option("--probabilities", is_flag=True, help="Calibrated probabilities in place of scores.")
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
    "with --probabilities its probability.",
)
@output_option("output", "-", "The file to write; - is stdout.")
@click.option(
    "--format",
    "form",
    type=click.Choice([*TABLE_KINDS, "json"]),
    help="Given by --output's ending. [default: csv]",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")
def predict(
    model: str, data: str | None, one_text: str | None, output: str, form: str | None, **options: Any
) -> None:
    """Predict the labels of DATA with MODEL; - reads stdin (CSV, JSON lines, or a text per line).

    CSV has the columns row, labels and scores, the last two separated by the marks of the training file;
    JSON lines list {"label", "score", "predicted"} for each row, and json is one array of these. Scores order
    labels; predicted says which passed the model's threshold. With --keep or --wide the answer is a table,
    in every format.

    --review writes a queue instead: one question a line (does this row have this label?), the one whose
    answer raises the expected F1 most first, labels guaranteed by fit --precision never among them. Answer it
    in the column answer (yes or no). To let hyperlabel update MODEL QUEUE learn the row, write all its labels
    into the column labels (- for none), which starts empty: a guess of the model is never learned.
    """
    if (data is None) == (one_text is None):
        raise ValueError("Name a file to predict (- for stdin), or one text with --text.")
    _refuse_unused(one_text, form, options)
    form = _checked_form(output, "jsonl" if options["as_json"] else form, options["review"])
    need_model(model)
    need_data(data)
    if options["review"]:
        from hyperlabel.tabular.review_queue import write_queue

        write_queue(model, data, output, options["entries"] or 100, options["group"], options["ids"])
        return
    plain = one_text is not None and not options["probabilities"]
    file, rows, kept, mark = _read_model_and_rows(model, data, one_text, plain, options)
    with show_step("predicting"):
        probabilities, wide = options["probabilities"], options["wide"]
        top = len(file.columns.label_names) if probabilities and wide else None
        answers = _row_answers(file, rows, options["top"] or top, probabilities)
        if wide:
            found = _wide_columns(kept, answers, file.columns.label_names, probabilities)
            write_table(output, found, form, delimiter_of(output, mark))
        elif form in ("jsonl", "json") and not options["keep"]:
            _write_records(output, kept["row"], answers, is_array=form == "json")
        else:
            write_table(
                output, _answer_columns(kept, answers, file.columns, form), form, delimiter_of(output, mark)
            )
    if output != "-":
        click.echo(f"Wrote {output}: {plural(n_rows(rows), 'row')}.", err=True)


def _checked_form(output: str, form: str | None, review: bool) -> str:
    """Return what to write, before any work is done."""
    if output != "-":
        check_target(output)
    form = output_kind(output, form)
    if review and (form != "csv" or delimiter_of(output) != ","):
        raise ValueError(f"--review writes a CSV file: end {output} with .csv.")
    return form


def _write_records(
    output: str, keys: list[Any], answers: Iterator[list[dict[str, Any]]], *, is_array: bool
) -> None:
    """Write the answers as JSON, one record a line."""
    records = ({"row": key, "labels": row} for key, row in zip(keys, answers, strict=True))
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    with open_output(output) as out:
        if is_array:
            out.write("[\n" + ",\n".join(lines) + "\n]\n")
        else:
            out.writelines(f"{line}\n" for line in lines)


def _refuse_unused(one_text: str | None, form: str | None, options: dict[str, Any]) -> None:
    """Refuse options that others make void."""
    if options["keep"]:
        refuse_options("--keep keeps every column", "ids")
    if options["as_json"] and form not in (None, "jsonl"):
        raise ValueError(f"--json is --format jsonl: leave it out, or --format {form}.")
    if one_text is not None:
        refuse_options("One text is no file of rows", "ids", "vectors")
    if options["review"]:
        void = ("top", "probabilities", "keep", "wide", "as_json")
        refuse_options("--review writes questions, not answers", *void)
    else:
        refuse_options("There is no queue without --review", "entries", "group")


def _read_model_and_rows(
    model: str, data: str | None, one_text: str | None, plain: bool, options: dict[str, Any]
) -> tuple[Any, Any, dict[str, list[Any]], str | None]:
    """Return the model, the rows it takes, the columns that stand beside its answers, and their mark."""
    from hyperlabel.tabular.model_file import open_model, read_columns, read_with_cells

    ids, keep = options["ids"], options["keep"]
    with show_step(f"loading {model}"):
        file = (_plain_model(model, read_columns(model)) if plain else None) or open_model(model)
    if one_text is not None:
        file.columns.need_text_only()
        return file, [one_text], {"text": [one_text]} if keep else {"row": ["1"]}, None
    with show_step(f"reading {data}"):
        table, cells = read_with_cells(
            str(data), file.columns, ids=ids, cells=keep, vectors=options["vectors"]
        )
    if keep:
        return file, file.columns.inputs(table), cells.columns, cells.delimiter
    keys = [str(i + 1) for i in range(len(table))] if ids is None else [str(v) for v in table.groups]
    return file, file.columns.inputs(table), {"row": keys}, None


def _plain_model(model: str, columns: Any) -> Any:
    """Return what answers one text without scikit-learn; None where the whole model is needed."""
    from hyperlabel.tabular.model_file import open_plain

    found = open_plain(model, columns)
    if found is None or found.thresholds is None:
        return None
    return SimpleNamespace(columns=columns, scores=found.scores, predict=found.predict)


def n_rows(rows: Any) -> int:
    """Count rows of a list or a matrix."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _wide_columns(
    kept: dict[str, list[Any]],
    answers: Iterator[list[dict[str, Any]]],
    label_names: list[str],
    probabilities: bool,
) -> dict[str, list[Any]]:
    """Put a column for each label beside the columns kept: its probabilities, or 1 where it is given."""
    table = dict(kept)
    rows = [{one["label"]: one["score"] for one in row} for row in answers]
    for label in label_names:
        cells = [row.get(label) if probabilities else int(label in row) for row in rows]
        table[_unused_name(label, table)] = cells
    return table


def _answer_columns(
    kept: dict[str, list[Any]], answers: Iterator[list[dict[str, Any]]], columns: Any, form: str
) -> dict[str, list[Any]]:
    """Put the answers beside the columns kept; a name that is taken says that it is predicted."""
    from hyperlabel.datasets.writing import list_cells

    table, names = dict(kept), []
    scores: list[Any] = []
    mark = columns.label_separator or ";"
    for row in answers:
        names.append([str(one["label"]) for one in row])
        found = [one["score"] for one in row]
        scores.append(mark.join(f"{value:.4f}" for value in found) if form == "csv" else found)
    plain = form == "csv" and columns.label_separator
    listed = [mark.join(row) for row in names] if plain else list_cells(names, columns.label_names, form)
    table[_unused_name("labels", table)] = listed
    table[_unused_name("scores", table)] = scores
    return table


def _unused_name(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += " (predicted)"
    return name


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
    with opened(output) as file:
        write_columns(columns, file, form, delimiter=delimiter or delimiter_of(output))


def _row_answers(
    file: Any, rows: Any, top: int | None, probabilities: bool
) -> Iterator[list[dict[str, Any]]]:
    """Labels of each row, best first, a block of rows at a time."""
    import numpy as np

    from hyperlabel.tabular.review_queue import review_probabilities as calibrated

    label_names = file.columns.label_names
    for start in range(0, n_rows(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        scores, sets = calibrated(file, part) if probabilities else file.scores(part), file.predict(part)
        for row, chosen in zip(scores, sets, strict=True):
            if top is not None:
                best = np.argsort(-row, kind="stable")[:top]
            else:
                found = np.flatnonzero(chosen)
                best = found[np.argsort(-row[found], kind="stable")]
            yield [
                {"label": label_names[j], "score": round(float(row[j]), 6), "predicted": bool(chosen[j])}
                for j in best
            ]

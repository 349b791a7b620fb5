"""``hyperlabel predict``: labels with scores for new rows, as CSV or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from hyperlabel._files import replacing
from hyperlabel.cli._config import config_option

_BLOCK = 4096  # rows scored at a time


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@config_option
@click.option("--text", "one_text", help="Label this text instead of a file.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help="The K best labels of each row, best first. [default: those predicted]",
)
@click.option("--id", "ids", help="A column of DATA to name rows by; by default they are numbered from 1.")
@click.option("-o", "--output", default="-", show_default=True, help="The file to write; - is stdout.")
@click.option(
    "--format", "form", type=click.Choice(["csv", "jsonl"]), help="Told by --output's ending. [default: csv]"
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")
def predict(
    model: str,
    data: str | None,
    one_text: str | None,
    top: int | None,
    ids: str | None,
    output: str,
    form: str | None,
    as_json: bool,
) -> None:
    """Predict the labels of DATA with MODEL; - reads stdin (CSV, JSON lines, or a text per line).

    CSV has the columns row, labels and scores, the last two separated by the marks of the training file;
    JSON lines list {"label", "score", "predicted"} for each row. Scores order labels; predicted says which
    passed the model's cut.
    """
    from hyperlabel.cli._model import open_model, read_rows
    from hyperlabel.cli._progress import step

    if (data is None) == (one_text is None):
        raise ValueError("Name a file to predict (- for stdin), or one text with --text.")
    with step(f"loading {model}"):
        file = open_model(model)
    if one_text is not None:
        if not file.columns.text_only:
            raise ValueError("--text needs a model fitted on text alone: give a file with all its columns.")
        rows, keys = [one_text], ["1"]
    else:
        with step(f"reading {data}"):
            table = read_rows(str(data), file.columns, labelled=False, ids=ids)
        rows = file.columns.inputs(table)
        keys = [str(i + 1) for i in range(len(table))] if ids is None else [str(v) for v in table.groups]
    form = "jsonl" if as_json else form or ("jsonl" if output.endswith((".jsonl", ".ndjson")) else "csv")
    with written(output) as out, step("predicting"):
        answers = _answers(file, rows, top)
        if form == "jsonl":
            for key, found in zip(keys, answers, strict=True):
                out.write(json.dumps({"row": key, "labels": found}, ensure_ascii=False) + "\n")
        else:
            _write_csv(out, keys, answers, file.columns.label_separator or ";")
    if output != "-":
        click.echo(f"Wrote {output}: {len(keys)} rows.", err=True)


def _answers(file: Any, rows: Any, top: int | None) -> Iterator[list[dict[str, Any]]]:
    """Labels of each row, best first, a block of rows at a time."""
    import numpy as np

    label_names = file.columns.label_names
    for start in range(0, len(rows) if not hasattr(rows, "shape") else rows.shape[0], _BLOCK):
        part = rows[start : start + _BLOCK]
        scores, sets = file.scores(part), file.predict(part)
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


def _write_csv(out: TextIO, keys: list[str], answers: Iterator[list[dict[str, Any]]], mark: str) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "labels", "scores"])
    for key, found in zip(keys, answers, strict=True):
        labels = mark.join(str(one["label"]) for one in found)
        writer.writerow([key, labels, mark.join(f"{one['score']:.4f}" for one in found)])


@contextmanager
def written(output: str) -> Iterator[Any]:
    """Open stdout, or a file that appears only once it is complete."""
    if output == "-":
        yield sys.stdout
        return
    with replacing(output) as file:
        out = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield out
        finally:
            out.detach()

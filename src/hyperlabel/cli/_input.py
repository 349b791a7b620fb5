"""Reading data for commands: one set of options, and warnings as single lines on stderr."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

_OPTIONS = [
    click.option(
        "--labels",
        help="Tables: the column that lists the labels of a row, or several 0/1 columns; "
        "ARFF: their names, a Mulan XML file or a count (-6: the last six).",
    ),
    click.option("--label-column", help="Tables: the same as --labels for a column that lists them."),
    click.option("--label-separator", help="Tables: what separates them (any of ; , | by default)."),
    click.option("--features", help="Tables: the columns of numbers to use, separated by commas."),
    click.option("--text", help="Tables: the columns of raw text, separated by commas."),
    click.option("--group", help="Tables: the column of groups that must stay together."),
    click.option("--time", help="Tables: the column of times."),
    click.option(
        "--nominal", type=click.Choice(["drop", "onehot"]), help="ARFF: what to do with word columns."
    ),
]
_KNOWN = {
    "arff": {"labels", "nominal"},
    "table": {"labels", "label_column", "label_separator", "features", "text", "group", "time"},
}


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read a data file."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_file(path: str, options: dict[str, str | None]) -> Any:
    """Read a data set; ``debtags`` stands for the embedded one."""
    from hyperlabel.datasets import load_debtags, read_data

    if path == "debtags" and not Path(path).exists():
        return load_debtags()
    with plain_warnings():
        return read_data(path, **reader_options(path, options))


def stream_file(path: str, options: dict[str, str | None], chunk_rows: int) -> Iterator[Any]:
    """Read a data set in chunks."""
    from hyperlabel.datasets import iter_data

    with plain_warnings():
        yield from iter_data(path, chunk_rows=chunk_rows, **reader_options(path, options))


def reader_options(path: str, options: dict[str, str | None]) -> dict[str, Any]:
    """Turn options as typed into those of the reader of the file's format."""
    from hyperlabel.datasets import data_format

    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {path}: check the path (embedded data: debtags).")
    kind = data_format(path)
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    foreign = sorted(set(given) - _KNOWN.get(kind, set()))
    if foreign:
        raise ValueError(
            f"--{foreign[0].replace('_', '-')} does not apply to {Path(path).name} (read as {kind})."
        )
    labels = given.get("labels")
    if labels is not None and kind == "arff" and labels.lstrip("-").isdecimal():
        given["labels"] = int(labels)
    elif labels is not None and not (kind == "arff" and labels.lower().endswith(".xml")):
        given["labels"] = names(labels)
        listed = _list_column(path, kind, given)
        if listed is not None:
            del given["labels"]
            given["label_column"] = listed
    for key in ("features", "text"):
        if key in given:
            given[key] = names(given[key])
    return given


def _list_column(path: str, kind: str, given: dict[str, Any]) -> str | None:
    from hyperlabel.cli._columns import list_column

    return list_column(path, given["labels"]) if kind == "table" and "label_column" not in given else None


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings of the library as one line each on stderr, without the place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)

        def show(message: Any, *_: Any, **__: Any) -> None:
            click.echo(f"Warning: {message}", err=True)

        warnings.showwarning = show
        yield


def names(text: str) -> list[str]:
    """Split an option that lists names."""
    return [name.strip() for name in text.split(",") if name.strip()]

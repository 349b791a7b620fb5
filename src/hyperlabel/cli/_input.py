"""Reading data for commands: one set of options, and warnings as single lines on stderr."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click


def names(text: str) -> list[str]:
    """Split an option that lists names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def as_names(_: Any, __: Any, text: str | None) -> list[str] | None:
    """Callback of an option that lists names; '' lists none."""
    return None if text is None else names(text)


_OPTIONS: dict[str, dict[str, Any]] = {
    "labels": {
        "callback": as_names,
        "help": "Tables: the column that lists the labels of a row, or several 0/1 columns; "
        "ARFF: their names, a Mulan XML file or a count (-6: the last six).",
    },
    "label_column": {"help": "Tables: the same as --labels for a column that lists them."},
    "label_separator": {
        "help": "Tables: what separates them; '' takes cells whole. [default: ; | or , as found in the file]"
    },
    "features": {
        "callback": as_names,
        "help": "Tables: the columns of numbers, lists of numbers and categories, separated by commas.",
    },
    "text": {"callback": as_names, "help": "Tables: the columns of raw text, separated by commas."},
    "blank": {
        "type": click.Choice(["no", "unknown"]),
        "help": "Tables: what an empty cell of a 0/1 column means. [default: no, where the others are x]",
    },
    "normalise_labels": {
        "is_flag": True,
        "default": None,
        "help": "Join labels that differ only in case or blanks.",
    },
    "group": {"help": "Tables: the column of groups that must stay together; fit: '' lets rows stand alone."},
    "time": {"help": "Tables: the column of times."},
    "nominal": {"type": click.Choice(["drop", "onehot"]), "help": "ARFF: what to do with word columns."},
}
READING = tuple(_OPTIONS)
_KNOWN = {
    "arff": {"labels", "nominal"},
    "table": {"labels", "label_column", "label_separator", "features", "text", "blank", "group", "time"}
    | {"words"},
}


def output_option(name: str, default: str | None, text: str, **settings: Any) -> Any:
    """Return the option that names what a command writes, spelled alike in all of them."""
    shown = default is not None
    return click.option(
        "-o", "--output", "--out", name, default=default, show_default=shown, help=text, **settings
    )


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read a data file."""
    for name, settings in reversed(_OPTIONS.items()):
        command = click.option(f"--{name.replace('_', '-')}", **settings)(command)
    return command


def read_file(path: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Read a data set (``debtags`` is the embedded one); return it and the options as the file settled them.

    What the user left open about a table is found from it: its columns, what separates labels, and which
    column perhaps says what belongs together (``shared_labels``).
    """
    from hyperlabel.cli._identifiers import take_out_candidates
    from hyperlabel.cli._progress import step
    from hyperlabel.cli._rows import add_vectors, vectors_beside
    from hyperlabel.cli._variants import join_variants
    from hyperlabel.datasets import read_data
    from hyperlabel.datasets.table import TablePlan

    options = settled(path, options)
    given = reader_options(path, options)
    candidates = [name for name in options.get("group_candidates") or () if not options.get("group")]
    given |= {"words": [*dict.fromkeys([*given.get("words", ()), *candidates])]} if candidates else {}
    with step(f"reading {path}"), plain_warnings():
        plan = TablePlan(path, **given) if is_table(path) else None
        data = read_data(path, **given) if plan is None else plan.read()
        if options.get("normalise_labels"):
            data = join_variants(data)
        if plan is None:
            return data, options
        data, shared_labels = take_out_candidates(data, candidates, options.get("words") or ())
        if not options.get("chosen") and vectors_beside(path) is not None:
            data = add_vectors(data, path)
        found = {"label_separator": plan.label_separator, "features": plan.numbers}
        return data, options | found | {"shared_labels": shared_labels}


def load_file(path: str, options: dict[str, Any]) -> Any:
    """Read a data set, and say what separates its labels and what looks wrong about them."""
    return load_settled(path, options)[0]


def load_settled(path: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Read a data set as `load_file` does; return it and the options as the file settled them."""
    from hyperlabel.cli._columns import listing, warn_of_labels

    data, options = read_file(path, options)
    if options.get("label_column"):
        say(listing(options["label_column"], options["label_separator"]))
        warn_of_labels(data, options)
    return data, options


def stream_file(path: str, options: dict[str, Any], chunk_rows: int) -> Iterator[Any]:
    """Read a data set in chunks."""
    from hyperlabel.cli._columns import listing
    from hyperlabel.datasets import iter_data
    from hyperlabel.datasets.table import scan_labels

    given = reader_options(path, settled(path, options))
    with plain_warnings():
        if (column := given.get("label_column")) is not None:
            mark, found = scan_labels(path, column, given.get("label_separator"))
            given |= {"label_separator": mark or "", "label_names": found}
            say(listing(column, mark))
        yield from iter_data(path, chunk_rows=chunk_rows, **given)


def settled(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Fill in what was left open about the columns of a table."""
    from hyperlabel.cli._columns import guess_columns

    need_data(path)
    return guess_columns(path, options) if is_table(path) else options


def is_table(path: str) -> bool:
    """Tell whether a file is CSV, JSON lines or Parquet."""
    from hyperlabel.datasets import data_format

    return data_format(path) == "table"


def reader_options(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Turn options as typed into those of the reader of the file's format."""
    from hyperlabel.datasets import data_format

    kind = data_format(path)
    given = {key: value for key, value in options.items() if value is not None}
    for settled_elsewhere in ("normalise_labels", "chosen", "kinds", "group_candidates", "shared_labels"):
        given.pop(settled_elsewhere, None)
    if kind == "npz":  # which may hold both: '' takes the other one
        given = {key: value for key, value in given.items() if value != []}
    if foreign := sorted(set(given) - _KNOWN.get(kind, set())):
        raise ValueError(
            f"--{foreign[0].replace('_', '-')} does not apply to {Path(path).name} (read as {kind})."
        )
    if kind == "arff" and len(given.get("labels", ())) == 1:
        (only,) = given["labels"]
        if only.lstrip("-").isdecimal():
            given["labels"] = int(only)
        elif only.lower().endswith(".xml"):
            given["labels"] = only
    return given


def need_model(path: str) -> None:
    """Refuse a model file that is not there, before anything is imported to read it."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no model file {path}: make one with hyperlabel fit DATA -o {path}."
        )


def need_data(*paths: str | None) -> None:
    """Refuse data files that are not there; ``-`` is stdin, ``debtags`` the embedded data."""
    for path in paths:
        if path not in (None, "-", "debtags") and not Path(path).exists():
            raise FileNotFoundError(f"There is no file {path}: check the path (embedded data: debtags).")


def check_target(output: str) -> None:
    """Refuse a place that cannot be written to, before any work is done."""
    path = Path(output)
    if path.is_dir():
        raise ValueError(f"{output} is a folder: name a file to write to.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"There is no folder {path.parent} to write {path.name} to: make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"{output} cannot be written: choose another place.")


def say(text: str) -> None:
    """Write a line to stderr; a spinner that turns there is cleared first."""
    from hyperlabel.cli._progress import cleared
    from hyperlabel.cli._words import tell

    with cleared():
        tell(text, err=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings of the library as one line each on stderr, without the place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)

        def show(message: Any, *_: Any, **__: Any) -> None:
            say(f"Warning: {message}")

        warnings.showwarning = show
        yield

"""Reading data for commands: one set of options, and warnings as single lines on stderr."""

import csv
import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hyperlabel.tabular.table_io import is_table, need_data
from hyperlabel.tabular.training_table import read_file, reader_options, settle_columns


def split_names(text: str) -> list[str]:
    """Split an option that lists names, on one line or several; quotes hold a name with commas together."""
    lines = csv.reader(io.StringIO(text), skipinitialspace=True)
    return [stripped_name for names in lines for name in names if (stripped_name := name.strip())]


def as_names(_: Any, __: Any, text: str | None) -> list[str] | None:
    """Callback of an option that lists names; '' lists none."""
    return None if text is None else split_names(text)


_OPTIONS: dict[str, dict[str, Any]] = {
    "labels": {
        "callback": as_names,
        "help": "Tables: the column that lists the labels of a row, or several 0/1 columns (-19: the last "
        "19; A:S: from one to another); ARFF: their names, a Mulan XML file or a count (-6: the last six).",
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
    "decimal": {
        "type": click.Choice([",", "."]),
        "help": "Tables: what separates decimals. [default: . and where ; separates columns , too]",
    },
    "vectors": {
        "multiple": True,
        "help": "Tables: an npy or npz file of vectors, one a row, as further features; once for each file.",
    },
    "unreadable": {
        "type": click.Choice(["refuse", "missing"]),
        "help": "Tables: what becomes of cells that are no numbers where numbers stand. [default: refuse]",
    },
    "blank": {
        "type": click.Choice(["no", "missing"]),
        "help": "Tables: what an empty cell of a 0/1 column means. [default: no, where the others are x]",
    },
    "normalise_labels": {
        "is_flag": True,
        "default": None,
        "help": "Join labels that differ only in case or blanks.",
    },
    "group": {"help": "Tables: the column of groups that must stay together; fit: '' lets rows stand alone."},
    "time": {
        "help": "Tables: the column of times (numbers or dates): later rows are scored by earlier ones."
    },
    "nominal": {"type": click.Choice(["drop", "onehot"]), "help": "ARFF: what to do with word columns."},
}
READING = tuple(_OPTIONS)


class StrategyType(click.ParamType):
    """A strategy of thresholds without a guarantee, or a word of the command's own.

    Looked up when a command runs or shows its help: they take time to import.
    """

    name = "strategy"

    def __init__(self, *words: str) -> None:
        self.words = words

    def choice(self) -> click.Choice:
        """Return all there are to choose from."""
        from hyperlabel.decision.strategies import STRATEGIES

        names = [name for name, strategy in STRATEGIES.items() if not strategy.guarantees]
        return click.Choice([*names, *self.words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        is_default = param is not None and value == param.default
        return value if is_default or value in self.words else self.choice().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self.choice().get_metavar(param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        return self.choice().shell_complete(ctx, param, incomplete)


MODEL_FILE = (".hyper",)
PAGE = (".html", ".htm")


def output_option(name: str, default: str | None, text: str, **settings: Any) -> Any:
    """Return the option that names what a command writes, spelled alike in all of them."""
    if default is not None:  # None would count as given where the option is required
        settings |= {"default": default, "show_default": True}
    return click.option("-o", "--output", "--out", name, help=text, **settings)


def vectors_option(text: str, **settings: Any) -> Any:
    """Return the option that names the vectors of rows, for commands that read them for a model."""
    return click.option("--vectors", help=f"{text}, where the model was fitted with such.", **settings)


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read a data file."""
    return input_options_without()(command)


def input_options_without(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that say how to read a data file, but for those a command has no use for."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, settings in reversed(_OPTIONS.items()):
            if name not in names:
                command = click.option(f"--{name.replace('_', '-')}", **settings)(command)
        return command

    return add


def load_file(path: str, options: dict[str, Any]) -> Any:
    """Read a data set, and say what separates its labels and what looks wrong about them."""
    return load_settled(path, options)[0]


def load_settled(path: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Read a data set as `load_file` does; return it and the options as the file settled them."""
    from hyperlabel.tabular.column_types import describe_label_column, warn_of_labels

    dataset, options = read_file(path, options)
    if options.get("label_column"):
        say(describe_label_column(options["label_column"], options["label_separator"]))
        warn_of_labels(dataset, options)
    return dataset, options


def stream_file(path: str, options: dict[str, Any], chunk_rows: int) -> Iterator[Any]:
    """Read a data set in chunks."""
    from hyperlabel.datasets import iter_data
    from hyperlabel.datasets.table import scan_labels
    from hyperlabel.datasets.table_sources import TableRows
    from hyperlabel.tabular.column_types import describe_label_column

    refuse_options("Shards are written as the rows are read", "vectors", "normalise_labels")
    need_data(path)
    settled_options = settle_columns(TableRows(path), options) if is_table(path) else options
    file_options = reader_options(path, settled_options)
    with plain_warnings():
        if (label_column := file_options.get("label_column")) is not None:
            label_separator, label_names = scan_labels(
                path, label_column, file_options.get("label_separator")
            )
            file_options |= {"label_separator": label_separator or "", "label_names": label_names}
            say(describe_label_column(label_column, label_separator))
        yield from iter_data(path, chunk_rows=chunk_rows, **file_options)


def named_options(*names: str) -> list[str]:
    """Return those of the options that the user gave, as they are typed: what cannot matter is refused."""
    context = click.get_current_context()
    default_source = click.core.ParameterSource.DEFAULT
    parameters = [p for p in context.command.params if p.name in names]
    return [
        _format_option_name(p)
        for p in parameters
        if context.get_parameter_source(str(p.name)) is not default_source
    ]


def refuse_options(reason: str, *names: str) -> None:
    """Refuse options that would play no part, for the reason named."""
    if unused_options := named_options(*names):
        raise ValueError(f"{reason}: leave {unused_options[0]} out.")


def _format_option_name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=lambda spelling: spelling.startswith("--"))


def check_target(output: str, endings: Sequence[str] = (), *, makes_folder: bool = False) -> None:
    """Refuse a place that cannot be written to, or an ending of something else, before any work is done."""
    output_path = Path(output)
    if endings and output_path.suffix and output_path.suffix.lower() not in endings:
        raise ValueError(f"{output_path.name} cannot be written: end it with {' or '.join(endings)}.")
    if output_path.is_dir():
        raise ValueError(f"{output} is a folder: name a file to write to.")
    folder = output_path.resolve().parent
    if makes_folder and not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(
            f"There is no folder {output_path.parent} to write {output_path.name} to: make it first."
        )
    if not os.access(output_path if output_path.exists() else folder, os.W_OK):
        raise ValueError(f"{output} cannot be written: choose another place.")


def say(text: str) -> None:
    """Write a line to stderr; a spinner that turns there is cleared first."""
    from hyperlabel.apps.cli._output import tell
    from hyperlabel.apps.cli._progress import spinner_cleared

    with spinner_cleared():
        tell(text, err=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings of the library as one line each on stderr, without the place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)

        def show_warning(message: Any, *_: Any, **__: Any) -> None:
            say(f"Warning: {message}")

        warnings.showwarning = show_warning
        yield

"""The command line: ``hyperlabel COMMAND …``; commands import their work when they run."""

import csv
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from hyperlabel import __version__
from hyperlabel.apps.cli._input import plain_warnings

# command → help line; the module of its name is imported only when it runs.
_COMMANDS: dict[str, str] = {
    "fit": "Fit a model on your file and write it to a model file.",
    "predict": "Predict labels, with scores, for new rows.",
    "evaluate": "Measure a model on labelled rows.",
    "explain": "Show the features behind a score.",
    "update": "Merge or forget rows; add, drop or rename labels.",
    "demo": "Train the methods on the embedded data and compare them.",
    "compare": "Compare methods on your data and write a report.",
    "report": "Write the page of a model, or a comparison again.",
    "serve": "Serve models over HTTP, as Annif does.",
    "data": "Look at data files, convert, split and compare them.",
    "doctor": "Check this installation.",
}


RESUMES = "Finished results are kept: the same command goes on where it stopped."
_KEPT = {"compare": RESUMES}
_NOTHING_KEPT = "No file was changed: run the same command to start again."


# What people type who know other tools, and commands of `hyperlabel data`.
_OTHER_NAMES = {
    **{name: f"data {name}" for name in ("info", "convert", "split", "drift", "label-errors")},
    **{
        "suspects": "data label-errors",
        "train": "fit",
        "learn": "fit",
        "test": "evaluate",
        "score": "evaluate",
    },
    **{"label": "predict", "suggest": "predict", "tag": "predict", "describe": "data info"},
}


def _suggest_command(name: str) -> str:
    """Ask whether a command was meant."""
    from difflib import get_close_matches

    matches = get_close_matches(name.lower(), [*_OTHER_NAMES, *_COMMANDS], n=1)
    if not matches:
        return f": there are {', '.join(_COMMANDS)}"
    return f" (did you mean 'hyperlabel {_OTHER_NAMES.get(matches[0], matches[0])}'?)"


def _sentence(error: ValueError | OSError | csv.Error) -> str:
    """Return what is wrong, without the number of the operating system's error."""
    if isinstance(error, OSError) and error.strerror is not None and error.filename is not None:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}."
    return str(error)


@contextmanager
def plain_errors(ctx: click.Context, state: Callable[[], str]) -> Iterator[None]:
    """End bad input in one sentence and exit code 2, never in a traceback; `state` is said after Ctrl-C."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the pipe has seen enough: click ends quietly
    except KeyboardInterrupt:
        click.echo(f"Stopped. {state()}", err=True)
        ctx.exit(130)
    except (ValueError, OSError, csv.Error) as error:
        raise click.UsageError(_sentence(error), ctx=None) from error


class LazyGroup(click.Group):
    """A click group that knows its commands by name and help line, and imports them on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the table."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return one command."""
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"hyperlabel.apps.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; of a misspelt one say which was perhaps meant."""
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            suggestion = _suggest_command(args[0])
            raise click.UsageError(f"There is no command {args[0]!r}{suggestion}.", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; bad input ends in one sentence and exit code 2, never in a traceback."""
        with (
            plain_errors(ctx, lambda: _KEPT.get(str(ctx.invoked_subcommand), _NOTHING_KEPT)),
            plain_warnings(),
        ):
            return super().invoke(ctx)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="hyperlabel")
def main() -> None:
    """Multi-label learning: train, compare and ship models from the command line."""

"""Progress of a long run on stderr: a bar on a terminal, nothing when piped."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cell_progress(title: str, total: int) -> Iterator[Any]:
    """Give a callback for `hyperlabel.apps.comparison.run` that moves a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)

        def move(done: int, total: int, failed: int, spec: dict[str, Any]) -> None:
            what = " ".join(str(spec[key]) for key in ("data", "method") if key in spec)
            note = f" ({failed} failed)" if failed else ""
            bar.update(task, completed=done, total=total, description=f"{title}: {what}{note}")

        yield move


_turning: list[Any] = []  # the spinner on the terminal, if one turns


@contextmanager
def show_step(title: str) -> Iterator[None]:
    """Show what is under way, with a spinner, while it lasts; nothing of it stays."""
    import sys

    if not sys.stderr.isatty():  # before rich is imported
        yield
        return
    if _turning:  # a stage of a stage: one spinner tells of both
        before = _turning[-1].status
        _turning[-1].update(title)
        yield
        _turning[-1].update(before)
        return
    from rich.console import Console

    status = Console(stderr=True).status(title)
    with status:
        _turning.append(status)
        try:
            yield
        finally:
            _turning.remove(status)


@contextmanager
def spinner_cleared() -> Iterator[None]:
    """Take the spinner away while a line is written."""
    for status in _turning:
        status.stop()
    yield
    for status in _turning:
        status.start()

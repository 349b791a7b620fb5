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
    bar_columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *bar_columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress_bar:
        task = progress_bar.add_task(title, total=total)

        def move_bar(done: int, total: int, failed: int, spec: dict[str, Any]) -> None:
            job_name = " ".join(str(spec[key]) for key in ("data", "method") if key in spec)
            failure_note = f" ({failed} failed)" if failed else ""
            progress_bar.update(
                task, completed=done, total=total, description=f"{title}: {job_name}{failure_note}"
            )

        yield move_bar


_active_spinners: list[Any] = []  # the spinner on the terminal, if one turns


@contextmanager
def show_step(title: str) -> Iterator[None]:
    """Show what is under way, with a spinner, while it lasts; nothing of it stays."""
    import sys

    if not sys.stderr.isatty():  # before rich is imported
        yield
        return
    if _active_spinners:  # a stage of a stage: one spinner shows both
        outer_title = _active_spinners[-1].status
        _active_spinners[-1].update(title)
        yield
        _active_spinners[-1].update(outer_title)
        return
    from rich.console import Console

    status = Console(stderr=True).status(title)
    with status:
        _active_spinners.append(status)
        try:
            yield
        finally:
            _active_spinners.remove(status)


@contextmanager
def spinner_cleared() -> Iterator[None]:
    """Take the spinner away while a line is written."""
    for status in _active_spinners:
        status.stop()
    yield
    for status in _active_spinners:
        status.start()

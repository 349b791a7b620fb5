"""One line on a terminal: rows done, rate, time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hyperlabel.outofcore._sources import Source


@contextmanager
def row_counter(
    title: str, source: Source, n_done: int, is_visible: bool | None
) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts rows and shows progress if `is_visible` (None: on a terminal)."""
    if not (sys.stderr.isatty() if is_visible is None else is_visible):
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeRemainingColumn

    total_text = f" of {'' if source.exact else 'about '}{source.n_rows:,}" if source.n_rows else ""
    text_column = TextColumn(
        f"{title}: {{task.completed:,.0f}}{total_text} rows, {{task.fields[rate]:,.0f}} rows/s"
    )
    with Progress(
        text_column, TimeRemainingColumn(), TextColumn("left"), console=Console(stderr=True)
    ) as progress_bar:
        task_id = progress_bar.add_task(title, total=source.n_rows, completed=n_done, rate=0.0)
        yield lambda rows: progress_bar.update(task_id, advance=rows, rate=progress_bar.tasks[0].speed or 0.0)

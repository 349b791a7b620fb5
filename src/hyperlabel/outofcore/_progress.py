"""One line on a terminal: rows done, rate, time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hyperlabel.outofcore._sources import Source


@contextmanager
def row_counter(title: str, source: Source, done: int, shown: bool | None) -> Iterator[Callable[[int], None]]:
    """Give a function that counts rows and says how it goes; silent unless `shown` (None: on a terminal)."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeRemainingColumn

    of = f" of {'' if source.exact else 'about '}{source.n_rows:,}" if source.n_rows else ""
    said = TextColumn(f"{title}: {{task.completed:,.0f}}{of} rows, {{task.fields[rate]:,.0f}} rows/s")
    with Progress(said, TimeRemainingColumn(), TextColumn("left"), console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=source.n_rows, completed=done, rate=0.0)
        yield lambda rows: bar.update(task, advance=rows, rate=bar.tasks[0].speed or 0.0)

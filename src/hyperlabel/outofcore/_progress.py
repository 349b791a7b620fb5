"""One line on a terminal: rows done, rate, time left."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Counts rows and says how it goes; silent unless `shown` (default: when the stream is a terminal)."""

    def __init__(
        self,
        title: str,
        *,
        total: int | None = None,
        exact: bool = True,
        done: int = 0,
        shown: bool | None = None,
        stream: TextIO | None = None,
        every: float = 0.5,
    ) -> None:
        self.title, self.total, self.done, self.every = title, total, done, every
        self.about = "" if exact else "about "
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream.isatty() if shown is None else shown
        self._first, self._started, self._said = done, time.monotonic(), 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.shown and self._said:
            self._say()
            self.stream.write("\n")

    def update(self, rows: int) -> None:
        """Count rows that are done."""
        self.done += rows
        if self.shown and time.monotonic() - self._said >= self.every:
            self._said = time.monotonic()
            self._say()

    def _say(self) -> None:
        seconds = max(time.monotonic() - self._started, 1e-9)
        rate = (self.done - self._first) / seconds
        of = f" of {self.about}{self.total:,}" if self.total else ""
        left = f", {_clock((self.total - self.done) / rate)} left" if self.total and rate else ""
        line = f"{self.title}: {self.done:,}{of} rows, {rate:,.0f} rows/s{left}"
        self.stream.write(f"\r{line:<78}")
        self.stream.flush()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(max(seconds, 0.0)), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"

"""Seconds and peak memory of a piece of work."""

from __future__ import annotations

import time
from typing import Any


class Meter:
    """Measure the block it surrounds: ``seconds`` and ``peak_mb`` above the start.

    Memory is the growth of the process's resident high-water mark, which Linux lets a process reset; it sees
    compiled code and BLAS, which Python's own tracers do not. Elsewhere it is None: better than guessed.
    """

    seconds: float = 0.0
    peak_mb: float | None = None

    def __enter__(self) -> Meter:
        self._before = _reset_peak()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: Any) -> None:
        self.seconds = time.perf_counter() - self._start
        if self._before is not None:
            self.peak_mb = max(0.0, _read_status_mb("VmHWM") - self._before)


def _reset_peak() -> float | None:
    try:
        with open("/proc/self/clear_refs", "w") as refs_file:
            refs_file.write("5")
        return _read_status_mb("VmRSS")
    except OSError:
        return None


def _read_status_mb(field: str) -> float:
    with open("/proc/self/status") as status_file:
        return next(
            int(status_line.split()[1]) / 1024.0
            for status_line in status_file
            if status_line.startswith(f"{field}:")
        )

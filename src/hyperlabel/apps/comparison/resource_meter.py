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
            self.peak_mb = max(0.0, _status_mb("VmHWM") - self._before)


def _reset_peak() -> float | None:
    try:
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        return _status_mb("VmRSS")
    except OSError:
        return None


def _status_mb(field: str) -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024.0 for line in status if line.startswith(f"{field}:"))

"""Seconds and peak memory of a piece of work."""

from __future__ import annotations

import time
from typing import Any

_STATUS = "/proc/self/status"
_RESET = "/proc/self/clear_refs"


class Meter:
    """Measure the block it surrounds: ``seconds`` and ``peak_mb`` above the start.

    Memory is the growth of the process's resident high-water mark, which Linux lets a process
    reset; it sees compiled code and BLAS, which Python's own tracers do not, and costs nothing
    while the work runs. Elsewhere ``peak_mb`` is None: not measured is better than guessed.

    Examples
    --------
    >>> from hyperlabel.experiments.measure import Meter
    >>> with Meter() as meter:
    ...     _ = sum(range(1000))
    >>> meter.seconds >= 0
    True
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
            peak = _status_mb("VmHWM")
            self.peak_mb = None if peak is None else max(0.0, peak - self._before)


def _reset_peak() -> float | None:
    try:
        with open(_RESET, "w") as reset:
            reset.write("5")
    except OSError:
        return None
    return _status_mb("VmRSS")


def _status_mb(field: str) -> float | None:
    try:
        with open(_STATUS) as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) / 1024.0
    except OSError:
        return None
    return None

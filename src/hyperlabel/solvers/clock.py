"""A clock that is paused while code is loaded and compiled.

What it times costs the same in the first process after an installation as in any later one.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class CompileTime:
    """Wall and processor seconds that compiling took: numba says when it begins and when it ends."""

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._total, self._begun = np.zeros(2), np.zeros(2)

    def on_start(self, event: Any = None) -> None:
        """Pause the clock, unless it is paused: compiling one function compiles those it calls."""
        with self._lock:
            if self._depth == 0:
                self._begun = _read_clocks()
            self._depth += 1

    def on_end(self, event: Any = None) -> None:
        """Let the clock go on after the outermost end."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._total += _read_clocks() - self._begun

    def working(self) -> np.ndarray:
        """Seconds since some fixed moment, without those spent compiling."""
        with self._lock:
            return (self._begun if self._depth else _read_clocks()) - self._total

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the clock."""
        self.on_start()
        try:
            yield
        finally:
            self.on_end()


def _read_clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


COMPILE_TIME = CompileTime()


def working_seconds() -> float:
    """Wall time from some fixed moment on, without loading and compiling code."""
    return float(COMPILE_TIME.working()[0])


def working_cpu_seconds() -> float:
    """Likewise in seconds of the processors."""
    return float(COMPILE_TIME.working()[1])

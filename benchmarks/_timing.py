"""Shared by all benchmarks: median of warm runs, threads fixed by the caller's environment."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def median_seconds(
    run: Callable[[], Any], repeats: int = 5, warm: int = 1, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median time of `repeats` runs after `warm` runs that do not count.

    Wall time by default; ``clock=time.process_time`` for work in one thread on a busy machine.
    """
    for _ in range(warm):
        run()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return statistics.median(times)


def data_folder() -> Path:
    """Folder of the real benchmark files, named by HYPERLABEL_DATA."""
    folder = Path(os.environ.get("HYPERLABEL_DATA") or "../shared/data")
    if not folder.is_dir():
        raise SystemExit("Set HYPERLABEL_DATA to the folder with the benchmark files.")
    return folder


def show(title: str, rows: list[tuple[str, str, str]]) -> None:
    """Print a table: what, measured, wanted."""
    width = max(len(row[0]) for row in rows)
    print(f"\n{title}")
    for what, measured, wanted in rows:
        print(f"  {what:<{width}}  {measured:>14}  {wanted}")


def ratio(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Median and range of the ratio of two runs, round by round."""
    found = np.sort(ours / theirs)
    return f"{statistics.median(found):.3g}x ({found[0]:.3g} to {found[-1]:.3g})"


def rounds(runs: dict[str, Callable[[], Any]], n_rounds: int = 5) -> dict[str, np.ndarray]:
    """Processor seconds of every run in every round, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(n_rounds + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if turn:
                times[name].append(time.process_time() - start)
    return {name: np.array(found) for name, found in times.items()}

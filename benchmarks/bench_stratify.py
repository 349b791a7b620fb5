"""Stratified 5-fold of delicious: against the package iterative-stratification, in one run.

Run with ``HYPERLABEL_DATA`` naming the folder of benchmark files.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from benchmarks.data import delicious_labels
from hyperlabel.model_selection import IterativeStratifiedKFold


def balance(Y: sparse.csr_array, tests: list[np.ndarray]) -> tuple[float, float, int]:
    """Return Sechidis' label distribution measure, the mean deviation in rows, and the size spread."""
    n, total = Y.shape[0], Y.sum(axis=0)
    counts = np.array([Y[test].sum(axis=0) for test in tests])
    sizes = np.array([len(test) for test in tests])[:, None]
    odds = np.abs(counts / (sizes - counts) - total / (n - total))
    due = total * sizes / n
    return float(odds.mean()), float(np.abs(counts - due).mean()), int(np.ptp(sizes))


def timed(split: Callable[[], list[np.ndarray]], repeats: int) -> tuple[float, list[np.ndarray]]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        tests = split()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), tests


def main() -> None:
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

    Y = delicious_labels()
    dense = Y.toarray().astype(np.int64)
    rows = np.zeros((Y.shape[0], 1))
    ours = IterativeStratifiedKFold(5, shuffle=True, random_state=0)
    theirs = MultilabelStratifiedKFold(5, shuffle=True, random_state=0)
    list(ours.split(rows, Y))  # compile
    our_time, our_tests = timed(lambda: [test for _, test in ours.split(rows, Y)], 5)
    their_time, their_tests = timed(lambda: [test for _, test in theirs.split(rows, dense)], 1)
    print(f"delicious {Y.shape[0]}×{Y.shape[1]}, 5 folds{'':12}  time  label odds   rows off  size spread")
    for name, seconds, tests in (
        ("iterative-stratification", their_time, their_tests),
        ("hyperlabel", our_time, our_tests),
    ):
        odds, off, spread = balance(Y, tests)
        print(f"{name:40} {seconds / their_time:6.4f}  {odds:.3e}  {off:9.3f}  {spread:11d}")
    print(f"hyperlabel is {their_time / our_time:.0f}× faster")


if __name__ == "__main__":
    main()

"""Fit with 5-fold out-of-fold scores against one scikit-learn Ridge fit, embedding-like rows.

Run: OMP_NUM_THREADS=1 python -m benchmarks.bench_free_cv [rows]   (100000 by default, 5 GB)

Both sides take turns, in processor time. Half of the time with scores is the system's: it hands out the
pages of n×K scores, which Ridge, too, needs for a copy of its dense y. What a page costs depends on the
machine and its load, and so does the ratio.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from benchmarks._timing import ratio, rounds, show
from hyperlabel import BinaryRelevance


def make(n: int, d: int, k: int, per_row: int) -> tuple[np.ndarray, sparse.csr_array]:
    """Dense rows and power-law labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    weights = 1.0 / np.arange(1, k + 1)
    columns = rng.choice(k, size=(n, per_row), p=weights / weights.sum())
    rows = np.repeat(np.arange(n), per_row)
    Y = sparse.csr_array((np.ones(n * per_row), (rows, columns.ravel())), shape=(n, k))
    Y.data[:] = 1.0
    return X, Y


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    X, Y = make(n, 384, 1000, 5)
    dense_Y = Y.toarray()
    times = rounds(
        {
            "ridge": lambda: Ridge().fit(X, dense_Y),
            "plain": lambda: BinaryRelevance(solver="gram").fit(X, Y),
            "free": lambda: BinaryRelevance(solver="gram", cv=5).fit(X, Y),
        },
        9,
    )
    rows = [
        ("BinaryRelevance fit / Ridge fit", ratio(times["plain"], times["ridge"]), ""),
        ("fit + 5-fold out-of-fold scores / Ridge fit", ratio(times["free"], times["ridge"]), "at most 3x"),
    ]
    show(f"Free cross-validation, {n} x 384 dense, 1000 labels; processor time, median of nine (range)", rows)


if __name__ == "__main__":
    main()

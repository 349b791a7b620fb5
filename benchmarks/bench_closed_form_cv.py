"""Fit with 5-fold out-of-fold scores against one scikit-learn Ridge fit, embedding-like rows.

Run: OMP_NUM_THREADS=1 python -m benchmarks.bench_closed_form_cv [rows]   (100000 by default, 5 GB)

Both sides take turns, in processor time. Half of the time with scores is the system's: it hands out the
pages of n×K scores, which Ridge, too, needs for a copy of its dense y. What a page costs depends on the
machine and its load, and so does the ratio.
"""

from __future__ import annotations

import sys
from typing import Any

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


def measured(n: int = 20_000, d: int = 384, k: int = 1000) -> dict[str, Any]:
    """Seconds of one Ridge fit ("theirs"), of ours, and of ours with out-of-fold scores ("ours")."""
    X, Y = make(n, d, k, 5)
    dense_Y = Y.toarray()
    times = rounds(
        {
            "theirs": lambda: Ridge().fit(X, dense_Y),
            "plain": lambda: BinaryRelevance(alpha=1.0, solver="gram").fit(X, Y),
            "ours": lambda: BinaryRelevance(alpha=1.0, solver="gram", cv=5).fit(X, Y),
        },
        9,
    )
    return times | {"n": n, "d": d, "k": k}


def main(n: int = 100_000) -> None:
    found = measured(n)
    rows = [
        ("BinaryRelevance fit / Ridge fit", ratio(found["plain"], found["theirs"]), ""),
        ("fit + 5-fold out-of-fold scores / Ridge fit", ratio(found["ours"], found["theirs"]), "at most 3x"),
    ]
    size = f"{n} x {found['d']} dense, {found['k']} labels"
    show(f"Free cross-validation, {size}; processor time, median of nine (range)", rows)


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))

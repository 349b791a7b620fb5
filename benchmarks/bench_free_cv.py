"""Fit with 5-fold out-of-fold scores against one scikit-learn Ridge fit, embedding-like rows."""

from __future__ import annotations

import os

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from benchmarks._timing import median_seconds, show
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
    n = int(os.environ.get("BENCH_ROWS", "100000"))
    X, Y = make(n, 384, 1000, 5)
    dense_Y = Y.toarray()
    ridge = median_seconds(lambda: Ridge().fit(X, dense_Y), repeats=3)
    plain = median_seconds(lambda: BinaryRelevance(solver="gram").fit(X, Y), repeats=3)
    free = median_seconds(lambda: BinaryRelevance(solver="gram", cv=5).fit(X, Y), repeats=3)
    rows = [
        ("BinaryRelevance fit / Ridge fit", f"{plain / ridge:.2f}x", ""),
        ("fit + 5-fold out-of-fold scores / Ridge fit", f"{free / ridge:.2f}x", "at most 3x"),
    ]
    show(f"Free cross-validation, {n} x 384 dense, 1000 labels", rows)


if __name__ == "__main__":
    main()

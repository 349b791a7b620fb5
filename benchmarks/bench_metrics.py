"""Ranking loss and P@5 beside the NumPy way: a sort of each row, and a partition of it.

    python -m benchmarks.bench_metrics

Dense scores without ties, a sparse indicator for ours and a dense one for NumPy, so that NumPy pays for no
conversion. CPU time, median of nine, both in turn within one run. Values must be equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from scipy import sparse

from hyperlabel.metrics import precision_at_k, ranking_loss

SIZES = ((2000, 5000, 5), (20_000, 100, 4), (50_000, 14, 4))  # rows, labels, labels of a row
ROUNDS = 9


def numpy_ranking_loss(Y: np.ndarray, scores: np.ndarray) -> float:
    """Sort each row, count the irrelevant labels above each relevant one."""
    hits = np.take_along_axis(Y, np.argsort(-scores, axis=1), axis=1)
    n_relevant = hits.sum(axis=1)
    n_pairs = n_relevant * (Y.shape[1] - n_relevant)
    wrong_pairs = (np.cumsum(~hits, axis=1) * hits).sum(axis=1)
    return (wrong_pairs[n_pairs > 0] / n_pairs[n_pairs > 0]).mean()


def numpy_precision(Y: np.ndarray, scores: np.ndarray) -> float:
    """Take the five best labels of each row."""
    best = np.argpartition(-scores, 4, axis=1)[:, :5]
    return (np.take_along_axis(Y, best, axis=1).sum(axis=1) / 5).mean()


def cpu_seconds(work: Callable[[], float]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'rows × labels':>16} {'measure':14} {'ours ms':>8} {'NumPy ms':>9} {'ratio':>6}  (wanted: ≤ 1)")
    for n_rows, n_labels, per_row in SIZES:
        scores, Y = rng.normal(size=(n_rows, n_labels)), rng.random((n_rows, n_labels)) < per_row / n_labels
        truth = sparse.csr_array(Y.astype(float))
        measures: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
            "ranking loss": (
                lambda truth=truth, scores=scores: ranking_loss(truth, scores),
                lambda Y=Y, scores=scores: numpy_ranking_loss(Y, scores),
            ),
            "P@5": (
                lambda truth=truth, scores=scores: precision_at_k(truth, scores, k=5),
                lambda Y=Y, scores=scores: numpy_precision(Y, scores),
            ),
        }
        for name, (ours, theirs) in measures.items():
            np.testing.assert_allclose(ours(), theirs(), rtol=1e-12)
            pairs = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(ROUNDS)]
            mine, peer = (1000 * median(side) for side in zip(*pairs, strict=True))
            size = f"{n_rows} × {n_labels}"
            print(f"{size:>16} {name:14} {mine:8.1f} {peer:9.1f} {mine / peer:6.2f}")


if __name__ == "__main__":
    main()

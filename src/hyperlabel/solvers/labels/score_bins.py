"""Histograms of many labels' scores, all of them in one walk through the rows.

Notation
--------
code       meaning                                                      shape
scores     of all rows and labels                                       n×k
fold       of each row                                                  n
rows, on   weight of the rows, and of those with the label, by bin      F×k×B
"""

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import row_blocks
from hyperlabel.solvers.compiling import check_finite, check_rows, check_shape, compiled, csr_parts


def bin_scores(
    scores: np.ndarray, Y: sparse.csr_array, weight: np.ndarray, fold: np.ndarray, n_bins: int, reach: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each label's scores (1 where equal), `rows` and `on`.

    Bins are those of standardised scores from −reach to reach; the outer ones hold the tails.
    """
    n, k = scores.shape
    check_rows(Y, (n, k))
    check_shape("weight", weight, (n,))
    check_shape("fold", fold, (n,))
    if fold.min(initial=0) < 0:
        raise ValueError("fold must number folds 0, 1, …, and holds a negative number.")
    blocks = list(row_blocks(n, 8 * k))
    shift = scores[blocks[0]].mean(axis=0) if n else np.zeros(k)
    total, square = np.zeros(k), np.zeros(k)
    for block in blocks:
        _add_moments(np.ascontiguousarray(scores[block], dtype=np.float64), shift, total, square)
    mean = shift + total / max(n, 1)
    std = np.sqrt(np.maximum(square / max(n, 1) - (total / max(n, 1)) ** 2, 0.0))
    check_finite("The mean and standard deviation of scores", np.stack([mean, std]))
    std = np.where(std > 0, std, 1.0)
    rows, on = np.zeros((2, fold.max(initial=0) + 1, k, n_bins))
    scale = n_bins / (2 * reach) / std
    for block in blocks:
        part = np.ascontiguousarray(scores[block], dtype=np.float64)
        _fill_bins(part, *csr_parts(Y[block])[:2], weight[block], fold[block], mean, scale, rows, on)
    return mean, std, rows, on


@compiled
def _add_moments(scores, shift, total, square):
    for i in range(len(scores)):
        for j in range(len(total)):
            away = scores[i, j] - shift[j]
            total[j] += away
            square[j] += away * away


@compiled
def _fill_bins(scores, indptr, indices, weight, fold, mean, scale, rows, on):
    n_bins = rows.shape[2]
    cell = np.empty(len(mean), np.int64)
    for i in range(len(scores)):
        for j in range(len(mean)):
            place = (scores[i, j] - mean[j]) * scale[j] + n_bins / 2
            cell[j] = int(min(max(place, 0.0), n_bins - 1.0))
            rows[fold[i], j, cell[j]] += weight[i]
        for t in range(indptr[i], indptr[i + 1]):
            on[fold[i], indices[t], cell[indices[t]]] += weight[i]

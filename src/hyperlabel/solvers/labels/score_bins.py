"""Histograms of many labels' scores, all of them in one pass over the rows.

Notation
--------
code              meaning                                               shape
scores            of all rows and labels                                n×k
fold              of each row                                           n
row_weights       weight of the rows in each bin                        F×k×B
positive_weights  weight of the rows with the label in each bin         F×k×B
"""

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import row_blocks
from hyperlabel.solvers.compiling import check_finite, check_rows, check_shape, compiled, csr_parts


def bin_scores(
    scores: np.ndarray,
    Y: sparse.csr_array,
    weight: np.ndarray,
    fold: np.ndarray,
    n_bins: int,
    half_range: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each label's scores (1 where equal), and both weights.

    Bins are those of standardised scores from −half_range to half_range; the outer ones hold the tails.
    """
    n, k = scores.shape
    check_rows(Y, (n, k))
    check_shape("weight", weight, (n,))
    check_shape("fold", fold, (n,))
    if fold.min(initial=0) < 0:
        raise ValueError("fold must number folds 0, 1, …, and holds a negative number.")
    block_slices = list(row_blocks(n, 256 * k))  # a megabyte of scores, which stays in the cache
    # a point near the mean keeps Σ(s − shift)² from cancelling
    shift_point = scores[block_slices[0]].mean(axis=0) if n else np.zeros(k)
    sum_deviations, sum_squares = np.zeros(k), np.zeros(k)
    for row_block in block_slices:
        deviations = scores[row_block] - shift_point
        sum_deviations += deviations.sum(axis=0)
        sum_squares += np.einsum("ij,ij->j", deviations, deviations)
    score_mean = shift_point + sum_deviations / max(n, 1)
    score_std = np.sqrt(np.maximum(sum_squares / max(n, 1) - (sum_deviations / max(n, 1)) ** 2, 0.0))
    check_finite("The mean and standard deviation of scores", np.stack([score_mean, score_std]))
    score_std = np.where(score_std > 0, score_std, 1.0)
    row_weights, positive_weights = np.zeros((2, fold.max(initial=0) + 1, k, n_bins))
    bins_per_unit = n_bins / (2 * half_range) / score_std
    for row_block in block_slices:
        block_scores = np.ascontiguousarray(scores[row_block], dtype=np.float64)
        _fill_bins(
            block_scores,
            *csr_parts(Y[row_block])[:2],
            weight[row_block],
            fold[row_block],
            score_mean,
            bins_per_unit,
            np.empty(k, dtype=np.int64),
            row_weights,
            positive_weights,
        )
    return score_mean, score_std, row_weights, positive_weights


@compiled
def _fill_bins(
    scores, indptr, indices, weight, fold, score_mean, bins_per_unit, bin_index, row_weights, positive_weights
):
    n_bins = row_weights.shape[2]
    for i in range(len(scores)):
        for j in range(len(score_mean)):
            bin_position = (scores[i, j] - score_mean[j]) * bins_per_unit[j] + n_bins / 2
            if bin_position < 0.0:
                bin_position = 0.0
            elif bin_position > n_bins - 1.0:
                bin_position = n_bins - 1.0
            bin_index[j] = int(bin_position)
            row_weights[fold[i], j, bin_index[j]] += weight[i]
        for t in range(indptr[i], indptr[i + 1]):
            positive_weights[fold[i], indices[t], bin_index[indices[t]]] += weight[i]

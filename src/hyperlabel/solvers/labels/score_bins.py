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
from hyperlabel.solvers.compiling import check_csr_indices, check_finite, check_shape


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
    check_csr_indices(Y, (n, k))
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
        bin_position = (scores[row_block] - score_mean) * bins_per_unit
        bin_position += n_bins / 2
        bin_index = np.clip(bin_position, 0, n_bins - 1, out=bin_position).astype(np.int64)
        bin_index += (fold[row_block, None] * k + np.arange(k)) * n_bins
        _add_at(row_weights, bin_index.ravel(), np.repeat(weight[row_block], k))
        Y_block = Y[row_block]
        label_counts = np.diff(Y_block.indptr)
        positive_index = bin_index[np.repeat(np.arange(len(bin_index)), label_counts), Y_block.indices]
        _add_at(positive_weights, positive_index, np.repeat(weight[row_block], label_counts))
    return score_mean, score_std, row_weights, positive_weights


def _add_at(sums: np.ndarray, entries: np.ndarray, weights: np.ndarray) -> None:
    np.add.at(sums.reshape(-1), entries, weights)

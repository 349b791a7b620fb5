"""The k best columns of each row, ties to the lowest index."""

import numpy as np


def top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and scores of the k largest entries of each row, best first.

    Ties go to the lowest column index, at the k-th score as well as above it.
    """
    n, n_columns = scores.shape
    indices = np.flatnonzero(select_top(scores, k)).reshape(n, k) - n_columns * np.arange(n)[:, None]
    top_scores = np.take_along_axis(scores, indices, axis=1)
    order = np.argsort(-top_scores, axis=1, kind="stable")
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(top_scores, order, axis=1)


def select_top(scores: np.ndarray, k: int) -> np.ndarray:
    """Mark the k largest entries of each row, ties to the lowest column index."""
    n, n_columns = scores.shape
    if not 1 <= k <= n_columns:
        raise ValueError(f"k must be between 1 and the number of labels ({n_columns}), got {k}.")
    kth_score = np.partition(scores, n_columns - k, axis=1)[:, n_columns - k, None]
    is_selected = scores >= kth_score
    if np.count_nonzero(is_selected) > n * k:  # ties at the k-th score
        is_tied = scores == kth_score
        n_tied = k - (scores > kth_score).sum(axis=1, keepdims=True)
        is_selected &= ~is_tied | (np.cumsum(is_tied, axis=1, dtype=np.int32) <= n_tied)
    return is_selected

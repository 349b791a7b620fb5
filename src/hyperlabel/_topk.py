"""The k best columns of each row, ties to the lowest index."""

import numpy as np


def top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and scores of the k largest entries of each row, best first.

    Ties go to the lowest column index, at the threshold as well as inside the list.
    """
    n, n_columns = scores.shape
    if not 1 <= k <= n_columns:
        raise ValueError(f"k must be between 1 and the number of labels ({n_columns}), got {k}.")
    if k < n_columns:
        cut = np.partition(scores, n_columns - k, axis=1)[:, n_columns - k, None]
        above = scores > cut
        at_cut = scores == cut
        wanted = k - above.sum(axis=1, keepdims=True)
        keep = above | (at_cut & (np.cumsum(at_cut, axis=1, dtype=np.int32) <= wanted))
        indices = np.nonzero(keep)[1].reshape(n, k)
    else:
        indices = np.broadcast_to(np.arange(n_columns), (n, n_columns))
    kept = np.take_along_axis(scores, indices, axis=1)
    order = np.argsort(-kept, axis=1, kind="stable")
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(kept, order, axis=1)

"""Labels with gaps, label by label: which rows say something about a label, and how much.

A rule of decision sees hard truth: a share above ½ is on, below ½ off, and ½ says nothing
(`hyperlabel._validation.harden`). Probabilities are calibrated on the shares themselves: a share p is
a row of weight p with the label and one of weight 1 − p without.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from hyperlabel._missing_labels import harden, split_missing

# A label: its number, the rows that know it, whether they carry it (0, 1 or a share) and their weights.
KnownLabel = tuple[int, np.ndarray, np.ndarray, np.ndarray | None]


def is_complete(Y: sparse.csr_array, sample_weight: np.ndarray | None) -> bool:
    """Whether every entry is 0 or 1, with one weight for each row."""
    return (sample_weight is None or sample_weight.ndim == 1) and bool(np.isin(Y.data, (0, 1)).all())


def known_labels(
    Y: sparse.csr_array, sample_weight: np.ndarray | None, *, shares: bool = False
) -> Iterator[KnownLabel]:
    """Yield each label with the rows that know it; entries of weight 0 are unknown."""
    known, missing = split_missing(Y if shares else harden(Y))
    columns, gaps = known.tocsc(), None if missing is None else missing.tocsc()
    for j in range(Y.shape[1]):
        target = np.zeros(Y.shape[0])
        target[columns.indices[columns.indptr[j] : columns.indptr[j + 1]]] = columns.data[
            columns.indptr[j] : columns.indptr[j + 1]
        ]
        is_known = np.ones(Y.shape[0], dtype=bool)
        if gaps is not None:
            is_known[gaps.indices[gaps.indptr[j] : gaps.indptr[j + 1]]] = False
        weight = sample_weight if sample_weight is None or sample_weight.ndim == 1 else sample_weight[:, j]
        if weight is not None and sample_weight is not None and sample_weight.ndim == 2:
            is_known &= weight > 0
        rows = np.flatnonzero(is_known)
        yield j, rows, target[rows], None if weight is None else weight[rows]


def split_shares(
    scores: np.ndarray, target: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return scores, labels and weights of one label with every share as two rows, on and off."""
    is_share = (target > 0) & (target < 1)
    if not is_share.any():
        return scores, target, weight
    w = np.ones(len(target)) if weight is None else weight
    on_weight = np.where(is_share, w * target, w)
    off_weight = (w * (1 - target))[is_share]
    on_target = np.where(is_share, 1.0, target)
    return (
        np.concatenate([scores, scores[is_share]]),
        np.concatenate([on_target, np.zeros(len(off_weight))]),
        np.concatenate([on_weight, off_weight]),
    )


def known_column(target: np.ndarray) -> sparse.csr_array:
    """Return the labels of one column as an indicator."""
    return sparse.csr_array(target[:, None])


def entry_weights(Y: sparse.csr_array, sample_weight: np.ndarray | None) -> np.ndarray:
    """Return the total weight of the known entries of each label."""
    n, k = Y.shape
    _, missing = split_missing(harden(Y))
    weights = np.ones(n) if sample_weight is None else sample_weight
    if weights.ndim == 2:
        return np.where(False if missing is None else missing.toarray() > 0, 0.0, weights).sum(axis=0)
    return np.full(k, weights.sum()) - (0.0 if missing is None else missing.T @ weights)

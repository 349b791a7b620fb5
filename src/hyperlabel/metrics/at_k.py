"""Measures of the first k labels of each row, the ones a person sees."""

from typing import Any

import numpy as np

from hyperlabel._topk import select_top
from hyperlabel._validation import check_targets
from hyperlabel.metrics.ranking import RankedRows, ranked_blocks
from hyperlabel.metrics.validation import (
    TopK,
    Truth,
    bounded_blocks,
    mean_where_defined,
    read_scored,
    row_entries,
    with_shared_arguments,
)


@with_shared_arguments
def precision_at_k(y_true: Any, y_score: Any, *, k: int = 5, sample_weight: Any = None) -> float:
    """Share of relevant labels among the k best of each row, mean over all rows.

    ``P@k(row) = |y ∩ top_k(f)| / k``, so 0 for a row without labels (:func:`evaluate` leaves it out). Ties go
    to the lowest label index, as in `predict_topk`, so that scores and the lists made from them give the same
    value; a row with fewer than k relevant labels cannot reach 1. scikit-learn has no such measure.

    Returns
    -------
    precision : float

    Examples
    --------
    >>> from hyperlabel.metrics import precision_at_k
    >>> precision_at_k([[1, 0, 1], [0, 0, 1]], [[0.9, 0.1, 0.8], [0.9, 0.1, 0.8]], k=2)
    0.75
    """
    truth, scores, weights = read_scored(y_true, y_score, sample_weight)
    if isinstance(scores, TopK) or truth.missing is not None:
        hit_counts = [hits_at(block, k) for block in ranked_blocks(truth, scores, depth=k)]
    else:
        blocks = bounded_blocks(*truth.shape)
        hit_counts = [
            _count_hits(*row_entries(truth.Y, rows), select_top(scores[rows], k)) for rows in blocks
        ]
    return mean_where_defined(np.concatenate(hit_counts) / k, weights)


@with_shared_arguments
def ndcg_at_k(y_true: Any, y_score: Any, *, k: int = 5, sample_weight: Any = None) -> float:
    """Discounted gain of the k best labels of each row over the best possible, mean over all rows.

    ``nDCG@k(row) = Σ_{r ≤ k} [label at rank r ∈ y] / log₂(r+1) / Σ_{r ≤ min(k, |y|)} 1 / log₂(r+1)``

    and 0 for a row without labels, as in scikit-learn (:func:`evaluate` leaves it out). **Difference from**
    :func:`sklearn.metrics.ndcg_score`, which averages the gain over tied labels: here ties go to the
    lowest label index, as in `predict_topk`.

    Returns
    -------
    ndcg : float

    Examples
    --------
    >>> from hyperlabel.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 1]], [[0.9, 0.8, 0.1]], k=2), 3)
    0.613
    """
    return _mean_at_k(y_true, y_score, k, sample_weight, lambda block: ndcg_rows(block, k))


@with_shared_arguments
def one_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Share of rows whose best label is not relevant.

    Rows without labels, where nothing could be right, are left out. Ties go to the lowest label index.

    Returns
    -------
    error : float
        Between 0 (best) and 1; NaN if no row has labels.

    Examples
    --------
    >>> from hyperlabel.metrics import one_error
    >>> one_error([[1, 0], [0, 1], [0, 0]], [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
    0.5
    """
    return _mean_at_k(y_true, y_score, 1, sample_weight, one_error_rows)


def propensities(y_train: Any, *, A: float = 0.55, B: float = 1.5) -> np.ndarray:
    """How likely a relevant label is to be marked at all, from how often it is marked.

    p_j = 1 / (1 + C (N_j + B)^(−A)),  C = (log N − 1)(B + 1)^A

    where:

    * N is the number of training rows, N_j how many of them carry label j;
    * A and B depend on the data: 0.55 and 1.5 are the usual values, (0.5, 0.4) those of Wikipedia data
      and (0.6, 2.6) those of Amazon data.

    Parameters
    ----------
    y_train : array-like or sparse matrix of shape (n_samples, n_labels)
        Training indicator.
    A, B : float
        The constants of the model.

    Returns
    -------
    p : ndarray of shape (n_labels,)
        Between 0 and 1 (C is at least 0, also for fewer than three rows).

    References
    ----------
    Jain, Prabhu & Varma, *Extreme multi-label loss functions for recommendation, tagging, ranking &
    other missing label applications*, KDD 2016, eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.metrics import propensities
    >>> propensities(np.eye(10)[:, :2]).round(3)
    array([0.434, 0.434])
    """
    Y, _ = check_targets(y_train)
    C = max(0.0, np.log(Y.shape[0]) - 1.0) * (B + 1.0) ** A
    return 1.0 / (1.0 + C * (Y.sum(axis=0) + B) ** -A)


@with_shared_arguments
def psp_at_k(y_true: Any, y_score: Any, *, propensities: Any, k: int = 5, sample_weight: Any = None) -> float:
    """Precision among the k best labels with rare labels counting more, over the best possible.

    ``PSP@k = Σ_rows Σ_{j ∈ y ∩ top_k(f)} 1/p_j / Σ_rows max_{S ⊆ y, |S| ≤ k} Σ_{j ∈ S} 1/p_j``

    The propensities p_j come from the *training* labels, ``propensities(y_train, A=…, B=…)``: state A and
    B with the result. Ties go to the lowest label index.

    Parameters
    ----------
    propensities : array-like of shape (n_labels,)
        In (0, 1].

    Returns
    -------
    psp : float
        Between 0 and 1 (best); NaN if no row has labels.

    Examples
    --------
    >>> from hyperlabel.metrics import psp_at_k
    >>> psp_at_k([[1, 0, 1]], [[0.9, 0.8, 0.1]], propensities=[0.5, 0.5, 0.25], k=2)  # 2 of 2 + 4
    0.333...
    """
    truth, scores, weights = read_scored(y_true, y_score, sample_weight)
    label_gains = read_gain(propensities, truth)
    row_gains = [gain_rows(block, label_gains, k) for block in ranked_blocks(truth, scores, depth=k)]
    return gain_ratio(np.concatenate(row_gains), best_gain_rows(truth, label_gains, k), weights)


def hits_at(block: RankedRows, k: int) -> np.ndarray:
    """Count the relevant labels among the first k of each row."""
    if not 1 <= k <= block.hits.shape[1]:
        raise ValueError(f"k must be between 1 and the length of the lists ({block.hits.shape[1]}), got {k}.")
    return block.hits[:, :k].sum(axis=1)


def _count_hits(n_relevant: np.ndarray, labels: np.ndarray, is_selected: np.ndarray) -> np.ndarray:
    """Count the relevant labels of each row among those marked."""
    row_start = np.repeat(np.arange(0, is_selected.size, is_selected.shape[1]), n_relevant)
    hits_so_far = np.cumsum(np.append(0, is_selected.ravel().take(row_start + labels)))
    return np.diff(hits_so_far[np.append(0, np.cumsum(n_relevant))])


def ndcg_rows(block: RankedRows, k: int) -> np.ndarray:
    """Return nDCG@k of each row."""
    hits_at(block, k)  # k must be legal
    rank_discounts = 1.0 / np.log2(np.arange(2, k + 2))
    ideal_gains = np.concatenate([[0.0], np.cumsum(rank_discounts)])[np.minimum(k, block.n_relevant)]
    row_gains = block.hits[:, :k] @ rank_discounts
    return np.divide(row_gains, ideal_gains, out=np.zeros(len(row_gains)), where=ideal_gains > 0)


def one_error_rows(block: RankedRows) -> np.ndarray:
    """1 where the best label is irrelevant, NaN for a row without labels."""
    return np.where(block.n_relevant > 0, 1.0 - block.hits[:, 0], np.nan)


def read_gain(propensities: Any, truth: Truth) -> np.ndarray:
    """Read propensities; return what a hit of each label is worth, 1/p."""
    p = np.asarray(propensities, dtype=np.float64)
    if p.shape != (truth.shape[1],) or not ((p > 0) & (p <= 1)).all():
        raise ValueError(
            f"propensities must be {truth.shape[1]} numbers in (0, 1]; get them from propensities(y_train)."
        )
    return 1.0 / p


def gain_rows(block: RankedRows, gain: np.ndarray, k: int) -> np.ndarray:
    """Worth of the hits among the first k labels of each row."""
    hits_at(block, k)  # k must be legal
    return np.where(block.hits[:, :k], gain[block.indices[:, :k]], 0.0).sum(axis=1)


def best_gain_rows(truth: Truth, gain: np.ndarray, k: int) -> np.ndarray:
    """Worth of the k most valuable relevant labels of each row."""
    Y = truth.Y
    row_index = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    entry_gains = gain[Y.indices]
    order = np.lexsort((-entry_gains, row_index))
    rank_in_row = np.arange(len(row_index)) - Y.indptr[row_index]  # rank within the row once sorted
    is_top_k = rank_in_row < k
    return np.bincount(row_index[is_top_k], entry_gains[order][is_top_k], Y.shape[0])


def gain_ratio(gained: np.ndarray, best: np.ndarray, weights: np.ndarray | None) -> float:
    """Pool the rows: total gain over the total of the best possible."""
    w = 1.0 if weights is None else weights
    best_total = float(np.sum(best * w))
    return float(np.sum(gained * w)) / best_total if best_total > 0 else float("nan")


def _mean_at_k(y_true: Any, y_score: Any, k: int, sample_weight: Any, rows: Any) -> float:
    truth, scores, weights = read_scored(y_true, y_score, sample_weight)
    row_values = [rows(block) for block in ranked_blocks(truth, scores, depth=k)]
    return mean_where_defined(np.concatenate(row_values), weights)

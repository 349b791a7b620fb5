"""Labels that nobody knows, stored as NaN in an indicator from `check_targets`.

They are told apart, left out of counts, or filled. Methods that need a whole label matrix (projections, label
spaces) leave out rows without any known label and fill an unknown entry with the share of its label among the
rows where it is known. In centred labels it then contributes 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

EPS = float(np.finfo(np.float64).eps)


def split_missing(Y: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """Split an indicator from `check_targets` into what is known, with zeros elsewhere, and the unknown.

    The second is an indicator of the entries nobody knows, or None: then Y comes back as it was.
    """
    is_missing_entry = np.isnan(Y.data)
    if not is_missing_entry.any():
        return Y, None
    known, missing = Y.copy(), Y.copy()
    known.data[is_missing_entry] = 0.0
    missing.data = is_missing_entry.astype(np.float64)
    known.eliminate_zeros()
    missing.eliminate_zeros()
    return known, missing


def mask_entries(Y: sparse.csr_array, weights: np.ndarray | None) -> sparse.csr_array:
    """Return an indicator from `check_targets` with NaN also where n×k weights are 0: that does not count."""
    if weights is None or weights.ndim < 2 or weights.all():
        return Y
    values = Y.toarray()
    values[weights == 0] = np.nan
    return sparse.csr_array(values)


def harden(Y: sparse.csr_array) -> sparse.csr_array:
    """Return the labels that soft targets say: on above ½, off below, unknown at ½ and where NaN was."""
    is_soft = Y.data < 1.0
    if not is_soft.any():
        return Y
    hard = Y.copy()
    hard.data[is_soft] = np.where(Y.data[is_soft] == 0.5, np.nan, np.round(Y.data[is_soft]))
    hard.eliminate_zeros()
    return hard


def rows_with_known_labels(Y: sparse.csr_array) -> np.ndarray | None:
    """Return the rows that have a known label; None means all of them.

    Examples
    --------
    >>> rows_with_known_labels(sparse.csr_array(np.array([[np.nan, np.nan], [0, np.nan]])))
    array([1])
    """
    _, missing = split_missing(Y)
    if missing is None:
        return None
    rows = np.flatnonzero(np.diff(missing.indptr) < Y.shape[1])
    return None if len(rows) == Y.shape[0] else rows


def known_part(X: Any, Y: sparse.csr_array) -> tuple[Any, sparse.csr_array]:
    """Return the rows that have a known label, and their labels."""
    rows = rows_with_known_labels(Y)
    if rows is None:
        return X, Y
    if not len(rows):
        raise ValueError("y holds no known label: there is nothing to learn from.")
    return X[rows], Y[rows]


def fill_unknown(Y: sparse.csr_array) -> sparse.csr_array:
    """Fill unknown entries with the share of their label among the rows where it is known.

    A label without any known row is filled with 0: it says nothing. Without gaps Y comes back as it is.

    Examples
    --------
    >>> fill_unknown(sparse.csr_array(np.array([[1.0, np.nan], [0, np.nan], [np.nan, 1]]))).toarray()
    array([[1. , 1. ],
           [0. , 1. ],
           [0.5, 1. ]])
    """
    is_missing_entry = np.isnan(Y.data)
    if not is_missing_entry.any():
        return Y
    counts, known_rows = label_counts(Y, None)
    counts, known_rows = np.broadcast_arrays(counts.ravel(), known_rows)
    shares = np.divide(counts, known_rows, out=np.zeros(len(counts)), where=known_rows > 0)
    filled = Y.copy()
    filled.data[is_missing_entry] = shares[Y.indices[is_missing_entry]]
    filled.eliminate_zeros()
    return filled


def refuse_unknown_in_sums(Y: sparse.csr_array, name: str) -> None:
    """Refuse unknown labels in a block of rows: what they are filled with depends on all rows."""
    if np.isnan(Y.data).any():
        raise ValueError(f"{name} needs every label known where rows come in blocks: use fit on all of them.")


def find_unknown_labels(Y: sparse.csr_array) -> tuple[np.ndarray, float]:
    """Return the labels without a known row, and the share p that they are given in their place."""
    counts, known_rows = label_counts(Y, None)
    known_rows = np.broadcast_to(np.asarray(known_rows), (Y.shape[1],))
    return np.flatnonzero(known_rows <= 0), mean_prevalence(counts, known_rows)


def rank_in_the_middle(scores: np.ndarray, unknown_labels: np.ndarray, *, predicts: bool = True) -> None:
    """Give labels without a known row the mean score of the others in place; not above 0 if that predicts."""
    others = np.delete(scores, unknown_labels, axis=1)
    middle = others.mean(axis=1, keepdims=True)
    scores[:, unknown_labels] = np.minimum(middle, -EPS) if predicts else middle


def label_counts(Y: sparse.csr_array, weights: np.ndarray | None) -> tuple[np.ndarray, Any]:
    """Return the (weighted) number of rows of each label, and of all rows, or of those where it is known.

    Soft targets add their shares. The second is one number unless Y has NaN or the weights are n×k.
    """
    known, missing = split_missing(Y)
    if weights is not None and weights.ndim == 2:
        known_weights = weights if missing is None else np.where(missing.toarray() > 0, 0.0, weights)
        return np.asarray(known.multiply(known_weights).sum(axis=0)).ravel(), known_weights.sum(axis=0)
    if weights is None:
        counts, total = np.asarray(known.sum(axis=0)), float(Y.shape[0])
        return counts, total if missing is None else total - np.asarray(missing.sum(axis=0))
    counts, total = np.asarray(weights @ known), float(weights.sum())
    if missing is None:
        return counts, total
    unknown_weight = np.asarray(weights @ missing)
    is_unknown = np.asarray(missing.T @ (weights > 0)) == np.count_nonzero(weights)
    return counts, np.where(is_unknown, 0.0, total - unknown_weight)


def constant_labels(counts: np.ndarray, n_rows: Any) -> np.ndarray:
    """Mark labels without positives (-1) and labels that are always on (+1); unknown ones are neither."""
    counts, n_rows = np.asarray(counts).ravel(), np.asarray(n_rows)
    slack = 1e-12 * n_rows  # weighted counts are sums of floats
    constant = np.where(counts <= slack, -1, np.where(counts >= n_rows - slack, 1, 0))
    return np.where((n_rows <= 0) & (n_rows.ndim > 0), 0, constant).astype(np.int8)


def mean_prevalence(counts: np.ndarray, known_rows: Any) -> float:
    """Return the mean share of positives over the labels that are known: what an unknown one is given."""
    counts, known_rows = np.broadcast_arrays(np.asarray(counts).ravel(), np.asarray(known_rows))
    is_known = known_rows > 0
    return float(np.mean(counts[is_known] / known_rows[is_known])) if is_known.any() else 0.0


def unknown_score(
    counts: np.ndarray, known_rows: Any, threshold: float = 0.0, *, logistic: bool = False
) -> float:
    """Return the score of labels of which no row is known: the mean prevalence of the others.

    On the scale ±1, or as log odds. Below even odds it stays below 0: nothing is predicted unseen.
    """
    prevalence = mean_prevalence(counts, known_rows)
    log_odds = float(logit(np.clip(prevalence, EPS, 1.0 - EPS)))
    score = log_odds if logistic else 2.0 * prevalence - 1.0
    return min(score - threshold, -EPS if prevalence <= 0.5 else np.inf)

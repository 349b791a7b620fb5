"""Labels that nobody knows, for methods that need a whole label matrix.

The rule of projections and label spaces: rows without any known label are left out, and an unknown entry is
filled with the share of its label among the rows where it is known. In centred labels it then contributes 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._base import EPS, label_counts, mean_prevalence
from hyperlabel._validation import split_missing


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

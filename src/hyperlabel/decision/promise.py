"""Cuts that keep a promised precision, and how much they cover: what can go without a person looking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hyperlabel.decision.candidates import find_candidates


@dataclass(frozen=True, eq=False)
class SafeCuts:
    """Cuts that keep a promised precision, and how much they cover.

    Parameters
    ----------
    cuts : ndarray of shape (n_labels,)
        inf where no cut keeps the promise.
    recall : ndarray of shape (n_labels,)
        Share of each label's positives that is found; 0 where none is, or where there are none.
    coverage : float
        Share of all true entries found: what can be applied without a person looking.
    precision : float
        Precision of all entries found, on the scores the cuts were fitted on (NaN if none is).

    Examples
    --------
    >>> SafeCuts(np.array([0.4, np.inf]), np.array([0.9, 0.0]), 0.6, 0.95).coverage
    0.6
    """

    cuts: np.ndarray
    recall: np.ndarray
    coverage: float
    precision: float


def precision_cuts(
    scores: np.ndarray,
    Y: sparse.csr_array,
    precision: float,
    *,
    caution: float = 1.0,
    sample_weight: np.ndarray | None = None,
) -> SafeCuts:
    """Fit for each label the lowest cut whose precision is at least what was asked for.

    The precision of a cut is estimated as (tp + c·π_j) / (found + c): c rows of the label's base rate
    π_j are added, so that one lucky row at the top promises nothing.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
        Finite scores.
    Y : csr_array of shape (n, k)
        True labels.
    precision : float
        In (0, 1].
    caution : float, default=1.0
        c; 0 takes the observed precision at its word.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    cuts : SafeCuts

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import precision_cuts
    >>> scores, Y = np.array([[0.9], [0.5], [0.1]]), sparse.csr_array([[1.0], [0.0], [1.0]])
    >>> safe = precision_cuts(scores, Y, 0.9, caution=0.0)
    >>> safe.cuts, safe.coverage
    (array([0.7]), 0.5)
    """
    if not 0 < precision <= 1:
        raise ValueError(f"precision must lie in (0, 1], got {precision}.")
    c = find_candidates(scores, Y, sample_weight)
    total = float(scores.shape[0] if sample_weight is None else sample_weight.sum())
    estimate = (c.right + caution * c.positives[c.label] / total) / (c.found + caution)
    index, _ = c.best(np.where(estimate >= precision, c.right, 0.0), none=0.0)
    right, found = c.take(c.right, index), c.take(c.found, index)
    cuts = np.where(index >= 0, c.take(c.cut, index), np.inf)
    return SafeCuts(
        cuts,
        np.divide(right, c.positives, out=np.zeros(len(right)), where=c.positives > 0),
        float(right.sum() / max(c.positives.sum(), np.finfo(float).tiny)),
        float(right.sum() / found.sum()) if found.any() else float("nan"),
    )

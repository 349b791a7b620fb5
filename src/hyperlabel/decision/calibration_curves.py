"""Scores to honest probabilities, label by label, fitted on given (out-of-fold) scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from hyperlabel.decision.known_entries import is_complete, known_column, known_labels, split_shares
from hyperlabel.solvers.margin.platt import solve_platt


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """p = σ(slope·score + intercept), one pair for each label.

    Examples
    --------
    >>> Sigmoid(np.array([1.0]), np.array([0.0])).probabilities(np.array([[0.0], [2.0]])).round(3)
    array([[0.5  ],
           [0.881]])
    """

    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def fit(cls, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None = None) -> Sigmoid:
        """Fit all labels; see :func:`hyperlabel.solvers.margin.platt.solve_platt`.

        Y may hold NaN where nobody knows and shares between 0 and 1, weights may be n×k. A label that no row
        knows gets the mean probability of the others.
        """
        if not is_complete(Y, sample_weight):
            return cls._fit_known(scores, Y, sample_weight)
        # a gradient of 1e-6 moves p by far less than one row would
        platt_fit = solve_platt(scores, Y, sample_weight=sample_weight, tol=1e-6)
        return cls(platt_fit.slope, platt_fit.intercept)

    @classmethod
    def _fit_known(cls, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None) -> Sigmoid:
        slope, intercept, share = np.zeros(Y.shape[1]), np.zeros(Y.shape[1]), np.full(Y.shape[1], np.nan)
        for j, rows, target, weight in known_labels(Y, sample_weight, shares=True):
            if not len(rows) or (weight is not None and not weight.any()):
                continue
            share[j] = np.average(target, weights=weight)
            label_scores, target, weight = split_shares(scores[rows, j], target, weight)
            fitted = cls.fit(np.ascontiguousarray(label_scores[:, None]), known_column(target), weight)
            slope[j], intercept[j] = fitted.slope[0], fitted.intercept[0]
        is_unknown = np.isnan(share)
        mean_share = 0.5 if is_unknown.all() else float(share[~is_unknown].mean())
        intercept[is_unknown] = logit(np.clip(mean_share, 1e-6, 1 - 1e-6))
        return cls(slope, intercept)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each label, n×k."""
        return expit(scores * self.slope + self.intercept)


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A rising step curve for each label, read between its knots by straight lines.

    The knots of label j are ``score[start[j]:start[j + 1]]`` and ``p[…]``.
    """

    start: np.ndarray
    score: np.ndarray
    p: np.ndarray


def expected_f1_sets(p: np.ndarray) -> np.ndarray:
    """Return the label set of greatest expected F1 of each row, as a boolean array.

    For a row with probabilities p₁ ≥ p₂ ≥ …, the best set is one of the first k labels, or empty. Its
    expected F1 is taken as 2(p₁ + … + p_k) / (k + Σp), the ratio of expectations, and that of the empty
    set as Π(1 − p), the probability that nothing is relevant.

    Parameters
    ----------
    p : ndarray of shape (n, k)
        Calibrated probabilities.

    Returns
    -------
    sets : ndarray of bool of shape (n, k)

    References
    ----------
    N. Ye, K. M. A. Chai, W. S. Lee, H. L. Chieu, *Optimizing F-measures: a tale of two approaches*,
    ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.decision import expected_f1_sets
    >>> expected_f1_sets(np.array([[0.9, 0.45, 0.1], [0.1, 0.05, 0.0]])).astype(int)
    array([[1, 1, 0],
           [0, 0, 0]])
    """
    label_order = np.argsort(-p, axis=1, kind="stable")
    ranked_p = np.take_along_axis(p, label_order, axis=1)
    expected_f1 = (
        2 * np.cumsum(ranked_p, axis=1) / (np.arange(1, p.shape[1] + 1) + p.sum(axis=1, keepdims=True))
    )
    set_size = expected_f1.argmax(axis=1) + 1
    empty_f1 = np.exp(np.log1p(-np.minimum(p, 1 - 1e-12)).sum(axis=1))
    set_size[empty_f1 >= expected_f1.max(axis=1)] = 0
    label_sets = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(label_sets, label_order, np.arange(p.shape[1]) < set_size[:, None], axis=1)
    return label_sets

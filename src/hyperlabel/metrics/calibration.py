"""Predicted probabilities against what came true: the data of reliability diagrams."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperlabel.metrics.probability import read_probabilities
from hyperlabel.metrics.validation import (
    TopK,
    bounded_blocks,
    leave_out_unknown,
    read_truth,
    read_weights,
    with_shared_arguments,
)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted against observed, bin by bin.

    Parameters
    ----------
    predicted, observed : ndarray of shape (n_bins,)
        Mean probability of the entries in the bin, and the share of them that is true; NaN in an empty bin.
    weight : ndarray of the same shape
        Number (or weight) of entries in the bin.
    edges : ndarray of shape (n_bins + 1,)
        The bins: from edge b up to, but not including, edge b + 1 (the last one includes it).

    Examples
    --------
    >>> from hyperlabel.metrics import reliability
    >>> bins = reliability([[1, 0], [1, 0]], [[0.9, 0.1], [0.9, 0.1]], n_bins=2)
    >>> round(float(bins.calibration_error), 3)
    0.1
    """

    predicted: np.ndarray
    observed: np.ndarray
    weight: np.ndarray
    edges: np.ndarray

    @property
    def calibration_error(self) -> Any:
        """Mean distance of predicted and observed, weighted by the entries: 0 is honest."""
        bin_distance = np.where(self.weight > 0, np.abs(self.predicted - self.observed), 0.0)
        return (bin_distance * self.weight).sum() / self.weight.sum()


@with_shared_arguments
def reliability(y_true: Any, y_proba: Any, *, n_bins: int = 10, sample_weight: Any = None) -> Reliability:
    """Compare probabilities with what came true, in bins: the data of a reliability diagram.

    Like :func:`sklearn.calibration.calibration_curve` with its quantile bins, of the entries of all labels
    together, with the weight of each bin and sparse y; lists of the best labels will not do.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins with equal numbers of entries (fewer if quantiles coincide).

    Returns
    -------
    result : Reliability

    Examples
    --------
    >>> from hyperlabel.metrics import reliability
    >>> y, p = [[1], [0], [1], [1]], [[0.25], [0.25], [0.75], [0.75]]
    >>> reliability(y, p, n_bins=2).observed
    array([0.5, 1. ])
    """
    truth = read_truth(y_true, y_proba)
    p = read_probabilities(y_proba, truth)
    if isinstance(p, TopK):
        raise ValueError("reliability needs the probability of every label, not a list of the best.")
    truth, p, weights = leave_out_unknown(truth, p, read_weights(sample_weight, truth))
    known_p = p if truth.missing is None else p[~truth.missing.toarray()]
    edges = np.unique(np.quantile(known_p, np.linspace(0.0, 1.0, n_bins + 1)))
    if len(edges) < 2:
        edges = np.array([edges[0], edges[0]])
    n, n_labels = truth.shape
    n_used_bins = len(edges) - 1
    w = np.ones(n) if weights is None else weights
    bin_sums = np.zeros((3, n_used_bins))  # weight, probability, truth
    for rows in bounded_blocks(n, n_labels):
        bin_index = np.clip(np.searchsorted(edges, p[rows], side="right") - 1, 0, n_used_bins - 1)
        entry_weights = np.repeat(w[rows, None], n_labels, axis=1)
        if truth.missing is not None:
            entry_weights[truth.missing[rows].toarray() > 0] = 0.0
        entry_terms = (entry_weights, entry_weights * p[rows], entry_weights * truth.Y[rows].toarray())
        bin_sums += [
            np.bincount(bin_index.ravel(), entry_term.ravel(), n_used_bins) for entry_term in entry_terms
        ]
    weight, predicted, observed = bin_sums
    all_nan = np.full_like(weight, np.nan)
    return Reliability(
        np.divide(predicted, weight, out=all_nan.copy(), where=weight > 0),
        np.divide(observed, weight, out=all_nan, where=weight > 0),
        weight,
        edges,
    )

"""Predicted probabilities against what came true: the data of reliability diagrams."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperlabel.metrics.probability import read_probabilities
from hyperlabel.metrics.validation import (
    TopK,
    bounded_blocks,
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
    >>> found = reliability([[1, 0], [1, 0]], [[0.9, 0.1], [0.9, 0.1]], n_bins=2)
    >>> round(float(found.calibration_error), 3)
    0.1
    """

    predicted: np.ndarray
    observed: np.ndarray
    weight: np.ndarray
    edges: np.ndarray

    @property
    def calibration_error(self) -> Any:
        """Mean distance of predicted and observed, weighted by the entries: 0 is honest."""
        gap = np.where(self.weight > 0, np.abs(self.predicted - self.observed), 0.0)
        return (gap * self.weight).sum() / self.weight.sum()


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
    weights = read_weights(sample_weight, truth)
    edges = np.unique(np.quantile(p, np.linspace(0.0, 1.0, n_bins + 1)))
    if len(edges) < 2:
        edges = np.array([edges[0], edges[0]])
    n, n_labels = truth.shape
    bins = len(edges) - 1
    w = np.ones(n) if weights is None else weights
    sums = np.zeros((3, bins))  # weight, probability, truth
    for rows in bounded_blocks(n, n_labels):
        place = np.clip(np.searchsorted(edges, p[rows], side="right") - 1, 0, bins - 1)
        mass = np.repeat(w[rows, None], n_labels, axis=1)
        if truth.missing is not None:
            mass[truth.missing[rows].toarray() > 0] = 0.0
        parts = (mass, mass * p[rows], mass * truth.Y[rows].toarray())
        sums += [np.bincount(place.ravel(), part.ravel(), bins) for part in parts]
    weight, predicted, observed = sums
    empty = np.full_like(weight, np.nan)
    return Reliability(
        np.divide(predicted, weight, out=empty.copy(), where=weight > 0),
        np.divide(observed, weight, out=empty, where=weight > 0),
        weight,
        edges,
    )

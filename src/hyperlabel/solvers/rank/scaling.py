"""Feature scaling that margin methods need, folded back into the coefficients afterwards.

A margin of 1 and a penalty ½‖w‖² only mean something on features of a known size, so rows are
moved to mean 0 and to mean squared norm 1 before the solve::

    x̃ = (x − μ) ∘ s,   s_j = 1/(σ_j √d) ("standard")   or   s_j = 1/√(Σσ²) for all j ("norm")

"standard" puts features of different units on one footing; "norm" keeps their proportions, as
bags of words want it (z-scores blow rare words up). "auto" takes "norm" when more than half of
the entries are zero: a property of the values, so a dense and a sparse copy scale alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import row_blocks

MODES = ("auto", "standard", "norm", "none")


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """x̃ = (x − mean) ∘ scale."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, X: Any, mode: str = "auto", sample_weight: np.ndarray | None = None) -> FeatureScaling:
        """Measure the rows of X; a row of weight 2 counts as two rows."""
        if mode not in MODES:
            raise ValueError(f"scaling must be one of {', '.join(MODES)}; got {mode!r}.")
        n, d = X.shape
        if mode == "none":
            return cls(np.zeros(d), np.ones(d))
        weights = np.ones(n) if sample_weight is None else sample_weight
        mean, variance, filled = _column_statistics(X, weights)
        # Rounding of the mean must not pass for a variance.
        varies = variance > (1e-14 * np.abs(mean)) ** 2 * 1e4
        variance = np.where(varies, variance, 0.0)
        if mode == "auto":
            mode = "norm" if filled < 0.5 else "standard"
        if mode == "norm":
            total = variance.sum()
            return cls(mean, np.full(d, 1.0 / np.sqrt(total) if total > 0 else 1.0))
        scale = np.zeros(d)
        scale[varies] = 1.0 / np.sqrt(variance[varies] * d)
        return cls(mean, scale)

    @property
    def shift(self) -> np.ndarray:
        """μ ∘ s: what is still to be subtracted from scaled sparse rows."""
        return self.mean * self.scale

    def rows(self, X: Any, *, center: bool = True) -> Any:
        """Scale rows; dense ones are centred too, sparse ones keep their zeros (see `shift`)."""
        if sparse.issparse(X):
            data = X.data * self.scale[X.indices]
            return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
        rows = np.array(X, dtype=np.float64, order="C")
        if center:
            rows -= self.mean
        rows *= self.scale
        return rows

    def unscale(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (m×d) and intercepts for unscaled rows from weights W (d×m), b of x̃."""
        coef = (W * self.scale[:, None]).T
        return np.ascontiguousarray(coef), b - coef @ self.mean


def _column_statistics(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Weighted mean and variance of each column (two passes), and the share of nonzero entries."""
    total = weights.sum()
    if total <= 0:
        raise ValueError("Every sample_weight is 0: give at least one row a positive weight.")
    d = X.shape[1]
    mean = np.asarray(X.T @ weights, dtype=np.float64).ravel() / total
    if sparse.issparse(X):
        each = np.repeat(weights, np.diff(X.indptr))
        away = each * (X.data.astype(np.float64) - mean[X.indices]) ** 2
        stored = np.bincount(X.indices, weights=each, minlength=d)
        variance = np.bincount(X.indices, weights=away, minlength=d) + (total - stored) * mean**2
        filled = float(each @ (X.data != 0))
    else:
        variance, filled = np.zeros(d), 0.0
        for rows in row_blocks(X.shape[0], 8 * d):
            variance += weights[rows] @ (X[rows] - mean) ** 2
            filled += float(weights[rows] @ np.count_nonzero(X[rows], axis=1))
    return mean, np.maximum(variance, 0.0) / total, filled / (total * d)

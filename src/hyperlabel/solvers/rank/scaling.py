"""Feature scaling that margin methods need, folded back into the coefficients afterwards.

A margin of 1 and a penalty ½‖w‖² only mean something on features of one size, so rows are
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
        row_weights = np.ones(n) if sample_weight is None else sample_weight
        mean, variance, nonzero_share = _measure_columns(X, row_weights)
        # Rounding of the mean must not pass for a variance.
        is_varying = variance > (1e-14 * np.abs(mean)) ** 2 * 1e4
        variance = np.where(is_varying, variance, 0.0)
        if mode == "auto":
            mode = "norm" if nonzero_share < 0.5 else "standard"
        if mode == "norm":
            total_variance = variance.sum()
            return cls(mean, np.full(d, 1.0 / np.sqrt(total_variance) if total_variance > 0 else 1.0))
        scale = np.zeros(d)
        scale[is_varying] = 1.0 / np.sqrt(variance[is_varying] * d)
        return cls(mean, scale)

    @property
    def shift(self) -> np.ndarray:
        """μ ∘ s: what is still to be subtracted from scaled sparse rows."""
        return self.mean * self.scale

    def rows(self, X: Any, *, center: bool = True) -> Any:
        """Scale rows; dense ones are centred too, sparse ones keep their zeros (see `shift`)."""
        if sparse.issparse(X):
            scaled_entries = X.data * self.scale[X.indices]
            return sparse.csr_array((scaled_entries, X.indices, X.indptr), shape=X.shape)
        scaled_rows = np.array(X, dtype=np.float64, order="C")
        if center:
            scaled_rows -= self.mean
        scaled_rows *= self.scale
        return scaled_rows

    def unscale(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (m×d) and intercepts for unscaled rows from weights W (d×m), b of x̃."""
        coef = (W * self.scale[:, None]).T
        return np.ascontiguousarray(coef), b - coef @ self.mean


def _measure_columns(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Weighted mean and variance of each column (two passes), and the share of nonzero entries."""
    total_weight = weights.sum()
    if total_weight <= 0:
        raise ValueError("Every sample_weight is 0: give at least one row a positive weight.")
    d = X.shape[1]
    mean = np.asarray(X.T @ weights, dtype=np.float64).ravel() / total_weight
    if sparse.issparse(X):
        entry_weights = np.repeat(weights, np.diff(X.indptr))
        squared_deviations = entry_weights * (X.data.astype(np.float64) - mean[X.indices]) ** 2
        stored_weight = np.bincount(X.indices, weights=entry_weights, minlength=d)
        variance = (
            np.bincount(X.indices, weights=squared_deviations, minlength=d)
            + (total_weight - stored_weight) * mean**2
        )
        nonzero_weight = float(entry_weights @ (X.data != 0))
    else:
        variance, nonzero_weight = np.zeros(d), 0.0
        for row_block in row_blocks(X.shape[0], 8 * d):
            variance += weights[row_block] @ (X[row_block] - mean) ** 2
            nonzero_weight += float(weights[row_block] @ np.count_nonzero(X[row_block], axis=1))
    return mean, np.maximum(variance, 0.0) / total_weight, nonzero_weight / (total_weight * d)

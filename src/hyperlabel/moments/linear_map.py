"""The one linear map that every linear classifier of the library is once it is fitted.

f(x) = coef·x + intercept, one row of `coef` per label, on the scale of targets ±1: positive means
predicted. Models that go through a few directions (projections, label spaces) keep them in `through`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperlabel.solvers.arrays import dense


@dataclass(frozen=True, eq=False)
class Directions:
    """f(x) = readoutᵀ(basisᵀx + offset) + base: the M directions between features and labels.

    Attributes
    ----------
    basis : ndarray of shape (d, M)
    offset : ndarray of shape (M,)
    readout : ndarray of shape (M, k)
    base : ndarray of shape (k,)
    """

    basis: np.ndarray
    offset: np.ndarray
    readout: np.ndarray
    base: np.ndarray


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Scores of all labels as one linear function of the features.

    Attributes
    ----------
    coef : ndarray or csr_array of shape (k, d)
    intercept : ndarray of shape (k,)
    through : Directions or None

    Examples
    --------
    >>> import numpy as np
    >>> half = LinearMap.of_targets(np.array([[0.5]]), np.array([0.25]))
    >>> half.scores(np.array([[1.0], [0.0]])).tolist()
    [[0.5], [-0.5]]
    """

    coef: Any
    intercept: np.ndarray
    through: Directions | None = None

    @classmethod
    def of_targets(
        cls, coef: np.ndarray, intercept: np.ndarray, through: Directions | None = None
    ) -> LinearMap:
        """Return the map of a model fitted to targets 0/1, coef d×k, on the scale ±1 = 2y − 1."""
        if through is not None:
            readout, base = 2.0 * through.readout, 2.0 * through.base - 1.0
            through = Directions(through.basis, through.offset, readout, base)
        return cls(np.ascontiguousarray(2.0 * coef.T), 2.0 * intercept - 1.0, through)

    @classmethod
    def through_directions(
        cls, basis: np.ndarray, offset: np.ndarray, readout: np.ndarray, base: np.ndarray
    ) -> LinearMap:
        """Return the map of targets 0/1 predicted as base + readoutᵀ(basisᵀx + offset)."""
        directions = Directions(basis, offset, readout, base)
        return cls.of_targets(basis @ readout, offset @ readout + base, directions)

    def scores(self, X: Any) -> np.ndarray:
        """Scores of rows, n×k."""
        return dense(X @ self.coef.T) + self.intercept

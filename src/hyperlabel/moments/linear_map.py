"""The one linear map that every linear classifier of the library is once it is fitted.

f(x) = coef·x + intercept, one row of `coef` per label, on the scale of targets ±1: positive means
predicted. Models that go through a few directions (projections, label spaces) keep them in `through`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hyperlabel.solvers.arrays import as_dense

PRODUCT_MAX_BYTES = 512 * 2**20


@dataclass(frozen=True, eq=False)
class Directions:
    """f(x) = readoutᵀ(basisᵀx + offset) + base: the M directions between features and labels."""

    basis: np.ndarray
    offset: np.ndarray
    readout: Any
    base: np.ndarray


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Scores of all labels as one linear function of the features.

    `product` is `coef` (k×d) where it is multiplied out, None where scores go through the directions.
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {"product": "k d", "intercept": "k"}

    product: Any
    intercept: np.ndarray
    through: Directions | None = None

    @classmethod
    def of_targets(cls, coef: np.ndarray, intercept: np.ndarray) -> LinearMap:
        """Return the map of a model fitted to targets 0/1, coef d×k, on the scale ±1."""
        # k×d with the memory of d×k: the order in which sparse rows multiply without a copy
        return cls(np.ascontiguousarray(2.0 * coef).T, signed_targets(intercept))

    @classmethod
    def through_directions(
        cls,
        basis: np.ndarray,
        offset: np.ndarray,
        readout: Any,
        base: np.ndarray,
        *,
        per_row: float | None = None,
    ) -> LinearMap:
        """Return the map of targets 0/1 predicted as base + readoutᵀ(basisᵀx + offset).

        It is multiplied out, given `per_row` (non-zero features of a row) only where that is cheaper
        per row than two steps and does not take too much memory.
        """
        (d, M), k = basis.shape, len(base)
        cheap = per_row is None or per_row * k <= per_row * M + M * k
        through = Directions(basis, offset, 2.0 * readout, signed_targets(base))
        intercept = np.asarray(offset @ readout) + base
        if not cheap or 8 * d * k > PRODUCT_MAX_BYTES:
            return cls(None, signed_targets(intercept), through)
        return cls(
            cls.of_targets(np.asarray(basis @ readout), intercept).product, signed_targets(intercept), through
        )

    def lowered(self, threshold: float) -> LinearMap:
        """Return the map whose scores are lower by `threshold`."""
        if not threshold:
            return self
        through = self.through
        if through is not None:
            through = replace(through, base=through.base - threshold)
        return replace(self, intercept=self.intercept - threshold, through=through)

    @property
    def coef(self) -> Any:
        """Weights of every label, k×d; formed on demand where the map is kept factored."""
        return self.weights(slice(None)) if self.product is None else self.product

    def weights(self, labels: Any) -> np.ndarray:
        """Weights of some labels alone, dense."""
        if self.product is not None:
            return as_dense(self.product[labels])
        assert self.through is not None
        return as_dense(self.through.basis @ self.through.readout[:, labels]).T

    def scores(self, X: Any) -> np.ndarray:
        """Scores of rows, n×k."""
        if self.product is not None:
            products = X @ self.product.T
            return (products if isinstance(products, np.ndarray) else as_dense(products)) + self.intercept
        assert self.through is not None
        codes = as_dense(X @ self.through.basis) + self.through.offset
        return as_dense(codes @ self.through.readout) + self.through.base


def signed_targets(targets: Any) -> Any:
    """Bring targets (or points) 0/1 to the scale ±1 of scores: above ½ becomes positive."""
    return 2.0 * targets - 1.0


def not_linear(name: str) -> ValueError:
    """Return the refusal of a model that is no linear function of its features."""
    return ValueError(f"{name} is not linear in its features as fitted: its scores have no shares to list.")

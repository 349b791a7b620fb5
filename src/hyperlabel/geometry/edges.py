"""Hyperedges: their sizes, and the weights that follow from sums over the rows.

Symbols as in `hyperlabel.geometry.similarity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._validation import per_label_values
from hyperlabel.solvers.arrays import as_dense


@dataclass(frozen=True, eq=False)
class Edges:
    """Sizes δ and weights w of the hyperedges over all rows.

    Examples
    --------
    >>> Edges(np.array([3.0, 1.0]), np.ones(2)).sizes.tolist()
    [3.0, 1.0]
    """

    sizes: np.ndarray
    weights: np.ndarray


@dataclass
class EdgeMoments:
    """What the hyperedge weights need to know of the rows; sums, so that blocks add.

    `sizes` are δ; `x_sums` and `squares` are Σ(x − shift) and Σ‖x − shift‖² over the members of each
    hyperedge (distances do not depend on the shift; rounding does).

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1.0, 0], [1, 1], [1, 0]]))
    >>> EdgeMoments.from_rows(Y, np.array([[0.0], [1.0], [2.0]])).scatter().tolist()
    [2.0, nan]
    """

    n: int
    sizes: np.ndarray
    shift: np.ndarray | None = None
    x_sums: np.ndarray | None = None
    squares: np.ndarray | None = None

    @classmethod
    def from_rows(
        cls,
        Y: sparse.csr_array,
        X: Any = None,
        *,
        shift: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> EdgeMoments:
        """Sum over a block of rows (a weight is a repetition); with X also what `compactness` needs."""
        Y = Y if sample_weight is None else sparse.diags_array(sample_weight) @ Y
        sizes = np.asarray(Y.sum(axis=0)).ravel()
        if X is None:
            return cls(Y.shape[0], sizes)
        if sparse.issparse(X):
            X, shift = X.astype(np.float64), np.zeros(X.shape[1])
            norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        else:
            shift = X.mean(axis=0, dtype=np.float64) if shift is None else shift
            X = X - shift
            norms = np.einsum("ij,ij->i", X, X)
        return cls(Y.shape[0], sizes, shift, as_dense(Y.T @ X), Y.T @ norms)

    def add(self, other: EdgeMoments) -> EdgeMoments:
        """Add another block of rows (summed around the same point)."""
        self.n += other.n
        self.sizes = self.sizes + other.sizes
        if self.x_sums is not None and self.squares is not None:
            self.x_sums = self.x_sums + other.x_sums
            self.squares = self.squares + other.squares
        return self

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the sums as plain arrays that add; the point they are taken around is left out."""
        arrays = {"n": np.asarray(self.n), "sizes": self.sizes}
        if self.x_sums is not None and self.squares is not None:
            arrays.update(x_sums=self.x_sums, squares=self.squares)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], shift: np.ndarray) -> EdgeMoments:
        """Return the sums that `to_arrays` took apart."""
        return cls(int(arrays["n"]), arrays["sizes"], shift, arrays.get("x_sums"), arrays.get("squares"))

    def scatter(self) -> np.ndarray:
        """Mean squared distance d̄(e) over ordered pairs of members, CVPR'09 (30); NaN below two."""
        if self.x_sums is None or self.squares is None:
            raise ValueError("Compactness weights need the rows X.")
        pairs = self.sizes * (self.sizes - 1)
        total = 2 * (self.sizes * self.squares - np.einsum("ij,ij->i", self.x_sums, self.x_sums))
        return np.divide(np.maximum(total, 0.0), pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def edge_weights(
    spec: Any, sums: EdgeMoments, *, nu: float = 1.0, label_names: np.ndarray | None = None
) -> np.ndarray:
    """Return the hyperedge weights w.

    Parameters
    ----------
    spec : {"uniform", "compactness", "compactness-literal"}, array-like or mapping
        1 for every label; exp(−ν·d̄(e)), CVPR'09 (29), with d̄ of (30) relative to its mean over the
        labels, or "literal" as printed (underflows on raw features); given numbers; or
        ``{label: weight}``, labels not named having weight 1. A label with fewer than two members has no
        d̄ and gets 1.
    sums : EdgeMoments
        Sizes, and for compactness the sums over rows.
    nu : float, default=1.0
        ν of the compactness weights.
    label_names : ndarray of str, default=None
        Names a mapping may refer to (integers refer to columns).

    Examples
    --------
    >>> sums = EdgeMoments.from_rows(sparse.csr_array(np.eye(3)))
    >>> edge_weights({1: 0.5}, sums).tolist()
    [1.0, 0.5, 1.0]
    """
    k = len(sums.sizes)
    if isinstance(spec, str):
        if spec == "uniform":
            return np.ones(k)
        if spec not in ("compactness", "compactness-literal"):
            raise ValueError(
                f"Unknown edge_weights {spec!r}: choose 'uniform', 'compactness', 'compactness-literal', "
                "an array or {label: weight}."
            )
        weights = _weigh_by_compactness(sums.scatter(), nu, literal=spec.endswith("literal"))
    else:
        weights = per_label_values(spec, k, label_names, name="edge_weights")
    if not weights.any():
        raise ValueError("Every hyperedge weight is 0: use a smaller nu, scaled features or other weights.")
    return weights


def _weigh_by_compactness(scatter: np.ndarray, nu: float, *, literal: bool) -> np.ndarray:
    has_scatter = np.isfinite(scatter)
    mean = scatter[has_scatter].mean() if has_scatter.any() else 1.0
    exponent = scatter if literal or mean == 0 else scatter / mean
    return np.where(has_scatter, np.exp(-nu * np.where(has_scatter, exponent, 0.0)), 1.0)

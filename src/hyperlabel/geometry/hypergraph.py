"""The label hypergraph: every label is a hyperedge over the samples that carry it.

Symbols as in `hyperlabel.geometry.similarity`. Two Laplacians are offered: the normalised one
I − H₀H₀ᵀ (Sun, Ji & Ye 2008) and the combinatorial one diag(D) − Y diag(c) Yᵀ (equation 5 of the
CVPR'09 paper), whose rows sum to zero. Neither is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from hyperlabel._validation import per_label_values
from hyperlabel.geometry.similarity import LabelFactor, edge_scale, label_factor, mix
from hyperlabel.solvers.arrays import dense


@dataclass
class EdgeSums:
    """What the hyperedge weights need to know of the rows; sums, so that blocks add.

    Attributes
    ----------
    n : int
    sizes : ndarray of shape (k,)
        δ, members of each hyperedge.
    shift : ndarray of shape (d,) or None
        Point the distances are summed around (they do not depend on it; rounding does).
    x_sums : ndarray of shape (k, d) or None
        Σ(x − shift) over the members.
    squares : ndarray of shape (k,) or None
        Σ‖x − shift‖² over the members.
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
    ) -> EdgeSums:
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
        return cls(Y.shape[0], sizes, shift, dense(Y.T @ X), Y.T @ norms)

    def add(self, other: EdgeSums) -> EdgeSums:
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
    def from_arrays(cls, arrays: dict[str, np.ndarray], shift: np.ndarray) -> EdgeSums:
        """Return the sums that `to_arrays` took apart."""
        return cls(int(arrays["n"]), arrays["sizes"], shift, arrays.get("x_sums"), arrays.get("squares"))

    def spread(self) -> np.ndarray:
        """Mean squared distance d̄(e) over ordered pairs of members (29); NaN below two members."""
        if self.x_sums is None or self.squares is None:
            raise ValueError("Compactness weights need the rows X.")
        pairs = self.sizes * (self.sizes - 1)
        total = 2 * (self.sizes * self.squares - np.einsum("ij,ij->i", self.x_sums, self.x_sums))
        return np.divide(np.maximum(total, 0.0), pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def edge_weights(
    spec: Any, sums: EdgeSums, *, nu: float = 1.0, label_names: np.ndarray | None = None
) -> np.ndarray:
    """Return the hyperedge weights w.

    Parameters
    ----------
    spec : {"uniform", "compactness", "compactness-literal"}, array-like or mapping
        1 for every label; exp(−ν·d̄(e)) with d̄ relative to its mean over the labels (30), or d̄
        as it is (underflows on raw features); given numbers; or ``{label: weight}``, labels not
        named having weight 1. A label with fewer than two members has no d̄ and gets 1.
    sums : EdgeSums
        Sizes, and for compactness the sums over rows.
    nu : float, default=1.0
        ν of the compactness weights.
    label_names : ndarray of str, default=None
        Names a mapping may refer to (integers refer to columns).
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
        weights = _compactness(sums.spread(), nu, literal=spec.endswith("literal"))
    else:
        weights = per_label_values(spec, k, label_names, name="edge_weights")
    if not weights.any():
        raise ValueError("Every hyperedge weight is 0: use a smaller nu, scaled features or other weights.")
    return weights


def _compactness(spread: np.ndarray, nu: float, *, literal: bool) -> np.ndarray:
    known = np.isfinite(spread)
    mean = spread[known].mean() if known.any() else 1.0
    exponent = spread if literal or mean == 0 else spread / mean
    return np.where(known, np.exp(-nu * np.where(known, exponent, 0.0)), 1.0)


class LabelHypergraph:
    """The hypergraph of an indicator Y: incidence, sizes, degrees, weights, factors, Laplacians.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n, k)
        Indicator of 0 and 1; rows and columns may be empty.
    X : array-like or sparse matrix of shape (n, d), default=None
        Features, needed by compactness weights only.
    weights : see `edge_weights`, default="uniform"
    nu : float, default=1.0
    label_names : ndarray of str, default=None
    sample_weight : ndarray of shape (n,), default=None
        A sample of weight 2 stands for two equal samples, in the sizes, the compactness and
        `quadratic_form`; degrees and factors are those of one of them.

    Examples
    --------
    >>> import numpy as np
    >>> graph = LabelHypergraph(np.array([[1, 0], [1, 1], [0, 0]]))
    >>> graph.sizes, graph.degrees("zhou")
    (array([2., 1.]), array([1., 2., 0.]))
    >>> L = graph.laplacian("clique", normalized=False)
    >>> (L @ np.ones(3)).tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        y: Any,
        X: Any = None,
        *,
        weights: Any = "uniform",
        nu: float = 1.0,
        label_names: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> None:
        self.incidence = sparse.csr_array(y, dtype=np.float64)
        self.sample_weight = sample_weight
        needs_rows = isinstance(weights, str) and weights.startswith("compactness")
        sums = EdgeSums.from_rows(self.incidence, X if needs_rows else None, sample_weight=sample_weight)
        self.sizes = sums.sizes
        self.weights = edge_weights(weights, sums, nu=nu, label_names=label_names)

    def degrees(self, expansion: str = "clique") -> np.ndarray:
        """Vertex degrees D of the expansion (n)."""
        return self.incidence @ (edge_scale(self.sizes, self.weights, expansion) * self.sizes)

    def factor(self, expansion: str = "clique") -> LabelFactor:
        """Return H₀ with S = H₀H₀ᵀ, as a sparse base and a small mix."""
        return label_factor(self.incidence, expansion=expansion, sizes=self.sizes, weights=self.weights)

    def laplacian(self, expansion: str = "clique", *, normalized: bool = True) -> LinearOperator:
        """Return the Laplacian as an n×n operator of O(nnz(Y)) per product.

        Normalised: I − H₀H₀ᵀ (cca: H₀ centred); combinatorial: diag(D) − Y diag(c) Yᵀ.
        """
        n, Y = self.incidence.shape[0], self.incidence
        if normalized:
            factor = self.factor(expansion)
            centre = expansion == "cca"

            def product(v: np.ndarray) -> np.ndarray:
                v = v.reshape(n, -1)
                inner = mix(dense(factor.base.T @ (v - v.mean(axis=0) if centre else v)).T, factor.right)
                image = factor.base @ mix(inner, factor.right.T).T
                return v - (image - image.mean(axis=0) if centre else image)
        else:
            scale, degrees = edge_scale(self.sizes, self.weights, expansion), self.degrees(expansion)

            def product(v: np.ndarray) -> np.ndarray:
                v = v.reshape(n, -1)
                return degrees[:, None] * v - Y @ (scale[:, None] * (Y.T @ v))

        def vector(v: np.ndarray) -> np.ndarray:
            return product(v).ravel()

        return LinearOperator(
            (n, n), matvec=vector, matmat=product, rmatvec=vector, rmatmat=product, dtype=np.float64
        )

    def quadratic_form(self, X: Any, expansion: str = "clique", *, normalized: bool = False) -> np.ndarray:
        """Return XᵀLX (d×d) without any n×n matrix; sparse X is not densified.

        The combinatorial Laplacian satisfies L1 = 0, so X may be moved: dense rows are centred
        first, since an offset of 10³ would cost five digits.
        """
        if normalized:
            factor = self.factor(expansion)
            if expansion == "cca":
                along = np.asarray(X.sum(axis=0)).ravel()
                B = dense(X.T @ factor.base) - np.outer(along, factor.base.mean(axis=0))
            else:
                B = dense(X.T @ factor.base)
            B = mix(B, factor.right)
            return dense(X.T @ X) - B @ B.T
        if not sparse.issparse(X):
            X = X - X.mean(axis=0, dtype=np.float64)
        degrees, incidence = self.degrees(expansion), self.incidence
        if self.sample_weight is not None:
            degrees = degrees * self.sample_weight
            incidence = sparse.diags_array(self.sample_weight) @ incidence
        B = dense(X.T @ incidence) * np.sqrt(edge_scale(self.sizes, self.weights, expansion))
        scaled = sparse.diags_array(degrees) @ X if sparse.issparse(X) else degrees[:, None] * X
        form = dense(X.T @ scaled) - B @ B.T
        return (form + form.T) / 2

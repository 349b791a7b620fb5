"""The label hypergraph: every label is a hyperedge over the samples that carry it.

Symbols as in `hyperlabel.geometry.similarity`. Two Laplacians are offered: the normalised one
I − H₀H₀ᵀ (Sun, Ji & Ye 2008) and the combinatorial one diag(D) − Y diag(c) Yᵀ (equation 5 of the
CVPR'09 paper), whose rows sum to zero. Neither is formed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from hyperlabel.geometry.factor import ExpansionFactor
from hyperlabel.geometry.similarity import ThinFactor, edge_scale, edge_share
from hyperlabel.solvers.arrays import as_dense, mix_columns


class LabelHypergraph:
    """The hypergraph of an indicator Y: incidence (1), sizes, degrees, weights, factors, Laplacians.

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
        rule = ExpansionFactor(edge_weights=weights, nu=nu)
        self.edges = rule.edges(
            rule.edge_moments(self.incidence, X, sample_weight=sample_weight), label_names
        )
        self.sizes, self.weights = self.edges.sizes, self.edges.weights

    def degrees(self, expansion: str = "clique") -> np.ndarray:
        """Vertex degrees D of the expansion (n)."""
        return self.incidence @ edge_share(self.sizes, self.weights, expansion)

    def factor(self, expansion: str = "clique") -> ThinFactor:
        """Return H₀ with S = H₀H₀ᵀ, as a sparse base and a small mix."""
        return ExpansionFactor(expansion).on(self.incidence, self.edges)

    def laplacian(self, expansion: str = "clique", *, normalized: bool = True) -> LinearOperator:
        """Return the Laplacian as an n×n operator of O(nnz(Y)) per product.

        Normalised: I − H₀H₀ᵀ (cca: H₀ centred), (9) of HOPLS; combinatorial: diag(D) − Y diag(c) Yᵀ (8).
        """
        n, Y = self.incidence.shape[0], self.incidence
        if normalized:
            factor = self.factor(expansion)
            centre = expansion == "cca"

            def product(v: np.ndarray) -> np.ndarray:
                inner = mix_columns(
                    as_dense(factor.base.T @ (v - v.mean(axis=0) if centre else v)).T, factor.right
                )
                image = factor.base @ mix_columns(inner, factor.right.T).T
                return v - (image - image.mean(axis=0) if centre else image)
        else:
            scale, degrees = edge_scale(self.sizes, self.weights, expansion), self.degrees(expansion)

            def product(v: np.ndarray) -> np.ndarray:
                return degrees[:, None] * v - Y @ (scale[:, None] * (Y.T @ v))

        return _row_operator(n, product, product)

    def transition_matrix(self) -> LinearOperator:
        """Return the transition matrix P of the random walk on the samples (KDD'08 §2.1.3).

        The walker chooses a hyperedge of its sample with probability proportional to w(e), then a
        sample on it uniformly: P = D⁻¹ Y diag(w/δ) Yᵀ with D = Yw. A sample without labels has nowhere
        to go: its row is 0. A sample of weight 2 is chosen as often as two. P is an operator: a
        product costs O(nnz(Y)), and no n×n matrix is formed.

        Examples
        --------
        >>> import numpy as np
        >>> graph = LabelHypergraph(np.array([[1, 0], [1, 1], [0, 1]]))
        >>> graph.transition_matrix() @ np.eye(3)
        array([[0.5 , 0.5 , 0.  ],
               [0.25, 0.5 , 0.25],
               [0.  , 0.5 , 0.5 ]])
        """
        Y, degrees = self.incidence, self.degrees("zhou")
        leaving = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)[:, None]
        scale = edge_scale(self.sizes, self.weights, "zhou")[:, None]
        arrival = np.ones((len(degrees), 1)) if self.sample_weight is None else self.sample_weight[:, None]

        def forward(v: np.ndarray) -> np.ndarray:
            return leaving * (Y @ (scale * (Y.T @ (arrival * v))))

        def backward(v: np.ndarray) -> np.ndarray:
            return arrival * (Y @ (scale * (Y.T @ (leaving * v))))

        return _row_operator(len(degrees), forward, backward)

    def stationary_distribution(self) -> np.ndarray:
        """Return π with πP = π, to which the random walk tends on a connected hypergraph.

        π(v) is proportional to the degree d(v), the sum of the weights of the hyperedges of v.

        Examples
        --------
        >>> import numpy as np
        >>> LabelHypergraph(np.array([[1, 0], [1, 1], [0, 1]])).stationary_distribution()
        array([0.25, 0.5 , 0.25])
        """
        visits = self.degrees("zhou") * (1.0 if self.sample_weight is None else self.sample_weight)
        if not visits.any():
            raise ValueError(
                "No sample lies on a hyperedge of positive weight: a random step has nowhere to go."
            )
        return visits / visits.sum()

    def quadratic_form(self, X: Any, expansion: str = "clique", *, normalized: bool = False) -> np.ndarray:
        """Return XᵀLX (d×d) without any n×n matrix; sparse X is not densified.

        The combinatorial Laplacian satisfies L1 = 0, so X may be moved: dense rows are centred
        first, since an offset of 10³ would cost five digits.
        """
        if normalized:
            return self._normalized_form(X, expansion)
        if not sparse.issparse(X):
            X = X - X.mean(axis=0, dtype=np.float64)
        degrees, incidence = self.degrees(expansion), self.incidence
        if self.sample_weight is not None:
            degrees = degrees * self.sample_weight
            incidence = sparse.diags_array(self.sample_weight) @ incidence
        B = as_dense(X.T @ incidence) * np.sqrt(edge_scale(self.sizes, self.weights, expansion))
        scaled = sparse.diags_array(degrees) @ X if sparse.issparse(X) else degrees[:, None] * X
        form = as_dense(X.T @ scaled) - B @ B.T
        return (form + form.T) / 2

    def _normalized_form(self, X: Any, expansion: str) -> np.ndarray:
        factor, weighted = self.factor(expansion), X
        if self.sample_weight is not None:
            if expansion == "cca":
                raise ValueError("The cca expansion takes no sample_weight: repeat the samples instead.")
            weights = self.sample_weight
            weighted = sparse.diags_array(weights) @ X if sparse.issparse(X) else weights[:, None] * X
        B = as_dense(weighted.T @ factor.base)
        if expansion == "cca":
            B -= np.outer(np.asarray(X.sum(axis=0)).ravel(), factor.base.mean(axis=0))
        B = mix_columns(B, factor.right)
        return as_dense(X.T @ weighted) - B @ B.T


def _row_operator(
    n: int, forward: Callable[[np.ndarray], np.ndarray], backward: Callable[[np.ndarray], np.ndarray]
) -> LinearOperator:
    """Return an n×n operator from its product with columns and that of its transpose."""

    def as_vector(product: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        return lambda v: product(v.reshape(n, 1)).ravel()

    return LinearOperator(
        (n, n),
        matvec=as_vector(forward),
        matmat=forward,
        rmatvec=as_vector(backward),
        rmatmat=backward,
        dtype=np.float64,
    )

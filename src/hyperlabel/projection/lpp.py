"""Locality preserving projections (He & Niyogi 2003): unsupervised, for the comparison tables.

Notation
--------
code     meaning                                                                shape
A        affinity exp(−‖x − x'‖²/width) between neighbours, symmetrised by OR   n×n, sparse
degrees  D = A1                                                                 n
Xc       X − 1μᵀ with μ the D-weighted mean                                     n×d

A is indefinite and of rank about n: LPP does not fit the low-rank table of the other methods and
costs an eigenproblem of the size of the smaller side of X.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse

from hyperlabel._params import NONE, Rule, number, whole
from hyperlabel._validation import check_features
from hyperlabel.projection._base import NORMALIZE, Projection
from hyperlabel.solvers.arrays import as_dense, rank_tolerance
from hyperlabel.solvers.operators import CenteredRows
from hyperlabel.solvers.spectral.eigen import fix_signs


@dataclass(eq=False, repr=False)
class LPP(Projection):
    r"""Directions that keep neighbours close; labels are not used.

    .. math:: \max_W \operatorname{tr}(W^T X_c^T A X_c W)
              \quad\text{subject to}\quad W^T (X_c^T D X_c + \lambda I) W = I,

    where:

    - :math:`A_{ij} = \exp(-\|x_i - x_j\|^2 / t)` if one of the rows is among the `n_neighbors`
      nearest of the other, 0 otherwise; :math:`t` is `width`;
    - :math:`D` is diagonal with :math:`A`'s row sums;
    - :math:`X_c` is centred at the D-weighted mean, which removes the trivial constant solution;
    - :math:`\lambda` is `alpha`; at 0, directions in which :math:`X_c^T D X_c` is singular are
      left out.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None means all (the rank of the features).
    n_neighbors : int, default=5
        Neighbours of each row (at most the number of other rows).
    width : float, default=None
        Heat width t; None means the mean squared distance between neighbours.
    alpha : float, default=1.0
        The ridge λ.
    normalize : {"metric", "unit"}, default="metric"
        As in `HypergraphSpectral`.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (n_components, n_features) and (n_features,)
        Wᵀ, each row's largest entry positive, and the D-weighted mean row.
    eigenvalues_ : ndarray of shape (n_components,)
        Largest first; at λ = 0 they lie between −1 and 1, 1 meaning that neighbours coincide.
    width_ : float
        Heat width used.
    solver_ : str
        "gram" (d×d) or "samples" (n×n); sparse rows are not densified, the smaller Gram is dense.

    References
    ----------
    .. [1] X. He, P. Niyogi, "Locality Preserving Projections", NIPS 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hyperlabel import LPP
    >>> X, _ = make_blobs(60, n_features=4, random_state=0)
    >>> LPP(n_components=2).fit_transform(X).shape
    (60, 2)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": whole(1) | NONE,
        "n_neighbors": whole(1),
        "width": number(above=0) | NONE,
        "alpha": number(0),
        "normalize": NORMALIZE,
    }

    n_components: int | None = None
    _: KW_ONLY
    n_neighbors: int = 5
    width: float | None = None
    alpha: float = 1.0
    normalize: str = "metric"

    def fit(self, X: Any, y: Any = None) -> LPP:
        """Learn the projection of rows; y is ignored."""
        X = check_features(self, X, reset=True, min_samples=2)
        A = self._affinity(X)
        rows = CenteredRows(X, np.asarray(A.sum(axis=1)).ravel())
        values, W = solve_lpp(X, A, rows, float(self.alpha))
        W = fix_signs(W[:, : self.n_components])
        self._set_components(values[: self.n_components], W, rows.mean, X.dtype)
        self.solver_ = "gram" if X.shape[1] <= X.shape[0] else "samples"
        return self

    def _affinity(self, X: Any) -> sparse.csr_array:
        from sklearn.neighbors import NearestNeighbors  # takes longer than importing this library

        k = min(self.n_neighbors, X.shape[0] - 1)
        graph = NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph(mode="distance")
        squared = graph.data**2
        mean = float(squared.mean())
        self.width_ = float(self.width) if self.width is not None else (mean if mean > 0 else 1.0)
        graph.data = np.exp(-squared / self.width_)
        graph = sparse.csr_array(graph)
        return sparse.csr_array(graph.maximum(graph.T))


def solve_lpp(X: Any, A: sparse.csr_array, rows: CenteredRows, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues, largest first, and W; `rows` are D^(1/2)(X − 1μᵀ) = U S Pᵀ."""
    n, d = X.shape
    root: Any = rows.root
    if d <= n:
        # A1 = D1, so the cross terms of centring collect into one rank-one term.
        outer = rows.weight * np.outer(rows.mean, rows.mean)
        scaled = sparse.diags_array(root**2) @ X if sparse.issparse(X) else (root**2)[:, None] * X
        constraint, objective = as_dense(X.T @ scaled) - outer, as_dense(X.T @ (A @ X)) - outer
        s, P = _range_basis(constraint)
        half = P / np.sqrt(s + alpha)
        values, V = linalg.eigh(half.T @ objective @ half)
        return values[::-1], (half @ V)[:, ::-1]
    s, U = _range_basis(rows.gram())
    scale = np.sqrt(s / (s + alpha))
    inner = U / root[:, None]
    values, V = linalg.eigh(scale[:, None] * (inner.T @ (A @ inner)) * scale)
    # w = P(S² + αI)^(−1/2)v with P = (D^(1/2)Xc)ᵀU S⁻¹
    return values[::-1], rows.rmatmat(U @ (V[:, ::-1] / np.sqrt(s * (s + alpha))[:, None]))


def _range_basis(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of a Gram without its null space: rows do not vary there."""
    s, Q = linalg.eigh(gram)
    in_range = s > rank_tolerance(s)
    return s[in_range], Q[:, in_range]

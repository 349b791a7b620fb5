"""Multi-label dimensionality reduction by dependence maximisation (Zhang & Zhou 2010).

Notation: Xc, Yc centred rows and labels, B = XcᵀYc (d×k). With the linear label kernel the
Hilbert–Schmidt dependence of a projected row on the labels is tr(WᵀBBᵀW).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.projection._base import LabelProjection
from hyperlabel.solvers.arrays import dense
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.operators import weighted_mean
from hyperlabel.solvers.ridge import CrossPath, Path


class MDDM(LabelProjection):
    r"""Directions along which rows depend most on the labels.

    .. math:: \max_W \operatorname{tr}(W^T X_c^T Y_c Y_c^T X_c W) \quad\text{subject to}\quad W^T C W = I,

    where C is the identity in the *projection* variant (orthonormal directions) and
    :math:`\mu X_c^T X_c + (1 - \mu) I` in the *feature* variant (uncorrelated features).

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None means all (the rank).
    variant : {"projection", "feature"}, default="projection"
        Which constraint.
    mu : float, default=0.5
        μ of the feature variant, from 0 (the projection variant) to 1 (`OPLS` with λ = 0).
    solver, tol, max_iter, cross_fit, cv
        As in `OPLS`; the projection variant solves nothing.

    Attributes
    ----------
    components_, eigenvalues_, mean_, solver_, residual_, n_iter_
        As in `OPLS`; `solver_` is "none" in the projection variant.

    References
    ----------
    .. [1] Y. Zhang, Z.-H. Zhou, "Multilabel Dimensionality Reduction via Dependence Maximization",
       ACM TKDD 4(3), 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import MDDM
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> W = MDDM(n_components=3).fit(X, Y).components_
    >>> bool(abs(W @ W.T - [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).max() < 1e-10)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        variant: str = "projection",
        mu: float = 0.5,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 300,
        cross_fit: bool = False,
        cv: Any = 5,
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.mu = mu
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cross_fit = cross_fit
        self.cv = cv

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The ridge λ = (1 − μ)/μ that the feature variant amounts to, up to a factor 1/√μ of W."""
        return (1.0 - self.mu) / self.mu if self._ridged else 0.0

    @property
    def _ridged(self) -> bool:
        if self.variant not in ("projection", "feature"):
            raise ValueError(f"Unknown variant {self.variant!r}: choose 'projection' or 'feature'.")
        if not 0 <= self.mu <= 1:
            raise ValueError(f"mu must lie between 0 and 1, got {self.mu}.")
        return self.variant == "feature" and self.mu > 0

    def _path(self, X: Any, base: sparse.csr_array, moments: Moments | None) -> Path:
        if self._ridged:
            return super()._path(X, base, moments)
        x_mean, f_mean = weighted_mean(X, None), weighted_mean(base, None)
        B = dense(base.T @ X).T - np.outer(X.shape[0] * x_mean, f_mean)
        return CrossPath(B, x_mean=x_mean, f_mean=f_mean)

    def _path_of_sums(self, sums: Any) -> Path:
        if self._ridged:
            return super()._path_of_sums(sums)
        return CrossPath(sums.xf, x_mean=sums.x_mean, f_mean=sums.f_mean)

    def _route(self, X: Any) -> str:
        return super()._route(X) if self._ridged else "none"

    def _read(self, path: Path, gram: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, W = super()._read(path, gram, right)
        return (values / self.mu, W / np.sqrt(self.mu)) if self._ridged else (values, W)

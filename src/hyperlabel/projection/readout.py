"""A projection with a linear read-out: the classifier that lives on moments alone.

Notation
--------
=============  ==========================================================  =======
code           meaning                                                     shape
=============  ==========================================================  =======
W              the projection, `projection_.components_` transposed        d×c
V              read-out, (WᵀXcᵀXcW + ρI)⁻¹WᵀXcᵀYc                          c×k
coef_          2(WV)ᵀ, on targets ±1                                       k×d
=============  ==========================================================  =======

XcᵀXc and XcᵀYc are all the read-out needs, so cross-validating it costs no pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone

from hyperlabel._base import MultiLabelClassifier
from hyperlabel.geometry.similarity import centered_gram
from hyperlabel.projection._base import LabelProjection
from hyperlabel.projection._solve import ridge_path
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.solvers.moments import CenteredMoments, Moments


class ProjectionClassifier(MultiLabelClassifier):
    r"""A supervised projection followed by one linear read-out for all labels.

    .. math:: f(x) = 2\,(V^T W^T (x - \mu) + \bar y) - 1, \qquad
              V = \arg\min_V \|X_c W V - Y_c\|^2 + \rho \|V\|^2,

    where:

    - :math:`W` is the projection fitted on the rows and their labels, d×c;
    - :math:`V` is the read-out, c×k, and :math:`\rho` its ridge (`readout_alpha`);
    - :math:`\mu`, :math:`\bar y` are the means of rows and labels.

    Parameters
    ----------
    projection : transformer, default=None
        A projection of the library, such as `HypergraphSpectral` or `OPLS`; None is
        ``HypergraphSpectral()``.
    readout_alpha : float, default=1e-6
        Ridge ρ of the read-out. The projections are scaled to unit size over the training
        rows, so that 1 is already strong.

    Attributes
    ----------
    projection_ : transformer
        The fitted projection.
    coef_ : ndarray of shape (n_labels, n_features)
        Projection and read-out multiplied out.
    intercept_ : ndarray of shape (n_labels,)

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import HypergraphSpectral, ProjectionClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ProjectionClassifier(HypergraphSpectral(3, alpha=10.0)).fit(X, Y)
    >>> model.decision_function(X[:2]).shape
    (2, 5)
    """

    def __init__(self, projection: Any = None, *, readout_alpha: float = 1e-6) -> None:
        self.projection = projection
        self.readout_alpha = readout_alpha

    def fit(self, X: Any, y: Any) -> ProjectionClassifier:
        """Fit the projection, then the read-out on the projected rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes.

        Returns
        -------
        self : ProjectionClassifier
        """
        X, Y = self._check_fit(X, y, min_samples=2)
        self.projection_ = clone(self._template())
        if not hasattr(self.projection_, "components_") and not isinstance(self.projection_, LabelProjection):
            raise ValueError("projection must be one of hyperlabel's projections, such as OPLS().")
        if not self._constant.all():
            self.projection_.fit(X, Y)
            Z = Moments.from_rows(np.asarray(self.projection_.transform(X), dtype=np.float64), Y).centered()
            V = read_out(Z.xx, Z.xf, self.readout_alpha)
            components = self.projection_.components_.astype(np.float64)
            self.coef_ = 2.0 * V.T @ components
            self.intercept_ = 2.0 * (Z.f_mean - self.projection_.mean_ @ components.T @ V) - 1.0
        else:  # every label is constant: there is nothing to project on
            self.coef_ = np.zeros((Y.shape[1], X.shape[1]))
            self.intercept_ = self._constant.astype(np.float64)
        return self

    def _template(self) -> Any:
        return HypergraphSpectral() if self.projection is None else self.projection

    def _scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T) + self.intercept_


def read_out(zz: np.ndarray, zy: np.ndarray, alpha: float) -> np.ndarray:
    """Return (ZᵀZ + ρI)⁻¹ZᵀY; directions that the rows do not reach stay at 0."""
    s, Q = linalg.eigh(zz)
    s = np.maximum(s, 0.0)
    floor = s[-1] * len(s) * np.finfo(np.float64).eps if len(s) else 0.0
    inverse = np.divide(1.0, s + alpha, out=np.zeros_like(s), where=s > floor)
    return Q @ (inverse[:, None] * (Q.T @ zy))


def fold_coefficients(
    projection: Any,
    X: Any,
    Y: sparse.csr_array,
    moments: Moments,
    alphas: Sequence[float],
    readout_alpha: float,
) -> Any:
    """Return ``coefficients(alpha, n_components) -> (coef, intercept)`` of a training fold.

    X and Y are the fold's training rows, from which the label factor is formed (it depends on the
    fold's label sizes); `moments` are their sums over Y. One factorisation serves every λ, and
    one W every number of components.
    """
    centered = moments.centered()
    model = clone(projection)
    model._check_fit(X, Y)
    edges = model._edges(X, Y)
    base = model._label_base(Y, edges)
    path = ridge_path(X, base, moments, alphas=(*alphas, 0.0), solver="gram")
    gram = centered_gram(base)
    right = model._label_mix(edges, gram)
    kept: dict[float, np.ndarray] = {}

    def coefficients(alpha: float, n_components: int | None) -> tuple[np.ndarray, np.ndarray]:
        if alpha not in kept:
            kept[alpha] = model.set_params(alpha=alpha, n_components=None)._read(path, gram, right)[1]
        W = kept[alpha][:, :n_components]
        return _through(W, centered, readout_alpha)

    return coefficients


def _through(W: np.ndarray, sums: CenteredMoments, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    V = read_out(W.T @ sums.xx @ W, W.T @ sums.xf, alpha)
    coef = 2.0 * W @ V
    return coef, 2.0 * sums.f_mean - sums.x_mean @ coef - 1.0

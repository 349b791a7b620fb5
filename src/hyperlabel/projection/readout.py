"""A projection with a linear read-out: the classifier that lives on moments alone.

Notation
--------
code           meaning                                                     shape
W              the projection, `projection_.components_` transposed        d×c
readout_       V = (WᵀXcᵀXcW + ρI)⁻¹WᵀXcᵀYc                                c×k
coef_          2(WV)ᵀ, on targets ±1                                       k×d

XcᵀXc and XcᵀYc are all the read-out needs, so cross-validating it costs no pass over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._missing_labels import EPS, fill_unknown, find_unknown_labels, known_part
from hyperlabel._params import Rule, number
from hyperlabel.moments.linear_map import LinearMap
from hyperlabel.projection._base import LabelProjection, Projection
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.solvers.arrays import rank_tolerance
from hyperlabel.solvers.moments.row_moments import RowMoments


@dataclass(eq=False, repr=False)
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
    readout_ : ndarray of shape (n_components, n_labels)
        V, from projected rows to labels coded 0/1.
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

    _rules: ClassVar[dict[str, Rule]] = {"readout_alpha": number(0)}

    projection: Any = None
    _: KW_ONLY
    readout_alpha: float = 1e-6

    @property
    def _accepts_missing_labels(self) -> bool:  # type: ignore[override]
        return getattr(self._projection_or_default(), "_accepts_missing_labels", False)

    @property
    def _accepts_soft_targets(self) -> bool:  # type: ignore[override]
        return self._accepts_missing_labels

    def fit(self, X: Any, y: Any) -> ProjectionClassifier:
        """Fit the projection and the read-out.

        Shares and labels nobody knows (NaN) are treated as in the projection, by the read-out too. A label
        that no row knows gets the mean share of the others as its score, and is not predicted by it alone.
        """
        X, Y_given = known_part(*self._check_fit(X, y, min_samples=2))
        Y = fill_unknown(Y_given)
        self.projection_ = clone(self._projection_or_default())
        if not isinstance(self.projection_, Projection):
            raise ValueError("projection must be one of hyperlabel's projections, such as OPLS().")
        if self._constant.all():  # there is nothing to project on
            self.coef_ = np.zeros((Y.shape[1], X.shape[1]))
            self.intercept_ = self._constant.astype(np.float64)
            return self
        self.projection_.fit(X, Y)
        if self.projection_.kernel_ is not None:
            raise ValueError(
                "A projection through a kernel is not linear: follow it by BinaryRelevance in a pipeline."
            )
        Z = RowMoments.from_rows(np.asarray(self.projection_.transform(X), dtype=np.float64), Y).centered()
        self.readout_, self._mean_ = read_out(Z.gram, Z.cross, self.readout_alpha), Z.f_mean
        if Y is not Y_given:
            unknown_labels, share = find_unknown_labels(Y_given)
            self._mean_[unknown_labels] = min(share, 0.5 - EPS) if share <= 0.5 else share
        linear_map = self._linear_map()
        self.coef_, self.intercept_ = np.ascontiguousarray(linear_map.coef), linear_map.intercept
        return self

    def _projection_or_default(self) -> Any:
        return HypergraphSpectral() if self.projection is None else self.projection

    def _linear_map(self) -> LinearMap:
        if not hasattr(self, "readout_"):
            return LinearMap(self.coef_, self.intercept_)
        W = self.projection_.components_.T.astype(np.float64)
        return LinearMap.through_directions(W, -self.projection_.mean_ @ W, self.readout_, self._mean_)

    def _scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T) + self.intercept_

    # -- closed-form search --------------------------------------------------------------------------------

    @property
    def _closed_form_params(self) -> dict[str, str]:
        """What ClosedFormSearchCV may search, and where it lives."""
        params = self._projection_or_default().get_params(deep=False)
        return {name: f"projection__{name}" for name in ("alpha", "mu", "n_components") if name in params}

    def _refuses_blocks(self) -> str | None:
        template = self._projection_or_default()
        if not isinstance(template, LabelProjection):
            return f"{type(template).__name__} has no label factor: it needs all rows at once."
        return template._refuses_blocks()

    def _fold_maps(
        self, moments: RowMoments, X: Any, Y: sparse.csr_array, alphas: Sequence[float]
    ) -> Callable[[dict[str, Any]], LinearMap]:
        """Return the map of any setting on a training fold, from its rows and their sums over Y.

        The label factor depends on the fold's label sizes, so it is formed from the rows; one
        factorisation serves every λ, and one W every number of components.
        """
        projection = clone(self._projection_or_default()).set_params(n_components=None)
        X, Y = projection._check_fit(X, Y)
        centered = moments.centered()
        # 0 among the λ ahead: any other may be asked for later
        problem = projection._build_problem(X, Y, row_moments=moments, alphas=(*alphas, 0.0))
        eigenvectors_at: dict[float, np.ndarray] = {}

        def make_map(setting: dict[str, Any]) -> LinearMap:
            ridge = setting.get("alpha", projection._ridge_penalty() or 0.0)
            alpha = problem.alpha if isinstance(ridge, str) else float(ridge)
            if alpha not in eigenvectors_at:
                W = projection._eigenvectors(problem, alpha)[1]
                eigenvectors_at[alpha] = projection._scale_directions(W)
            size = setting.get("n_components", self._projection_or_default().n_components)
            W = eigenvectors_at[alpha][:, :size]
            V = read_out(W.T @ centered.gram @ W, W.T @ centered.cross, self.readout_alpha)
            return LinearMap.through_directions(W, -centered.x_mean @ W, V, centered.f_mean)

        return make_map


def read_out(zz: np.ndarray, zy: np.ndarray, alpha: float) -> np.ndarray:
    """Return (ZᵀZ + ρI)⁻¹ZᵀY; directions that the rows do not reach stay at 0."""
    s, Q = linalg.eigh(zz)
    s = np.maximum(s, 0.0)
    inverse = np.divide(1.0, s + alpha, out=np.zeros_like(s), where=s > rank_tolerance(s))
    return Q @ (inverse[:, None] * (Q.T @ zy))

"""Hypergraph spectral learning with λ chosen by cross-validation.

The score is that of a classifier on the projection, on rows neither has seen. Where XᵀX fits, the
folds cost about one pass: the sums of a training fold are those of all rows less the fold left
out, and one factorisation gives every λ of a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone

from hyperlabel.geometry.similarity import centered_gram, mix_both
from hyperlabel.linear import BinaryRelevance
from hyperlabel.metrics import roc_auc_score
from hyperlabel.model_selection import resolve_cv
from hyperlabel.projection._solve import fold_sums, read_form, ridge_path, spread_rows
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.solvers.eigen import Gram
from hyperlabel.solvers.moments import CenteredMoments, Moments

DEFAULT_ALPHAS = tuple(float(alpha) for alpha in np.logspace(-3, 4, 15))

_SHARED = ("n_components", "expansion", "form", "edge_weights", "nu", "solver", "tol", "max_iter")


class HypergraphSpectralCV(HypergraphSpectral):
    """`HypergraphSpectral` with λ chosen by cross-validation.

    Parameters
    ----------
    n_components : int, default=None
        As in `HypergraphSpectral`.
    alphas : sequence of float, default=None
        The λ to try; None means 15 from 10⁻³ to 10⁴.
    expansion, form, edge_weights, nu, solver, tol, max_iter
        As in `HypergraphSpectral`.
    estimator : classifier, default=None
        What is trained on the projection for each label, such as ``LinearSVC()``; None means
        least squares, which costs next to nothing.
    scoring : callable, default=None
        ``scoring(y_true, y_score) -> float``, larger is better; None means the mean over labels
        of the area under the ROC curve (labels with one class only left out).
    cv : int, splitter or iterable, default=3
        Folds; a number means stratified folds.
    cross_fit : bool, default=False
        As in `HypergraphSpectral`, with the same folds and the λ chosen.

    Attributes
    ----------
    alpha_ : float
        The λ chosen; the larger one where scores tie.
    cv_scores_ : ndarray of shape (n_alphas, n_folds)
        Score of each λ in each fold.
    alphas_ : ndarray of shape (n_alphas,)
        The λ tried, in increasing order.
    components_, eigenvalues_, mean_, solver_, residual_
        As in `HypergraphSpectral`, fitted on all rows.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import HypergraphSpectralCV
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = HypergraphSpectralCV(alphas=[0.1, 10.0, 1000.0]).fit(X, Y)
    >>> model.cv_scores_.shape
    (3, 3)
    >>> float(model.alpha_) in (0.1, 10.0, 1000.0)
    True
    """

    kernel = "linear"
    kernel_params = None
    n_landmarks = None
    random_state = None

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alphas: Sequence[float] | None = None,
        expansion: str = "clique",
        form: str = "exact",
        edge_weights: Any = "uniform",
        nu: float = 1.0,
        estimator: Any = None,
        scoring: Callable[[Any, np.ndarray], float] | None = None,
        cv: Any = 3,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 300,
        cross_fit: bool = False,
    ) -> None:
        self.n_components = n_components
        self.alphas = alphas
        self.expansion = expansion
        self.form = form
        self.edge_weights = edge_weights
        self.nu = nu
        self.estimator = estimator
        self.scoring = scoring
        self.cv = cv
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cross_fit = cross_fit

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The λ chosen."""
        return self.alpha_

    def _sibling(self) -> HypergraphSpectral:
        params = {k: v for k, v in self.get_params(deep=False).items() if k in _SHARED}
        return HypergraphSpectral(alpha=self.alpha_, **params)

    def _refuses_blocks(self) -> str | None:
        return "Choosing λ needs the rows of every fold: choose it on a sample, then fit HypergraphSpectral."

    def fit(self, X: Any, y: Any = None) -> HypergraphSpectralCV:
        """Choose λ, then fit on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes.

        Returns
        -------
        self : HypergraphSpectralCV
        """
        X, Y = self._check_fit(X, y, min_samples=2)
        self.alphas_ = np.sort(
            np.asarray(DEFAULT_ALPHAS if self.alphas is None else self.alphas, dtype=float)
        )
        if not (self.alphas_.size and np.isfinite(self.alphas_).all() and self.alphas_[0] >= 0):
            raise ValueError("alphas must be one or more finite numbers of at least 0.")
        splits = [pair for pair in resolve_cv(self.cv, Y).split(np.zeros(X.shape[0]), Y) if len(pair[1])]
        sums = fold_sums(X, Y, splits, self._route(X))
        columns = [
            self._fold_scores(X, Y, train, test, None if sums is None else sums.training(fold))
            for fold, (train, test) in enumerate(splits)
        ]
        self.cv_scores_ = np.column_stack(columns)
        known = np.isfinite(self.cv_scores_)  # no score where a test fold has labels of one class only
        mean = np.where(known, self.cv_scores_, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        self.alpha_ = float(self.alphas_[np.flatnonzero(mean == mean.max())[-1]])
        self._fit_rows(X, Y, None if sums is None else sums.total)
        return self

    def _fold_scores(
        self, X: Any, Y: sparse.csr_array, train: np.ndarray, test: np.ndarray, moments: Moments | None
    ) -> np.ndarray:
        """Score every λ on one fold; with the sums of its training rows, those rows are not read again."""
        labels = Y[train]
        edges = self._edges(X[train] if self._needs_rows else None, labels)
        base = self._label_base(labels, edges)
        gram = centered_gram(base)
        right = self._label_mix(edges, gram)
        if moments is None:
            path = ridge_path(X[train], base, None, alphas=self.alphas_, **self._solver_options())
        else:
            path = ridge_path(X, spread_rows(base, train, X.shape[0]), moments, alphas=self.alphas_)
        factor = Gram(mix_both(gram, right))
        projections = [
            read_form(self.form, path, factor, right, alpha, self.n_components)[1] for alpha in self.alphas_
        ]
        if moments is None or self.estimator is not None:
            given = self._scores_from_rows(projections, path.x_mean, X[train], labels, X[test])
        else:
            given = _scores_from_sums(projections, moments.centered(), X[test])
        measure = self.scoring or roc_auc_score
        return np.array([np.nan if found is None else measure(Y[test], found) for found in given])

    def _scores_from_rows(
        self, projections: list[np.ndarray], mean: np.ndarray, rows: Any, Y: sparse.csr_array, test_rows: Any
    ) -> Iterator[np.ndarray | None]:
        for W in projections:
            if not W.shape[1]:
                yield None
                continue
            Z, Z_test = rows @ W - mean @ W, test_rows @ W - mean @ W
            if self.estimator is not None:
                yield BinaryRelevance(clone(self.estimator)).fit(Z, Y).decision_function(Z_test)
            else:
                yield Z_test @ _least_squares(Z.T @ Z, (Y.T @ Z).T)


def _scores_from_sums(
    projections: list[np.ndarray], sums: CenteredMoments, test_rows: Any
) -> Iterator[np.ndarray | None]:
    """Read out by least squares from XcᵀXc and XcᵀYc; all λ in one product with the test rows."""
    maps = [W @ _least_squares(W.T @ sums.xx @ W, W.T @ sums.xf) for W in projections]
    k = sums.xf.shape[1]
    whole = np.hstack(maps)
    scores = np.asarray(test_rows @ whole) - sums.x_mean @ whole
    for i, W in enumerate(projections):
        yield scores[:, i * k : (i + 1) * k] if W.shape[1] else None


def _least_squares(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    # Projected columns are nearly orthogonal: the normal equations are harmless.
    return linalg.pinvh(gram) @ cross if len(gram) else cross

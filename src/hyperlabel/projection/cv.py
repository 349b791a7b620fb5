"""Hypergraph spectral learning with λ chosen by cross-validation.

The score is that of a classifier on the projection, on rows neither has seen. Where XᵀX fits, the
folds cost about one pass: the sums of a training fold are those of all rows less the fold left
out, and one factorisation gives every λ of a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone

from hyperlabel.geometry.similarity import centered_gram, mix_both
from hyperlabel.linear import BinaryRelevance
from hyperlabel.metrics import roc_auc_score
from hyperlabel.model_selection import resolve_cv
from hyperlabel.projection._solve import fold_sums, read_form, ridge_path
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.solvers.eigen import Gram

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
        self, X: Any, Y: sparse.csr_array, train: np.ndarray, test: np.ndarray, moments: Any
    ) -> np.ndarray:
        """Score every λ on one fold."""
        rows, labels = X[train], Y[train]
        edges = self._edges(rows, labels)
        base = self._label_base(labels, edges)
        path = ridge_path(rows, base, moments, alphas=self.alphas_, **self._solver_options())
        gram = centered_gram(base)
        right = self._label_mix(edges, gram)
        factor = Gram(mix_both(gram, right))
        scores = np.full(len(self.alphas_), np.nan)
        for i, alpha in enumerate(self.alphas_):
            _, W = read_form(self.form, path, factor, right, alpha, self.n_components)
            if W.shape[1]:
                offset = path.x_mean @ W
                given = self._downstream(rows @ W - offset, labels, X[test] @ W - offset)
                scores[i] = (self.scoring or roc_auc_score)(Y[test], given)
        return scores

    def _downstream(self, Z: np.ndarray, Y: sparse.csr_array, Z_test: np.ndarray) -> np.ndarray:
        """Scores of test rows by the classifier trained on the projection."""
        if self.estimator is not None:
            return BinaryRelevance(clone(self.estimator)).fit(Z, Y).decision_function(Z_test)
        # Columns of Z are centred and nearly orthogonal: the normal equations are harmless.
        gram = Z.T @ Z
        return Z_test @ (linalg.pinvh(gram) @ (Y.T @ Z).T)

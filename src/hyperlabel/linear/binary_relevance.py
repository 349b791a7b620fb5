"""Binary relevance: one linear model per label, all labels in one solve.

Notation
--------
==========  =====================================  =====
code        meaning                                shape
==========  =====================================  =====
X           samples                                n×d
Y           labels, 0/1                            n×k
moments_    Σx, Σy, XᵀX, XᵀY                       —
coef_       2W, W = (XcᵀXc + λI)⁻¹XcᵀYc            k×d
==========  =====================================  =====
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from hyperlabel._base import MultiLabelClassifier, constant_labels, shape_probabilities
from hyperlabel._validation import check_weights
from hyperlabel.linear.moments_model import MomentsModel
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.ridge import RidgePath


def _estimators_have(name: str) -> Any:
    def check(self: Any) -> bool:
        return self.estimator is not None and hasattr(self.estimator, name)

    return check


class BinaryRelevance(MomentsModel, MultiLabelClassifier):
    r"""One linear model per label; with the default estimator, one shared solve for all of them.

    With ``estimator=None`` every label j is a ridge regression on targets ±1,

    .. math:: \min_{w_j, b_j} \sum_i (w_j^T x_i + b_j - (2 y_{ij} - 1))^2 + \alpha \|w_j\|^2,

    where:

    - :math:`x_i` is a row of X, :math:`y_{ij} \in \{0, 1\}` says whether it carries label j;
    - :math:`\alpha` is the ridge λ (the intercept :math:`b_j` is not penalised).

    All labels share XᵀX, so the fit is one pass over the rows and one d×d factorisation
    however many labels there are; sparse X is never densified. The sums (`moments_`) are kept,
    so that rows can be added (`partial_fit`), other models merged in (`merge`), rows forgotten
    (`forget`, `slide`) and labels added, dropped and renamed, all without the old rows and
    equal to a fit from scratch.

    Parameters
    ----------
    estimator : classifier, default=None
        A scikit-learn classifier cloned for each label, or None for the shared ridge.
    alpha : float, default=1.0
        The ridge λ of the shared solve; 0 means the pseudo-inverse.
    n_jobs : int, default=None
        Labels fitted in parallel when `estimator` is given.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Weights of the shared ridge (absent when `estimator` is given).
    intercept_ : ndarray of shape (n_labels,)
        Intercepts of the shared ridge.
    residual_ : float
        Certificate: relative residual of the normal equations.
    moments_ : Moments
        The sums the shared ridge was solved from.
    estimators_ : list
        One fitted clone per label, None for labels that are constant in training.
    classes_ : ndarray
        ``arange(n_labels)``, or the classes of a 1-D y.
    label_names_ : ndarray of str
        Column names of a DataFrame y.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = BinaryRelevance(alpha=10.0).fit(X, Y)
    >>> model.predict(X[:2]).shape
    (2, 5)
    >>> best, scores = model.predict_topk(X[:2], k=2)
    >>> best.shape
    (2, 2)
    """

    def __init__(self, estimator: Any = None, *, alpha: float = 1.0, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> BinaryRelevance:
        """Fit all labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        **fit_params : dict
            Further metadata for `estimator`, when metadata routing is enabled.

        Returns
        -------
        self : BinaryRelevance
        """
        X, Y = self._check_fit(X, y)
        weights = check_weights(sample_weight, X)
        if self.estimator is None:
            if fit_params:
                raise TypeError(f"The shared ridge takes no fit parameter {next(iter(fit_params))!r}.")
            self.moments_ = Moments.from_rows(X, Y, sample_weight=weights)
            self._solve()
        else:
            self._fit_each(X, Y, weights, fit_params)
        return self

    @available_if(lambda self: self.estimator is None)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> BinaryRelevance:
        """Add rows to the shared ridge; the result equals one fit on all rows seen.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows.
        y : array-like or sparse matrix
            Their labels.
        classes : array-like, default=None
            At the first call with a 1-D y: all classes that will ever come.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : BinaryRelevance
        """
        return self._partial_fit(X, y, classes, sample_weight)

    @available_if(_estimators_have("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, n×k (both classes as columns for a 1-D binary y).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_labels)
        """
        X = self._check_predict(X)
        columns = np.repeat((self._constant > 0).astype(float)[None, :], X.shape[0], axis=0)
        for j, model in enumerate(self.estimators_):
            if model is not None:
                columns[:, j] = model.predict_proba(X)[:, 1]
        return shape_probabilities(self._layout, columns)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: all fit parameters to the per-label estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.estimator is not None:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(estimator=self.estimator, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = self.estimator.__sklearn_tags__()
            tags.input_tags.sparse = inner.input_tags.sparse
            if inner.classifier_tags is not None:
                tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags

    def _refuses_blocks(self) -> str | None:
        if self.estimator is None:
            return None
        return (
            f"BinaryRelevance({type(self.estimator).__name__}()) needs all rows at once: "
            "fit it in memory, or leave estimator=None for the shared ridge."
        )

    # -- the shared ridge ---------------------------------------------------------------------------

    def _solve(self) -> None:
        if not self.alpha >= 0:
            raise ValueError(f"alpha must be at least 0, got {self.alpha}.")
        self._constant = constant_labels(self.moments_.f_sum, self.moments_.weight)
        result = RidgePath(self.moments_).solve_once(float(self.alpha))
        # Targets are ±1 = 2y − 1, so everything doubles and the intercept moves down by one.
        self.coef_ = np.ascontiguousarray(2.0 * result.coef.T)
        self.intercept_ = 2.0 * result.intercept - 1.0
        self.residual_ = result.residual

    # -- one estimator per label --------------------------------------------------------------------

    def _fit_each(
        self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None, fit_params: dict[str, Any]
    ) -> None:
        if not is_classifier(self.estimator):
            raise ValueError(f"estimator must be a classifier, got {type(self.estimator).__name__}.")
        params = self._params_for_labels(weights, fit_params)
        columns = Y.tocsc()
        jobs = (
            delayed(_fit_label)(clone(self.estimator), X, _column(columns, j), params)
            for j in range(Y.shape[1])
            if self._constant[j] == 0
        )
        fitted = iter(Parallel(n_jobs=self.n_jobs)(jobs))
        self.estimators_ = [next(fitted) if c == 0 else None for c in self._constant]

    def _params_for_labels(self, weights: np.ndarray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        if _routing_enabled():
            given = {} if weights is None else {"sample_weight": weights}
            routed = process_routing(self, "fit", **given, **fit_params)
            return dict(routed.estimator.fit)
        if weights is None:
            return fit_params
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise TypeError(f"{type(self.estimator).__name__} does not take sample_weight: leave it out.")
        return {**fit_params, "sample_weight": weights}

    def _scores(self, X: Any) -> np.ndarray:
        if self.estimator is None:
            return np.asarray(X @ self.coef_.T) + self.intercept_
        scores = np.zeros((X.shape[0], len(self.estimators_)))
        for j, model in enumerate(self.estimators_):
            if model is not None:
                scores[:, j] = _label_scores(model, X)
        return scores


def _column(Y: sparse.csc_array, j: int) -> np.ndarray:
    column = np.zeros(Y.shape[0], dtype=np.int8)
    column[Y.indices[Y.indptr[j] : Y.indptr[j + 1]]] = 1
    return column


def _fit_label(model: Any, X: Any, target: np.ndarray, params: dict[str, Any]) -> Any:
    return model.fit(X, target, **params)


def _label_scores(model: Any, X: Any) -> np.ndarray:
    """Score of one fitted binary model, positive exactly where it predicts the label."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)[:, 1] - 0.5
    return model.predict(X) - 0.5

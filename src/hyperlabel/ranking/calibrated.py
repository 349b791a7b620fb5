"""Calibrated label ranking: a model for every pair of labels, and a virtual label to cut the ranking."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.parallel import Parallel, delayed

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._missing_labels import (
    constant_labels,
    find_unknown_labels,
    known_part,
    label_counts,
    rank_in_the_middle,
    rows_with_known_labels,
    split_missing,
)
from hyperlabel._validation import check_weights
from hyperlabel.moments.linear_map import LinearMap
from hyperlabel.solvers.arrays import row_blocks
from hyperlabel.solvers.rank.pairwise import GRAM_FEATURES, differing_rows, label_pairs, solve_pairwise_ridge
from hyperlabel.solvers.ridge.routes import solve_ridge


@dataclass(eq=False, repr=False)
class CalibratedLabelRanking(MultiLabelClassifier):
    r"""Let every pair of labels vote, with a virtual label between relevant and irrelevant.

    .. math:: v_p(x) = \sum_{q \ne p} [g_{pq}(x) > 0] + [g_{p0}(x) > 0],
              \qquad \hat y(x) = \{p : v_p(x) > v_0(x)\}

    where:

    - :math:`g_{pq}` is a binary model of "p rather than q", fitted on the rows that carry exactly
      one of the two;
    - :math:`g_{p0}` is a binary model of "p or not", fitted on all rows: p against the virtual
      label 0, which gets the votes :math:`v_0` of the labels that lose to it.

    By default the models are ridge regressions on ±1. Their k(k−1)/2 Gram matrices come from the
    moments of single labels (`hyperlabel.solvers.rank.pairwise`), so a pair costs the rows that carry
    both labels and one d×d solve.

    `decision_function` is v_p − v_0 − ½ plus half the mean clipped margin of label p, which orders
    labels with equal votes and never changes the decision.

    Labels nobody knows (NaN): a pair is fitted on the rows that know both labels, a label against the virtual
    one on the rows that know it. A label that no row knows gets the mean score of the others in each row,
    and is not predicted.

    Parameters
    ----------
    estimator : classifier, default=None
        A scikit-learn classifier cloned for each pair and for each label, or None for the ridge.
    alpha : float, default=1.0
        The ridge λ.
    n_jobs : int, default=None
        Pairs fitted in parallel when `estimator` is given.
    memory_limit : int, default=2**32
        Refuse, before allocating, a ridge whose k Gram matrices and k(k−1)/2 weight vectors
        need more bytes than this.

    Attributes
    ----------
    pairs_ : ndarray of shape (n_pairs, 2)
        Columns p < q of each pair.
    pair_coef_, pair_intercept_ : ndarray of shape (n_pairs, n_features) and (n_pairs,)
        The ridge models of the pairs (absent when `estimator` is given).
    virtual_coef_, virtual_intercept_ : ndarray of shape (n_labels, n_features) and (n_labels,)
        The ridge models against the virtual label.
    pair_estimators_, virtual_estimators_ : list
        Fitted clones; a number where one side had no rows.

    References
    ----------
    .. [1] J. Fürnkranz, E. Hüllermeier, E. Loza Mencía, K. Brinker. Multilabel classification via
       calibrated label ranking. Machine Learning 73, 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import CalibratedLabelRanking
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = CalibratedLabelRanking().fit(X, Y)
    >>> model.pair_coef_.shape
    (10, 20)
    >>> model.predict(X[:2]).shape
    (2, 5)
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {
        "pairs_": "p 2",
        "pair_coef_": "p d",
        "virtual_coef_": "k d",
    }

    _accepts_missing_labels = True

    estimator: Any = None
    _: KW_ONLY
    alpha: float = 1.0
    n_jobs: int | None = None
    memory_limit: float = 4 * 2**30

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CalibratedLabelRanking:
        """Fit a model for every pair of labels and for every label; all of them get the `sample_weight`."""
        X, Y_given = self._check_fit(X, y)
        weights = check_weights(sample_weight, X)
        known_rows = rows_with_known_labels(Y_given)
        if known_rows is not None:
            X, Y_given = known_part(X, Y_given)
            weights = None if weights is None else weights[known_rows]
        if weights is not None:
            self._constant = constant_labels(*label_counts(Y_given, weights))
        Y, missing = split_missing(Y_given)
        if missing is not None:
            self._unknown_labels_ = find_unknown_labels(Y_given)[0]
        self.pairs_ = label_pairs(Y.shape[1])
        if self.estimator is None:
            self._refuse_if_too_large(X.shape[1], Y.shape[1])
            self.pair_coef_, self.pair_intercept_ = solve_pairwise_ridge(
                X, Y, alpha=self.alpha, sample_weight=weights, missing=missing
            )
            coef, intercept = self._fit_virtual(X, Y, weights, missing)
            virtual_map = LinearMap.of_targets(coef, intercept)
            self.virtual_coef_, self.virtual_intercept_ = virtual_map.coef, virtual_map.intercept
        else:
            self._fit_each(X, Y, weights, missing)
        return self

    def _fit_virtual(
        self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None, missing: sparse.csr_array | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ridge of every label on the rows that know it."""
        if missing is None:
            ridge_fit = solve_ridge(X, Y, alphas=(self.alpha,), sample_weight=weights).solve(self.alpha)
            return ridge_fit.coef, ridge_fit.intercept
        coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
        for j, rows in enumerate(_rows_that_know(missing)):
            row_weights = None if weights is None else weights[rows]
            if len(rows) and (row_weights is None or row_weights.any()):
                ridge_path = solve_ridge(
                    X[rows], Y[rows][:, [j]], alphas=(self.alpha,), sample_weight=row_weights
                )
                ridge_fit = ridge_path.solve(self.alpha)
                coef[:, j], intercept[j] = ridge_fit.coef[:, 0], ridge_fit.intercept[0]
        return coef, intercept

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: the sample weight to the pairwise estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.estimator is not None:
            router.add(
                estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

    # -- inside ---------------------------------------------------------------------------------

    def _refuse_if_too_large(self, d: int, k: int) -> None:
        needed_bytes = 8 * ((k * d * d if d <= GRAM_FEATURES else 0) + len(self.pairs_) * d)
        if needed_bytes > self.memory_limit:
            raise ValueError(
                f"CalibratedLabelRanking would need about {needed_bytes / 2**30:.1f} GiB for "
                f"{len(self.pairs_)} label pairs and {d} features, more than memory_limit: drop rare labels, "
                "reduce the features, or raise memory_limit."
            )

    def _fit_each(
        self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None, missing: sparse.csr_array | None
    ) -> None:
        if not is_classifier(self.estimator):
            raise TypeError(f"estimator must be a classifier, got {type(self.estimator).__name__}.")
        tasks = [(rows, side > 0) for rows, side, *_ in differing_rows(Y, missing)]
        columns, all_rows = Y.tocsc(), np.arange(Y.shape[0])
        known_rows = [all_rows] * Y.shape[1] if missing is None else _rows_that_know(missing)
        for j, rows in enumerate(known_rows):
            tasks.append((rows, columns[:, [j]].toarray()[rows, 0] > 0))
        pair_models = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_pair)(self.estimator, X, rows, side, weights) for rows, side in tasks
        )
        self.pair_estimators_ = pair_models[: len(self.pairs_)]
        self.virtual_estimators_ = pair_models[len(self.pairs_) :]

    def _margins(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Margins of the pairs and against the virtual label."""
        if self.estimator is None:
            pair_margins = np.asarray(X @ self.pair_coef_.T) + self.pair_intercept_
            return pair_margins, np.asarray(X @ self.virtual_coef_.T) + self.virtual_intercept_
        n = X.shape[0]
        columns = [_pair_margin(model, X, n) for model in (*self.pair_estimators_, *self.virtual_estimators_)]
        all_margins = np.column_stack(columns)
        return all_margins[:, : len(self.pairs_)], all_margins[:, len(self.pairs_) :]

    def _scores(self, X: Any) -> np.ndarray:
        k, n_pairs = self._layout.n_columns, len(self.pairs_)
        pair_index = np.arange(n_pairs)
        # +1 at p and −1 at q: sign(g) times this counts wins minus losses.
        pair_signs = sparse.csr_array(
            (np.repeat([1.0, -1.0], n_pairs), (np.tile(pair_index, 2), self.pairs_.T.ravel())),
            shape=(n_pairs, k),
        )
        scores = np.empty((X.shape[0], k))
        for rows in row_blocks(X.shape[0], 8 * (n_pairs + k) * 3):
            pair_margins, virtual_margins = self._margins(X[rows])
            pair_wins = 0.5 * (k - 1 + np.sign(pair_margins) @ pair_signs)
            votes = pair_wins + (virtual_margins > 0) - (virtual_margins <= 0).sum(axis=1, keepdims=True)
            mean_margin = (np.clip(pair_margins, -1, 1) @ pair_signs + np.clip(virtual_margins, -1, 1)) / k
            scores[rows] = votes - 0.5 + 0.499 * mean_margin
        if len(getattr(self, "_unknown_labels_", ())):
            rank_in_the_middle(scores, self._unknown_labels_)
        return scores


def _rows_that_know(missing: sparse.csr_array) -> list[np.ndarray]:
    """Return the rows that know each label."""
    all_rows, columns = np.arange(missing.shape[0]), missing.tocsc()
    return [
        np.setdiff1d(all_rows, columns.indices[columns.indptr[j] : columns.indptr[j + 1]])
        for j in range(missing.shape[1])
    ]


def _fit_pair(estimator: Any, X: Any, rows: np.ndarray, side: np.ndarray, weights: np.ndarray | None) -> Any:
    """Fit a clone on the given rows; a constant margin where it would see one class."""
    weighed_side = side if weights is None else side[weights[rows] > 0]
    if not weighed_side.any():
        return -1.0 if len(weighed_side) else 0.0
    if weighed_side.all():
        return 1.0
    fit_params = {} if weights is None else {"sample_weight": weights[rows]}
    return clone(estimator).fit(X[rows], side.astype(np.int64), **fit_params)


def _pair_margin(model: Any, X: Any, n: int) -> np.ndarray:
    if isinstance(model, float):
        return np.full(n, model)
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if hasattr(model, "predict_proba"):
        return 2.0 * model.predict_proba(X)[:, 1] - 1.0
    return 2.0 * model.predict(X) - 1.0

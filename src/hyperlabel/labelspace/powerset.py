"""Label power-set: every label set seen is a class (Algorithm 1), rare ones may be pruned."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._params import number, one_of, whole
from hyperlabel.geometry.hypercube import Vertices, distinct_vertices
from hyperlabel.moments.linear_map import not_linear
from hyperlabel.solvers.arrays import as_dense, row_blocks
from hyperlabel.solvers.labels.vertex_decode import best_with_and_without, label_margins
from hyperlabel.solvers.ridge.routes import solve_ridge


@dataclass(eq=False, repr=False)
class LabelPowerset(MultiLabelClassifier):
    r"""One multi-class problem whose classes are the label sets seen in training.

    The prediction is the best set, :math:`\hat y = v_{c^*}`, :math:`c^* = \arg\max_c s_c(x)`, and
    the score of label k is

    .. math:: \max_{c: k \in v_c} s_c(x) - \max_{c: k \notin v_c} s_c(x),

    where:

    - :math:`v_c` are the distinct label sets (vertices of the cube);
    - :math:`s_c` is the score the multi-class classifier gives to set c.

    Only sets seen in training (and not pruned) can be predicted.

    Parameters
    ----------
    estimator : classifier, default=None
        A multi-class classifier; None is a ridge regression on class indicators, one shared
        solve for all sets.
    min_count : int, default=1
        Sets seen in fewer rows are no classes.
    rare : {"nearest", "drop"}, default="nearest"
        What becomes of the rows of such sets: they count as the nearest kept set (fewest labels
        changed; ties to the more frequent set), or are left out, as in the pruned problem
        transformation without reintroduction.
    alpha : float, default=1.0
        The ridge λ of the default classifier.

    Attributes
    ----------
    vertices_ : csr_array of shape (n_sets, n_labels)
        The sets that can be predicted, most frequent first.
    counts_ : ndarray of shape (n_sets,)
        Rows of each, those moved to it included.
    estimator_ : classifier
        The fitted classifier, if one was given.
    coef_, intercept_, residual_
        The default ridge (n_sets × n_features) and its certificate.

    References
    ----------
    Tsoumakas & Katakis (2007); Read, Pfahringer & Holmes (2008) for pruning.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import LabelPowerset
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = LabelPowerset(min_count=3).fit(X, Y)
    >>> model.predict(X[:2]).shape
    (2, 5)
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {
        "vertices_": "v k",
        "counts_": "v",
        "coef_": "v d",
        "intercept_": "v",
    }
    _rules: ClassVar = {"min_count": whole(1), "rare": one_of("nearest", "drop"), "alpha": number(0)}
    _inner = "estimator"

    estimator: Any = None
    _: KW_ONLY
    min_count: int = 1
    rare: str = "nearest"
    alpha: float = 1.0

    def fit(self, X: Any, y: Any) -> LabelPowerset:
        X, Y = self._check_fit(X, y)
        all_sets = distinct_vertices(Y)
        frequent_sets = prune_vertices(all_sets, self.min_count)
        if self.rare == "drop" and len(frequent_sets.counts) < len(all_sets.counts):
            rows = np.flatnonzero(all_sets.codes < len(frequent_sets.counts))
            codes = all_sets.codes[rows]
            X, frequent_sets = X[rows], Vertices(frequent_sets.Y, codes, np.bincount(codes))
        self.vertices_, self.counts_ = frequent_sets.Y, frequent_sets.counts
        if self.estimator is None:
            n, C = len(frequent_sets.codes), len(frequent_sets.counts)
            one_hot = sparse.csr_array((np.ones(n), (np.arange(n), frequent_sets.codes)), shape=(n, C))
            ridge = solve_ridge(X, one_hot, alphas=(float(self.alpha),)).solve(float(self.alpha))
            self.coef_ = np.ascontiguousarray(ridge.coef).T
            self.intercept_, self.residual_ = ridge.intercept, ridge.residual
        elif len(frequent_sets.counts) > 1:
            if not is_classifier(self.estimator):
                raise ValueError(f"estimator must be a classifier, got {type(self.estimator).__name__}.")
            self.estimator_ = clone(self.estimator).fit(X, frequent_sets.codes)
        return self

    def _linear_map(self) -> Any:
        raise not_linear(type(self).__name__)

    def _scores(self, X: Any) -> np.ndarray:
        K, C = self.vertices_.shape[1], self.vertices_.shape[0]
        scores = np.empty((X.shape[0], K))
        for rows in row_blocks(X.shape[0], 8 * (C + 2 * K)):
            set_scores = self._score_sets(X[rows])
            best_with, best_without = best_with_and_without(set_scores, self.vertices_)
            chosen = self.vertices_[set_scores.argmax(axis=1)].toarray() > 0
            scores[rows] = label_margins(best_with, best_without, chosen)
        return scores

    def _score_sets(self, X: Any) -> np.ndarray:
        """Score of every set, n×C."""
        if self.estimator is None:
            return as_dense(X @ self.coef_.T) + self.intercept_
        C = self.vertices_.shape[0]
        if C == 1:
            return np.zeros((X.shape[0], 1))
        for name in ("decision_function", "predict_proba"):
            if hasattr(self.estimator_, name):
                set_scores = getattr(self.estimator_, name)(X)
                return np.column_stack([-set_scores, set_scores]) if set_scores.ndim == 1 else set_scores
        return np.eye(C)[self.estimator_.predict(X)]


def prune_vertices(label_sets: Vertices, min_count: int) -> Vertices:
    """Keep vertices seen in at least `min_count` rows; move the other rows to the nearest of them."""
    n_kept = int(np.count_nonzero(label_sets.counts >= min_count))  # the most frequent come first
    if n_kept == 0:
        raise ValueError(
            f"No label set occurs {min_count} times (the most frequent occurs {label_sets.counts[0]} times): "
            "lower min_count."
        )
    if n_kept == len(label_sets.counts):
        return label_sets
    frequent, rare = label_sets.Y[:n_kept], label_sets.Y[n_kept:]
    sizes = np.diff(frequent.indptr)
    nearest_set = np.arange(len(label_sets.counts))
    for rows in row_blocks(rare.shape[0], 8 * n_kept):
        shared_labels = as_dense(rare[rows] @ frequent.T)
        # |y − v|² = |y| + |v| − 2⟨y, v⟩, and |y| is the same for every v
        nearest_set[n_kept + rows.start : n_kept + rows.stop] = np.argmin(sizes - 2 * shared_labels, axis=1)
    codes = nearest_set[label_sets.codes]
    return Vertices(frequent, codes, np.bincount(codes, minlength=n_kept))

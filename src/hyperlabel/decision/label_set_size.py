"""Label-set size: a threshold h(x) learned from the rows themselves (CVPR'09 §3.4).

A ranker orders labels; how many of them a row carries is a question of its own. The threshold half way
between the worst relevant and the best irrelevant label of a training row would give its set; it is regressed
on x. Rows without labels ask for h = max f + ½, rows with all labels for h = min f − ½: the margin of 1 that
a ranker asks for, with one side missing.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import DocumentedEstimator
from hyperlabel._missing_labels import harden
from hyperlabel.solvers.rank.scaling import FeatureScaling
from hyperlabel.solvers.rank.svr import solve_svr


def set_size_targets(scores: np.ndarray, Y: Any) -> np.ndarray:
    """Return h(xᵢ) of each row from its scores (n×k) and its labels (n×k, dense or sparse).

    Labels that nobody knows (NaN) have no part in it; a row without a known label gets NaN. A share counts as
    the likelier answer.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    >>> set_size_targets(scores, np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1]]))
    array([ 1.5,  2.5, -0.5])
    """
    labels = harden(sparse.csr_array(Y, dtype=np.float64)).toarray()
    is_positive, is_negative = labels > 0, labels == 0
    worst_relevant = np.where(is_positive, scores, np.inf).min(axis=1)
    best_irrelevant = np.where(is_negative, scores, -np.inf).max(axis=1)
    has_none, has_all = ~is_positive.any(axis=1), ~is_negative.any(axis=1)
    is_unknown = has_none & has_all
    worst_relevant[is_unknown] = best_irrelevant[is_unknown] = np.nan
    worst_relevant[has_none], best_irrelevant[has_all] = (
        best_irrelevant[has_none] + 1.0,
        worst_relevant[has_all] - 1.0,
    )
    return 0.5 * (worst_relevant + best_irrelevant)


@dataclass(eq=False, repr=False)
class LabelSetSize(DocumentedEstimator):
    r"""Learn how far down the ranking of its labels a row goes; for the scores of any ranker.

    .. math:: h(x_i) = \tfrac12 \big(\min_{j \in y_i} f_j(x_i) + \max_{j \notin y_i} f_j(x_i)\big)

    where:

    - :math:`f_j(x_i)` is the ranker's score of label j, :math:`y_i` the label set of row i;
    - h is regressed on x; label j is predicted where :math:`f_j(x) > h(x)`.

    Parameters
    ----------
    regressor : regressor, default=None
        A scikit-learn regressor, cloned. None: a linear support vector regression with squared
        losses outside the tube, on features scaled as in `RankSVM`.
    C : float, default=1.0
        Weight of the losses of the default regressor.
    epsilon : float, default=0.1
        Half-width of its tube, in units of the scores.
    scaling : {"auto", "standard", "norm", "none"}, default="auto"
        How it scales features.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of h (default regressor only).
    intercept_ : float
        Intercept of h (default regressor only).
    regressor_ : regressor
        The fitted clone, if one was given.

    References
    ----------
    .. [1] A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.
    .. [2] G. Chen et al. Efficient multi-label classification with hypergraph regularization.
       CVPR 2009, section 3.4.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.decision import LabelSetSize
    >>> X, Y = make_multilabel_classification(n_samples=100, random_state=0)
    >>> scores = BinaryRelevance().fit(X, Y).decision_function(X)
    >>> LabelSetSize().fit(X, scores, Y).decide(X, scores).shape
    (100, 5)
    """

    regressor: Any = None
    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1
    scaling: str = "auto"

    def fit(self, X: Any, scores: np.ndarray, Y: Any, sample_weight: Any = None) -> LabelSetSize:
        """Learn h from rows, the ranker's scores of them (best out-of-fold) and their labels."""
        target = set_size_targets(scores, Y)
        if np.isnan(target).any():  # rows no label of which is known
            rows = np.flatnonzero(~np.isnan(target))
            X, target = X[rows], target[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        if self.regressor is not None:
            fit_params = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.regressor_ = clone(self.regressor).fit(X, target, **fit_params)
            return self
        feature_scaling = FeatureScaling.fit(X, self.scaling, sample_weight)
        svr_fit = solve_svr(
            feature_scaling.rows(X), target, C=self.C, epsilon=self.epsilon, sample_weight=sample_weight
        )
        b = svr_fit.b + (feature_scaling.shift @ svr_fit.w if sparse.issparse(X) else 0.0)
        coef, intercept = feature_scaling.unscale(svr_fit.w[:, None], np.array([b]))
        self.coef_, self.intercept_ = coef[0], float(intercept[0])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the threshold h(x) of each row, of shape (n_samples,)."""
        check_is_fitted(self)
        if self.regressor is not None:
            return np.asarray(self.regressor_.predict(X), dtype=np.float64)
        return np.asarray(X @ self.coef_).ravel() + self.intercept_

    def decide(self, X: Any, scores: np.ndarray) -> np.ndarray:
        """Return the label sets {j : f_j(x) > h(x)} as a boolean n×k array."""
        return scores > self.predict(X)[:, None]

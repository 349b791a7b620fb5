"""Honest probabilities for the labels of any classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit

from hyperlabel._base import shape_probabilities
from hyperlabel._params import one_of
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.meta.linear_view import LinearView
from hyperlabel.meta.wrapper_base import WrappingClassifier

_METHODS = ("auto", "sigmoid", "isotonic", "beta")


@dataclass(eq=False, repr=False)
class MultiLabelCalibrator(WrappingClassifier):
    r"""Turn scores into probabilities that mean what they say.

    For each label j a rising function :math:`p_j = g_j(f_j(x))` is fitted to out-of-fold scores,

    where:

    - :math:`f_j` is the wrapped estimator's score of label j;
    - :math:`g_j` is a sigmoid :math:`\sigma(a_j f + b_j), a_j \ge 0` (Platt's, all labels in one call),
      an isotonic curve, freer but in need of some hundred positives, or a beta curve in between; slopes of
      rare labels are drawn to the slope of all where the form is chosen.

    y may hold NaN where nobody knows a label, and shares between 0 and 1, if the estimator takes them: a
    share p counts as a row of weight p with the label and one of weight 1 − p without.

    `predict` says yes where p > ½ and `decision_function` is the log-odds of p. Labels that were constant
    in training get 1/(n+2) or (n+1)/(n+2): as sure as n rows can make one.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; None: :class:`BinaryRelevance`.
    method : {"auto", "sigmoid", "isotonic", "beta"}, default="auto"
        The form of :math:`g_j`; ``"auto"``: for each label the one of lowest log loss on held-out rows.
    cv : None, int, splitter, iterable or "prefit", default=None
        Folds of the out-of-fold scores, as in :class:`ThresholdTuner`.
    n_jobs : int, default=None
        Folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    calibrators_ : Calibrators
        The fitted functions, of the labels that vary in training.
    classes_, label_names_ : ndarray
        As in every classifier of the library.

    See Also
    --------
    hyperlabel.metrics.reliability : Are the probabilities honest?

    References
    ----------
    J. Platt, *Probabilistic outputs for support vector machines*, 1999. B. Zadrozny, C. Elkan,
    *Transforming classifier scores into accurate multiclass probability estimates*, KDD 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import MultiLabelCalibrator
    >>> X, y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> p = MultiLabelCalibrator().fit(X, y).predict_proba(X)
    >>> p.shape, bool(((p > 0) & (p < 1)).all())
    ((200, 5), True)
    """

    _rules: ClassVar = {"method": one_of(*_METHODS)}

    estimator: Any = None
    _: KW_ONLY
    method: str = "auto"
    cv: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, groups: Any = None, **params: Any) -> MultiLabelCalibrator:
        """Fit the estimator on all rows and the calibration on out-of-fold scores, as `ThresholdTuner.fit`.

        Classes are calibrated one against the rest.
        """
        X, Y, routed = self._fit_estimator(X, y, groups, params, kinds=("multilabel", "binary", "multiclass"))
        self._n_rows = Y.shape[0]
        varies = self._constant == 0
        self.calibrators_ = None
        if varies.any():
            scores, Y, weights, _ = self._out_of_fold_scores(X, y, Y, routed)
            self.calibrators_ = Calibrators.fit(scores[:, varies], Y[:, varies], weights, method=self.method)
        return self

    def _positive_probabilities(self, X: Any) -> np.ndarray:
        """P(label on), n×k."""
        scores = super()._scores(X)
        unlikely = 1.0 / (self._n_rows + 2.0)
        p = np.broadcast_to(np.where(self._constant > 0, 1.0 - unlikely, unlikely), scores.shape).copy()
        if self.calibrators_ is not None:
            varies = self._constant == 0
            p[:, varies] = self.calibrators_.probabilities(scores[:, varies])
        min_probability = np.finfo(np.float32).eps
        return np.clip(p, min_probability, 1.0 - min_probability)

    def _scores(self, X: Any) -> np.ndarray:
        return logit(self._positive_probabilities(X))

    def _linear_view(self, Z: Any, names: Any, columns: Any) -> LinearView:
        if self.calibrators_ is None or not self.calibrators_.is_linear:
            raise ValueError("Isotonic calibration is not linear: explain the classifier inside, estimator_.")
        estimator_view = super()._linear_view(Z, names, columns)
        slope, shift = np.ones(len(self._constant)), np.zeros(len(self._constant))
        varies = self._constant == 0
        sigmoid = self.calibrators_.sigmoid
        slope[varies], shift[varies] = sigmoid.slope, sigmoid.intercept
        return estimator_view.scaled(slope, shift, columns)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probability of each label, n×k and strictly inside (0, 1).

        Both classes as columns for a 1-D binary y; rows that sum to 1 for a 1-D multiclass y.
        """
        X = self._check_predict(X)
        return shape_probabilities(self._layout, self._positive_probabilities(X))

"""A method with its setting chosen inside the training rows, cheaply: what the demo compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid

from hyperlabel.decision import per_label_thresholds
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold
from hyperlabel.model_selection.groups import groups_for_fit


@dataclass(eq=False, repr=False)
class Chosen(ClassifierMixin, BaseEstimator):
    """The setting of a grid that does best with its best thresholds on the first of `cv` folds.

    Its scores on the other folds complete `oof_scores_`, on which a `ThresholdTuner` around it tunes the
    thresholds: g + cv fits for g settings.
    """

    estimator: Any
    grid: Any
    scoring: str = "f1_micro"
    cv: int = 3
    random_state: int | None = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Chosen:
        """Choose the setting and fit it on all rows; rows of one group stay in one fold."""
        kind = IterativeStratifiedKFold if groups is None else IterativeStratifiedGroupKFold
        folds = kind(self.cv, shuffle=True, random_state=self.random_state)
        first, *others = folds.split(X, y, groups)
        settings = list(ParameterGrid(self.grid))
        held_out = [self._scores(X, y, groups, *first, setting) for setting in settings]
        truth = sparse.csr_array(y[first[1]])
        values = [per_label_thresholds(scores, truth, scoring=self.scoring).value for scores in held_out]
        best = int(np.argmax(values))
        self.best_params_ = settings[best]
        self.oof_scores_ = np.empty(y.shape)
        self.oof_scores_[first[1]] = held_out[best]
        for train, test in others:
            self.oof_scores_[test] = self._scores(X, y, groups, train, test, self.best_params_)
        best = clone(self.estimator).set_params(**self.best_params_)
        self.estimator_ = best.fit(X, y, **groups_for_fit(best, groups))
        self.classes_ = self.estimator_.classes_
        return self

    def _scores(
        self, X: Any, y: Any, groups: Any, train: Any, test: Any, setting: dict[str, Any]
    ) -> np.ndarray:
        model = clone(self.estimator).set_params(**setting)
        inside = groups_for_fit(model, None if groups is None else np.asarray(groups)[train])
        return np.asarray(model.fit(X[train], y[train], **inside).decision_function(X[test]))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the chosen model."""
        return np.asarray(self.estimator_.decision_function(X))

    def predict(self, X: Any) -> Any:
        """Label sets of the chosen model."""
        return self.estimator_.predict(X)

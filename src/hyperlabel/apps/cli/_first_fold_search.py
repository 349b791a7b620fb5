"""A method with its setting chosen inside the training rows, cheaply: what the demo compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid

from hyperlabel.decision import per_label_thresholds
from hyperlabel.model_selection import out_of_fold_scores
from hyperlabel.model_selection.folds import make_folds
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
        Y = sparse.csr_array(y)
        first_fold, *other_folds = make_folds(
            self.cv, Y, groups, shuffle=True, random_state=self.random_state
        )
        grid_settings = list(ParameterGrid(self.grid))
        candidates = [clone(self.estimator).set_params(**setting) for setting in grid_settings]
        test_rows = first_fold[1]
        held_out_scores = [
            out_of_fold_scores(candidate, X, y, cv=[first_fold], groups=groups)[test_rows]
            for candidate in candidates
        ]
        setting_scores = [
            per_label_thresholds(fold_scores, Y[test_rows], scoring=self.scoring).value
            for fold_scores in held_out_scores
        ]
        best_index = int(np.argmax(setting_scores))
        best_model = candidates[best_index]
        self.best_params_ = grid_settings[best_index]
        self.oof_scores_ = out_of_fold_scores(best_model, X, y, cv=other_folds, groups=groups)
        self.oof_scores_[test_rows] = held_out_scores[best_index]
        self.estimator_ = best_model.fit(X, y, **groups_for_fit(best_model, groups))
        self.classes_ = self.estimator_.classes_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the chosen model."""
        return np.asarray(self.estimator_.decision_function(X))

    def predict(self, X: Any) -> Any:
        """Return the label sets of the chosen model."""
        return self.estimator_.predict(X)

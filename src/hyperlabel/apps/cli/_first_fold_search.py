"""A method with its setting chosen inside the training rows, cheaply: what the demo compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid

from hyperlabel.decision import per_label_thresholds
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
        held_out_scores = [self._score_test_rows(X, y, groups, *first_fold, s) for s in grid_settings]
        first_fold_labels = Y[first_fold[1]]
        setting_scores = [
            per_label_thresholds(fold_scores, first_fold_labels, scoring=self.scoring).value
            for fold_scores in held_out_scores
        ]
        best_index = int(np.argmax(setting_scores))
        self.best_params_ = grid_settings[best_index]
        self.oof_scores_ = np.empty(y.shape)
        self.oof_scores_[first_fold[1]] = held_out_scores[best_index]
        for train_rows, test_rows in other_folds:
            self.oof_scores_[test_rows] = self._score_test_rows(
                X, y, groups, train_rows, test_rows, self.best_params_
            )
        best_model = clone(self.estimator).set_params(**self.best_params_)
        self.estimator_ = best_model.fit(X, y, **groups_for_fit(best_model, groups))
        self.classes_ = self.estimator_.classes_
        return self

    def _score_test_rows(
        self, X: Any, y: Any, groups: Any, train_rows: Any, test_rows: Any, setting: dict[str, Any]
    ) -> np.ndarray:
        model = clone(self.estimator).set_params(**setting)
        group_arguments = groups_for_fit(model, None if groups is None else np.asarray(groups)[train_rows])
        model.fit(X[train_rows], y[train_rows], **group_arguments)
        return np.asarray(model.decision_function(X[test_rows]))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the chosen model."""
        return np.asarray(self.estimator_.decision_function(X))

    def predict(self, X: Any) -> Any:
        """Return the label sets of the chosen model."""
        return self.estimator_.predict(X)

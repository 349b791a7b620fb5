"""Choose λ and the dimension of a ridge-family classifier on exact out-of-fold scores from one pass.

A member of the family is a function of the moments XᵀX, XᵀY, YᵀY of its training rows. The
moments of every training fold come by subtraction (`solvers.moments.fold_moments`), a factorisation per fold
serves every λ, and components are nested, so a whole grid costs little more than one fit.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import TransformerTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import MultiLabelClassifier, place_constant_labels
from hyperlabel._missing_labels import constant_labels
from hyperlabel._validation import CheckedTargets, checked_indicator
from hyperlabel.metrics import get_scorer
from hyperlabel.model_selection.groups import groups_for_fit
from hyperlabel.moments.auto_params import is_auto
from hyperlabel.moments.cross_validate import (
    ClosedFormCV,
    Fold,
    FoldModel,
    Folds,
    closed_form_cross_validation,
    score_by_model,
)
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.projection import HypergraphSpectral, Projection, ProjectionClassifier


def _can_transform(search: Any) -> bool:
    return isinstance(search.estimator, (Projection, ProjectionClassifier))


@dataclass(eq=False, repr=False)
class ClosedFormSearchCV(OutOfFoldProbabilities, MultiLabelClassifier):
    """Grid search for the ridge family at about the price of one fit, with out-of-fold scores.

    Every setting is judged on exactly the scores that refitting it on each training fold would
    give. Where XᵀX does not fit (wide rows) or there is no ridge over labels to share (`LPP`, `MLSI`,
    `MDDM`), each fold is refitted instead: the same scores at the cost of a fit per fold.

    Parameters
    ----------
    estimator : classifier
        `BinaryRelevance` (shared ridge), `PLST`, `CPLST`, `PartialBinaryRelevance`, `LabelSpaceClassifier`
        with an affine encoder, a projection, or `ProjectionClassifier` around one. In closed form where
        the model depends only on moments; others are refitted.
    param_grid : dict
        ``alpha`` and, except for BinaryRelevance, ``n_components``: lists to compare. For a
        projection they are its own (`MDDM` has ``mu`` in place of ``alpha``), for a
        `LabelSpaceClassifier` ``n_components`` belongs to its encoder.
    cv : int, splitter or iterable of (train, test), default=5
        Folds: stratified for a number (grouped when `groups` are given).
    scoring : str or callable, default="label_ranking_average_precision"
        A name of `hyperlabel.metrics.get_scorer_names`, or ``scorer(estimator, X, y)``.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows with the best setting.
    best_params_, best_score_, cv_results_
        As in scikit-learn's GridSearchCV.
    oof_scores_ : ndarray of shape (n_samples, n_labels)
        Out-of-fold scores of the best setting.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import PLST, ClosedFormSearchCV
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=8, random_state=0)
    >>> grid = {"alpha": [1.0, 100.0], "n_components": [2, 4, 8]}
    >>> search = ClosedFormSearchCV(PLST(), grid, cv=3).fit(X, Y)
    >>> len(search.cv_results_["params"]), search.oof_scores_.shape
    (6, (200, 8))
    """

    estimator: Any
    param_grid: dict[str, Any]
    _: KW_ONLY
    cv: Any = 5
    scoring: Any = "label_ranking_average_precision"

    def fit(self, X: Any, y: Any, groups: Any = None) -> ClosedFormSearchCV:
        """Compare the grid on out-of-fold scores (of grouped folds if given) and fit the best on all rows."""
        original_rows = X
        X, Y = self._check_fit(X, y, min_samples=2)
        settings = list(ParameterGrid(self.param_grid))
        self._check_grid(settings)
        search_scores = self._search_grid(X, Y, settings, groups)
        assert search_scores.results is not None
        self.best_params_ = settings[search_scores.best]
        self.best_score_ = float(search_scores.results["mean_test_score"][search_scores.best])
        self.cv_results_ = search_scores.results
        self._keep_truth(Y)
        oof_scores = search_scores.oof_scores
        self.oof_scores_ = oof_scores[:, 0] if self._layout.kind == "binary" else oof_scores
        best_model = set_closed_form_params(_as_classifier(self.estimator), self.best_params_)
        targets = CheckedTargets(Y, self._layout)
        self.estimator_ = best_model.fit(original_rows, targets, **groups_for_fit(best_model, groups))
        return self

    def _search_grid(
        self, X: Any, Y: sparse.csr_array, settings: list[dict[str, Any]], groups: Any
    ) -> ClosedFormCV:
        closed = all(
            has_closed_form(set_closed_form_params(_as_classifier(self.estimator), setting))
            and setting.keys() <= {"alpha", "n_components"}
            for setting in settings
        )
        alpha_values = {setting["alpha"] for setting in settings if "alpha" in setting}
        alphas = sorted(float(alpha) for alpha in alpha_values if not is_auto(alpha))

        def fold_model(fold: Fold) -> FoldModel:
            train_rows, train_labels, fold_moments = X[fold.train], Y[fold.train], fold.moments
            if fold_moments is None:
                return self._refit_fold(train_rows, train_labels)
            constant = constant_labels(fold_moments.sum_targets, fold_moments.weight)
            model = _as_classifier(self.estimator)
            model._layout = self._layout  # classes of a 1-D y are decided differently
            fold_maps = model._fold_maps(fold_moments, train_rows, train_labels, alphas)
            return lambda rows, setting: place_constant_labels(fold_maps(setting).scores(rows), constant)

        folds = Folds(X, Y, self.cv, groups=groups, with_target_gram=True, summed=None if closed else False)
        scorer = get_scorer(self.scoring)
        return closed_form_cross_validation(
            X, Y, self._layout, folds, settings, score_by_model(X, folds, fold_model), scorer
        )

    def _refit_fold(self, X: Any, Y: sparse.csr_array) -> FoldModel:
        fitted: dict[str, Any] = {}

        def score(rows: Any, setting: dict[str, Any]) -> np.ndarray:
            key = repr(sorted(setting.items()))
            if key not in fitted:
                fitted[key] = set_closed_form_params(_as_classifier(self.estimator), setting)
                fitted[key].fit(X, checked_indicator(Y))
            return fitted[key].decision_function(rows)

        return score

    def _check_grid(self, settings: list[dict[str, Any]]) -> None:
        owner = _as_classifier(self.estimator)
        searchable_params = getattr(owner, "_closed_form_params", {})
        unknown_params = {name for setting in settings for name in setting} - set(searchable_params)
        if unknown_params:
            param_names = " and ".join(searchable_params) or "no parameter"
            raise ValueError(
                f"ClosedFormSearchCV searches {param_names} of "
                f"{type(getattr(owner, 'projection', owner)).__name__}, "
                f"not {', '.join(sorted(unknown_params))}: use scikit-learn's GridSearchCV for that."
            )

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator_._scores(X)

    def _check_predict(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return super()._check_predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self, "transform"):
            tags.transformer_tags = TransformerTags()
        return tags

    @available_if(_can_transform)
    def transform(self, X: Any) -> np.ndarray:
        """Project rows by the projection with the best setting."""
        return self.estimator_.projection_.transform(self._check_predict(X))

    @available_if(_can_transform)
    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """Search on the rows, then project them: ``fit(X, y).transform(X)``."""
        return self.fit(X, y).transform(X)


def _as_classifier(estimator: Any) -> Any:
    """Return an unfitted classifier with an explicit projection; a projection gets a linear read-out."""
    if isinstance(estimator, Projection):
        return ProjectionClassifier(clone(estimator))
    model = clone(estimator)
    if isinstance(model, ProjectionClassifier) and model.projection is None:
        model.set_params(projection=HypergraphSpectral())
    return model


def set_closed_form_params(model: Any, setting: dict[str, Any]) -> Any:
    """Set alpha and n_components where they live: on the model, on its encoder or on its projection."""
    param_paths = getattr(model, "_closed_form_params", {})
    return model.set_params(**{param_paths.get(name, name): value for name, value in setting.items()})


def has_closed_form(model: Any) -> bool:
    """Whether the scores of this model follow from moments alone."""
    return hasattr(model, "_fold_maps") and model._refuses_blocks() is None

"""Choose λ and the dimension of a ridge-family classifier on exact out-of-fold scores from one pass.

A member of the family is a function of the moments XᵀX, XᵀY, YᵀY of its training rows. The
moments of every training fold come by subtraction (`solvers.folds`), a factorisation per fold
serves every λ, and components are nested, so a whole grid costs little more than one fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import MultiLabelClassifier, constant_labels, place_constant_labels
from hyperlabel.metrics import get_scorer
from hyperlabel.model_selection import resolve_cv
from hyperlabel.model_selection.groups import groups_for_fit
from hyperlabel.moments.cross_validate import FoldModel, FreeCV, free_cross_validation
from hyperlabel.projection import ProjectionClassifier
from hyperlabel.solvers.folds import FoldMoments
from hyperlabel.solvers.ridge import choose_route


class FreeSearchCV(MultiLabelClassifier):
    """Grid search for the ridge family at about the price of one fit, with out-of-fold scores.

    Every setting is judged on exactly the scores that refitting it on each training fold would
    give. Where XᵀX does not fit (wide rows) or there is no ridge over labels to share (`LPP`, `MLSI`,
    `MDDM`), each fold is refitted instead: the same answer, not free.

    Parameters
    ----------
    estimator : classifier
        `BinaryRelevance` (shared ridge), `PLST`, `CPLST`, `PartialBinaryRelevance`, `LabelSpaceClassifier`
        with a flat encoder, or `ProjectionClassifier` around any projection (free for
        `HypergraphSpectral`, `OPLS`, `HOPLS`).
    param_grid : dict
        ``alpha`` and, except for BinaryRelevance, ``n_components``: lists to compare. For a
        `ProjectionClassifier` they belong to its projection; `MDDM` has ``mu`` in place of ``alpha``.
        For a `LabelSpaceClassifier` ``n_components`` belongs to its encoder.
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
    >>> from hyperlabel import PLST, FreeSearchCV
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=8, random_state=0)
    >>> grid = {"alpha": [1.0, 100.0], "n_components": [2, 4, 8]}
    >>> search = FreeSearchCV(PLST(), grid, cv=3).fit(X, Y)
    >>> len(search.cv_results_["params"]), search.oof_scores_.shape
    (6, (200, 8))
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: dict[str, Any],
        *,
        cv: Any = 5,
        scoring: Any = "label_ranking_average_precision",
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring

    def fit(self, X: Any, y: Any, groups: Any = None) -> FreeSearchCV:
        """Compare the grid on out-of-fold scores and fit the best setting on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, for `cv`.

        Returns
        -------
        self : FreeSearchCV
        """
        given = X, y
        X, Y = self._check_fit(X, y, min_samples=2)
        settings = list(ParameterGrid(self.param_grid))
        self._check_grid(settings)
        found = self._search(X, Y, settings, groups)
        assert found.results is not None
        self.best_params_ = settings[found.best]
        self.best_score_ = float(found.results["mean_test_score"][found.best])
        self.cv_results_ = found.results
        oof = found.oof_scores
        self.oof_scores_ = oof[:, 0] if self._layout.kind == "binary" else oof
        best = set_free_params(clone(self.estimator), self.best_params_)
        self.estimator_ = best.fit(*given, **groups_for_fit(best, groups))
        return self

    def _search(self, X: Any, Y: sparse.csr_array, settings: list[dict[str, Any]], groups: Any) -> FreeCV:
        splits = list(resolve_cv(self.cv, Y, groups).split(X, Y, groups))
        trains = [np.asarray(train) for train, _ in splits]
        tests = [np.asarray(test) for _, test in splits]
        free = choose_route(X) == "gram" and all(
            is_free(set_free_params(clone(self.estimator), setting)) for setting in settings
        )
        folds = FoldMoments(X, Y, trains, with_ff=True) if free else None

        def fold_model(fold: int) -> FoldModel:
            train = trains[fold]
            if folds is None:
                return self._refit(X[train], Y[train])
            moments = folds.training(fold)
            constant = constant_labels(moments.f_sum, moments.weight)
            alphas = sorted({float(s["alpha"]) for s in settings if "alpha" in s})
            fold_map = self.estimator._fold_maps(moments, X[train], Y[train], alphas)
            return lambda rows, setting: place_constant_labels(fold_map(setting).scores(rows), constant)

        return free_cross_validation(
            X, Y, self._layout, tests, settings, fold_model, get_scorer(self.scoring)
        )

    def _refit(self, X: Any, Y: sparse.csr_array) -> FoldModel:
        fitted: dict[str, Any] = {}

        def score(rows: Any, setting: dict[str, Any]) -> np.ndarray:
            key = repr(sorted(setting.items()))
            if key not in fitted:
                fitted[key] = set_free_params(clone(self.estimator), setting).fit(X, Y)
            return fitted[key].decision_function(rows)

        return score

    def _check_grid(self, settings: list[dict[str, Any]]) -> None:
        owner = self.estimator
        allowed = getattr(owner, "_free_params", ("alpha", "n_components"))
        if isinstance(owner, ProjectionClassifier):
            owner = owner._template()
            known = owner.get_params(deep=False)
            allowed = tuple(name for name in ("alpha", "mu", "n_components") if name in known)
        wrong = {name for setting in settings for name in setting} - set(allowed)
        if wrong:
            raise ValueError(
                f"FreeSearchCV searches {' and '.join(allowed)} of {type(owner).__name__}, "
                f"not {', '.join(sorted(wrong))}: use scikit-learn's GridSearchCV for that."
            )

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator_._scores(X)

    def _check_predict(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return super()._check_predict(X)


def set_free_params(model: Any, setting: dict[str, Any]) -> Any:
    """Set alpha and n_components where they live: on the model, on its encoder or on its projection."""
    if isinstance(model, ProjectionClassifier):
        projection = clone(model._template()).set_params(**setting)
        return model.set_params(projection=projection)
    places = getattr(model, "_free_params", {})
    return model.set_params(**{places.get(name, name): value for name, value in setting.items()})


def is_free(model: Any) -> bool:
    """Whether the scores of this model follow from moments alone."""
    if isinstance(model, ProjectionClassifier):
        return bool(model._searched()[1])
    return hasattr(model, "_fold_maps") and model._refuses_blocks() is None

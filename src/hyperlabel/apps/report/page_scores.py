"""Honest scores for a fitted model's page: out of fold on the rows of its fit, as they are on others."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from hyperlabel._base import score_rows
from hyperlabel.apps.report.model_numbers import PageScores, honest_sets
from hyperlabel.decision import global_threshold, per_label_thresholds, proportional_thresholds
from hyperlabel.meta import ThresholdTuner
from hyperlabel.meta.wrapper_base import has_closed_form_cv
from hyperlabel.model_selection import out_of_fold_scores


def score_page_rows(
    model: Pipeline, rows: Any, Y: sparse.csr_array, scores: str, groups: Any = None
) -> PageScores:
    """Score labelled rows "out-of-fold", by models of the other rows given, or as "held-out" ones."""
    own, inside = scores == "out-of-fold", model[-1]
    found = _out_of_fold(inside, model[:-1].transform(rows), Y, groups) if own else score_rows(model, rows)
    thresholds, rule = _model_thresholds(inside, found, Y)
    guaranteed = getattr(inside, "strategy", "") == "precision_at_least"
    return PageScores(
        found,
        Y,
        thresholds,
        "out of fold" if own else "as new rows",
        tune=_tuning_rule(inside) if own or rule else None,
        guarantee=float(inside.precision) if guaranteed else None,
        rule=rule,
    )


def out_of_fold_sets(model: Pipeline, judged: PageScores) -> np.ndarray:
    """Label sets of rows scored out of fold, by the model's own rule."""
    if judged.rule:  # it decides otherwise than by thresholds: by the number of labels, say
        sets: np.ndarray = model[-1]._sets(None, slice(None), judged.scores)
        return sets
    return honest_sets(judged)


def _out_of_fold(inside: Any, X: Any, Y: sparse.csr_array, groups: Any) -> np.ndarray:
    """Scores at the settings of the fit; almost free for the shared ridge."""
    tuner = isinstance(inside, ThresholdTuner)
    fitted = inside.estimator_ if tuner else inside
    estimator = clone(inside._get_estimator() if tuner else inside)
    if not has_closed_form_cv(estimator):
        return out_of_fold_scores(estimator, X, Y, cv=inside.cv if tuner else None, groups=groups)
    folds = min(5, Y.shape[0]) if estimator.cv is None else estimator.cv
    estimator.set_params(alpha=fitted.alpha_, cv=folds)
    free: np.ndarray = estimator.fit(X, Y, **({} if groups is None else {"groups": groups})).oof_scores_
    return free


def _model_thresholds(inside: Any, scores: np.ndarray, Y: sparse.csr_array) -> tuple[np.ndarray, str]:
    """Thresholds of the model, and a sentence where it does not decide by a threshold for each label."""
    if hasattr(inside, "thresholds_"):
        return np.asarray(inside.thresholds_, dtype=np.float64), ""
    tune = _tuning_rule(inside)
    if tune is None:
        probabilities = not hasattr(inside, "decision_function")
        return np.full(Y.shape[1], 0.5 if probabilities else 0.0), ""
    sentence = (
        f"The model decides by {inside.strategy}; the thresholds of this page are those of the best F1."
    )
    return tune(scores, Y), sentence


def _tuning_rule(inside: Any) -> Callable[[np.ndarray, sparse.csr_array], np.ndarray] | None:
    """Return how the model's thresholds follow from scores; None where they were not tuned."""
    if not isinstance(inside, ThresholdTuner) or hasattr(inside, "guarantees_"):
        return None  # the thresholds of a guarantee come from rows of their own
    scoring, strategy = inside.scoring, inside.strategy
    if strategy == "proportional":
        return lambda scores, Y: proportional_thresholds(scores, Y)
    if strategy == "global":
        return lambda scores, Y: global_threshold(scores, Y, scoring=scoring).thresholds
    if strategy == "per_label":
        return lambda scores, Y: (
            per_label_thresholds(scores, Y, scoring=scoring, shrinkage=inside.shrinkage).thresholds
        )
    return lambda scores, Y: per_label_thresholds(scores, Y, scoring="f1_macro").thresholds

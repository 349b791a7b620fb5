"""Scores for a fitted model's page: out-of-fold on the rows of its fit, plain predictions on new rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from hyperlabel._base import score_rows
from hyperlabel._missing_labels import split_missing
from hyperlabel.apps.report.model_numbers import PageScores, decide_by_folds, honest_sets
from hyperlabel.decision.strategies import OutOfFold, PerLabel, ThresholdStrategy, make_strategy
from hyperlabel.meta import ThresholdTuner
from hyperlabel.meta.wrapper_base import has_closed_form_cv
from hyperlabel.model_selection import out_of_fold_scores


def score_page_rows(
    model: Pipeline, rows: Any, Y: sparse.csr_array, scores: str, groups: Any = None
) -> PageScores:
    """Score labelled rows "out-of-fold", by models of the other rows given, or as "held-out" ones."""
    is_out_of_fold, final_step = scores == "out-of-fold", model[-1]
    if is_out_of_fold:
        row_scores = _score_out_of_fold(final_step, model[:-1].transform(rows), Y, groups)
    else:
        row_scores = score_rows(model, rows)
    thresholds, rule_sentence = _get_model_thresholds(final_step, row_scores, Y)
    known_labels, missing = split_missing(sparse.csr_array(Y))
    has_guarantee = getattr(final_step, "strategy", "") == "precision_at_least"
    return PageScores(
        row_scores,
        known_labels,
        thresholds,
        "out of fold" if is_out_of_fold else "as new rows",
        strategy=_get_strategy(final_step) if is_out_of_fold or rule_sentence else None,
        guarantee=float(final_step.precision) if has_guarantee else None,
        rule=rule_sentence,
        missing=missing,
    )


def out_of_fold_sets(model: Pipeline, rows: Any, judged: PageScores) -> np.ndarray:
    """Return the label sets of rows scored out of fold, by the model's own rule fitted on other rows."""
    if not judged.rule:
        return honest_sets(judged)
    tuner = model[-1]  # decides otherwise than by thresholds: by the number of labels, say
    strategy = make_strategy(tuner.strategy, tuner.get_params(deep=False))
    X = model[:-1].transform(rows) if strategy.needs_rows else None
    label_sets: np.ndarray = tuner._raise(
        decide_by_folds(strategy, OutOfFold(judged.scores, judged.Y, X=X, constant=tuner._constant))
    )
    return label_sets


def has_closed_form_scores(model: Pipeline) -> bool:
    """Say whether out-of-fold scores cost about one fit."""
    final_step = model[-1]
    return bool(
        has_closed_form_cv(
            final_step._get_estimator() if isinstance(final_step, ThresholdTuner) else final_step
        )
    )


def _score_out_of_fold(final_step: Any, X: Any, Y: sparse.csr_array, groups: Any) -> np.ndarray:
    """Return out-of-fold scores at the settings of the fit, in closed form where the model has one."""
    is_tuner = isinstance(final_step, ThresholdTuner)
    fitted_estimator = final_step.estimator_ if is_tuner else final_step
    estimator = clone(final_step._get_estimator() if is_tuner else final_step)
    if not has_closed_form_cv(estimator):
        return out_of_fold_scores(estimator, X, Y, cv=final_step.cv if is_tuner else None, groups=groups)
    if hasattr(fitted_estimator, "label_features_"):  # labels may have come and gone since the fit
        estimator.set_params(label_features=fitted_estimator.label_features_)
    n_folds = min(5, Y.shape[0]) if estimator.cv is None else estimator.cv
    estimator.set_params(alpha=fitted_estimator.alpha_, cv=n_folds)
    oof_scores: np.ndarray = estimator.fit(X, Y, **({} if groups is None else {"groups": groups})).oof_scores_
    return oof_scores


def _get_model_thresholds(final_step: Any, scores: np.ndarray, Y: sparse.csr_array) -> tuple[np.ndarray, str]:
    """Return the thresholds of the model, and a sentence where it does not decide by them."""
    if hasattr(final_step, "thresholds_"):
        return np.asarray(final_step.thresholds_, dtype=np.float64), ""
    strategy = _get_strategy(final_step)
    if strategy is None:
        gives_probabilities = not hasattr(final_step, "decision_function")
        return np.full(Y.shape[1], 0.5 if gives_probabilities else 0.0), ""
    rule_sentence = (
        f"The model decides by {final_step.strategy}; the thresholds of this page are those of the best F1."
    )
    return strategy.find_thresholds(scores, Y), rule_sentence


def _get_strategy(final_step: Any) -> ThresholdStrategy | None:
    """Return how thresholds follow from scores, as the model's do or else per label; None if not tuned."""
    if not isinstance(final_step, ThresholdTuner) or hasattr(final_step, "guarantees_"):
        return None  # the thresholds of a guarantee come from rows of their own
    strategy = make_strategy(final_step.strategy, final_step.get_params(deep=False))
    return strategy if isinstance(strategy, ThresholdStrategy) else PerLabel()

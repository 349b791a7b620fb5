"""Squared hinge and logistic loss of all labels together, for one λ or several, in and out of fold."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from hyperlabel._base import constant_labels, label_counts, place_constant_labels
from hyperlabel._validation import TargetLayout, split_missing
from hyperlabel.moments.auto_params import is_auto
from hyperlabel.moments.cross_validate import (
    ClosedFormCV,
    Fold,
    FoldModel,
    Folds,
    closed_form_cross_validation,
    score_by_model,
)
from hyperlabel.moments.linear_map import LinearMap
from hyperlabel.solvers.margin.losses import CURVATURE, solve_margins
from hyperlabel.solvers.operators import weighted_row_mean
from hyperlabel.solvers.ridge.label_blocks import SolvedBlock
from hyperlabel.solvers.ridge.routes import RidgeResult, choose_alpha


def fit_margins(model: Any, X: Any, Y: sparse.csr_array, weights: np.ndarray | None, groups: Any) -> None:
    """Fit a `BinaryRelevance` with another loss than the squared one on validated rows."""
    alphas, loss_options = model._list_alphas(), (model.loss, model.tol)
    counts, weight = label_counts(Y, weights)
    alpha, (Y, missing) = alphas[0], split_missing(Y)
    if model.cv is not None:
        if missing is not None:
            raise ValueError("Out-of-fold scores need every label known: fill the NaN in y or leave cv=None.")
        folds = Folds(X, Y, model.cv, groups=groups, summed=False)
        cv_options = *loss_options, model._choose_scorer(len(alphas))
        cv_scores = cross_validate_margins(X, Y, model._layout, folds, weights, alphas, *cv_options)
        model._set_cv_attributes(cv_scores, Y, weights)
        alpha = alphas[cv_scores.best]
    model._set_coef(margin_path(X, Y, weights, missing, [alpha], *loss_options), "lbfgs", counts, weight)
    if model.residual_ > model.tol:
        warnings.warn(
            f"The {model.loss} loss was not minimised to tol={model.tol:g} (reached {model.residual_:.1e}): "
            "scale the columns, or raise alpha or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def margin_path(
    X: Any,
    Y: sparse.csr_array,
    weights: np.ndarray | None,
    missing: sparse.csr_array | None,
    alphas: Sequence[Any],
    loss: str,
    tol: float,
) -> list[SolvedBlock]:
    """Solve another loss for every λ, from the largest down, each from the solution before it.

    Labels that do not vary keep zeros.
    """
    T = np.full(Y.shape, -1, dtype=np.int8)
    T[Y.nonzero()] = 1
    if missing is not None:
        T[missing.nonzero()] = 0
    varying_labels = np.asarray((T > 0).any(axis=0) & (T < 0).any(axis=0))
    row_mean, solved_blocks, warm_start = weighted_row_mean(X, weights), {}, None
    alpha_sizes = {alpha: margin_alpha(alpha, X, Y, weights, loss) for alpha in alphas}
    for alpha in sorted(alphas, key=alpha_sizes.__getitem__, reverse=True):
        warm_start = solve_margins(
            X,
            T[:, varying_labels],
            loss,
            alpha_sizes[alpha],
            sample_weight=weights,
            tol=tol,
            start=warm_start,
        )
        # LinearMap.of_targets maps 0/1 solutions to ±1 scores: store w/2 and (b + 1)/2.
        coef, intercept = (
            np.zeros((X.shape[1], len(varying_labels)), warm_start.coef.dtype),
            np.full(len(varying_labels), 0.5),
        )
        coef[:, varying_labels], intercept[varying_labels] = warm_start.coef, (warm_start.intercept + 1) / 2
        coef /= 2
        solved_blocks[alpha] = SolvedBlock(
            RidgeResult(coef, intercept, warm_start.residual), row_mean, alpha_sizes[alpha], None
        )
    return [solved_blocks[alpha] for alpha in alphas]


def margin_alpha(alpha: Any, X: Any, Y: Any, weights: np.ndarray | None, loss: str) -> float:
    """Return λ as given, or that of the ridge (of curvature 2) in proportion to the curvature."""
    return choose_alpha(X, Y, sample_weight=weights) * CURVATURE[loss] / 2 if is_auto(alpha) else alpha


def cross_validate_margins(
    X: Any,
    Y: sparse.csr_array,
    layout: TargetLayout,
    folds: Folds,
    weights: np.ndarray | None,
    alphas: Sequence[Any],
    loss: str,
    tol: float,
    scorer: Any,
) -> ClosedFormCV:
    """Score every λ on every fold, each fold fitted anew."""

    def fold_model(fold: Fold) -> FoldModel:
        train_weights = None if weights is None else weights[fold.train]
        constant_columns = constant_labels(*label_counts(Y[fold.train], train_weights))
        solved_blocks = margin_path(X[fold.train], Y[fold.train], train_weights, None, alphas, loss, tol)
        alpha_results = {alpha: block.result for alpha, block in zip(alphas, solved_blocks, strict=True)}

        def scores(rows: Any, setting: dict[str, Any]) -> np.ndarray:
            ridge_result = alpha_results[setting["alpha"]]
            return place_constant_labels(
                LinearMap.of_targets(ridge_result.coef, ridge_result.intercept).scores(rows), constant_columns
            )

        return scores

    settings = [{"alpha": alpha} for alpha in alphas]
    return closed_form_cross_validation(
        X, Y, layout, folds, settings, score_by_model(X, folds, fold_model), scorer
    )

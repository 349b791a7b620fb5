"""Squared hinge and logistic loss of all labels together, for one λ or several, in and out of fold."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hyperlabel._base import place_constant_labels
from hyperlabel._missing_labels import constant_labels, label_counts, unknown_score
from hyperlabel._validation import TargetLayout
from hyperlabel.linear.fit_rows import FitRows
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
from hyperlabel.solvers.margin.losses import CURVATURE, SignedWeights, solve_margins
from hyperlabel.solvers.operators import weighted_row_mean
from hyperlabel.solvers.ridge.grouped_path import RowGroups
from hyperlabel.solvers.ridge.label_blocks import SolvedBlock
from hyperlabel.solvers.ridge.routes import RidgeResult, choose_alpha


def fit_margins(model: Any, rows: FitRows) -> None:
    """Fit a `BinaryRelevance` with another loss than the squared one."""
    alphas, loss_options = model._list_alphas(), (model.loss, model.tol)
    alpha = alphas[0]
    if rows.cv is not None:
        cv_options = *loss_options, model._choose_scorer(len(alphas))
        cv_scores = cross_validate_margins(rows, model._layout, alphas, *cv_options)
        model._set_cv_attributes(cv_scores, rows)
        alpha = alphas[cv_scores.best]
    counts, weight = label_counts(rows.Y, rows.weights)
    model._set_coef(margin_path(rows, [alpha], *loss_options), "lbfgs", counts, weight)
    if model.residual_ > model.tol:
        warnings.warn(
            f"The {model.loss} loss was not minimised to tol={model.tol:g} (reached {model.residual_:.1e}): "
            "scale the columns, or raise alpha or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def margin_path(rows: FitRows, alphas: Sequence[Any], loss: str, tol: float) -> list[SolvedBlock]:
    """Solve another loss for every λ, from the largest down, each from the solution before it.

    Labels that do not vary keep zeros.
    """
    X, targets, weights = rows.X, _read_targets(rows), None if rows.has_entry_weights else rows.weights
    on, off = (targets > 0, targets < 0) if isinstance(targets, np.ndarray) else targets
    varying_labels = np.asarray((on > 0).any(axis=0) & (off > 0).any(axis=0))
    row_mean, solved_blocks, warm_start = weighted_row_mean(X, weights), {}, None
    if isinstance(targets, np.ndarray):
        varying_targets: Any = targets[:, varying_labels]
    else:
        varying_targets = SignedWeights(on[:, varying_labels], off[:, varying_labels])
    alpha_sizes = {alpha: margin_alpha(alpha, rows, loss) for alpha in alphas}
    for alpha in sorted(alphas, key=alpha_sizes.__getitem__, reverse=True):
        warm_start = solve_margins(
            X,
            varying_targets,
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


def _read_targets(rows: FitRows) -> Any:
    """Return targets of ±1, 0 where unknown; or the weights of positives and negatives of each entry."""
    Y = rows.Y
    is_missing = np.isnan(Y.data)
    if rows.on_off is not None or rows.has_entry_weights or (Y.data[~is_missing] != 1).any():
        return rows.entries().signed(slice(None), with_row_weights=rows.has_entry_weights)
    T = np.full(Y.shape, -1, dtype=np.int8)
    T[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = np.where(is_missing, 0, 1)
    return T


def margin_alpha(alpha: Any, rows: FitRows, loss: str) -> float:
    """Return λ as given, or that of the ridge (of curvature 2) in proportion to the curvature."""
    if not is_auto(alpha):
        return float(alpha)
    if rows.is_plain:
        return choose_alpha(rows.X, rows.Y, sample_weight=rows.weights) * CURVATURE[loss] / 2
    return RowGroups(rows.X, rows.entries()).choose() * CURVATURE[loss] / 2


def cross_validate_margins(
    rows: FitRows, layout: TargetLayout, alphas: Sequence[Any], loss: str, tol: float, scorer: Any
) -> ClosedFormCV:
    """Score every λ on every fold, each fold fitted anew."""

    def fold_model(fold: Fold) -> FoldModel:
        train_rows = rows.take(fold.train)
        counts, weight = label_counts(train_rows.Y, train_rows.weights)
        constant_columns = constant_labels(counts, weight)
        solved_blocks = margin_path(train_rows, alphas, loss, tol)
        alpha_results = {alpha: block.result for alpha, block in zip(alphas, solved_blocks, strict=True)}

        def scores(X: Any, setting: dict[str, Any]) -> np.ndarray:
            result = alpha_results[setting["alpha"]]
            fold_scores = LinearMap.of_targets(result.coef, result.intercept).scores(X)
            if np.ndim(weight):
                fold_scores[:, weight <= 0] = unknown_score(counts, weight, logistic=loss == "logistic")
            return place_constant_labels(fold_scores, constant_columns)

        return scores

    folds = Folds(rows.X, rows.Y, rows.cv, groups=rows.groups, summed=False)
    settings = [{"alpha": alpha} for alpha in alphas]
    fold_scores = score_by_model(rows.X, folds, fold_model)
    return closed_form_cross_validation(rows.X, rows.Y, layout, folds, settings, fold_scores, scorer)

"""The shared ridge of all labels: one pass over the rows, and one factorisation for labels that share it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hyperlabel._missing_labels import constant_labels, unknown_score
from hyperlabel.linear.fit_rows import FitRows
from hyperlabel.linear.label_features import cross_validate_named, solve_named_sums
from hyperlabel.moments.auto_params import decide_threshold, is_auto
from hyperlabel.moments.cross_validate import cross_validate_groups, cross_validate_ridge
from hyperlabel.moments.linear_map import LinearMap, signed_targets
from hyperlabel.solvers.moments.grouped_moments import GroupedMoments, grouped_bytes
from hyperlabel.solvers.moments.rank_one_update import TOLERANCE, can_update_factor, update_with_rows
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.moments.stored_rows import StoredRows
from hyperlabel.solvers.ridge.grouped_path import RowGroups, alpha_of_sums, sums_path
from hyperlabel.solvers.ridge.label_blocks import solve_groups

KEPT_BYTES = 2**29  # moments of groups of labels that a fit keeps unless `memory_limit` says otherwise


def fit_shared_ridge(model: Any, rows: FitRows) -> None:
    """Fit a `BinaryRelevance` with the squared loss."""
    X, weights, is_plain = rows.X, rows.weights, rows.is_plain
    alphas, threshold = model._list_alphas(), model._threshold_rule()
    label_features = model._get_label_features()
    if label_features is not None and not is_plain:
        raise ValueError(
            "label_features need every label known and rows that count alike for all labels: leave out NaN, "
            "entry weights and class_weight."
        )
    route: Any = model._choose_route(X)
    targets: Any = rows.Y if is_plain else rows.entries()
    keeps_sums = route == "gram" and (is_plain or fits_memory(model, X.shape[1], targets))
    model.alpha_ = alphas[0]
    if rows.cv is not None:
        _cross_validate(model, rows, targets, alphas, route, threshold, keeps_sums=keeps_sums)
    if keeps_sums:
        if not hasattr(model, "moments_"):
            model.moments_ = (
                RowMoments.from_rows(X, targets, sample_weight=weights)
                if is_plain
                else GroupedMoments.from_rows(X, targets)
            )
        model._solve_sums((X, rows.Y, weights) if model.solver == "auto" else None)
    elif is_plain:
        model._solve_rows(X, rows.Y, weights, route)
    else:
        path = RowGroups(X, targets, solver=model.solver)
        solved_block = solve_groups(path, model.alpha_, squares=isinstance(threshold, str))
        model._set_coef([solved_block], path.solver, path.counts, path.known)
    if rows.cv is not None:
        all_rows = rows.origin or rows
        model._keep_truth(all_rows.Y, all_rows.weights)


def _cross_validate(
    model: Any,
    rows: FitRows,
    targets: Any,
    alphas: list[Any],
    route: Any,
    threshold: Any,
    *,
    keeps_sums: bool,
) -> None:
    """Score every λ out of fold; set the best, and the sums of all rows where the folds gave them."""
    X, weights, label_features = rows.X, rows.weights, model._get_label_features()
    scorer = model._choose_scorer(len(alphas))
    layout, groups = model._layout, rows.groups
    if label_features is not None:
        cv_options: Any = (rows.cv, alphas, scorer, route, weights, groups, threshold, model.tol)
        cv_scores, total_moments = cross_validate_named(X, rows.Y, layout, label_features, *cv_options)
    elif rows.is_plain:
        cv_scores, total_moments = cross_validate_ridge(
            X,
            rows.Y,
            layout,
            rows.cv,
            alphas,
            scorer,
            route,
            weights,
            groups,
            threshold,
            tol=model.tol,
            memory_limit=model.memory_limit,
        )
    else:
        cv_scores, total_moments = cross_validate_groups(
            X,
            rows.Y,
            targets,
            layout,
            rows.cv,
            alphas,
            scorer,
            route,
            groups,
            threshold,
            summed=keeps_sums,
        )
    model._set_cv_attributes(cv_scores, rows)
    model.alpha_ = alphas[cv_scores.best]
    if total_moments is not None:  # cross-validation has summed all rows already
        model.moments_ = total_moments


def fits_memory(model: Any, n_features: int, entries: Any) -> bool:
    """Say whether moments of so many groups of labels fit the memory a model may use."""
    needed = grouped_bytes(n_features, entries.Y.shape[1], len(entries.groups()))
    return needed <= (KEPT_BYTES if model.memory_limit is None else model.memory_limit)


def follow_rows(model: Any, rows: FitRows) -> bool:
    """Update a fit by a few rows at the same λ, without a solve; say whether that was possible.

    The update (`solvers.moments.rank_one_update`) is exact only where neither λ nor the threshold depends on
    the rows.
    """
    is_fixed = model._threshold_rule() == model.threshold_ and (
        np.ndim(model.alpha) or model.alpha == model.alpha_
    )
    if (
        not is_fixed
        or model.max_nonzero_coefs is not None
        or model.class_weight is not None
        or model.label_features is not None
        or not rows.is_plain
        or model._stored_route() != "gram"
        or not isinstance(moments := model.moments_.sums(), RowMoments)
        or not can_update_factor(model.moments_, rows.X, model.alpha_)
    ):
        return False
    model.coef_ = model.coef_.copy()  # callers may hold the old array: the update below is in place
    residual = update_with_rows(moments, model.coef_, model.alpha_, rows.X, rows.Y, rows.weights, scale=2.0)
    if isinstance(model.moments_, StoredRows):
        model.moments_.append(StoredRows.from_rows(rows.X, rows.Y, rows.weights))
    if not residual <= TOLERANCE:
        model._solve()
        return True
    model.residual_, model._constant = residual, constant_labels(moments.sum_targets, moments.weight)
    centre, label_means = moments.shift + moments.sum_x / moments.weight, moments.sum_targets / moments.weight
    model.intercept_ = signed_targets(label_means) - model.coef_ @ centre - model.threshold_
    return True


def fold_maps(model: Any, moments: Any) -> Callable[[dict[str, Any]], LinearMap]:
    """Return the map that any setting of a `BinaryRelevance` would have, fitted on the rows summed."""
    path, is_plain = sums_path(moments), isinstance(moments, RowMoments)
    counts, weight = moments.sum_targets, moments.weight
    label_features = model._get_label_features()

    def fold_map(setting: dict[str, Any]) -> LinearMap:
        alpha_setting = setting.get("alpha", model.alpha)
        alpha = alpha_of_sums(moments, path) if is_auto(alpha_setting) else float(alpha_setting)
        means = counts / weight if is_plain else path.mean_scores(alpha)
        fold_threshold = decide_threshold(
            model._threshold_rule(alpha_setting),
            model._layout.kind,
            means,
            partial(path.fitted_squares, alpha),
            counts,
            weight,
        )
        if label_features is not None:
            return solve_named_sums(moments, alpha, label_features).linear_map().lowered(fold_threshold)
        linear_map = model._make_linear_map(path.solve(alpha), path.x_mean).lowered(fold_threshold)
        if not is_plain:
            linear_map.intercept[weight <= 0] = unknown_score(counts, weight, fold_threshold)
        return linear_map

    return fold_map

"""Labels fitted one by one: any classifier for each, on the rows where the label is known."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from hyperlabel._missing_labels import EPS, constant_labels, label_counts, mean_prevalence
from hyperlabel._sklearn_compat import check_method_params, routing_enabled
from hyperlabel.linear.fit_rows import FitRows
from hyperlabel.moments.cross_validate import (
    ClosedFormCV,
    Fold,
    FoldModel,
    Folds,
    closed_form_cross_validation,
    score_by_model,
)
from hyperlabel.moments.linear_map import LinearMap, not_linear


def fit_one_by_one(model: Any, rows: FitRows) -> None:
    """Fit a `BinaryRelevance` with an estimator for each label."""
    if rows.weights is not None or not rows.is_plain:
        counts, known = label_counts(rows.Y, rows.weights)
        model._constant = constant_labels(counts, known)
        model._prevalence_ = mean_prevalence(counts, known)
    fitted_labels = labels_to_fit(model, rows)
    label_models = fit_labels(model, rows, fitted_labels)
    model.estimators_ = [None] * rows.Y.shape[1]
    for j, label_model in zip(fitted_labels, label_models, strict=True):
        model.estimators_[j] = label_model
    if rows.cv is not None:
        model._set_cv_attributes(refit_folds(model, rows, model._choose_scorer(1)), rows)


def labels_to_fit(model: Any, rows: FitRows) -> np.ndarray:
    """Return the labels that vary on the rows where they are known."""
    known = np.broadcast_to(label_counts(rows.Y, rows.weights)[1], rows.Y.shape[1:])
    return np.flatnonzero((model._constant == 0) & (known > 0))


def fit_labels(owner: Any, rows: FitRows, labels: np.ndarray) -> list[Any]:
    """Fit a clone of the owner's estimator for each of the labels, on the rows where it is known."""
    if not is_classifier(owner.estimator):
        raise ValueError(f"estimator must be a classifier, got {type(owner.estimator).__name__}.")
    params, columns = _params_for_labels(owner, rows), rows.Y.tocsc()
    jobs = (
        delayed(_fit_label)(clone(owner.estimator), rows.X, *_read_label(columns, j, rows, params))
        for j in labels
    )
    return list(Parallel(n_jobs=owner.n_jobs)(jobs))


def _params_for_labels(owner: Any, rows: FitRows) -> dict[str, Any]:
    weights = rows.weights
    is_soft = ((rows.Y.data > 0) & (rows.Y.data < 1)).any()
    if weights is None and (rows.on_off is not None or is_soft):
        weights = np.ones(rows.X.shape[0])
    if routing_enabled():
        weight_params = {} if weights is None else {"sample_weight": weights}
        routed = process_routing(owner, "fit", **weight_params, **rows.params)
        return dict(routed.estimator.fit)
    if weights is None:
        return rows.params
    if not has_fit_parameter(owner.estimator, "sample_weight"):
        name = type(owner.estimator).__name__
        asked = "class_weight" if rows.on_off is not None else "soft targets" if is_soft else "sample_weight"
        raise TypeError(f"{name} does not take sample_weight: leave out {asked}.")
    return {**rows.params, "sample_weight": weights}


def _read_label(
    columns: sparse.csc_array, j: int, rows: FitRows, params: dict[str, Any]
) -> tuple[np.ndarray, dict[str, Any], np.ndarray | None]:
    """Return the targets of a label, NaN where unknown, its parameters, and its weights of both classes."""
    target = np.zeros(columns.shape[0])
    stored = slice(columns.indptr[j], columns.indptr[j + 1])
    target[columns.indices[stored]] = columns.data[stored]
    if rows.has_entry_weights and "sample_weight" in params:
        params = {**params, "sample_weight": params["sample_weight"][:, j]}
    return target, params, None if rows.on_off is None else rows.on_off[:, j]


def _fit_label(
    model: Any, X: Any, target: np.ndarray, params: dict[str, Any], on_off: np.ndarray | None
) -> Any:
    rows = np.flatnonzero(~np.isnan(target))
    soft_rows = np.flatnonzero((target > 0) & (target < 1))
    if len(soft_rows):  # once with the label and once without, by the share
        rows = np.concatenate([rows, soft_rows])
        shares = np.ones(len(rows))
        is_second = np.arange(len(rows)) >= len(rows) - len(soft_rows)
        is_first = ~is_second & np.isin(rows, soft_rows)
        shares[is_first], shares[is_second] = target[rows[is_first]], 1.0 - target[soft_rows]
        params = {**_take_params(params, rows)}
        params["sample_weight"] = params["sample_weight"] * shares
        labels = np.where(is_second, 0, target[rows] > 0)
        X = X[rows]
    else:
        labels = target[rows] > 0
        if len(rows) < len(target):
            X, params = X[rows], _take_params(params, rows)
    if on_off is not None:
        params = {**params, "sample_weight": params["sample_weight"] * np.where(labels, *on_off)}
    return model.fit(X, labels.astype(np.int8), **params)


def _take_params(params: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    return {name: np.asarray(value)[rows] for name, value in params.items()}


def refit_folds(owner: Any, rows: FitRows, scorer: Any) -> ClosedFormCV:
    """Return out-of-fold scores of per-label estimators, each fold being fitted anew."""
    X, Y = rows.X, rows.Y

    def fold_owner() -> Any:
        fresh = clone(owner).set_params(cv=None)
        if isinstance(owner.class_weight, Mapping):  # its names are not those of the columns of Y
            assert rows.on_off is not None  # the rows were weighed by class_weight
            on, off = rows.on_off
            by_side = {0: off[0], 1: on[0]}
            fresh.set_params(class_weight=on if (off == 1.0).all() else by_side)
        return fresh

    def fold_model(fold: Fold) -> FoldModel:
        fold_params = check_method_params(
            X, {"sample_weight": rows.weights, **rows.params}, indices=fold.train
        )
        fold_classifier = fold_owner().fit(X[fold.train], Y[fold.train], **fold_params)
        return lambda test_rows, _: fold_classifier.decision_function(test_rows)

    folds = Folds(X, Y, rows.cv, groups=rows.groups, summed=False)
    fold_scores = score_by_model(X, folds, fold_model)
    return closed_form_cross_validation(X, Y, owner._layout, folds, [{}], fold_scores, scorer)


def score_of_unknown(estimator: Any, prevalence: float) -> float:
    """Return the score of a label without a model, on the scale of the others: never a prediction."""
    if not hasattr(estimator, "decision_function"):
        score = prevalence - 0.5
    elif hasattr(estimator, "predict_proba"):
        score = float(logit(np.clip(prevalence, EPS, 1.0 - EPS)))
    else:
        score = 2.0 * prevalence - 1.0
    return min(score, -EPS)


def score_labels(models: list[Any], X: Any, unknown: float = 0.0) -> np.ndarray:
    """Scores of every label, positive exactly where its model predicts it; `unknown` where there is none."""
    scores = np.full((X.shape[0], len(models)), unknown)
    for j, model in enumerate(models):
        if model is None:
            continue
        if hasattr(model, "decision_function"):
            scores[:, j] = model.decision_function(X)
        elif hasattr(model, "predict_proba"):
            scores[:, j] = model.predict_proba(X)[:, 1] - 0.5
        else:
            scores[:, j] = model.predict(X) - 0.5
    return scores


def map_of_labels(estimators: list[Any], name: str, unknown: float = 0.0) -> LinearMap:
    """Return the linear models of all labels as one map; None stands for a constant or an unknown label."""
    n_features = next((e.coef_.shape[-1] for e in estimators if hasattr(e, "coef_")), 0)
    if not n_features or not all(e is None or hasattr(e, "coef_") for e in estimators):
        raise not_linear(name)
    coef = np.array([np.zeros(n_features) if e is None else np.ravel(e.coef_) for e in estimators])
    intercept = [unknown if e is None else float(np.ravel(e.intercept_)[0]) for e in estimators]
    return LinearMap(coef, np.array(intercept))

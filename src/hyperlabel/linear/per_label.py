"""Labels fitted one by one: any classifier for each label, or ridge on the rows where a label is known."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from hyperlabel._base import label_counts
from hyperlabel._sklearn_compat import check_method_params, routing_enabled
from hyperlabel._validation import split_missing
from hyperlabel.moments.auto_params import is_auto
from hyperlabel.moments.cross_validate import (
    ClosedFormCV,
    Fold,
    FoldModel,
    Folds,
    closed_form_cross_validation,
    score_by_model,
)
from hyperlabel.moments.linear_map import LinearMap, not_linear
from hyperlabel.solvers.operators import weighted_row_mean
from hyperlabel.solvers.ridge.label_blocks import SolvedBlock
from hyperlabel.solvers.ridge.routes import RidgeResult, Solver, choose_alpha, solve_ridge


def fit_one_by_one(
    model: Any,
    X: Any,
    Y: sparse.csr_array,
    weights: np.ndarray | None,
    groups: Any,
    fit_params: dict[str, Any],
) -> None:
    """Fit a `BinaryRelevance` with an estimator for each label on validated rows."""
    Y, missing = split_missing(Y)
    if missing is not None and model.cv is not None:
        raise ValueError("Out-of-fold scores need every label known: fill the NaN in y or leave cv=None.")
    varying_labels = np.flatnonzero(model._constant == 0)
    missing_columns = None if missing is None else missing.tocsc()
    label_models = iter(fit_labels(model, X, Y, varying_labels, weights, fit_params, missing_columns))
    model.estimators_ = [next(label_models) if c == 0 else None for c in model._constant]
    if model.cv is not None:
        folds = Folds(X, Y, model.cv, groups=groups, summed=False)
        refit_scores = refit_folds(model, X, Y, folds, weights, fit_params, model._choose_scorer(1))
        model._set_cv_attributes(refit_scores, Y, weights)


def fit_labels(
    owner: Any,
    X: Any,
    Y: sparse.csr_array,
    labels: np.ndarray,
    weights: np.ndarray | None,
    fit_params: dict[str, Any],
    missing: sparse.csc_array | None,
) -> list[Any]:
    """Fit a clone of the owner's estimator for each of the labels, on the rows where it is known."""
    if not is_classifier(owner.estimator):
        raise ValueError(f"estimator must be a classifier, got {type(owner.estimator).__name__}.")
    params, columns = _params_for_labels(owner, weights, fit_params), Y.tocsc()
    jobs = (delayed(_fit_label)(clone(owner.estimator), X, columns, j, params, missing) for j in labels)
    return list(Parallel(n_jobs=owner.n_jobs)(jobs))


def _params_for_labels(owner: Any, weights: np.ndarray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
    if routing_enabled():
        weight_params = {} if weights is None else {"sample_weight": weights}
        routed = process_routing(owner, "fit", **weight_params, **fit_params)
        return dict(routed.estimator.fit)
    if weights is None:
        return fit_params
    if not has_fit_parameter(owner.estimator, "sample_weight"):
        raise TypeError(f"{type(owner.estimator).__name__} does not take sample_weight: leave it out.")
    return {**fit_params, "sample_weight": weights}


def _fit_label(
    model: Any, X: Any, Y: sparse.csc_array, j: int, params: dict[str, Any], missing: sparse.csc_array | None
) -> Any:
    target = np.zeros(Y.shape[0], dtype=np.int8)
    target[_stored_rows(Y, j)] = 1
    missing_rows = None if missing is None else _stored_rows(missing, j)
    if missing_rows is not None and len(missing_rows):
        known_rows = np.setdiff1d(np.arange(len(target)), missing_rows)
        X, target = X[known_rows], target[known_rows]
        params = {name: np.asarray(value)[known_rows] for name, value in params.items()}
    return model.fit(X, target, **params)


def refit_folds(
    owner: Any,
    X: Any,
    Y: sparse.csr_array,
    folds: Folds,
    weights: np.ndarray | None,
    fit_params: dict[str, Any],
    scorer: Any,
) -> ClosedFormCV:
    """Return out-of-fold scores of per-label estimators, each fold being fitted anew."""

    def fold_model(fold: Fold) -> FoldModel:
        fold_params = check_method_params(X, {"sample_weight": weights, **fit_params}, indices=fold.train)
        fold_classifier = clone(owner).set_params(cv=None).fit(X[fold.train], Y[fold.train], **fold_params)
        return lambda rows, _: fold_classifier.decision_function(rows)

    return closed_form_cross_validation(
        X, Y, owner._layout, folds, [{}], score_by_model(X, folds, fold_model), scorer
    )


def score_labels(models: list[Any], X: Any) -> np.ndarray:
    """Scores of every label, positive exactly where its model predicts it; 0 where there is none."""
    scores = np.zeros((X.shape[0], len(models)))
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


def solve_known(
    X: Any,
    Y: sparse.csr_array,
    missing: sparse.csc_array,
    weights: np.ndarray | None,
    alpha: Any,
    solver: Solver,
) -> tuple[list[SolvedBlock], str, np.ndarray, np.ndarray]:
    """Ridge of each label on the rows where it is known; labels with the same gaps share a solve.

    Also return the route, and each label's positives and known rows. The certificate is the worst residual;
    labels about which nothing is known keep zeros. λ = "auto" is chosen on all rows at once, as if every
    unknown entry were the frequency of its label.
    """
    (counts, total_weight), missing_weight = (
        label_counts(Y, weights),
        label_counts(missing.astype(np.float64), weights)[0],
    )
    known_weight = total_weight - missing_weight
    if is_auto(alpha):
        positive_share = np.divide(
            counts, known_weight, out=np.zeros(len(known_weight)), where=known_weight > 0
        )
        filled_labels = sparse.csr_array(Y + missing.astype(np.float64) @ sparse.diags_array(positive_share))
        alpha = choose_alpha(X, filled_labels, solver=solver, sample_weight=weights)
    coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    squares, residual, solver_used = np.zeros(Y.shape[1]), 0.0, "gram"
    labels_of_pattern: dict[bytes, list[int]] = {}
    for j in range(Y.shape[1]):
        labels_of_pattern.setdefault(_stored_rows(missing, j).tobytes(), []).append(j)
    for labels in labels_of_pattern.values():
        known_rows = np.setdiff1d(np.arange(X.shape[0]), _stored_rows(missing, labels[0]))
        if not len(known_rows):
            continue
        row_weights = None if weights is None else weights[known_rows]
        path = solve_ridge(
            X[known_rows], Y[known_rows][:, labels], alphas=(alpha,), solver=solver, sample_weight=row_weights
        )
        result = path.solve(alpha)
        coef[:, labels], intercept[labels] = result.coef, result.intercept
        squares[labels] = path.fitted_squares(alpha)
        residual, solver_used = max(residual, result.residual), path.solver
    result = RidgeResult(coef, intercept, residual)
    return (
        [SolvedBlock(result, weighted_row_mean(X, weights), alpha, squares)],
        solver_used,
        counts,
        known_weight,
    )


def _stored_rows(Y: sparse.csc_array, j: int) -> np.ndarray:
    return np.sort(Y.indices[Y.indptr[j] : Y.indptr[j + 1]])


def map_of_labels(estimators: list[Any], name: str) -> LinearMap:
    """Return the linear models of all labels as one map; None stands for a constant label."""
    n_features = next((e.coef_.shape[-1] for e in estimators if hasattr(e, "coef_")), 0)
    if not n_features or not all(e is None or hasattr(e, "coef_") for e in estimators):
        raise not_linear(name)
    coef = np.array([np.zeros(n_features) if e is None else np.ravel(e.coef_) for e in estimators])
    intercept = [0.0 if e is None else float(np.ravel(e.intercept_)[0]) for e in estimators]
    return LinearMap(coef, np.array(intercept))

"""Closed-form cross-validation: exact out-of-fold scores for every setting from one pass.

The moments of each training fold are a sum or difference of moments already at hand
(`solvers.moments.fold_moments`), so a fold costs one small factorisation and the scores of its own test rows,
not another pass over the data; and a factorisation serves every λ (and every dimension M).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hyperlabel._base import KnownScores, constant_labels, label_counts, place_constant_labels
from hyperlabel._tables import Results
from hyperlabel._validation import TargetLayout
from hyperlabel.model_selection import resolve_cv
from hyperlabel.moments.auto_params import decide_alpha, decide_threshold, is_auto
from hyperlabel.moments.linear_map import LinearMap, signed_targets
from hyperlabel.solvers.moments.fold_moments import MEMORY_LIMIT, FoldMoments
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import RidgePath, RidgeResult, choose_route, solve_auto, solve_ridge


class Fold(NamedTuple):
    """Row numbers of one fold and, where they are summed, the moments of its training rows."""

    train: np.ndarray
    test: np.ndarray
    moments: RowMoments | None


class Folds:
    """The one fold engine: what `cv=` means, and the moments of every training fold (`sums`) from one pass.

    A number means stratified folds, grouped when `groups` are given; "loo" is one fold of all rows, for whom
    has scores in `closed_form`. `summed` = None sums where XᵀX is the route to a solution and the sums fit.
    """

    def __init__(
        self,
        X: Any,
        Y: sparse.csr_array,
        cv: Any,
        *,
        groups: Any = None,
        sample_weight: np.ndarray | None = None,
        with_target_gram: bool = False,
        summed: bool | None = True,
        closed_form: bool = False,
    ) -> None:
        all_rows = np.arange(X.shape[0])
        loo = isinstance(cv, str)
        if loo and not (closed_form and cv == "loo"):
            raise ValueError(f"cv={cv!r} is not possible here: give a number of folds or a splitter.")
        splits: Any = [(all_rows, all_rows)]
        if not loo:
            splits = resolve_cv(cv, Y, groups).split(all_rows[:, None], Y, groups)
        self.splits = [(np.asarray(train), np.asarray(test)) for train, test in splits if len(test)]
        trains = [train for train, _ in self.splits]
        if summed is None:  # side by side: sums of all rows, of a fold and of the rest, and a factorisation
            summed = choose_route(X) == "gram" and 4 * 8 * (X.shape[1] + Y.shape[1]) ** 2 <= MEMORY_LIMIT
        self.sums = (
            FoldMoments(X, Y, trains, sample_weight=sample_weight, with_target_gram=with_target_gram)
            if summed
            else None
        )
        self.total = None if self.sums is None else self.sums.total

    def __len__(self) -> int:
        return len(self.splits)

    def __iter__(self) -> Iterator[Fold]:
        trains, tests = [train for train, _ in self.splits], [test for _, test in self.splits]
        return map(Fold, trains, tests, repeat(None) if self.sums is None else self.sums)


# Given test rows and a setting, the scores of a model fitted on the fold's training rows.
FoldModel = Callable[[Any, Any], np.ndarray]


@dataclass(frozen=True)
class ClosedFormCV:
    """What closed-form cross-validation found; `results` as in scikit-learn's ``cv_results_``, None without
    scorer.

    `best` is the first of the best settings; `oof_scores` are each row's by the model not fitted on it, at
    that setting, NaN for rows in no test fold. `std_test_score` is over folds, not a standard error.
    """

    results: dict[str, Any] | None
    best: int
    oof_scores: np.ndarray


def closed_form_cross_validation(
    X: Any,
    Y: sparse.csr_array,
    layout: TargetLayout,
    folds: Folds,
    settings: Sequence[dict[str, Any]],
    fold_model: Callable[[Fold], FoldModel],
    scorer: Any,
) -> ClosedFormCV:
    """Score every setting on every test fold and keep the out-of-fold scores of the best.

    ``fold_model(fold)`` returns the scoring function of the model fitted on the training rows of that fold,
    kept while the settings are compared. The scorer sees the indicator, also of a 1-D y; None judges nothing.
    """
    fold_models = [fold_model(fold) for fold in folds]
    test_folds = [test for _, test in folds.splits]
    best, results, oof_scores = 0, None, np.full(Y.shape, np.nan)
    if scorer is not None:
        layout = as_indicator(layout)
        score_table = np.empty((len(settings), len(test_folds)))
        for fold, test in enumerate(test_folds):
            truth = Y[test] if layout.is_sparse else Y[test].toarray().astype(int)
            for row, setting in enumerate(settings):
                oof_scores[test] = fold_models[fold](X[test], setting)
                score_table[row, fold] = scorer(KnownScores(oof_scores[test], layout), X[test], truth)
        best = int(np.argmax(score_table.mean(axis=1)))
        results = {
            "params": list(settings),
            "mean_test_score": score_table.mean(axis=1),
            "std_test_score": score_table.std(axis=1),
        } | {f"split{fold}_test_score": score_table[:, fold] for fold in range(len(test_folds))}
    if results is None or best < len(settings) - 1:  # of the last setting they are there
        for test, model in zip(test_folds, fold_models, strict=True):
            oof_scores[test] = model(X[test], settings[best])
    return ClosedFormCV(None if results is None else Results(results), best, oof_scores)


def as_indicator(layout: TargetLayout) -> TargetLayout:
    """Scores are judged label by label: a 1-D y is compared through its indicator."""
    columns = np.arange(layout.n_columns)
    return replace(layout, kind="multilabel", classes=columns, dtype=np.dtype(int))


def cross_validate_ridge(
    X: Any,
    Y: sparse.csr_array,
    layout: TargetLayout,
    cv: Any,
    alphas: list[Any],
    scorer: Any,
    route: Any,
    sample_weight: np.ndarray | None,
    groups: Any,
    threshold: Any = 0.0,
) -> tuple[ClosedFormCV, RowMoments | None]:
    """Cross-validate the ridge on ±1 targets over every λ; also return the moments of all rows.

    λ = "auto" and `threshold` = "auto" are decided anew on each training fold.

    On the Gram route the moments of each training fold come by subtraction; on the other routes
    each fold is solved anew (there are no moments, and None is returned for them).
    """
    if isinstance(cv, str) and groups is not None:
        raise ValueError("cv='loo' leaves out single rows and would part the groups: give a number of folds.")

    def fold_model(fold: Fold) -> FoldModel:
        if fold.moments is not None:
            announced = () if cv == "loo" or is_auto(alphas[0]) else alphas
            ridge_path: Any = RidgePath(fold.moments, alphas=announced)
            counts, weight = fold.moments.sum_targets, fold.moments.weight
            auto_alpha = decide_alpha(fold.moments, alphas[0], ridge_path)
        else:
            train_weights = None if sample_weight is None else sample_weight[fold.train]
            rows, labels = X[fold.train], Y[fold.train]
            counts, weight = label_counts(labels, train_weights)
            if is_auto(alphas[0]):
                ridge_path, auto_alpha = solve_auto(rows, labels, solver=route, sample_weight=train_weights)
            else:
                ridge_path = solve_ridge(
                    rows, labels, alphas=alphas, solver=route, sample_weight=train_weights
                )
        constant = constant_labels(counts, weight)

        def scores(rows: Any, setting: dict[str, Any]) -> np.ndarray:
            alpha = auto_alpha if is_auto(setting["alpha"]) else setting["alpha"]
            squares = partial(ridge_path.fitted_squares, alpha)
            fold_threshold = decide_threshold(
                threshold, layout.kind, counts / weight, squares, counts, weight
            )
            if isinstance(cv, str):
                return leave_one_out(ridge_path, rows, Y, alpha, sample_weight) - fold_threshold
            linear_map = _make_linear_map(ridge_path.solve(alpha))
            return place_constant_labels(linear_map.scores(rows) - fold_threshold, constant)

        return scores

    summed = route == "gram" or isinstance(cv, str)
    options: Any = {"sample_weight": sample_weight, "summed": summed, "closed_form": route != "krylov"}
    folds = Folds(X, Y, cv, groups=groups, **options)
    settings = [{"alpha": alpha} for alpha in alphas]
    return closed_form_cross_validation(X, Y, layout, folds, settings, fold_model, scorer), folds.total


def _make_linear_map(ridge_solution: RidgeResult) -> LinearMap:
    return LinearMap.of_targets(ridge_solution.coef, ridge_solution.intercept)


def leave_one_out(
    ridge_path: RidgePath, X: Any, Y: sparse.csr_array, alpha: float, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Exact leave-one-out scores of the ridge on ±1 targets, in closed form.

    With leverage hᵢ = wᵢ(1/Σw + x̃ᵢᵀ(XcᵀXc + λI)⁻¹x̃ᵢ) the model fitted without row i predicts
    yᵢ − (yᵢ − ŷᵢ)/(1 − hᵢ) for it. A label whose only positive is row i has never been seen by
    that model, so it ranks last there (and one whose only negative it is ranks first).
    """
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    total_weight = weights.sum()
    leverage = weights * (1.0 / total_weight + ridge_path.leverages(alpha, X))
    ridge_solution = ridge_path.solve(alpha)
    truth, scores = signed_targets(Y.toarray()), _make_linear_map(ridge_solution).scores(X)
    scores = truth - (truth - scores) / np.maximum(1.0 - leverage, 1e-12)[:, None]
    counts = weights @ Y
    positives_left = counts[None, :] - weights[:, None] * (truth > 0)  # weighted positives without row i
    weight_left = (total_weight - weights)[:, None]
    slack = 1e-12 * total_weight
    always_on = positives_left >= weight_left - slack
    constant = np.where(positives_left <= slack, -1, np.where(always_on, 1, 0)).astype(np.int8)
    for i in np.flatnonzero(constant.any(axis=1)):
        scores[i] = place_constant_labels(scores[[i]], constant[i])[0]
    return scores

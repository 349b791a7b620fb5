"""Closed-form cross-validation: exact out-of-fold scores for every setting from one pass.

The moments of each training fold are a sum or difference of moments already at hand
(`solvers.moments.fold_moments`), so a fold costs one small factorisation and the scores of its own test rows,
not another pass over the data; and a factorisation serves every λ (and every dimension M).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hyperlabel._base import place_constant_labels
from hyperlabel._missing_labels import constant_labels, label_counts, unknown_score
from hyperlabel._tables import Results
from hyperlabel._validation import TargetLayout
from hyperlabel.metrics.scorers import score_known
from hyperlabel.metrics.validation import Truth
from hyperlabel.model_selection.folds import make_folds
from hyperlabel.moments.auto_params import decide_alphas, decide_threshold, is_auto
from hyperlabel.moments.linear_map import LinearMap, signed_targets
from hyperlabel.moments.wide_folds import WideFolds
from hyperlabel.solvers.moments.fold_moments import MEMORY_LIMIT, FoldMoments
from hyperlabel.solvers.moments.label_groups import WeightedEntries
from hyperlabel.solvers.ridge.grouped_path import RowGroups, SummedGroups
from hyperlabel.solvers.ridge.routes import RidgePath, RidgeResult, choose_route, solve_auto, solve_ridge


class Fold(NamedTuple):
    """Row numbers of one fold and, where they are summed, the moments of its training rows."""

    train: np.ndarray
    test: np.ndarray
    moments: Any  # `RowMoments`, of groups of labels or not


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
        entries: WeightedEntries | None = None,
    ) -> None:
        all_rows = np.arange(X.shape[0])
        loo = isinstance(cv, str)
        if loo and not (closed_form and cv == "loo"):
            raise ValueError(f"cv={cv!r} is not possible here: give a number of folds or a splitter.")
        splits = [(all_rows, all_rows)] if loo else make_folds(cv, Y, groups)
        self.splits = [(train, test) for train, test in splits if len(test)]
        trains = [train for train, _ in self.splits]
        if summed is None:  # side by side: sums of all rows, of a fold and of the rest, and a factorisation
            summed = choose_route(X) == "gram" and 4 * 8 * (X.shape[1] + Y.shape[1]) ** 2 <= MEMORY_LIMIT
        self.sums = (
            FoldMoments(
                X,
                Y if entries is None else entries,
                trains,
                sample_weight=sample_weight,
                with_target_gram=with_target_gram,
            )
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
# Given a setting, the scores of the test rows of each fold in turn.
FoldScores = Callable[[Any], Iterator[np.ndarray]]


def score_by_model(X: Any, folds: Folds, fold_model: Callable[[Fold], FoldModel]) -> FoldScores:
    """Return the fold scores of models that are fitted fold by fold, and kept while settings are compared."""
    fold_models = [fold_model(fold) for fold in folds]

    def fold_scores(setting: Any) -> Iterator[np.ndarray]:
        for model, (_, test) in zip(fold_models, folds.splits, strict=True):
            yield model(X[test], setting)

    return fold_scores


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
    fold_scores: FoldScores,
    scorer: Any,
) -> ClosedFormCV:
    """Score every setting on every test fold and keep the out-of-fold scores of the best.

    The scorer sees the indicator, also of a 1-D y; None judges nothing.
    """
    test_folds = [test for _, test in folds.splits]
    best, results = 0, None
    scores_of_fold: Iterable[np.ndarray] = ()
    if scorer is not None:
        layout, truth = as_indicator(layout), Truth.of_targets(Y)
        score_table = np.empty((len(settings), len(test_folds)))
        for row, setting in enumerate(settings):
            scores_of_fold = list(fold_scores(setting))
            score_table[row] = [
                score_known(scorer, truth.take(test), test_scores, layout, X[test])
                for test, test_scores in zip(test_folds, scores_of_fold, strict=True)
            ]
        best = int(np.argmax(score_table.mean(axis=1)))
        results = {
            "params": list(settings),
            "mean_test_score": score_table.mean(axis=1),
            "std_test_score": score_table.std(axis=1),
        } | {f"split{fold}_test_score": score_table[:, fold] for fold in range(len(test_folds))}
    if results is None or best < len(settings) - 1:  # of the last setting they are there
        scores_of_fold = fold_scores(settings[best])
    oof_scores = np.full(Y.shape, np.nan)
    for test, test_scores in zip(test_folds, scores_of_fold, strict=True):
        oof_scores[test] = test_scores
    return ClosedFormCV(None if results is None else Results(results), best, oof_scores)


def as_indicator(layout: TargetLayout) -> TargetLayout:
    """Scores are judged label by label: a 1-D y is compared through its indicator."""
    columns = np.arange(len(layout.classes) - (layout.kind == "binary"))
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
    **solve_options: Any,
) -> tuple[ClosedFormCV, Any]:
    """Cross-validate the ridge on ±1 targets over every λ; also return the moments of all rows.

    λ = "auto" and `threshold` = "auto" are decided anew on each training fold; λ of wide sparse rows is
    decided once, on all of them (`WideFolds`).

    On the Gram route the moments of each training fold come by subtraction; on the other routes
    there are no moments, and None is returned for them.
    """
    if isinstance(cv, str) and groups is not None:
        raise ValueError("cv='loo' leaves out single rows and would part the groups: give a number of folds.")

    is_loo = isinstance(cv, str)
    folds = Folds(
        X,
        Y,
        cv,
        groups=groups,
        sample_weight=sample_weight,
        summed=route == "gram" or is_loo,
        closed_form=route != "krylov",
    )
    settings = [{"alpha": alpha} for alpha in alphas]
    is_wide = route == "krylov" and sparse.issparse(X)
    if is_wide and all(is_auto(alpha) or alpha > 0 for alpha in alphas):
        options = (layout.kind, threshold, sample_weight)
        fold_scores: FoldScores = WideFolds(X, Y, folds.splits, *options, **solve_options).scores
    else:
        fold_scores = _score_paths(X, Y, folds, alphas, route, sample_weight, layout.kind, threshold, is_loo)
    return closed_form_cross_validation(X, Y, layout, folds, settings, fold_scores, scorer), folds.total


def _score_paths(
    X: Any,
    Y: sparse.csr_array,
    folds: Folds,
    alphas: list[Any],
    route: Any,
    sample_weight: Any,
    kind: str,
    threshold: Any,
    is_loo: bool,
) -> FoldScores:
    """Return the fold scores along ridge paths, or those of single rows left out."""
    announced = () if is_loo or is_auto(alphas[0]) else alphas
    paths, auto_alphas, counts_of_fold = _fold_paths(X, Y, folds, alphas, announced, route, sample_weight)
    constants = [constant_labels(counts, weight) for counts, weight in counts_of_fold]

    def fold_scores(setting: dict[str, Any]) -> Iterator[np.ndarray]:
        alpha_of_fold = auto_alphas if is_auto(setting["alpha"]) else [setting["alpha"]] * len(paths)
        thresholds = [
            decide_threshold(
                threshold, kind, counts / weight, partial(path.fitted_squares, alpha), counts, weight
            )
            for path, alpha, (counts, weight) in zip(paths, alpha_of_fold, counts_of_fold, strict=True)
        ]
        if is_loo:
            yield leave_one_out(paths[0], X, Y, alpha_of_fold[0], sample_weight) - thresholds[0]
            return
        solutions = [path.solve(alpha) for path, alpha in zip(paths, alpha_of_fold, strict=True)]
        for solution, fold_threshold, constant, (_, test) in zip(
            solutions, thresholds, constants, folds.splits, strict=True
        ):
            scores = _make_linear_map(solution).scores(X[test]) - fold_threshold
            yield place_constant_labels(scores, constant) if constant.any() else scores

    return fold_scores


def _fold_paths(
    X: Any, Y: Any, folds: Folds, alphas: list[Any], announced: Any, route: Any, sample_weight: Any
) -> tuple[list[Any], list[float], list[tuple[np.ndarray, float]]]:
    """Return the ridge path of every fold, λ where it is "auto", and the labels' counts with the weight.

    Stage by stage, all folds at each: one layer works at a time.
    """
    if folds.sums is not None:
        fold_moments = list(folds.sums)
        paths: list[Any] = [RidgePath(moments, alphas=announced) for moments in fold_moments]
        counts_of_fold = [(moments.sum_targets, moments.weight) for moments in fold_moments]
        return paths, decide_alphas(fold_moments, alphas[0], paths), counts_of_fold
    paths, auto_alphas, counts_of_fold = [], [], []
    for train, _ in folds.splits:
        train_weights = None if sample_weight is None else sample_weight[train]
        counts_of_fold.append(label_counts(Y[train], train_weights))
        options: Any = {"solver": route, "sample_weight": train_weights}
        if is_auto(alphas[0]):
            path, auto_alpha = solve_auto(X[train], Y[train], **options)
            auto_alphas.append(auto_alpha)
        else:
            path = solve_ridge(X[train], Y[train], alphas=alphas, **options)
        paths.append(path)
    return paths, auto_alphas, counts_of_fold


def cross_validate_groups(
    X: Any,
    Y: sparse.csr_array,
    entries: WeightedEntries,
    layout: TargetLayout,
    cv: Any,
    alphas: list[Any],
    scorer: Any,
    route: Any,
    groups: Any,
    threshold: Any,
    *,
    summed: bool,
) -> tuple[ClosedFormCV, Any]:
    """Do as `cross_validate_ridge` for labels that do not count on the same rows, as `entries` says.

    Each fold follows from moments of groups of labels if these are to be `summed`, else it is solved anew.
    """
    if isinstance(cv, str):
        raise ValueError("cv='loo' needs every label known and rows of one weight: give a number of folds.")
    given_alphas = [alpha for alpha in alphas if not is_auto(alpha)]

    def fold_model(fold: Fold) -> FoldModel:
        path: Any
        if fold.moments is None:
            path = RowGroups(X[fold.train], entries.take(fold.train), given_alphas, solver=route)
        else:
            path = SummedGroups(fold.moments, given_alphas)
        fold_maps = {}
        for given_alpha in alphas:
            alpha = path.choose() if is_auto(given_alpha) else given_alpha
            squares = partial(path.fitted_squares, alpha)
            means = path.mean_scores(alpha) if is_auto(threshold) else path.counts
            fold_threshold = decide_threshold(threshold, layout.kind, means, squares, path.counts, path.known)
            linear_map = _make_linear_map(path.solve(alpha)).lowered(fold_threshold)
            linear_map.intercept[path.known <= 0] = unknown_score(path.counts, path.known, fold_threshold)
            fold_maps[given_alpha] = linear_map
        constant = constant_labels(path.counts, path.known)
        return lambda rows, setting: place_constant_labels(fold_maps[setting["alpha"]].scores(rows), constant)

    folds = Folds(X, Y, cv, groups=groups, summed=summed, entries=entries)
    settings = [{"alpha": alpha} for alpha in alphas]
    fold_scores = score_by_model(X, folds, fold_model)
    return closed_form_cross_validation(X, Y, layout, folds, settings, fold_scores, scorer), folds.total


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
    positives_left = counts[None, :] - weights[:, None] * ((truth + 1.0) / 2.0)  # without row i
    weight_left = (total_weight - weights)[:, None]
    slack = 1e-12 * total_weight
    always_on = positives_left >= weight_left - slack
    constant = np.where(positives_left <= slack, -1, np.where(always_on, 1, 0)).astype(np.int8)
    for i in np.flatnonzero(constant.any(axis=1)):
        scores[i] = place_constant_labels(scores[[i]], constant[i])[0]
    return scores

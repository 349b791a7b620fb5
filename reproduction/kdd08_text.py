"""KDD 2008 on text: which rows, which terms, and the peak of λ = 0 where there are as many rows as terms."""

from typing import Any

import numpy as np
from scipy import special
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import chi2

from hyperlabel import HypergraphSpectral, projection_path
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.model_selection import IterativeStratifiedKFold
from reproduction.item import Item, Plan, Runs, make_cells, make_curve, random_split
from reproduction.kdd08 import (
    DATA,
    EXPANSIONS,
    FORMS,
    SettingScores,
    best_settings,
    lambda_grid,
    method_name,
    normalize_rows,
    prepare,
    remove_rare_labels,
    rival_cells,
    spectral_at_zero,
    spectral_cells,
    svm_auc,
    table2_numbers,
)
from reproduction.result import Result

ARTS = "yahoo-arts"
N_PRINTED_ROWS = 3712
# Selections and weights of terms that §5.1 and its reference [23] name; all are learned on training rows.
WEIGHTINGS = (
    "frequent",
    "frequent, tf-idf",
    "chi2, tf-idf",
    "information gain, tf-idf",
    "mutual information, tf-idf",
)


def longest_documents(data: Dataset) -> Dataset:
    """Keep as many documents as the paper counts, those with most distinct terms, and prepare them."""
    n_terms = np.asarray((data.X != 0).sum(axis=1)).ravel()
    rows = np.sort(np.argsort(-n_terms, kind="stable")[:N_PRINTED_ROWS])
    return prepare(data[rows])


def term_scores(selection: str, X: Any, Y: np.ndarray) -> np.ndarray:
    """Score the terms of training rows: document frequency, χ², information gain or mutual information.

    >>> X, Y = np.array([[1, 1], [1, 0], [0, 1], [0, 0]]), np.array([[1], [1], [0], [0]])
    >>> term_scores("information gain", X, Y).round(3).tolist()
    [0.693, 0.0]
    >>> term_scores("mutual information", X, Y).round(3).tolist()
    [0.693, 0.0]
    """
    has_term = X != 0
    frequency = np.asarray(has_term.sum(axis=0), dtype=float).ravel()
    if selection == "frequent":
        return frequency
    if selection == "chi2":
        return np.nan_to_num(np.max([chi2(X, y)[0] for y in Y.T if y.any()], axis=0))
    n, positives = len(Y), Y.sum(axis=0, dtype=float)
    both = np.asarray((has_term.T.astype(float)) @ Y)  # terms × labels
    if selection == "mutual information":
        with np.errstate(divide="ignore", invalid="ignore"):
            pointwise = np.log(both * n / np.outer(frequency, positives))
        return np.nan_to_num(pointwise, nan=-np.inf, neginf=-np.inf).max(axis=1, initial=-np.inf)
    gains = np.zeros_like(both)
    for with_term, term_count in ((both, frequency), (positives - both, n - frequency)):
        for count, label_count in ((with_term, positives), (term_count[:, None] - with_term, n - positives)):
            expected = np.outer(term_count, label_count) / n
            gains += special.rel_entr(count / n, expected / n)
    return gains.sum(axis=1)


def _weigh_terms(weighting: str, X: Any, Y: np.ndarray, train: np.ndarray) -> Any:
    """Select and weigh 2000 terms by the training rows; return all rows, of length 1."""
    selection, _, weights = weighting.partition(", ")
    scores = term_scores(selection, X[train], Y[train])
    X = X[:, np.sort(np.argsort(-scores, kind="stable")[:2000])]
    if weights == "tf-idf":
        X = TfidfTransformer(sublinear_tf=True, norm=None).fit(X[train]).transform(X)
    return normalize_rows(X)


def _weighted_terms(
    data: Dataset, split: int, n_train: int, lambdas: Any, weightings: tuple[str, ...], folds: int
) -> JobResult:
    """HG^λ and lsHG^λ of the clique by weighting of terms, and with the weighting chosen inside as λ is."""
    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()
    methods = {method_name("clique", form): HypergraphSpectral(form=form) for form in FORMS}

    def score_path(weighting: str, fit_rows: np.ndarray, score_rows: np.ndarray) -> SettingScores:
        X = _weigh_terms(weighting, data.X, Y, fit_rows)
        path = projection_path(X[fit_rows], Y[fit_rows], methods=methods, alphas=lambdas)
        rows = (X[fit_rows], Y[fit_rows], X[score_rows], Y[score_rows])
        return {
            (model.name, (weighting, model.alpha)): svm_auc(model, *rows, units="metric") for model in path
        }

    cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
    folds_rows = list(cv.split(data.X[train], Y[train]))
    fold_scores: list[SettingScores] = [{} for _ in folds_rows]
    values = []
    for weighting in weightings:
        weighting_scores = [score_path(weighting, train[fit], train[score]) for fit, score in folds_rows]
        test_scores = score_path(weighting, train, test)
        for scores, own_scores in zip(fold_scores, weighting_scores, strict=True):
            scores.update(own_scores)
        values += [
            Measurement(f"{name}^λ, {weighting}", "nested", test_scores[name, setting])
            for name, setting in best_settings(weighting_scores).items()
        ]
    best = best_settings(fold_scores)
    by_series = {value.series: value.value for value in values}
    values += [
        Measurement(f"{name}^λ, chosen", "nested", by_series[f"{name}^λ, {weighting}"])
        for name, (weighting, _) in best.items()
    ]
    chosen = {f"{name}^λ, chosen": {"λ": alpha} for name, (_, alpha) in best.items()}
    grids = {name: {"λ": list(lambdas)} for name in chosen}
    terms = {name: weighting for name, (weighting, _) in best.items()}
    return JobResult(values, details={"chosen": chosen, "grids": grids, "terms": terms})


def _term_cells(plan: Plan) -> list[Job]:
    def settings(name: str) -> dict[str, Any]:
        search = {"lambdas": lambda_grid(name, plan.quick), "folds": plan.pick(3, 2)}
        return {"n_train": DATA[name], "weightings": plan.pick(WEIGHTINGS, WEIGHTINGS[:3]), **search}

    what = "kdd08 weightings, units"
    return make_cells(plan, [ARTS], what, _weighted_terms, plan.pick(3, 1), settings, remove_rare_labels)


def _collect_terms(plan: Plan, runs: Runs) -> Result:
    numbers = runs.numbers(
        (weighting, method, runs.scores(ARTS, f"{method}, {weighting}", "nested"), None)
        for weighting in (*WEIGHTINGS, "chosen")
        for method in (f"{FORMS[form]}_c^λ" for form in FORMS)
    )
    choices = [weighting for cell in runs.cells for weighting in cell["details"].get("terms", {}).values()]
    counts = ", ".join(f"{name} {choices.count(name)}" for name in WEIGHTINGS if name in choices)
    return Result(numbers=numbers, notes=[f"Chosen inside, both forms and all splits: {counts}."])


def _longest_cells(plan: Plan) -> list[Job]:
    def n_splits(name: str) -> int:
        return int(plan.pick(10, 1))

    spectral = spectral_cells([ARTS], plan, "metric", longest_documents, n_splits)
    return [*spectral, *rival_cells([ARTS], plan, longest_documents, n_splits)]


def _collect_longest(plan: Plan, runs: Runs) -> Result:
    return Result(numbers=table2_numbers(runs, {ARTS: "Arts"}))


def _peak(data: Dataset, split: int, n_terms: int) -> JobResult:
    """AUC at λ = 0 with 2000 rows and a number of terms: worst where both are equal."""
    return spectral_at_zero(prepare(data, n_terms), split, DATA[ARTS])


def _peak_points(plan: Plan) -> list[int]:
    return list(plan.pick((250, 681, 1000, 1500, 2000, 2500, 3000, 4000), (681, 2000)))


def _peak_cells(plan: Plan) -> list[Job]:
    settings = [{"n_terms": n_terms} for n_terms in _peak_points(plan)]
    return make_cells(plan, [ARTS], "kdd08 peak", _peak, plan.pick(3, 1), settings)


def _collect_peak(plan: Plan, runs: Runs) -> Result:
    points = _peak_points(plan)
    names = [method_name(expansion, form) for expansion in EXPANSIONS for form in FORMS]
    paths = {name: runs.along("n_terms", points, name, "roc_auc") for name in names}
    title = "Arts: mean ROC AUC against terms, λ = 0, 2000 training rows"
    return Result(curves=make_curve(title, [float(p) for p in points], paths, "terms", "mean ROC AUC"))


ITEMS = [
    Item("kdd08-longest", "Table 2, Arts: the longest 3712 documents", (ARTS,), _longest_cells,
         _collect_longest),
    Item("kdd08-terms", "Selection and weights of terms", (ARTS,), _term_cells, _collect_terms),
    Item("kdd08-peak", "λ = 0 where rows are as many as terms", (ARTS,), _peak_cells, _collect_peak),
]  # fmt: skip

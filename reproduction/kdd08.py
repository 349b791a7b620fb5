"""Sun, Ji, Ye, *Hypergraph Spectral Learning for Multi-label Classification*, KDD 2008.

Protocol (§5): labels with fewer than 50 rows are removed. The projection W is learned on the training rows,
and a linear SVM per label on the projected rows. The score is the mean ROC AUC over labels, over ten random
partitions. λ is chosen by 3-fold cross-validation on the training rows.

code                        paper
form="exact"                HG, generalised eigenvectors (13)(14)
form="least_squares"        lsHG, regression (24)–(30)
alpha, lambdas              λ (14)(28); names that end in ^λ have λ > 0, the others λ = 0
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from hyperlabel import BinaryRelevance, RankSVM, projection_path
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.metrics import get_scorer, roc_auc_score
from hyperlabel.model_selection import IterativeStratifiedKFold
from reproduction.item import (
    PRINTED,
    Item,
    Plan,
    Runs,
    Scores,
    full_only,
    make_cells,
    make_curve,
    random_split,
    statistics_item,
)
from reproduction.result import Number, Result
from reproduction.search import search_grid

EXPANSIONS = {"clique": "c", "star": "*", "zhou": "z", "cca": "cca"}
FORMS = {"exact": "HG", "least_squares": "lsHG"}
DATA = {"scene": 900, "yeast": 900, "yahoo-arts": 2000, "yahoo5k-computers": 2000}
COLUMNS = {"scene": "Scene", "yeast": "Yeast", "yahoo-arts": "Arts", "yahoo5k-computers": "Computers"}
TABLE2 = PRINTED["tables"]["kdd08-table2"]
# The grids of λ of Figures 3 (dense data) and 4 (text), in full and quick.
DENSE_LAMBDAS = (
    (0.1, 1.0, 10.0, 20.0, 50.0, 75.0, 100.0, 200.0, 350.0, 500.0, 750.0, 1000.0),
    (1.0, 20.0, 200.0),
)
TEXT_LAMBDAS = (1e-6, 1e-4, 0.01, 0.1, 1.0, 3.0, 10.0, 50.0, 200.0), (0.1, 1.0, 10.0)
# Scores by method and setting (λ, or a weighting of terms with λ).
SettingScores = dict[tuple[str, Any], float]


def prepare(data: Dataset, n_terms: int = 2000) -> Dataset:
    """Remove labels with fewer than 50 rows; of text keep the most frequent terms, rows of length 1."""
    data = remove_rare_labels(data)
    X = data.X
    if sparse.issparse(X):
        n_rows_with_term = np.asarray((X != 0).sum(axis=0)).ravel()
        X = normalize_rows(X[:, np.sort(np.argsort(-n_rows_with_term, kind="stable")[:n_terms])])
    return Dataset(X, data.Y, name=data.name, label_names=data.label_names)


def remove_rare_labels(data: Dataset) -> Dataset:
    """Remove the labels with fewer than 50 rows (§5.1)."""
    frequent = np.flatnonzero(np.asarray(data.Y.sum(axis=0)).ravel() >= 50)
    label_names = [data.label_names[j] for j in frequent]
    return Dataset(data.X, data.Y[:, frequent], name=data.name, label_names=label_names)


def normalize_rows(X: Any) -> sparse.csr_array:
    """Scale rows to length 1."""
    return sparse.csr_array(normalize(X))


def lambda_grid(name: str, quick: bool) -> tuple[float, ...]:
    """Return the λ grid of a data set."""
    return (TEXT_LAMBDAS if name.startswith("yahoo") else DENSE_LAMBDAS)[quick]


def method_name(expansion: str, form: str) -> str:
    """Return the name of a method as the paper has it."""
    return f"{FORMS[form]}_{EXPANSIONS[expansion]}"


def svm_auc(
    model: Any,
    X_train: Any,
    Y_train: np.ndarray,
    X_test: Any,
    Y_test: np.ndarray,
    units: str = "sqrt_n",
) -> float:
    """Mean ROC AUC of a linear SVM per label on the projection; labels with one class are left out.

    `units` is "metric" for Wᵀx as the constraint of (14) scales it. Columns of the projected training rows
    then have length at most 1; "sqrt_n" multiplies them by √n, which gives entries of unit size.
    """
    scale = np.sqrt(X_train.shape[0]) if units == "sqrt_n" else 1.0
    Z_train, Z_test = model.transform(X_train) * scale, model.transform(X_test) * scale
    label_pairs = zip(Y_train.T, Y_test.T, strict=True)
    scored_labels = [j for j, (train, test) in enumerate(label_pairs) if np.ptp(train) and np.ptp(test)]
    # Thousands of small fits: checking their arguments would cost more than they do.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        svms = [LinearSVC(dual=False, C=1.0).fit(Z_train, Y_train[:, j]) for j in scored_labels]
    scores = np.column_stack([Z_test @ svm.coef_[0] + svm.intercept_ for svm in svms])
    return float(roc_auc_score(Y_test[:, scored_labels], scores))


def _spectral(
    data: Dataset,
    split: int,
    n_train: int,
    lambdas: tuple[float, ...],
    zero: bool,
    folds: int,
    units: str = "sqrt_n",
) -> JobResult:
    """AUC of every expansion and form: at λ = 0, along the path, and with λ chosen inside."""
    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()

    def score_path(fit_rows: np.ndarray, score_rows: np.ndarray, alphas: list[float]) -> SettingScores:
        path = projection_path(data.X[fit_rows], Y[fit_rows], alphas=alphas)
        rows = (data.X[fit_rows], Y[fit_rows], data.X[score_rows], Y[score_rows])
        return {
            (method_name(expansion, form), alpha): svm_auc(
                path.model((expansion, form), alpha), *rows, units=units
            )
            for alpha in alphas
            for expansion in EXPANSIONS
            for form in FORMS
        }

    test_scores: SettingScores = {}
    if zero:
        # λ = 0 on text needs the exact route; in a path of its own it does not decide the route of the rest.
        test_scores |= score_path(train, test, [0.0])
    if lambdas:
        test_scores |= score_path(train, test, list(lambdas))
    values = [Measurement(name, "roc_auc", score, alpha) for (name, alpha), score in test_scores.items()]
    best_lambdas: dict[str, float] = {}
    if folds and lambdas:
        cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
        fold_scores = [
            score_path(train[fit_rows], train[score_rows], list(lambdas))
            for fit_rows, score_rows in cv.split(data.X[train], Y[train])
        ]
        best_lambdas = best_settings(fold_scores)
        values += [
            Measurement(name, "nested", test_scores[name, best]) for name, best in best_lambdas.items()
        ]
    values.sort(key=lambda v: (v.series, v.metric, v.x or 0.0))
    chosen = {name: {"λ": best} for name, best in best_lambdas.items()}
    grids = {name: {"λ": list(lambdas)} for name in best_lambdas}
    return JobResult(values, details={"chosen": chosen, "grids": grids})


def spectral_at_zero(data: Dataset, split: int, n_train: int) -> JobResult:
    """AUC of every expansion and form at λ = 0."""
    return _spectral(data, split, n_train, (), True, 0, "metric")


def best_settings(fold_scores: list[SettingScores]) -> dict[str, Any]:
    """Return the setting of each method with the best mean over the folds; of equals the first."""
    best: dict[str, tuple[float, Any]] = {}
    for name, setting in fold_scores[0]:
        mean = float(np.mean([scores[name, setting] for scores in fold_scores]))
        if name not in best or mean > best[name][0]:
            best[name] = (mean, setting)
    return {name: setting for name, (_, setting) in best.items()}


def rank_auc(model: Any, X: Any, Y: Any) -> float:
    """Mean AUC of f alone: the decision f − h subtracts a threshold that differs from row to row."""
    return float(roc_auc_score(Y, model.rank_scores(X)))


def _rivals(data: Dataset, split: int, n_train: int, grid: tuple[float, ...], folds: int) -> JobResult:
    """Rank-SVM and a linear SVM per label (§5.2) on the features, C chosen inside by mean AUC."""
    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()
    svm = BinaryRelevance(LinearSVC(dual=False))
    scaler = [] if sparse.issparse(data.X) else [StandardScaler()]
    models = {
        "RankSVM": (RankSVM(tol=1e-2, random_state=split), "C", 1.0, rank_auc),
        "SVM per label": (
            make_pipeline(*scaler, svm),
            "binaryrelevance__estimator__C",
            0.01,  # its loss is a sum over the rows of a label where Rank-SVM's is a mean over pairs
            get_scorer("roc_auc_macro"),
        ),
    }
    values, chosen, grids = [], {}, {}
    for name, (model, parameter, unit, score) in models.items():
        model_grid = {parameter: [unit * C for C in grid]}
        widen = [parameter] if len(grid) > 1 else []
        search = search_grid(model, model_grid, data.X[train], Y[train], score, folds, split, widen=widen)
        model.set_params(**search.best).fit(data.X[train], Y[train])
        values.append(Measurement(name, "nested", float(score(model, data.X[test], Y[test]))))
        chosen[name], grids[name] = search.best, search.grid
    duality_gap = float(models["RankSVM"][0].dual_gap_)
    return JobResult(values, details={"chosen": chosen, "grids": grids, "gap": duality_gap})


def _count_splits(plan: Plan) -> Callable[[str], int]:
    return lambda name: plan.pick(10, 1 if name.startswith("yahoo") else 2)


def spectral_cells(
    names: Iterable[str],
    plan: Plan,
    units: str = "metric",
    prepare_data: Callable[[Dataset], Dataset] = prepare,
    n_splits: Callable[[str], int] | None = None,
) -> list[Job]:
    """The cells of Table 2 and of Figures 3 and 4, which show the same runs."""

    def settings(name: str) -> dict[str, Any]:
        search = {"lambdas": lambda_grid(name, plan.quick), "zero": True, "folds": plan.pick(3, 2)}
        return {"n_train": DATA[name], **search, **({"units": units} if units == "metric" else {})}

    what = "kdd08 spectral, units" if units == "metric" else "kdd08 spectral"
    return make_cells(plan, names, what, _spectral, n_splits or _count_splits(plan), settings, prepare_data)


def rival_cells(
    names: Iterable[str],
    plan: Plan,
    prepare_data: Callable[[Dataset], Dataset] = prepare,
    n_splits: Callable[[str], int] | None = None,
) -> list[Job]:
    """The cells of Rank-SVM and the SVM per label, which see no projection."""

    def settings(name: str) -> dict[str, Any]:
        grid = plan.pick((0.1, 1.0, 10.0, 100.0), (1.0,))
        return {"n_train": DATA[name], "grid": grid, "folds": plan.pick(3, 2)}

    return make_cells(
        plan, names, "kdd08 rivals", _rivals, n_splits or _count_splits(plan), settings, prepare_data
    )


def _table2_cells(units: str, plan: Plan) -> list[Job]:
    return [*spectral_cells(DATA, plan, units), *rival_cells(DATA, plan)]


def table2_numbers(runs: Runs, columns: Mapping[str, str]) -> list[Number]:
    """Return the entries of Table 2, and the SVM per label that the paper names without a figure."""

    def row_scores(name: str, row: str) -> Scores:
        if row.endswith("^λ"):
            return runs.scores(name, row.removesuffix("^λ"), "nested")
        is_tuned = row in ("SVM per label", "RankSVM")
        return runs.scores(name, row, "nested") if is_tuned else runs.scores(name, row, "roc_auc", 0.0)

    return runs.numbers(
        (
            row,
            column,
            row_scores(name, row),
            TABLE2[row][list(COLUMNS).index(name)] if row in TABLE2 else None,
        )
        for row in (*TABLE2, "SVM per label")
        for name, column in columns.items()
    )


def _collect_table2(plan: Plan, runs: Runs) -> Result:
    notes = [
        f"^λ: λ chosen by {plan.pick(3, 2)}-fold cross-validation on the training rows.",
        f"Splits: {plan.pick('10', '2 (text: 1)')}; the spread is over overlapping random partitions.",
    ]
    return Result(numbers=table2_numbers(runs, COLUMNS), notes=notes)


def _size_cells(name: str, plan: Plan) -> list[Job]:
    options = {"lambdas": (), "zero": True, "folds": 0, "units": "metric"}
    settings = [{"n_train": n, **options} for n in _training_sizes(plan)]
    return make_cells(plan, [name], "kdd08 spectral, units", _spectral, plan.pick(10, 2), settings, prepare)


def _training_sizes(plan: Plan) -> list[int]:
    return plan.pick(list(range(100, 901, 100)), [100, 300, 600, 900])


def _collect_sizes(name: str, plan: Plan, runs: Runs) -> Result:
    curves, sizes = [], _training_sizes(plan)
    n_features = {"scene": 294, "yeast": 103}[name]
    for expansion in EXPANSIONS:
        methods = [method_name(expansion, form) for form in FORMS]
        paths = {method: runs.along("n_train", sizes, method, "roc_auc") for method in methods}
        title = f"{name}, {expansion}: mean ROC AUC against training rows / dimensions, λ = 0"
        ratios = [n / n_features for n in sizes]
        curves += make_curve(title, ratios, paths, "training rows / dimensions", "mean ROC AUC")
    return Result(curves=curves)


def _collect_lambdas(name: str, plan: Plan, runs: Runs) -> Result:
    alphas, curves = lambda_grid(name, plan.quick), []
    for expansion in EXPANSIONS:
        paths: dict[str, Any] = {}
        for form in FORMS:
            method = method_name(expansion, form)
            paths[f"{method}^λ"] = runs.path(name, method, "roc_auc", alphas)
            paths[method] = [[score] * len(alphas) for score in runs.scores(name, method, "roc_auc", 0.0)]
        title = f"{name}, {expansion}: mean ROC AUC against λ ({DATA[name]} training rows)"
        curves += make_curve(title, alphas, paths, "λ", "mean ROC AUC", log=True)
    return Result(curves=curves)


ITEMS = [
    statistics_item("kdd08-table1", ("rows", "features", "labels")),
    Item("kdd08-table2", "Mean ROC AUC of HG, lsHG and RankSVM", tuple(DATA),
         partial(_table2_cells, "metric"), _collect_table2),
    Item("kdd08-sqrt-n", "Table 2, another reading: Wᵀx times √n", tuple(DATA),
         full_only(partial(_table2_cells, "sqrt_n")), _collect_table2),
    *(Item(f"kdd08-fig{i}", f"HG against lsHG, training size, {name}", (name,),
           partial(_size_cells, name), partial(_collect_sizes, name))
      for i, name in ((1, "scene"), (2, "yeast"))),
    *(Item(f"kdd08-fig{i}", f"Regularisation path, {COLUMNS[name]}", (name,),
           partial(spectral_cells, (name,)), partial(_collect_lambdas, name))
      for i, name in ((3, "scene"), (4, "yahoo-arts"))),
]  # fmt: skip

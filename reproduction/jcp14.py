"""*Hypergraph Orthonormalized Partial Least Squares …*, Journal of Computers 9(6), 2014.

Protocol (§IV): ten repetitions with 70 % of the rows to train on. ML-kNN with k = 10 classifies the projected
rows, which have as many components as there are labels. λ from 10^(−3…3) and the tradeoff from 0.1 … 1 are
chosen by cross-validation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

import hyperlabel as hl
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.metrics import evaluate
from reproduction.item import (
    PRINTED,
    Item,
    Plan,
    Runs,
    full_only,
    make_cells,
    make_curve,
    random_split,
    statistics_item,
)
from reproduction.result import Result
from reproduction.search import search_grid

DATA = ("emotions", "scene", "genbase", "medical")
METHODS = ("PCA", "LPP", "CCA", "MLSI", "MDDM", "OPLS", "HOPLS")
ROWS = ("PCA", "LPP", "CCA", "MLSI", "MLSI (projection)", "MDDM", "OPLS", "HOPLS", "HOPLS (trace)")
# The counted reading takes MLSI in the variant whose directions have a length to normalise.
MLSI_PROJECTION = "MLSI (projection)"
PRINTED_SERIES = tuple(MLSI_PROJECTION if method == "MLSI" else method for method in METHODS)
CITED_WEIGHTS = "HOPLS, weights of CVPR'09"
ALPHAS = tuple(10.0**e for e in range(-3, 4))
QUICK_ALPHAS = (1.0, 100.0)
TRADEOFFS = (0.1, 0.4, 0.7, 1.0)
ALL_TRADEOFFS = tuple(i / 10 for i in range(1, 11))
EVERY_TRADEOFF, NO_RIDGE = "HOPLS, ten tradeoffs", "CCA, no ridge"
AVERAGES = ("macro", "micro")
MEASURES = ("f1", "precision", "recall")


def _projections(
    k: int, n: int, d: int, quick: bool
) -> dict[str, tuple[Callable[[], Any], dict[str, tuple[float, ...]]]]:
    """Each projection and its grid of regularisation; PCA has none."""
    # All share one grid of λ; HOPLS crosses it with its tradeoff.
    alphas, tradeoffs = (QUICK_ALPHAS, (0.4,)) if quick else (ALPHAS, TRADEOFFS)
    ridge = {"alpha": alphas}
    n_components = min(k, n - 1, d)
    cited: dict[str, Any] = {"edge_weights": "compactness", "nu": 2.0}
    return {
        "PCA": (lambda: PCA(n_components, random_state=0), {}),
        "LPP": (lambda: hl.LPP(n_components), ridge),
        "CCA": (lambda: hl.HypergraphSpectral(k, expansion="cca"), ridge),
        "MLSI": (lambda: hl.MLSI(n_components), ridge),
        MLSI_PROJECTION: (lambda: hl.MLSI(n_components, variant="projection"), ridge),
        "MDDM": (lambda: hl.MDDM(k, variant="feature"), {"mu": tuple(1 / (1 + alpha) for alpha in alphas)}),
        "OPLS": (lambda: hl.OPLS(k), ridge),
        "HOPLS": (lambda: hl.HOPLS(k, scale="literal"), {**ridge, "tradeoff": tradeoffs}),
        "HOPLS (trace)": (lambda: hl.HOPLS(k), {**ridge, "tradeoff": tradeoffs}),
        CITED_WEIGHTS: (
            lambda: hl.HOPLS(k, scale="literal", **cited),
            {**ridge, "tradeoff": tradeoffs},
        ),
        EVERY_TRADEOFF: (lambda: hl.HOPLS(k, scale="literal"), {**ridge, "tradeoff": ALL_TRADEOFFS}),
        NO_RIDGE: (lambda: hl.HypergraphSpectral(k, expansion="cca", alpha=0.0), {}),
    }


def _project(
    data: Dataset,
    split: int,
    method: str,
    share: float,
    quick: bool,
    lengths: str = "metric",
) -> JobResult:
    """Tune the projection inside the training rows, then ML-kNN on it."""
    train, test = random_split(data.n_rows, round(share * data.n_rows), 14, split)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    Y = data.Y.toarray()
    # A fit inside the search has two thirds of the training rows, which bound the number of components.
    projections = _projections(data.n_labels, 2 * len(train) // 3, data.n_features, quick)
    make_projection, grid = projections[method]
    projection = make_projection()
    if lengths == "unit" and method != "PCA":  # whose directions have length 1
        projection.set_params(normalize="unit")
    if lengths == "unit" and method == "LPP":  # (5)(6) name no ridge
        projection.set_params(alpha=0.0)
        grid = {}
    model = Pipeline([("projection", projection), ("knn", hl.MLkNN(10))])
    details: dict[str, Any] = {}
    if grid:
        step_grid = {f"projection__{parameter}": values for parameter, values in grid.items()}
        folds = 2 if quick else 3
        search = search_grid(model, step_grid, X[train], Y[train], "f1_micro", folds, split)
        model.set_params(**search.best)
        details = {"chosen": {method: search.best}, "grids": {method: search.grid}}
    measures = evaluate(Y[test], model.fit(X[train], Y[train]).predict(X[test]))
    names = [f"{measure}_{average}" for measure in ("f1", "precision", "recall") for average in AVERAGES]
    return JobResult([Measurement(method, name, float(measures[name])) for name in names], details=details)


def _project_cells(names: tuple[str, ...], methods: Any, shares: Any, splits: int, plan: Plan) -> list[Job]:
    settings = [
        {"method": method, "share": share, "quick": plan.quick} for method in methods for share in shares
    ]
    return make_cells(plan, names, "jcp14", _project, splits, settings)


def _unit_cells(
    names: tuple[str, ...], methods: tuple[str, ...], shares: tuple[float, ...], n_splits: Any, plan: Plan
) -> list[Job]:
    unit = {"quick": plan.quick, "lengths": "unit"}
    settings = [{"method": method, "share": share, **unit} for method in methods for share in shares]
    return make_cells(plan, names, "jcp14", _project, n_splits, settings)


def _count_tradeoff_splits(name: str) -> int:
    """Ten tradeoffs cost 2.5 times the four of the tables: ten partitions of the smallest set only."""
    return 10 if name == "emotions" else 2


def _printed_cells(plan: Plan) -> list[Job]:
    """The cells of Tables II–IV, which are measures of the same runs."""
    return _unit_cells(DATA, PRINTED_SERIES, (0.7,), plan.pick(10, 2), plan)


def _collect_printed(number: int, measure: str, plan: Plan, runs: Runs) -> Result:
    """A printed table: micro averages, directions of length 1."""
    printed = PRINTED["tables"][f"jcp14-table{number}"]
    numbers = runs.numbers(
        (f"{name}, {method}", "micro", runs.scores(name, series, f"{measure}_micro"),
         printed[name][METHODS.index(method)])
        for name in DATA
        for method, series in zip(METHODS, PRINTED_SERIES, strict=True)
    )  # fmt: skip
    notes = [
        f"{plan.pick('10', '2')} random 70/30 partitions; λ (and the tradeoff) by "
        f"{plan.pick('3', '2')}-fold cross-validation of micro F1 on the training rows."
    ]
    return Result(numbers=numbers, notes=notes)


def _collect_variant(series: str, method: str, plan: Plan, runs: Runs) -> Result:
    """One method in another reading beside its printed figures."""
    tables = {"f1": 2, "precision": 3, "recall": 4}
    numbers = runs.numbers(
        (name, measure, runs.scores(name, series, f"{measure}_micro"),
         PRINTED["tables"][f"jcp14-table{i}"][name][METHODS.index(method)])
        for name in DATA
        for measure, i in tables.items()
    )  # fmt: skip
    return Result(numbers=numbers)


def _collect_table(number: int, measure: str, plan: Plan, runs: Runs) -> Result:
    printed = PRINTED["tables"][f"jcp14-table{number}"]
    numbers = runs.numbers(
        (f"{name}, {method}", average, runs.scores(name, method, f"{measure}_{average}"),
         printed[name][METHODS.index(method.split(" (")[0])])
        for name in DATA
        for method in ROWS
        for average in AVERAGES
    )  # fmt: skip
    notes = [
        f"{plan.pick('10', '2')} random 70/30 partitions; λ (and the tradeoff) by "
        f"{plan.pick('3', '2')}-fold cross-validation of micro F1 on the training rows.",
    ]
    return Result(numbers=numbers, notes=notes)


def _labels_in_both_parts(data: Dataset, split: int) -> JobResult:
    """Share of labels that occur in both parts: no macro F1 is larger, as nobody predicts an unseen label."""
    train, test = random_split(data.n_rows, round(0.7 * data.n_rows), 14, split)
    in_train, in_test = (np.asarray(data.Y[rows].sum(axis=0)).ravel() > 0 for rows in (train, test))
    return JobResult([Measurement("labels in both parts", "share", float((in_train & in_test).mean()))])


def _collect_caps(plan: Plan, runs: Runs) -> Result:
    numbers = runs.numbers(
        (name, "labels in both parts", runs.scores(name, "labels in both parts", "share"), None)
        for name in DATA
    )
    return Result(numbers=numbers, scores=False)


def _training_shares(plan: Plan) -> tuple[float, ...]:
    return plan.pick((0.1, 0.3, 0.5, 0.7, 0.9), (0.1, 0.5, 0.9))


def _collect_shares(plan: Plan, runs: Runs) -> Result:
    curves, shares = [], _training_shares(plan)
    for metric in ("f1_macro", "precision_macro", "recall_macro"):
        paths = {method: runs.along("share", shares, method, metric) for method in METHODS}
        metric_text = metric.replace("_", " ")
        title = f"emotions: {metric_text} against the share of training rows"
        curves += make_curve(title, shares, paths, "share of training rows", metric_text)
    return Result(curves=curves)


ITEMS = [
    statistics_item("jcp14-table1", ("rows", "features", "labels", "cardinality", "density", "distinct")),
    *(Item(f"jcp14-table{i}", f"{measure.capitalize()} of projections under ML-kNN", DATA,
           _printed_cells, partial(_collect_printed, i, measure))
      for i, measure in enumerate(MEASURES, 2)),
    *(Item(f"jcp14-metric-{measure}", f"{measure.capitalize()}, another reading: columns with WᵀCW = I", DATA,
           full_only(lambda plan: _project_cells(DATA, ROWS, (0.7,), 10, plan)),
           partial(_collect_table, i, measure))
      for i, measure in enumerate(MEASURES, 2)),
    Item("jcp14-weights", "HOPLS with the hyperedge weights of CVPR'09", DATA,
         lambda plan: _unit_cells(DATA, (CITED_WEIGHTS,), (0.7,), plan.pick(5, 1), plan),
         partial(_collect_variant, CITED_WEIGHTS, "HOPLS")),
    Item("jcp14-tradeoffs", "HOPLS with all ten tradeoffs of the paper", DATA,
         full_only(lambda plan: _unit_cells(DATA, (EVERY_TRADEOFF,), (0.7,), _count_tradeoff_splits, plan)),
         partial(_collect_variant, EVERY_TRADEOFF, "HOPLS")),
    Item("jcp14-cca", "CCA without a ridge", DATA,
         full_only(lambda plan: _unit_cells(DATA, (NO_RIDGE,), (0.7,), 10, plan)),
         partial(_collect_variant, NO_RIDGE, "CCA")),
    Item("jcp14-caps", "What bounds macro F1: labels in both parts of a partition", DATA,
         lambda plan: make_cells(plan, DATA, "jcp14 labels in both parts", _labels_in_both_parts, 10),
         _collect_caps),
    Item("jcp14-fig1", "Share of training rows on emotions", ("emotions",),
         lambda plan: _project_cells(("emotions",), METHODS, _training_shares(plan), plan.pick(5, 1), plan),
         _collect_shares),
]  # fmt: skip

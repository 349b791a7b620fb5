"""*Hypergraph Orthonormalized Partial Least Squares …*, Journal of Computers 9(6), 2014.

Protocol (§IV): 70 % of the rows to train on, ten repetitions; ML-kNN with k = 10 on the projection,
as many components as labels; λ from 10^(−3…3) and the tradeoff from 0.1 … 1 by cross-validation.
"""

import math
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.runner import Cell, Outcome, Value
from reproduction.item import (
    PRINTED,
    Item,
    Plan,
    Runs,
    make_cells,
    make_curve,
    random_split,
    statistics_item,
)
from reproduction.result import Result

DATA = ("emotions", "scene", "genbase", "medical")
METHODS = ("PCA", "LPP", "CCA", "MLSI", "MDDM", "OPLS", "HOPLS")
ROWS = ("PCA", "LPP", "CCA", "MLSI", "MLSI (projection)", "MDDM", "OPLS", "HOPLS", "HOPLS (trace)")
ALPHAS = tuple(10.0**e for e in range(-3, 4))
QUICK_ALPHAS = (1.0, 100.0)
TRADEOFFS = (0.1, 0.4, 0.7, 1.0)


def _projections(
    k: int, n: int, d: int, quick: bool
) -> dict[str, tuple[Callable[[], Any], dict[str, tuple[float, ...]]]]:
    """Each projection and its grid of regularisation; PCA has none."""
    from sklearn.decomposition import PCA

    import hyperlabel as hl

    # One λ grid for all: HOPLS crosses the same one with its tradeoff.
    alphas, tradeoffs = (QUICK_ALPHAS, (0.4,)) if quick else (ALPHAS, TRADEOFFS)
    ridge = {"alpha": alphas}
    few = min(k, n - 1, d)
    return {
        "PCA": (lambda: PCA(few, random_state=0), {}),
        "LPP": (lambda: hl.LPP(few), ridge),
        "CCA": (lambda: hl.HypergraphSpectral(k, expansion="cca"), ridge),
        "MLSI": (lambda: hl.MLSI(few), ridge),
        "MLSI (projection)": (lambda: hl.MLSI(few, reading="projection"), ridge),
        "MDDM": (lambda: hl.MDDM(k, variant="feature"), {"mu": tuple(1 / (1 + a) for a in alphas)}),
        "OPLS": (lambda: hl.OPLS(k), ridge),
        "HOPLS": (lambda: hl.HOPLS(k, scale="literal"), {**ridge, "tradeoff": tradeoffs}),
        "HOPLS (trace)": (lambda: hl.HOPLS(k), {**ridge, "tradeoff": tradeoffs}),
    }


def _project(data: Dataset, split: int, method: str, share: float, quick: bool) -> Outcome:
    """Tune the projection inside the training rows, then ML-kNN on it."""
    from sklearn.pipeline import Pipeline

    import hyperlabel as hl
    from hyperlabel.metrics import evaluate
    from reproduction.search import search_grid

    train, test = random_split(data.n_rows, round(share * data.n_rows), 14, split)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    Y = data.Y.toarray()
    # The components are cut to what the smallest inner fold allows.
    make, grid = _projections(data.n_labels, 2 * len(train) // 3, data.n_features, quick)[method]
    model = Pipeline([("projection", make()), ("knn", hl.MLkNN(10))])
    details: dict[str, Any] = {}
    if grid:
        choices = {f"projection__{k}": v for k, v in grid.items()}
        found = search_grid(model, choices, X[train], Y[train], "f1_micro", 3 if not quick else 2, split)
        model.set_params(**found.best)
        details = {"chosen": {method: found.best}, "grids": {method: found.grid}}
    measured = evaluate(Y[test], model.fit(X[train], Y[train]).predict(X[test]))
    names = [f"{m}_{a}" for m in ("f1", "precision", "recall") for a in ("macro", "micro")]
    return Outcome([Value(method, name, float(measured[name])) for name in names], details=details)


def _cells(names: tuple[str, ...], methods: Any, shares: Any, splits: int, plan: Plan) -> list[Cell]:
    given = [{"method": m, "share": share, "quick": plan.quick} for m in methods for share in shares]
    return make_cells(plan, names, "jcp14", _project, splits, given)


def _harmonic_note(runs: Runs) -> str:
    """Say of which averages the printed F1 looks: micro F1 is the harmonic mean of micro P and R."""

    def gap(f1: float, precision: float, recall: float) -> float:
        return abs(f1 - 2 * precision * recall / max(precision + recall, 1e-12))

    printed = [PRINTED["tables"][f"jcp14-table{i}"] for i in (2, 3, 4)]
    gaps = [gap(*three) for name in DATA for three in zip(*(table[name] for table in printed), strict=True)]
    said = "The printed F1 is the harmonic mean of the printed precision and recall to .004 in "
    said += f"{sum(g <= 0.004 for g in gaps)} of {len(gaps)} cells. Ours, farthest from it:"
    for average in ("micro", "macro"):
        three = [
            [runs.scores(name, method, f"{measure}_{average}") for measure in ("f1", "precision", "recall")]
            for name in DATA
            for method in ROWS
        ]
        worst = max((gap(*map(fmean, scores)) for scores in three if all(scores)), default=math.nan)
        said += f" {average} {worst:.4f}{',' * (average == 'micro')}"
    return f"{said}."


def _table(number: int, measure: str, plan: Plan, runs: Runs) -> Result:
    printed = PRINTED["tables"][f"jcp14-table{number}"]
    numbers = runs.numbers(
        (f"{name}, {method}", average, runs.scores(name, method, f"{measure}_{average}"),
         printed[name][METHODS.index(method.split(" (")[0])])
        for name in DATA
        for method in ROWS
        for average in ("macro", "micro")
    )  # fmt: skip
    notes = [
        *([_harmonic_note(runs)] if measure == "f1" else []),
        f"{plan.pick('10', '2')} random 70/30 partitions; λ (and the tradeoff) by "
        f"{plan.pick('3', '2')}-fold cross-validation of micro F1 on the training rows.",
    ]
    return Result(numbers=numbers, notes=notes)


def _shares(plan: Plan) -> tuple[float, ...]:
    return plan.pick((0.1, 0.3, 0.5, 0.7, 0.9), (0.1, 0.5, 0.9))


def _share_figure(plan: Plan, runs: Runs) -> Result:
    curves, shares = [], _shares(plan)
    for metric in ("f1_macro", "precision_macro", "recall_macro"):
        paths = {method: runs.along("share", shares, method, metric) for method in METHODS}
        shown = metric.replace("_", " ")
        title = f"emotions: {shown} against the share of training rows"
        curves += make_curve(title, shares, paths, "share of training rows", shown)
    return Result(curves=curves)


ITEMS = [
    statistics_item("jcp14-table1", ("rows", "features", "labels", "cardinality", "density", "distinct")),
    *(Item(f"jcp14-table{i}", f"{measure.capitalize()} of projections under ML-kNN", DATA,
           lambda plan: _cells(DATA, ROWS, (0.7,), plan.pick(10, 2), plan), partial(_table, i, measure))
      for i, measure in enumerate(("f1", "precision", "recall"), 2)),
    Item("jcp14-fig1", "Share of training rows on emotions", ("emotions",),
         lambda plan: _cells(("emotions",), METHODS, _shares(plan), plan.pick(5, 1), plan), _share_figure),
]  # fmt: skip

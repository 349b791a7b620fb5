"""Sun, Ji, Ye, *Hypergraph Spectral Learning for Multi-label Classification*, KDD 2008.

Protocol (§5): labels with fewer than 50 rows removed; W learned on the training rows; a linear SVM
per label on the projection; mean ROC AUC over labels; ten random partitions; λ by 3-fold
cross-validation on the training rows.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.runner import Cell, Outcome, Value
from reproduction.item import (
    PRINTED,
    Item,
    Plan,
    Runs,
    Scores,
    make_cells,
    make_curve,
    random_split,
    statistics_item,
)
from reproduction.result import Result

EXPANSIONS = {"clique": "c", "star": "*", "zhou": "z", "cca": "cca"}
FORMS = {"exact": "HG", "least_squares": "lsHG"}
DATA = {"scene": 900, "yeast": 900, "yahoo-arts": 2000, "yahoo5k-computers": 2000}
COLUMNS = {"scene": "Scene", "yeast": "Yeast", "yahoo-arts": "Arts", "yahoo5k-computers": "Computers"}
TABLE2 = PRINTED["tables"]["kdd08-table2"]
# Weightings of terms a reader of §5.1 would try; every one is learned on training rows alone.
WEIGHTINGS = ("frequent", "frequent, tf-idf", "chi2, tf-idf")
# The grids of Figures 3 (dense) and 4 (text), in full and quick.
DENSE = (0.1, 1.0, 10.0, 20.0, 50.0, 75.0, 100.0, 200.0, 350.0, 500.0, 750.0, 1000.0), (1.0, 20.0, 200.0)
TEXT = (1e-6, 1e-4, 0.01, 0.1, 1.0, 3.0, 10.0, 50.0, 200.0), (0.1, 1.0, 10.0)


def prepare(data: Dataset, n_terms: int = 2000) -> Dataset:
    """Remove labels with fewer than 50 rows; of text keep the most frequent terms, rows of length 1."""
    data = _frequent_labels(data)
    X = data.X
    if sparse.issparse(X):
        frequency = np.asarray((X != 0).sum(axis=0)).ravel()
        X = _unit_rows(X[:, np.sort(np.argsort(-frequency, kind="stable")[:n_terms])])
    return Dataset(X, data.Y, name=data.name, label_names=data.label_names)


def _frequent_labels(data: Dataset) -> Dataset:
    kept = np.flatnonzero(np.asarray(data.Y.sum(axis=0)).ravel() >= 50)
    return Dataset(data.X, data.Y[:, kept], name=data.name, label_names=[data.label_names[j] for j in kept])


def _unit_rows(X: Any) -> sparse.csr_array:
    from sklearn.preprocessing import normalize

    return sparse.csr_array(normalize(X))


def _weigh(weighting: str, X: Any, Y: np.ndarray, fit: np.ndarray) -> Any:
    """Select and weigh 2000 terms by the rows `fit`; all rows come back, of length 1."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.feature_selection import chi2

    worth = np.asarray((X[fit] != 0).sum(axis=0), dtype=float).ravel()
    if weighting.startswith("chi2"):
        worth = np.nan_to_num(np.max([chi2(X[fit], y)[0] for y in Y[fit].T if y.any()], axis=0))
    X = X[:, np.sort(np.argsort(-worth, kind="stable")[:2000])]
    if weighting.endswith("tf-idf"):
        X = TfidfTransformer(sublinear_tf=True, norm=None).fit(X[fit]).transform(X)
    return _unit_rows(X)


def lambdas(name: str, quick: bool) -> tuple[float, ...]:
    """Return the λ grid of a data set."""
    return (TEXT if name.startswith("yahoo") else DENSE)[quick]


def label(expansion: str, form: str) -> str:
    """Return the name of a method as the paper has it."""
    return f"{FORMS[form]}_{EXPANSIONS[expansion]}"


def _svm_auc(model: Any, X_train: Any, Y_train: np.ndarray, X_test: Any, Y_test: np.ndarray) -> float:
    """Mean ROC AUC of a linear SVM per label on the projection; labels with one class are left out."""
    from sklearn import config_context
    from sklearn.svm import LinearSVC

    from hyperlabel.metrics import roc_auc_score

    scale = np.sqrt(X_train.shape[0])
    train, test = model.transform(X_train) * scale, model.transform(X_test) * scale
    judged = [j for j, (a, b) in enumerate(zip(Y_train.T, Y_test.T, strict=True)) if np.ptp(a) and np.ptp(b)]
    # Thousands of small fits: checking their arguments would cost more than they do.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        svms = [LinearSVC(dual=False, C=1.0).fit(train, Y_train[:, j]) for j in judged]
    scores = np.column_stack([test @ svm.coef_[0] + svm.intercept_ for svm in svms])
    return float(roc_auc_score(Y_test[:, judged], scores))


def _spectral(
    data: Dataset, split: int, n_train: int, lambdas: tuple[float, ...], zero: bool, folds: int
) -> Outcome:
    """AUC of every expansion and form: at λ = 0, along the path, and with λ chosen inside."""
    from hyperlabel import projection_path
    from hyperlabel.model_selection import IterativeStratifiedKFold

    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()

    def along(fit: np.ndarray, see: np.ndarray, at: list[float]) -> dict[tuple[str, float], float]:
        # λ = 0 on text needs the exact route; the path picks its own for the rest.
        path = projection_path(data.X[fit], Y[fit], alphas=at)
        return {
            (label(e, f), a): _svm_auc(path.model((e, f), a), data.X[fit], Y[fit], data.X[see], Y[see])
            for a in at
            for e in EXPANSIONS
            for f in FORMS
        }

    outer: dict[tuple[str, float], float] = {}
    if zero:
        outer |= along(train, test, [0.0])
    if lambdas:
        outer |= along(train, test, list(lambdas))
    values = [Value(name, "roc_auc", score, a) for (name, a), score in outer.items()]
    best: dict[str, float] = {}
    if folds and lambdas:
        cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
        inner = [along(train[a], train[b], list(lambdas)) for a, b in cv.split(data.X[train], Y[train])]
        best = _chosen(inner)
        values += [Value(name, "nested", outer[name, chosen]) for name, chosen in best.items()]
    values.sort(key=lambda v: (v.series, v.metric, v.x or 0.0))
    chosen = {name: {"λ": value} for name, value in best.items()}
    return Outcome(values, details={"chosen": chosen, "grids": {name: {"λ": list(lambdas)} for name in best}})


def _chosen(folds: list[dict[tuple[str, Any], float]]) -> dict[str, Any]:
    """Setting of each method with the best mean over the folds; of equals the first."""
    best: dict[str, tuple[float, Any]] = {}
    for name, alpha in folds[0]:
        mean = float(np.mean([fold[name, alpha] for fold in folds]))
        if name not in best or mean > best[name][0]:
            best[name] = (mean, alpha)
    return {name: alpha for name, (_, alpha) in best.items()}


def rank_auc(model: Any, X: Any, Y: Any) -> float:
    """Mean AUC of f itself: f − h is not comparable across rows."""
    from hyperlabel.metrics import roc_auc_score

    return float(roc_auc_score(Y, model.rank_scores(X)))


def _rivals(data: Dataset, split: int, n_train: int, grid: tuple[float, ...], folds: int) -> Outcome:
    """Rank-SVM and a linear SVM per label (§5.2) on the features, C chosen inside by mean AUC."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    from hyperlabel import BinaryRelevance, RankSVM
    from hyperlabel.metrics import get_scorer
    from reproduction.search import search_grid

    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()
    svm = BinaryRelevance(LinearSVC(dual=False))
    scale = [] if sparse.issparse(data.X) else [StandardScaler()]
    models = {
        "RankSVM": (RankSVM(tol=1e-2, random_state=split), "C", 1.0, rank_auc),
        "SVM per label": (
            make_pipeline(*scale, svm),
            "binaryrelevance__estimator__C",
            0.01,  # its loss is a sum over labels' rows where Rank-SVM's is a mean over pairs
            get_scorer("roc_auc_macro"),
        ),
    }
    values, chosen, grids = [], {}, {}
    for name, (model, parameter, unit, score) in models.items():
        choices = {parameter: [unit * c for c in grid]}
        widen = [parameter] if len(grid) > 1 else []
        found = search_grid(model, choices, data.X[train], Y[train], score, folds, split, widen=widen)
        model.set_params(**found.best).fit(data.X[train], Y[train])
        values.append(Value(name, "nested", float(score(model, data.X[test], Y[test]))))
        chosen[name], grids[name] = found.best, found.grid
    gap = float(models["RankSVM"][0].dual_gap_)
    return Outcome(values, details={"chosen": chosen, "grids": grids, "gap": gap})


def _weighted_terms(
    data: Dataset, split: int, n_train: int, lambdas: Any, weightings: tuple[str, ...], folds: int
) -> Outcome:
    """HG^λ and lsHG^λ of the clique with λ and the weighting of terms chosen together, inside."""
    from hyperlabel import HypergraphSpectral, projection_path
    from hyperlabel.model_selection import IterativeStratifiedKFold

    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()
    methods = {label("clique", form): HypergraphSpectral(form=form) for form in FORMS}

    def along(weighting: str, fit: np.ndarray, see: np.ndarray) -> dict[tuple[str, Any], float]:
        X = _weigh(weighting, data.X, Y, fit)
        path = projection_path(X[fit], Y[fit], methods=methods, alphas=lambdas)
        return {(m.name, (weighting, m.alpha)): _svm_auc(m, X[fit], Y[fit], X[see], Y[see]) for m in path}

    def every(fit: np.ndarray, see: np.ndarray) -> dict[tuple[str, Any], float]:
        return {key: score for w in weightings for key, score in along(w, fit, see).items()}

    cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
    best = _chosen([every(train[a], train[b]) for a, b in cv.split(data.X[train], Y[train])])
    outer = {w: along(w, train, test) for w in {w for w, _ in best.values()}}
    values = [Value(f"{n}^λ, terms chosen", "nested", outer[b[0]][n, b]) for n, b in best.items()]
    chosen = {f"{n}^λ, terms chosen": {"λ": a} for n, (_, a) in best.items()}
    grids = {name: {"λ": list(lambdas)} for name in chosen}
    terms = {name: w for name, (w, _) in best.items()}
    return Outcome(values, details={"chosen": chosen, "grids": grids, "terms": terms})


def _splits(plan: Plan) -> Callable[[str], int]:
    return lambda name: plan.pick(10, 1 if name.startswith("yahoo") else 2)


def _spectral_cells(names: Iterable[str], plan: Plan) -> list[Cell]:
    """The cells of Table 2 and of Figures 3 and 4, which show the same runs."""

    def settings(name: str) -> dict[str, Any]:
        searched = {"lambdas": lambdas(name, plan.quick), "zero": True, "folds": plan.pick(3, 2)}
        return {"n_train": DATA[name], **searched}

    return make_cells(plan, names, "kdd08 spectral", _spectral, _splits(plan), settings, prepare)


def _table2_cells(plan: Plan) -> list[Cell]:
    def rivals(name: str) -> dict[str, Any]:
        grid = plan.pick((0.1, 1.0, 10.0, 100.0), (1.0,))
        return {"n_train": DATA[name], "grid": grid, "folds": plan.pick(3, 2)}

    def weighted(name: str) -> dict[str, Any]:
        searched = {"lambdas": lambdas(name, plan.quick), "weightings": WEIGHTINGS, "folds": plan.pick(3, 2)}
        return {"n_train": DATA[name], **searched}

    arts, splits = ["yahoo-arts"], _splits(plan)
    return [
        *_spectral_cells(DATA, plan),
        *make_cells(plan, DATA, "kdd08 rivals", _rivals, splits, rivals, prepare),
        *make_cells(plan, arts, "kdd08 weightings", _weighted_terms, splits, weighted, _frequent_labels),
    ]


def _table2(plan: Plan, runs: Runs) -> Result:
    own = ("SVM per label", *(f"{FORMS[f]}_c^λ, terms chosen" for f in FORMS))

    def scores(name: str, row: str) -> Scores:
        if row.endswith("^λ"):
            return runs.scores(name, row.removesuffix("^λ"), "nested")
        searched = row in own or row == "RankSVM"
        return runs.scores(name, row, "nested") if searched else runs.scores(name, row, "roc_auc", 0.0)

    numbers = runs.numbers(
        (row, column, scores(name, row), paper)
        for row in (*TABLE2, *own)
        for (name, column), paper in zip(COLUMNS.items(), TABLE2.get(row, (None,) * 4), strict=True)
    )
    notes = [
        f"^λ: λ chosen by {plan.pick(3, 2)}-fold cross-validation on the training rows.",
        f"Splits: {plan.pick('10', '2 (text: 1)')}; the spread is over overlapping random partitions.",
    ]
    return Result(numbers=numbers, notes=notes)


def _size_cells(name: str, plan: Plan) -> list[Cell]:
    given = [{"n_train": n, "lambdas": (), "zero": True, "folds": 0} for n in _sizes(plan)]
    return make_cells(plan, [name], "kdd08 spectral", _spectral, plan.pick(10, 2), given, prepare)


def _sizes(plan: Plan) -> list[int]:
    return plan.pick(list(range(100, 901, 100)), [100, 300, 600, 900])


def _sizes_figure(name: str, plan: Plan, runs: Runs) -> Result:
    curves, sizes = [], _sizes(plan)
    ratio = [n / {"scene": 294, "yeast": 103}[name] for n in sizes]
    for expansion in EXPANSIONS:
        series = [label(expansion, form) for form in FORMS]
        paths = {s: runs.along("n_train", sizes, s, "roc_auc") for s in series}
        title = f"{name}, {expansion}: mean ROC AUC against training rows / dimensions, λ = 0"
        curves += make_curve(title, ratio, paths, "training rows / dimensions", "mean ROC AUC")
    return Result(curves=curves)


def _lambda_figure(name: str, plan: Plan, runs: Runs) -> Result:
    at, curves = lambdas(name, plan.quick), []
    for expansion in EXPANSIONS:
        paths: dict[str, Any] = {}
        for form in FORMS:
            series = label(expansion, form)
            paths[f"{series}^λ"] = runs.path(name, series, "roc_auc", at)
            paths[series] = [[value] * len(at) for value in runs.scores(name, series, "roc_auc", 0.0)]
        title = f"{name}, {expansion}: mean ROC AUC against λ ({DATA[name]} training rows)"
        curves += make_curve(title, at, paths, "λ", "mean ROC AUC", log=True)
    return Result(curves=curves)


ITEMS = [
    statistics_item("kdd08-table1", ("rows", "features", "labels")),
    Item("kdd08-table2", "Mean ROC AUC of HG, lsHG and RankSVM", tuple(DATA), _table2_cells, _table2),
    *(Item(f"kdd08-fig{i}", f"HG against lsHG, training size, {name}", (name,),
           partial(_size_cells, name), partial(_sizes_figure, name))
      for i, name in ((1, "scene"), (2, "yeast"))),
    *(Item(f"kdd08-fig{i}", f"Regularisation path, {COLUMNS[name]}", (name,),
           partial(_spectral_cells, (name,)), partial(_lambda_figure, name))
      for i, name in ((3, "scene"), (4, "yahoo-arts"))),
]  # fmt: skip

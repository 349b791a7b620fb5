"""Sun, Ji, Ye, *Hypergraph Spectral Learning for Multi-label Classification*, KDD 2008.

Protocol (§5): labels with fewer than 50 rows are removed. The projection W is learned on the training rows,
and a linear SVM per label on the projected rows. The score is the mean ROC AUC over labels, over ten random
partitions. λ is chosen by 3-fold cross-validation on the training rows.

code                        paper
form="exact"                HG, generalised eigenvectors (13)(14)
form="least_squares"        lsHG, regression (24)–(30)
alpha, lambdas              λ (14)(28); names that end in ^λ have λ > 0, the others λ = 0
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import chi2
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from hyperlabel import BinaryRelevance, HypergraphSpectral, RankSVM, projection_path
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
    make_cells,
    make_curve,
    random_split,
    statistics_item,
)
from reproduction.result import Result
from reproduction.search import search_grid

EXPANSIONS = {"clique": "c", "star": "*", "zhou": "z", "cca": "cca"}
FORMS = {"exact": "HG", "least_squares": "lsHG"}
DATA = {"scene": 900, "yeast": 900, "yahoo-arts": 2000, "yahoo5k-computers": 2000}
COLUMNS = {"scene": "Scene", "yeast": "Yeast", "yahoo-arts": "Arts", "yahoo5k-computers": "Computers"}
TABLE2 = PRINTED["tables"]["kdd08-table2"]
# Weightings of terms a reader of §5.1 would try; every one is learned on training rows alone.
WEIGHTINGS = ("frequent", "frequent, tf-idf", "chi2, tf-idf")
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
    data = _remove_rare_labels(data)
    X = data.X
    if sparse.issparse(X):
        n_rows_with_term = np.asarray((X != 0).sum(axis=0)).ravel()
        X = _normalize_rows(X[:, np.sort(np.argsort(-n_rows_with_term, kind="stable")[:n_terms])])
    return Dataset(X, data.Y, name=data.name, label_names=data.label_names)


def _remove_rare_labels(data: Dataset) -> Dataset:
    frequent = np.flatnonzero(np.asarray(data.Y.sum(axis=0)).ravel() >= 50)
    label_names = [data.label_names[j] for j in frequent]
    return Dataset(data.X, data.Y[:, frequent], name=data.name, label_names=label_names)


def _normalize_rows(X: Any) -> sparse.csr_array:
    return sparse.csr_array(normalize(X))


def _weigh_terms(weighting: str, X: Any, Y: np.ndarray, train: np.ndarray) -> Any:
    """Select and weigh 2000 terms by the training rows; return all rows, of length 1."""
    term_scores = np.asarray((X[train] != 0).sum(axis=0), dtype=float).ravel()
    if weighting.startswith("chi2"):
        term_scores = np.nan_to_num(np.max([chi2(X[train], y)[0] for y in Y[train].T if y.any()], axis=0))
    X = X[:, np.sort(np.argsort(-term_scores, kind="stable")[:2000])]
    if weighting.endswith("tf-idf"):
        X = TfidfTransformer(sublinear_tf=True, norm=None).fit(X[train]).transform(X)
    return _normalize_rows(X)


def lambda_grid(name: str, quick: bool) -> tuple[float, ...]:
    """Return the λ grid of a data set."""
    return (TEXT_LAMBDAS if name.startswith("yahoo") else DENSE_LAMBDAS)[quick]


def method_name(expansion: str, form: str) -> str:
    """Return the name of a method as the paper has it."""
    return f"{FORMS[form]}_{EXPANSIONS[expansion]}"


def _svm_auc(
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
            (method_name(expansion, form), alpha): _svm_auc(
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
        best_lambdas = _best_settings(fold_scores)
        values += [
            Measurement(name, "nested", test_scores[name, best]) for name, best in best_lambdas.items()
        ]
    values.sort(key=lambda v: (v.series, v.metric, v.x or 0.0))
    chosen = {name: {"λ": best} for name, best in best_lambdas.items()}
    grids = {name: {"λ": list(lambdas)} for name in best_lambdas}
    return JobResult(values, details={"chosen": chosen, "grids": grids})


def _best_settings(fold_scores: list[SettingScores]) -> dict[str, Any]:
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


def _weighted_terms(
    data: Dataset, split: int, n_train: int, lambdas: Any, weightings: tuple[str, ...], folds: int
) -> JobResult:
    """HG^λ and lsHG^λ of the clique with λ and the weighting of terms chosen together, inside."""
    train, test = random_split(data.n_rows, n_train, 8, split)
    Y = data.Y.toarray()
    methods = {method_name("clique", form): HypergraphSpectral(form=form) for form in FORMS}

    def score_path(weighting: str, fit_rows: np.ndarray, score_rows: np.ndarray) -> SettingScores:
        X = _weigh_terms(weighting, data.X, Y, fit_rows)
        path = projection_path(X[fit_rows], Y[fit_rows], methods=methods, alphas=lambdas)
        rows = (X[fit_rows], Y[fit_rows], X[score_rows], Y[score_rows])
        return {(model.name, (weighting, model.alpha)): _svm_auc(model, *rows) for model in path}

    def score_all(fit_rows: np.ndarray, score_rows: np.ndarray) -> SettingScores:
        return {
            setting: score
            for weighting in weightings
            for setting, score in score_path(weighting, fit_rows, score_rows).items()
        }

    cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
    folds_rows = cv.split(data.X[train], Y[train])
    fold_scores = [score_all(train[fit_rows], train[score_rows]) for fit_rows, score_rows in folds_rows]
    best = _best_settings(fold_scores)
    best_weightings = {weighting for weighting, _ in best.values()}
    test_scores = {weighting: score_path(weighting, train, test) for weighting in best_weightings}
    values = [
        Measurement(f"{name}^λ, terms chosen", "nested", test_scores[setting[0]][name, setting])
        for name, setting in best.items()
    ]
    chosen = {f"{name}^λ, terms chosen": {"λ": alpha} for name, (_, alpha) in best.items()}
    grids = {name: {"λ": list(lambdas)} for name in chosen}
    terms = {name: weighting for name, (weighting, _) in best.items()}
    return JobResult(values, details={"chosen": chosen, "grids": grids, "terms": terms})


def _count_splits(plan: Plan) -> Callable[[str], int]:
    return lambda name: plan.pick(10, 1 if name.startswith("yahoo") else 2)


def _spectral_cells(names: Iterable[str], plan: Plan) -> list[Job]:
    """The cells of Table 2 and of Figures 3 and 4, which show the same runs."""

    def settings(name: str) -> dict[str, Any]:
        search = {"lambdas": lambda_grid(name, plan.quick), "zero": True, "folds": plan.pick(3, 2)}
        return {"n_train": DATA[name], **search}

    return make_cells(plan, names, "kdd08 spectral", _spectral, _count_splits(plan), settings, prepare)


def _rival_cells(plan: Plan) -> list[Job]:
    def settings(name: str) -> dict[str, Any]:
        grid = plan.pick((0.1, 1.0, 10.0, 100.0), (1.0,))
        return {"n_train": DATA[name], "grid": grid, "folds": plan.pick(3, 2)}

    return make_cells(plan, DATA, "kdd08 rivals", _rivals, _count_splits(plan), settings, prepare)


def _units_cells(plan: Plan) -> list[Job]:
    """The cells of Table 2 with Wᵀx in the units of (14), and the rivals, which see no projection."""

    def settings(name: str) -> dict[str, Any]:
        search = {"lambdas": lambda_grid(name, plan.quick), "zero": True, "folds": plan.pick(3, 2)}
        return {"n_train": DATA[name], **search, "units": "metric"}

    cells = make_cells(plan, DATA, "kdd08 spectral, units", _spectral, _count_splits(plan), settings, prepare)
    return [*cells, *_rival_cells(plan)]


def _table2_cells(plan: Plan) -> list[Job]:
    folds, n_splits = plan.pick(3, 2), _count_splits(plan)

    def term_settings(name: str) -> dict[str, Any]:
        search = {"lambdas": lambda_grid(name, plan.quick), "weightings": WEIGHTINGS, "folds": folds}
        return {"n_train": DATA[name], **search}

    term_cells = partial(make_cells, plan, ["yahoo-arts"], "kdd08 weightings", _weighted_terms)
    return [
        *_spectral_cells(DATA, plan),
        *_rival_cells(plan),
        *term_cells(n_splits, term_settings, _remove_rare_labels),
    ]


def _collect_table2(plan: Plan, runs: Runs) -> Result:
    own_rows = ("SVM per label", *(f"{FORMS[form]}_c^λ, terms chosen" for form in FORMS))

    def row_scores(name: str, row: str) -> Scores:
        if row.endswith("^λ"):
            return runs.scores(name, row.removesuffix("^λ"), "nested")
        is_tuned = row in own_rows or row == "RankSVM"
        return runs.scores(name, row, "nested") if is_tuned else runs.scores(name, row, "roc_auc", 0.0)

    numbers = runs.numbers(
        (row, column, row_scores(name, row), paper)
        for row in (*TABLE2, *own_rows)
        for (name, column), paper in zip(COLUMNS.items(), TABLE2.get(row, (None,) * 4), strict=True)
    )
    notes = [
        f"^λ: λ chosen by {plan.pick(3, 2)}-fold cross-validation on the training rows.",
        f"Splits: {plan.pick('10', '2 (text: 1)')}; the spread is over overlapping random partitions.",
    ]
    return Result(numbers=numbers, notes=notes)


def _size_cells(name: str, plan: Plan) -> list[Job]:
    settings = [{"n_train": n, "lambdas": (), "zero": True, "folds": 0} for n in _training_sizes(plan)]
    return make_cells(plan, [name], "kdd08 spectral", _spectral, plan.pick(10, 2), settings, prepare)


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
    Item("kdd08-units", "Table 2, the SVM on Wᵀx as (14) scales it", tuple(DATA), _units_cells,
         _collect_table2),
    statistics_item("kdd08-table1", ("rows", "features", "labels")),
    Item("kdd08-table2", "Mean ROC AUC of HG, lsHG and RankSVM", tuple(DATA), _table2_cells, _collect_table2),
    *(Item(f"kdd08-fig{i}", f"HG against lsHG, training size, {name}", (name,),
           partial(_size_cells, name), partial(_collect_sizes, name))
      for i, name in ((1, "scene"), (2, "yeast"))),
    *(Item(f"kdd08-fig{i}", f"Regularisation path, {COLUMNS[name]}", (name,),
           partial(_spectral_cells, (name,)), partial(_collect_lambdas, name))
      for i, name in ((3, "scene"), (4, "yahoo-arts"))),
]  # fmt: skip

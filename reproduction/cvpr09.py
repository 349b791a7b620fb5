"""Chen et al., *Efficient Multi-label Classification with Hypergraph Regularization*, CVPR 2009.

Protocol (§4): linear models. Parameters are chosen by grid search with 5-fold cross-validation on the
training rows. Rankers decide by a learned label-set size (§3.4). The scores are macro and micro F1 on the
test rows.

code                           paper
weight, hypergraph_weight      λ, weight of the hypergraph regulariser
nu                             ν of the hyperedge weights exp(−ν d̄)
C                              C, weight of the ranking loss
"""

import time
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hyperlabel import BinaryRelevance, HypergraphRankSVM, RankSVM
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.metrics import evaluate, f1_score
from hyperlabel.model_selection import IterativeStratifiedKFold
from hyperlabel.ranking import rank_svm_path
from hyperlabel.solvers.arrays import as_dense
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
)
from reproduction.result import Result
from reproduction.search import MAX_ADDED_VALUES, next_value, search_grid

METHODS = ("Binary-SVM", "Rank-SVM", "Rank-HLapSVM")
TITLES = {"imageclef07a": "ImageCLEF", "mediamill-real4k": "MediaMill"}
# What §4.3 and §4.4 print of their choices; λ has other units here.
SETTINGS = {"imageclef07a": {"C": 8.0, "nu": 2.0}, "mediamill-real4k": {"C": 1024.0, "nu": 8.0}}
# The printed columns, and the measures that stand beside them in the counted reading and in the other.
READING = {"F1 macro": "f1_macro", "F1 micro": "f1_defined"}
LITERAL_AVERAGES = {"F1 macro": "f1_macro", "F1 micro": "f1_micro"}
TABLE3 = PRINTED["tables"]["cvpr09-table3"]
Grid = dict[str, tuple[float, ...]]
GridPoint = tuple[float, float, float]  # λ, ν, C


def _draw_sample(data: Dataset, split: int) -> tuple[Dataset, np.ndarray, np.ndarray]:
    """Draw the rows and labels of one repetition, and split them into training and test rows."""
    n_rows, n_train = (3500, 2000) if data.name == "imageclef07a" else (3000, 1500)
    rows, _ = random_split(data.n_rows, n_rows, 9, split)
    sample = data[rows]
    label_counts = np.asarray(sample.Y.sum(axis=0)).ravel()
    if data.name == "imageclef07a":
        labels = np.sort(np.argsort(-label_counts, kind="stable")[:60])
    else:
        labels = np.flatnonzero(label_counts > 30)
    label_names = [data.label_names[j] for j in labels]
    sample = Dataset(sample.X, sample.Y[:, labels], name=data.name, label_names=label_names)
    train, test = random_split(n_rows, n_train, 90, split)
    return sample, train, test


def _f1_values(series: str, Y: np.ndarray, predicted: Any) -> list[Measurement]:
    measures = {**evaluate(Y, predicted), "f1_defined": defined_f1(Y, predicted)}
    names = ("f1_macro", "f1_micro", "f1_defined")
    return [Measurement(series, name, float(measures[name])) for name in names]


def defined_f1(Y: np.ndarray, predicted: Any) -> float:
    """Mean of (31) over the labels where it is defined: without a true positive it is 0/0.

    >>> defined_f1(np.array([[1, 1], [0, 1]]), np.array([[1, 0], [1, 0]]))
    0.6666666666666666
    """
    predicted_sets = as_dense(predicted) > 0
    n_both = (predicted_sets & (Y > 0)).sum(axis=0)
    defined = n_both > 0
    label_f1 = 2 * n_both[defined] / (predicted_sets.sum(axis=0) + (Y > 0).sum(axis=0))[defined]
    return float(label_f1.mean()) if defined.any() else 0.0


def _constant_value(Y_train: np.ndarray, Y_test: np.ndarray) -> Measurement:
    """Micro F1 of always answering the commonest labels, as many as score best on the training rows."""
    by_frequency = np.argsort(-Y_train.sum(axis=0), kind="stable")

    def score_constant(Y: np.ndarray, n_labels: int) -> float:
        predicted = np.zeros_like(Y)
        predicted[:, by_frequency[:n_labels]] = 1
        return float(evaluate(Y, predicted)["f1_micro"])

    best_size = max(range(1, len(by_frequency) + 1), key=lambda n_labels: score_constant(Y_train, n_labels))
    return Measurement("constant", "f1_micro", score_constant(Y_test, best_size))


def _add_path_scores(
    X: Any,
    Y: np.ndarray,
    grid: Grid,
    folds: int,
    split: int,
    search: dict[str, Any],
    scores: dict[GridPoint, float],
) -> None:
    """Add the mean macro F1 over the folds at every grid point that has none yet, by warm-started paths."""
    weights_of_path: dict[tuple[float, tuple[float, ...]], list[float]] = {}
    for nu in grid["nu"]:
        # Without λ there is no ν: the plain ranker is fitted once, beside the first ν.
        for weight in (0.0, *grid["weight"]) if nu == grid["nu"][0] else grid["weight"]:
            if Cs := tuple(C for C in grid["C"] if (weight, nu, C) not in scores):
                weights_of_path.setdefault((nu, Cs), []).append(weight)
    cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
    for fit_rows, score_rows in cv.split(X, Y):
        for (nu, Cs), weights in weights_of_path.items():
            options: dict[str, Any] = {"Cs": Cs, "hypergraph_weights": weights, "nu": nu}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # a rough order of the choices will do
                path = rank_svm_path(X[fit_rows], Y[fit_rows], **options, random_state=split, **search)
            for model in path:
                macro_f1 = float(f1_score(Y[score_rows], model.predict(X[score_rows]), average="macro"))
                point = (model.hypergraph_weight, nu, model.C_)
                scores[point] = scores.get(point, 0.0) + macro_f1 / folds


def _search_rankers(
    X: Any, Y: np.ndarray, grid: Grid, folds: int, split: int, search: dict[str, Any]
) -> tuple[list[GridPoint], Grid]:
    """Return the best (λ, ν, C) without and with the hypergraph, and the grid, which grows past its edges."""
    scores: dict[GridPoint, float] = {}
    for step in range(MAX_ADDED_VALUES + 1):
        _add_path_scores(X, Y, grid, folds, split, search, scores)
        best_points = [
            max((score, point) for point, score in scores.items() if (point[0] > 0) == has_hypergraph)[1]
            for has_hypergraph in (False, True)
        ]
        plain, hyper = (dict(zip(("weight", "nu", "C"), point, strict=True)) for point in best_points)
        chosen_values = {name: {hyper[name]} for name in grid} | {"C": {plain["C"], hyper["C"]}}
        next_values = {
            name: {
                value
                for chosen in chosen_values[name]
                if (value := next_value(grid[name], chosen)) is not None
            }
            for name in grid
        }
        if not any(next_values.values()) or step == MAX_ADDED_VALUES or len(grid["C"]) < 3:
            break
        grid = {name: (*values, *next_values[name]) for name, values in grid.items()}
    return best_points, grid


def _rankers(data: Dataset, split: int, grid: Grid, folds: int, search: dict[str, Any]) -> JobResult:
    """Binary SVM, Rank-SVM and Rank-HLapSVM on one sample, tuned inside by macro F1."""
    sample, train, test = _draw_sample(data, split)
    X, Y, X_train = sample.X, sample.Y.toarray(), sample.X[train]
    best_points, wide_grid = _search_rankers(X_train, Y[train], grid, folds, split, search)
    names = ("hypergraph_weight", "nu", "C")
    chosen = {
        method: dict(zip(names, point, strict=True))
        for method, point in zip(METHODS[1:], best_points, strict=True)
    }
    grids: dict[str, Any] = {METHODS[1]: {"C": wide_grid["C"]}}
    grids[METHODS[2]] = {"hypergraph_weight": wide_grid["weight"], "nu": wide_grid["nu"], "C": wide_grid["C"]}
    ranker = HypergraphRankSVM(tol=1e-2, max_iter=5000, random_state=split)
    models = {method: clone(ranker).set_params(**parameters) for method, parameters in chosen.items()}
    svm = make_pipeline(StandardScaler(), BinaryRelevance(LinearSVC(dual=False, tol=1e-2)))
    svm_grid = {"binaryrelevance__estimator__C": [C / 100 for C in grid["C"]]}
    widen = list(svm_grid) if len(grid["C"]) > 2 else []
    svm_search = search_grid(svm, svm_grid, X_train, Y[train], "f1_macro", folds, split, widen=widen)
    chosen[METHODS[0]], grids[METHODS[0]] = svm_search.best, svm_search.grid
    models[METHODS[0]] = svm.set_params(**svm_search.best)
    values = [_constant_value(Y[train], Y[test])]
    for method, model in models.items():
        values += _f1_values(method, Y[test], model.fit(X_train, Y[train]).predict(X[test]))
    gaps = {method: float(models[method].dual_gap_) for method in METHODS[1:]}
    return JobResult(values, details={"chosen": chosen, "grids": grids, "gaps": gaps, "labels": Y.shape[1]})


def _printed_settings(
    data: Dataset, split: int, C: float, nu: float, weights: tuple[float, ...], folds: int
) -> JobResult:
    """The three models with the printed C and ν; λ, which has other units here, is chosen inside."""
    sample, train, test = _draw_sample(data, split)
    X, Y, X_train = sample.X, sample.Y.toarray(), sample.X[train]
    search = {"tol": 0.03, "max_iter": 200}
    grid = {"C": (C,), "weight": weights, "nu": (nu,)}
    (_, (weight, _, _)), _ = _search_rankers(X_train, Y[train], grid, folds, split, search)
    ranker = partial(HypergraphRankSVM, C, tol=1e-2, max_iter=5000, nu=nu, random_state=split)
    # C/d on z-scores is C on z-scores divided by √d, which is how the rankers scale.
    svm = LinearSVC(loss="hinge", C=C / X.shape[1], tol=1e-2, max_iter=5000, random_state=split)
    models = {
        "Binary-SVM": make_pipeline(StandardScaler(), BinaryRelevance(svm)),
        "Rank-SVM": ranker(hypergraph_weight=0.0),
        "Rank-HLapSVM": ranker(hypergraph_weight=weight),
    }
    values = [_constant_value(Y[train], Y[test]), *_label_mass(Y)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # how far each came is in a note
        for method, model in models.items():
            values += _f1_values(method, Y[test], model.fit(X_train, Y[train]).predict(X[test]))
    chosen = {"Rank-HLapSVM": {"hypergraph_weight": weight}}
    grids = {"Rank-HLapSVM": {"hypergraph_weight": list(weights)}}
    gaps = {method: float(models[method].dual_gap_) for method in METHODS[1:]}
    return JobResult(values, details={"chosen": chosen, "grids": grids, "gaps": gaps, "labels": Y.shape[1]})


def _label_mass(Y: np.ndarray) -> list[Measurement]:
    """How the positives of a sample are spread over its labels: what bounds micro F1 from below."""
    shares = np.sort(Y.mean(axis=0))[::-1]
    always = np.zeros_like(Y)
    always[:, np.argmax(Y.mean(axis=0))] = 1
    mass = {
        "labels a row": Y.sum(axis=1).mean(),
        "rows with the commonest label": shares[0],
        "rows with the second": shares[1],
        "positives of these two": shares[:2].sum() / shares.sum(),
        "micro F1 of always answering the commonest label": evaluate(Y, always)["f1_micro"],
    }
    return [Measurement(name, "mass", float(value)) for name, value in mass.items()]


def _printed_cells(name: str, plan: Plan) -> list[Job]:
    settings = {**SETTINGS[name], "folds": plan.pick(5, 2), "weights": plan.pick((0.1, 1.0, 8.0), (1.0,))}
    return make_cells(plan, [name], "cvpr09 printed settings", _printed_settings, plan.pick(5, 1), settings)


def _tuned_cells(name: str, plan: Plan) -> list[Job]:
    grid = plan.pick(
        {"C": (8.0, 64.0, 512.0, 4096.0, 32768.0), "weight": (0.1, 1.0, 8.0), "nu": (2.0, 8.0)},
        {"C": (64.0, 512.0), "weight": (0.1,), "nu": (2.0,)},
    )
    settings = {"grid": grid, "folds": plan.pick(5, 2), "search": {"tol": 0.03, "max_iter": 200}}
    return make_cells(plan, [name], "cvpr09 rankers, three averages", _rankers, plan.pick(5, 1), settings)


def _collect_f1(name: str, number: int, averages: Mapping[str, str], plan: Plan, runs: Runs) -> Result:
    printed = PRINTED["tables"][f"cvpr09-table{number}"]

    def entries() -> Iterator[tuple[str, str, Scores, float | None]]:
        for method in METHODS:
            for (column, metric), paper in zip(averages.items(), printed[method], strict=True):
                yield method, column, runs.scores(name, method, metric), paper
            yield method, "micro F1", runs.scores(name, method, "f1_micro"), None
            yield method, "constant micro F1", runs.scores(name, "constant", "f1_micro"), None

    notes = [
        *_micro_note(runs.scores(name, "constant", "f1_micro"), printed),
        f"{plan.pick('5 random samples, 5-fold', '1 random sample, 2-fold')} cross-validation by macro F1.",
    ]
    gaps = [gap for cell in runs.cells for gap in cell["details"].get("gaps", {}).values()]
    if gaps:
        notes.append(f"Largest relative duality gap of the final models: {max(gaps):.1e}.")
    return Result(numbers=runs.numbers(entries()), notes=notes)


def _collect_mass(plan: Plan, runs: Runs) -> Result:
    series = dict.fromkeys(v["series"] for v in runs.values if v["metric"] == "mass")
    numbers = runs.numbers(
        (name, what, runs.scores(name, what, "mass"), None) for name in SETTINGS for what in series
    )
    return Result(numbers=numbers, scores=False)


def _micro_note(constant_scores: list[float], printed: dict[str, list[float]]) -> list[str]:
    """Compare the printed micro F1 with that of the constant answer."""
    if not constant_scores:
        return []
    mean = float(np.mean(constant_scores))
    methods_below = [method for method, (_, micro) in printed.items() if micro < mean]
    constant_text = (
        f"Always answering the commonest labels (how many: best on the training rows) has micro F1 {mean:.4f}"
    )
    if not methods_below:
        return [constant_text + ", below every printed figure."]
    printed_text = ", ".join(f"{printed[method][1]:.4f} ({method})" for method in methods_below)
    return [
        f"{constant_text}, above the printed {printed_text}: on rows like "
        "these what the paper prints is hardly micro F1 over all entries; no sample explains that."
    ]


def _solvers(data: Dataset, split: int, C: float, most: int) -> JobResult:
    """CPU seconds of Frank–Wolfe and of dual coordinate descent to the same duality gap."""
    sample, train, _ = _draw_sample(data, split)
    X, Y = sample.X[train], sample.Y[train].toarray()
    seconds, gaps = {}, {}
    for name, solver in (("DCD", "dcd"), ("Frank-Wolfe", "frank-wolfe")):
        RankSVM(C, solver=solver, max_iter=2, tol=0.5).fit(X[:60], Y[:60])  # compile before the clock runs
        limit = {"max_iter": most} if solver == "frank-wolfe" else {}
        model = RankSVM(C, solver=solver, tol=1e-2, random_state=split, **limit)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a duality gap that was not reached is said in a note
            model.fit(X, Y)
        seconds[name] = time.process_time() - start
        gaps[name] = float(model.dual_gap_)
    return JobResult([], details={"seconds": seconds, "gaps": gaps, "C": C})


def _collect_table3(plan: Plan, runs: Runs) -> Result:
    numbers, notes = [], []
    for name, (printed_fw, printed_dcd) in TABLE3.items():
        fw, dcd = runs.timings(name, "Frank-Wolfe"), runs.timings(name, "DCD")
        ratios = Scores([slow / fast for slow, fast in zip(fw, dcd, strict=True)], fw.cells)
        columns = {
            "Frank-Wolfe (s)": (fw, printed_fw),
            "DCD (s)": (dcd, printed_dcd),
            "ratio": (ratios, printed_fw / printed_dcd),
        }
        numbers += runs.numbers((name, column, *entry) for column, entry in columns.items())
        cell_gaps = [cell["details"]["gaps"] for cell in runs.cells if cell["id"] in fw.cells]
        if cell_gaps:
            largest = {solver: max(gaps[solver] for gaps in cell_gaps) for solver in ("DCD", "Frank-Wolfe")}
            notes.append(
                f"{name}: largest relative gap reached: DCD {largest['DCD']:.1e}, Frank–Wolfe "
                f"{largest['Frank-Wolfe']:.1e} (asked for 1e-2; where Frank–Wolfe stopped at its limit of "
                "iterations the ratio is a lower bound)."
            )
    return Result(numbers=numbers, notes=notes, digits=2, scores=False)


def linear_rate(distances: np.ndarray) -> tuple[float, float]:
    """Fit log(distance to the optimum) = a + t·log μ on the second half; return μ and the fit's R²."""
    half = distances[len(distances) // 2 :]
    epochs, logs = np.arange(len(half)), np.log(half)
    slope, intercept = np.polyfit(epochs, logs, 1)
    unexplained = np.sum((logs - intercept - slope * epochs) ** 2) / np.sum((logs - logs.mean()) ** 2)
    return float(np.exp(slope)), float(1.0 - unexplained)


def _trace(data: Dataset, split: int, n: int, epochs: int, C: float) -> JobResult:
    """Distance of the dual objective from its optimum after every epoch of coordinate descent."""
    sample, train, _ = _draw_sample(data, split)
    X, Y = sample.X[train[:n]], sample.Y[train[:n]].toarray()
    options = {"trace": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap it stops at is what is shown
        model = RankSVM(C, tol=1e-10, max_iter=epochs, solver_options=options, random_state=split)
        dual = model.fit(X, Y).trace_[:, 2]
    # The last objective stands for the optimum; epochs within rounding of it say nothing of the rate.
    optimum = dual[-1]
    distances = optimum - dual[dual < optimum - 1e-9 * abs(optimum)]
    rate, r_squared = linear_rate(distances)
    values = [
        Measurement("DCD", "distance", float(distance), float(t)) for t, distance in enumerate(distances)
    ]
    return JobResult([*values, Measurement("μ", "rate", rate), Measurement("R²", "rate", r_squared)])


def _collect_theorem1(plan: Plan, runs: Runs) -> Result:
    curves = []
    numbers = runs.numbers(
        (name, series, runs.scores(name, series, "rate"), None) for name in TABLE3 for series in ("μ", "R²")
    )
    for name in TABLE3:
        cell_ids = {cell["id"] for cell in runs.cells if cell["spec"]["data"] == name}
        distances = [v for v in runs.values if v["cell"] in cell_ids and v["metric"] == "distance"]
        shown = distances[:: max(1, len(distances) // 20)]
        title = f"{name}: distance of the dual from its optimum"
        path = {"DCD": [[v["value"] for v in shown]] if shown else None}
        curves += make_curve(title, [v["x"] for v in shown], path, "epoch", "distance", log_y=True)
    return Result(numbers=numbers, curves=curves, scores=False)


ITEMS = [
    *(Item(f"cvpr09-table{i}", f"F1 of three models on {title}", (name,), partial(_printed_cells, name),
           partial(_collect_f1, name, i, READING))
      for i, (name, title) in enumerate(TITLES.items(), 1)),
    *(Item(f"cvpr09-tuned{i}", f"F1 on {title}, another reading: C, λ and ν by cross-validation, micro F1",
           (name,), full_only(partial(_tuned_cells, name)), partial(_collect_f1, name, i, LITERAL_AVERAGES))
      for i, (name, title) in enumerate(TITLES.items(), 1)),
    Item("cvpr09-mass", "How the positives are spread over the labels", tuple(TITLES),
         lambda plan: [cell for name in TITLES for cell in _printed_cells(name, plan)], _collect_mass),
    Item("cvpr09-table3", "Time of Frank–Wolfe and DCD", tuple(TABLE3),
         lambda plan: make_cells(plan, TABLE3, "cvpr09 solvers, CPU", _solvers, plan.pick(3, 1),
                                 {"C": 8.0, "most": plan.pick(5000, 500)}),
         _collect_table3),
    Item("cvpr09-theorem1", "Linear rate of DCD (Theorem 1)", tuple(TABLE3),
         lambda plan: make_cells(plan, TABLE3, "cvpr09 trace", _trace, 1,
                                 {"n": plan.pick(300, 100), "epochs": plan.pick(3000, 1000), "C": 1.0}),
         _collect_theorem1),
]  # fmt: skip

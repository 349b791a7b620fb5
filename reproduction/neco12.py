"""Tai, Lin, *Multilabel Classification with Principal Label Space Transformation*, Neural Computation 2012.

Protocol (§4): 20 random partitions with 90 % of the rows to train on. Regressions are ridge with λ = 0.01
(the paper's RLR). Tables show mean and standard error over the partitions, figures sweep M, the number of
dimensions of the reduced label space.

code                 paper   meaning
m, dimensions        M       dimensions of the reduced label space
BEST_M               M*      smallest M that is as good as binary relevance (§4.1)
codes                h       label sets in the reduced space
predicted_codes      r       what the regressions predict of them
components_          P       the encoding: principal directions, or a random matrix (§3.1)
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

import hyperlabel as hl
from hyperlabel import labelspace
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.geometry.hypercube import hadamard_order
from hyperlabel.metrics import evaluate
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.labels.cosamp import solve_sparse_codes
from hyperlabel.solvers.ridge.routes import solve_ridge
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
from reproduction.result import Curve, Number, Result

# Small data sets first, so that a run that is stopped has most of the tables.
DATA = ("emotions", "yeast", "corel5k", "mediamill-disc3", "delicious")
SHOWN = {name: name.removesuffix("-disc3") for name in DATA}
BEST_M = {"delicious": 129, "corel5k": 16, "mediamill-disc3": 11, "yeast": 4, "emotions": 2}
TABLE3, TABLE4 = PRINTED["tables"]["neco12-table3"], PRINTED["tables"]["neco12-table4"]
DIMENSIONS = {
    "delicious": (10, 30, 64, 129, 256, 512, 983),
    "corel5k": (1, 4, 8, 16, 32, 64, 128, 256, 374),
    "mediamill-disc3": (1, 2, 4, 8, 11, 16, 32, 64, 101),
    "yeast": tuple(range(1, 15)),
    "emotions": tuple(range(1, 7)),
}
QUICK_DIMENSIONS = {
    "delicious": (30, 129, 512),
    "corel5k": (4, 16, 64, 374),
    "mediamill-disc3": (2, 11, 32, 101),
    "yeast": (1, 2, 4, 8, 14),
    "emotions": tuple(range(1, 7)),
}
MEASURES = ("hamming_loss", "ranking_loss", "roc_auc_macro", "f1_macro", "precision_macro", "recall_macro")
MAIN_METHODS = ("PBR", "PLST", "CS")
_CLR_DATA = ("yeast", "emotions", "mediamill-disc3")


def split_rows(data: Dataset, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test rows of a partition; every experiment of the paper uses the same ones."""
    return random_split(data.n_rows, round(0.9 * data.n_rows), 12, split)


def _model_makers() -> dict[str, Callable[[int, int], Any]]:
    """Return a function of M and the seed for each method."""
    ridge = {"alpha": 0.01}
    return {
        "PLST": lambda m, seed: hl.PLST(m, **ridge),
        "PLST-Origin": lambda m, seed: hl.PLST(m, reference="origin", **ridge),
        "PBR": lambda m, seed: hl.PartialBinaryRelevance(m, **ridge),
        "PBR-Mean": lambda m, seed: hl.PartialBinaryRelevance(m, reference="mean", **ridge),
        "CS": lambda m, seed: hl.CompressedSensing(m, random_state=seed, **ridge),
        "CS-BestVertex": lambda m, seed: hl.CompressedSensing(
            m, reference="best_vertex", random_state=seed, **ridge
        ),
    }


def measure(series: str, m: float | None, Y: Any, scores: np.ndarray) -> list[Measurement]:
    """Return the six measures of a series at M."""
    measures = evaluate(Y, (scores > 0).astype(np.int8), scores)
    return [Measurement(series, name, float(measures[name]), m) for name in MEASURES]


def _sweep(data: Dataset, split: int, methods: tuple[str, ...], dimensions: tuple[int, ...]) -> JobResult:
    """Fit every method at every M on one partition; also measure the ideal learner and the encoding error."""
    train, test = split_rows(data, split)
    X_train, Y_train, X_test, Y_test = data.X[train], data.Y[train], data.X[test], data.Y[test]
    seconds: dict[str, float] = {}
    model_makers = _model_makers()
    values: list[Measurement] = []

    def timed(key: str, function: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        answer = function(*arguments)
        seconds[key] = time.perf_counter() - start
        return answer

    model_makers["PLST"](1, split).fit(X_train[:60], Y_train[:60])  # compile before the clock runs
    br = timed("BR fit", hl.BinaryRelevance(alpha=0.01).fit, X_train, Y_train)
    values += measure("BR", None, Y_test, timed("BR predict", br.decision_function, X_test))
    for name in methods:
        for m in dimensions:
            model = timed(f"{name} {m} fit", model_makers[name](m, split).fit, X_train, Y_train)
            scores = timed(f"{name} {m} predict", model.decision_function, X_test)
            if name.startswith("CS"):
                # The paper ranks labels by its 0/1 output; the series "(soft)" by the recovered entries.
                soft_values = measure(f"{name} (soft)", float(m), Y_test, scores)
                values += [v for v in soft_values if v.metric in ("ranking_loss", "roc_auc_macro")]
                scores = np.where(scores > 0, 1.0, -1.0)
            values += measure(name, float(m), Y_test, scores)
            values.append(Measurement(name, "ideal_hamming", _ideal_loss(model, Y_test), float(m)))
            if not name.startswith("CS"):
                errors = model.error_decomposition(X_test, Y_test)
                values.append(Measurement(name, "encoding_error", float(errors.encoding_error), float(m)))
    is_seen = np.asarray(Y_train.sum(axis=0)).ravel() > 0
    n_unseen = Y_test.sum() - Y_test[:, np.flatnonzero(is_seen)].sum()
    unseen_share = float(n_unseen / np.prod(Y_test.shape))
    values.append(Measurement("labels not in training", "share of entries", unseen_share))
    return JobResult(values, details={"seconds": seconds})


def _ideal_loss(model: Any, Y: Any) -> float:
    """Hamming loss when every code is predicted without error (Figure 9)."""
    ideal_sets = labelspace.ideal_scores(model.encoder_, Y) > 0
    n_wrong = np.count_nonzero(ideal_sets != (Y.toarray() > 0))
    return float(n_wrong / (ideal_sets.shape[0] * ideal_sets.shape[1]))


def _plan_dimensions(plan: Plan, name: str) -> tuple[int, ...]:
    return plan.pick(DIMENSIONS, QUICK_DIMENSIONS)[name]


def count_splits(plan: Plan, name: str) -> int:
    """Return how many partitions of a data set are drawn."""
    return {"emotions": 5, "yeast": 3}.get(name, 1) if plan.quick else 20


def _sweep_cells(names: tuple[str, ...], methods: tuple[str, ...], plan: Plan) -> list[Job]:
    def settings(method: str, name: str) -> dict[str, Any]:
        return {"methods": (method,), "dimensions": _plan_dimensions(plan, name)}

    method_settings = [partial(settings, method) for method in methods]
    n_splits = partial(count_splits, plan)
    return make_cells(plan, names, "neco12 sweep, CS 0/1", _sweep, n_splits, method_settings)


def _splits_note(plan: Plan) -> str:
    counts = ", ".join(f"{SHOWN[name]} {count_splits(plan, name)}" for name in DATA)
    return f"Partitions: {counts} (the paper: 20 each)." if plan.quick else "20 partitions, as the paper."


def standard_errors(runs: Runs, entries: Iterable[tuple[str, str, Scores, float | None]]) -> list[Number]:
    """Return the computed table entries with standard errors, which the paper prints, for deviations."""
    return [replace(n, std=n.std / math.sqrt(max(n.n, 1))) for n in runs.numbers(entries)]


def _collect_table3(plan: Plan, runs: Runs) -> Result:
    numbers = []
    for name, printed in TABLE3.items():
        m, row = float(BEST_M[name]), SHOWN[name]
        series_of_column = {
            "BR": ("BR", None),
            "PLST(M*)": ("PLST", m),
            "CS(M*)": ("CS, fixed matrix", None),
        }
        numbers += standard_errors(runs, (
            (row, column, runs.scores(name, series, "hamming_loss", x), paper)
            for (column, (series, x)), paper in zip(series_of_column.items(), printed, strict=True)
        ))  # fmt: skip
        own_best = _own_best_m(plan, runs, name)
        if own_best is not None:
            scores = runs.scores(name, "PLST", "hamming_loss", own_best)
            numbers.append(Number(row, "our M*", own_best, n=len(scores), cells=scores.cells))
            numbers += standard_errors(runs, [(row, "PLST(our M*)", scores, None)])
    notes = [
        "M*: the smallest M of the sweep ("
        + "; ".join(f"{SHOWN[n]} {', '.join(map(str, _plan_dimensions(plan, n)))}" for n in TABLE3)
        + ") whose PLST loss lies within the sum of the two standard errors of BR's: the rule that the "
        "printed figures obey to the last digit. PLST(M*) and CS(M*) stand at the paper's M*.",
        f"M* of the paper: {', '.join(f'{SHOWN[n]} {m}' for n, m in BEST_M.items())}.",
        _splits_note(plan),
    ]
    return Result(numbers=numbers, notes=notes, digits=5)


def _own_best_m(plan: Plan, runs: Runs, name: str) -> float | None:
    """Return M* by the rule of §4.1 on our own runs; None when no M was computed or is good enough."""
    br = standard_errors(runs, [("", "", runs.scores(name, "BR", "hamming_loss"), None)])
    for m in _plan_dimensions(plan, name):
        plst = standard_errors(runs, [("", "", runs.scores(name, "PLST", "hamming_loss", m), None)])
        if br and plst and plst[0].ours - br[0].ours <= plst[0].std + br[0].std:
            return float(m)
    return None


def _collect_table4(plan: Plan, runs: Runs) -> Result:
    def entries() -> Iterator[tuple[str, str, Scores, float | None]]:
        for name, printed in TABLE4.items():
            columns = ("BR fit", "PLST fit", "PLST predict", "CS fit", "CS predict")
            for column, paper in zip(columns, printed, strict=True):
                method, _, step = column.partition(" ")
                key = column if method == "BR" else f"{method} {BEST_M[name]} {step}"
                yield SHOWN[name], column, runs.timings(name, key), paper

    return Result(numbers=runs.numbers(entries()), digits=3, scores=False)


def sweep_curves(
    runs: Runs,
    name: str,
    metric: str,
    methods: Iterable[str],
    dimensions: Sequence[int],
    constant_methods: tuple[str, ...] = (),
) -> list[Curve]:
    """Return one panel over M; `constant_methods` do not depend on M and are drawn as flat lines."""
    xs = [float(m) for m in dimensions]
    paths: dict[str, Any] = {method: runs.path(name, method, metric, xs) for method in methods}
    if any(paths.values()):
        for method in constant_methods:
            paths[method] = [[score] * len(xs) for score in runs.scores(name, method, metric)]
    metric_text = metric.replace("_", " ")
    title = f"{SHOWN[name]}: {metric_text} against M"
    return make_curve(title, xs, paths, "label dimensions M", metric_text)


def _collect_curves(
    metrics: tuple[str, ...],
    names: tuple[str, ...],
    methods: tuple[str, ...],
    constant_methods: tuple[str, ...],
    plan: Plan,
    runs: Runs,
) -> Result:
    curves = []
    for metric in metrics:
        for name in names:
            dimensions = _plan_dimensions(plan, name)
            curves += sweep_curves(runs, name, metric, methods, dimensions, constant_methods)
    notes = [_splits_note(plan), *(_unseen_note(runs, names) if "ideal_hamming" in metrics else [])]
    return Result(curves=curves, notes=notes, digits=5)


def _unseen_note(runs: Runs, names: tuple[str, ...]) -> list[str]:
    """Explain the loss of PLST at M = K: labels without a training row have no direction."""
    data_texts = []
    for name in names:
        losses = runs.scores(name, "PLST", "ideal_hamming", float(DIMENSIONS[name][-1]))
        unseen_shares = runs.scores(name, "labels not in training", "share of entries")
        if losses and len(losses) == len(unseen_shares) and max(losses) > 0:
            n_equal = sum(loss == share for loss, share in zip(losses, unseen_shares, strict=True))
            data_texts.append(
                f"{SHOWN[name]} {np.mean(losses):.2e}, of which {np.mean(unseen_shares):.2e} are entries of "
                f"labels that no training row carries (the same number in {n_equal} of {len(losses)} "
                "partitions)"
            )
    if not data_texts:
        return []
    return [f"Left by PLST at M = K: {'; '.join(data_texts)}. Such a label has no direction."]


_STOPPING_RULES: dict[str, dict[str, Any]] = {
    "stops at no progress": {},
    "20 iterations": {"max_iter": 20, "patient": True},
}
_SENSING_MATRICES: dict[str, Any] = {f"{kind} matrix": kind for kind in ("bernoulli", "gaussian")}


def _stopping(data: Dataset, split: int) -> JobResult:
    """Hamming loss of CS at M* by CoSaMP's stopping rule, and with the other random matrices of §3.1."""
    train, test = split_rows(data, split)
    true_sets = data.Y[test].toarray() > 0
    # Codes are linear in the labels, and so are their ridge solutions: one solve for the labels serves all.
    model = solve_ridge(data.X[train], data.Y[train], alphas=(0.01,)).solve(0.01)
    label_scores = as_dense(data.X[test] @ model.coef) + model.intercept
    values = []
    for name, kind in {**dict.fromkeys(_STOPPING_RULES, "hadamard"), **_SENSING_MATRICES}.items():
        encoder = labelspace.HadamardEncoder(BEST_M[data.name], sensing=kind, random_state=split)
        encoder.fit(data.Y[train])
        codes = label_scores @ encoder.components_.T
        options = _STOPPING_RULES.get(name, {})
        recovered = solve_sparse_codes(encoder.components_, codes, encoder.sparsity_, **options)
        values.append(
            Measurement(name, "hamming_loss", float(np.mean((recovered.toarray() > 0.5) != true_sets)))
        )
    return JobResult(values)


def _fixed_matrix(data: Dataset, split: int, m: int) -> JobResult:
    """Hamming loss of CS at M* with the first M rows and K columns of a Hadamard matrix."""
    train, test = split_rows(data, split)
    n_labels = data.n_labels
    signs = linalg.hadamard(hadamard_order(n_labels))[:m, :n_labels] / math.sqrt(m)
    model = solve_ridge(data.X[train], data.Y[train] @ signs.T, alphas=(0.01,)).solve(0.01)
    codes = as_dense(data.X[test] @ model.coef) + model.intercept
    largest_set = int(np.diff(data.Y[train].indptr).max())
    recovered = solve_sparse_codes(signs, codes, largest_set).toarray() > 0.5
    loss = float(np.mean(recovered != (data.Y[test].toarray() > 0)))
    return JobResult([Measurement("CS, fixed matrix", "hamming_loss", loss)])


def _table3_cells(plan: Plan) -> list[Job]:
    def settings(name: str) -> dict[str, Any]:
        return {"m": BEST_M[name]}

    n_splits = partial(count_splits, plan)
    fixed_cells = make_cells(plan, DATA, "neco12 fixed matrix", _fixed_matrix, n_splits, settings)
    return [*_plan_main_cells(plan), *fixed_cells]


def _collect_stopping(plan: Plan, runs: Runs) -> Result:
    numbers = standard_errors(runs, (
        (SHOWN[name], rule, runs.scores(name, rule, "hamming_loss"), TABLE3[name][2])
        for name in DATA for rule in (*_STOPPING_RULES, *_SENSING_MATRICES)
    ))  # fmt: skip
    return Result(numbers=numbers, digits=5)


def _ranking_sweep(data: Dataset, split: int) -> JobResult:
    """Figure 5: calibrated label ranking beside PLST, PBR and CS."""
    train, test = split_rows(data, split)
    model = hl.CalibratedLabelRanking(alpha=0.01).fit(data.X[train], data.Y[train])
    return JobResult(measure("CLR", None, data.Y[test], model.decision_function(data.X[test])))


def _ranking_cells(plan: Plan) -> list[Job]:
    n_splits = partial(count_splits, plan)
    return [
        *_sweep_cells(_CLR_DATA, MAIN_METHODS, plan),
        *make_cells(plan, _CLR_DATA, "neco12 clr", _ranking_sweep, n_splits),
    ]


def _figure_item(
    number: int,
    title: str,
    metrics: tuple[str, ...] | str,
    names: tuple[str, ...],
    methods: tuple[str, ...],
    extra_series: tuple[str, ...] = (),
    constant_methods: tuple[str, ...] = ("BR",),
    plan_cells: Callable[[Plan], list[Job]] | None = None,
) -> Item:
    metrics = (metrics,) if isinstance(metrics, str) else metrics
    collect = partial(_collect_curves, metrics, names, (*methods, *extra_series), constant_methods)
    plan_cells = plan_cells or partial(_sweep_cells, names, methods)
    return Item(f"neco12-fig{number}", title, names, plan_cells, collect)


_REFERENCE_POINTS = ("PLST", "PLST-Origin", "PBR", "PBR-Mean", "CS", "CS-BestVertex")
_IMPROVED_METHODS = ("PLST", "PLST-Origin", "PBR-Mean", "CS-BestVertex")
_plan_main_cells = partial(_sweep_cells, DATA, MAIN_METHODS)
ITEMS = [
    statistics_item("neco12-table2", ("rows", "labels", "cardinality", "distinct", "hypercube", "largest")),
    Item("neco12-table3", "Test Hamming loss at M*", DATA, _table3_cells, _collect_table3),
    Item("neco12-table4", "Time at M*", DATA, _plan_main_cells, _collect_table4),
    _figure_item(2, "Hamming loss against M, ridge", "hamming_loss", DATA, MAIN_METHODS),
    Item("neco12-stopping", "Hamming loss of CS by CoSaMP's stopping rule and random matrix", DATA,
         lambda plan: make_cells(plan, DATA, "neco12 stopping, sensing", _stopping,
                                 partial(count_splits, plan)),
         _collect_stopping),
    _figure_item(4, "Ranking loss against M", "ranking_loss", DATA, MAIN_METHODS, ("CS (soft)",)),
    _figure_item(5, "Calibrated label ranking beside PLST", ("ranking_loss", "hamming_loss"), _CLR_DATA,
                 MAIN_METHODS, constant_methods=("BR", "CLR"), plan_cells=_ranking_cells),
    _figure_item(6, "Macro AUC against M", "roc_auc_macro", DATA, MAIN_METHODS, ("CS (soft)",)),
    _figure_item(7, "Macro F1 against M", "f1_macro", DATA, MAIN_METHODS),
    _figure_item(8, "Macro precision and recall on delicious", ("precision_macro", "recall_macro"),
                 ("delicious",), MAIN_METHODS),
    _figure_item(9, "Hamming loss with the ideal learner", "ideal_hamming", DATA, MAIN_METHODS,
                 constant_methods=()),
    _figure_item(10, "Encoding error of PBR and PLST", "encoding_error", DATA, ("PBR", "PLST"),
                 constant_methods=()),
    _figure_item(11, "Reference points", "hamming_loss", ("delicious", "yeast"), _REFERENCE_POINTS),
    _figure_item(12, "Improved PBR and CS beside PLST", "hamming_loss", DATA, _IMPROVED_METHODS),
]  # fmt: skip

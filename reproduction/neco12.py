"""Tai, Lin, *Multilabel Classification with Principal Label Space Transformation*, Neural Computation 2012.

Protocol (§4): 90 % of the rows to train on, 20 random partitions, ridge with λ = 0.01 (RLR); mean and
standard error over partitions, the M of the reduced label space swept.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.runner import Cell, Outcome, Value
from hyperlabel.solvers.arrays import dense
from reproduction.item import (
    PRINTED,
    Item,
    Plan,
    Runs,
    Scores,
    cells,
    curve,
    random_part,
    statistics_item,
)
from reproduction.result import Curve, Number, Result

# Small ones first, so that a run that is stopped has most of the tables.
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
# Figure 3: thousands of model trees a partition would take days, so three sets have few M and rows.
TREES = {"emotions": QUICK_DIMENSIONS["emotions"], "yeast": QUICK_DIMENSIONS["yeast"],
         "corel5k": (4, 8), "mediamill-disc3": (2, 11), "delicious": (4, 10)}  # fmt: skip
MEASURES = ("hamming_loss", "ranking_loss", "roc_auc_macro", "f1_macro", "precision_macro", "recall_macro")
_THREE = ("PBR", "PLST", "CS")
_RANKED = ("yeast", "emotions", "mediamill-disc3")


def _methods() -> dict[str, Callable[[int, int], Any]]:
    import hyperlabel as hl

    ridge = {"alpha": 0.01}
    return {
        "PLST": lambda m, s: hl.PLST(m, **ridge),
        "PLST-Origin": lambda m, s: hl.PLST(m, reference="origin", **ridge),
        "PBR": lambda m, s: hl.PartialBinaryRelevance(m, **ridge),
        "PBR-Mean": lambda m, s: hl.PartialBinaryRelevance(m, reference="mean", **ridge),
        "CS": lambda m, s: hl.CompressedSensing(m, random_state=s, **ridge),
        "CS-BestVertex": lambda m, s: hl.CompressedSensing(
            m, reference="best_vertex", random_state=s, **ridge
        ),
    }


def _measure(series: str, m: float | None, Y: Any, scores: np.ndarray) -> list[Value]:
    from hyperlabel.metrics import evaluate

    found = evaluate(Y, (scores > 0).astype(np.int8), scores)
    return [Value(series, name, float(found[name]), m) for name in MEASURES]


def _sweep(data: Dataset, split: int, methods: tuple[str, ...], dimensions: tuple[int, ...]) -> Outcome:
    """Every method at every M on one partition, with the ideal learner and the encoding error beside it."""
    import hyperlabel as hl
    from hyperlabel.labelspace import ideal_scores

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
    X, Y = data.X, data.Y
    X_train, Y_train, X_test, Y_test = X[train], Y[train], X[test], Y[test]
    seconds: dict[str, float] = {}
    make = _methods()
    values: list[Value] = []

    def timed(key: str, work: Callable[..., Any], *given: Any) -> Any:
        start = time.perf_counter()
        found = work(*given)
        seconds[key] = time.perf_counter() - start
        return found

    make["PLST"](1, split).fit(X_train[:60], Y_train[:60])  # compile and warm up
    br = timed("BR fit", hl.BinaryRelevance(alpha=0.01).fit, X_train, Y_train)
    values += _measure("BR", None, Y_test, timed("BR predict", br.decision_function, X_test))
    for name in methods:
        for m in dimensions:
            model = timed(f"{name} {m} fit", make[name](m, split).fit, X_train, Y_train)
            scores = timed(f"{name} {m} predict", model.decision_function, X_test)
            if name.startswith("CS"):  # the paper scores its 0/1 output; the recovered entries are ours
                soft = _measure(f"{name} (soft)", float(m), Y_test, scores)
                values += [v for v in soft if v.metric in ("ranking_loss", "roc_auc_macro")]
                scores = np.where(scores > 0, 1.0, -1.0)
            values += _measure(name, float(m), Y_test, scores)
            ideal = ideal_scores(model.encoder_, Y_test) > 0
            wrong = np.count_nonzero(ideal != (Y_test.toarray() > 0)) / (ideal.shape[0] * ideal.shape[1])
            values.append(Value(name, "ideal_hamming", float(wrong), float(m)))
            if not name.startswith("CS"):
                parts = model.error_decomposition(X_test, Y_test)
                values.append(Value(name, "encoding_error", float(parts.encoding_error), float(m)))
    seen = np.asarray(Y_train.sum(axis=0)).ravel() > 0
    unseen = Y_test.sum() - Y_test[:, np.flatnonzero(seen)].sum()
    values.append(Value("labels not in training", "share of entries", float(unseen / np.prod(Y_test.shape))))
    return Outcome(values, details={"seconds": seconds})


def _dimensions(plan: Plan, name: str) -> tuple[int, ...]:
    return plan.pick(DIMENSIONS, QUICK_DIMENSIONS)[name]


def splits(plan: Plan, name: str) -> int:
    """Return how many partitions of a data set are drawn."""
    if plan.quick:
        return {"emotions": 5, "yeast": 3, "corel5k": 1}.get(name, 1)
    return 20


def _cells(names: tuple[str, ...], methods: tuple[str, ...], plan: Plan) -> list[Cell]:
    def settings(method: str, name: str) -> dict[str, Any]:
        return {"methods": (method,), "dimensions": _dimensions(plan, name)}

    given = [partial(settings, method) for method in methods]
    return cells(plan, names, "neco12 sweep, CS 0/1", _sweep, partial(splits, plan), given)


def _splits_note(plan: Plan) -> str:
    counts = ", ".join(f"{SHOWN[name]} {splits(plan, name)}" for name in DATA)
    return f"Partitions: {counts} (the paper: 20 each)." if plan.quick else "20 partitions, as the paper."


def standard_errors(runs: Runs, entries: Iterable[tuple[str, str, Scores, float | None]]) -> list[Number]:
    """Return the table entries that were computed, with standard errors as the paper prints them."""
    return [replace(n, spread=n.spread / math.sqrt(max(n.n, 1))) for n in runs.numbers(entries)]


def _table3(plan: Plan, runs: Runs) -> Result:
    numbers = []
    for name, printed in TABLE3.items():
        m, row = float(BEST_M[name]), SHOWN[name]
        found = {"BR": ("BR", None), "PLST(M*)": ("PLST", m), "CS(M*)": ("CS", m)}
        numbers += standard_errors(runs, (
            (row, column, runs.scores(name, series, "hamming_loss", at), paper)
            for (column, (series, at)), paper in zip(found.items(), printed, strict=True)
        ))  # fmt: skip
        best = _own_best(plan, runs, name)
        if best is not None:
            scores = runs.scores(name, "PLST", "hamming_loss", best)
            numbers.append(Number(row, "our M*", best, n=len(scores), cells=scores.cells))
            numbers += standard_errors(runs, [(row, "PLST(our M*)", scores, None)])
    notes = [
        "M*: the smallest M of the sweep ("
        + "; ".join(f"{SHOWN[n]} {', '.join(map(str, _dimensions(plan, n)))}" for n in TABLE3)
        + ") whose PLST loss lies within the sum of the two standard errors of BR's: the rule that the "
        "printed figures obey to the last digit. PLST(M*) and CS(M*) stand at the paper's M*.",
        f"M* of the paper: {', '.join(f'{SHOWN[n]} {m}' for n, m in BEST_M.items())}.",
        _splits_note(plan),
    ]
    return Result(numbers=numbers, notes=notes, digits=5)


def _own_best(plan: Plan, runs: Runs, name: str) -> float | None:
    """M* by the rule of §4.1 on our own runs; None when nothing was computed or no M is good enough."""
    br = standard_errors(runs, [("", "", runs.scores(name, "BR", "hamming_loss"), None)])
    for m in _dimensions(plan, name):
        plst = standard_errors(runs, [("", "", runs.scores(name, "PLST", "hamming_loss", m), None)])
        if br and plst and plst[0].ours - br[0].ours <= plst[0].spread + br[0].spread:
            return float(m)
    return None


def _table4(plan: Plan, runs: Runs) -> Result:
    def entries() -> Iterator[tuple[str, str, Scores, float | None]]:
        for name, printed in TABLE4.items():
            columns = ("BR fit", "PLST fit", "PLST predict", "CS fit", "CS predict")
            for column, paper in zip(columns, printed, strict=True):
                method, _, step = column.partition(" ")
                key = column if method == "BR" else f"{method} {BEST_M[name]} {step}"
                yield SHOWN[name], column, runs.timings(name, key), paper

    return Result(numbers=runs.numbers(entries()), digits=3, scores=False)


def _curves(
    runs: Runs,
    name: str,
    metric: str,
    methods: Iterable[str],
    dims: Sequence[int],
    flat: tuple[str, ...] = (),
) -> list[Curve]:
    """One panel over M; methods in `flat` do not depend on M."""
    at = [float(m) for m in dims]
    paths: dict[str, Any] = {method: runs.path(name, method, metric, at) for method in methods}
    if any(paths.values()):
        paths |= {method: [[v] * len(at) for v in runs.scores(name, method, metric)] for method in flat}
    shown = metric.replace("_", " ")
    return curve(f"{SHOWN[name]}: {shown} against M", at, paths, "label dimensions M", shown)


def _curve_figure(
    metrics: tuple[str, ...],
    names: tuple[str, ...],
    methods: tuple[str, ...],
    flat: tuple[str, ...],
    plan: Plan,
    runs: Runs,
) -> Result:
    curves = []
    for metric in metrics:
        for name in names:
            curves += _curves(runs, name, metric, methods, _dimensions(plan, name), flat)
    notes = [_splits_note(plan), *(_unseen_note(runs, names) if "ideal_hamming" in metrics else [])]
    return Result(curves=curves, notes=notes, digits=5)


def _unseen_note(runs: Runs, names: tuple[str, ...]) -> list[str]:
    """Trace what PLST with M = K leaves to labels that no training row carries."""
    said = []
    for name in names:
        left = runs.scores(name, "PLST", "ideal_hamming", float(DIMENSIONS[name][-1]))
        unseen = runs.scores(name, "labels not in training", "share of entries")
        if left and len(left) == len(unseen) and max(left) > 0:
            exact = sum(a == b for a, b in zip(left, unseen, strict=True))
            said.append(
                f"{SHOWN[name]} {np.mean(left):.2e}, of which {np.mean(unseen):.2e} are entries of labels "
                f"that no training row carries (the same number in {exact} of {len(left)} partitions)"
            )
    return [f"Left by PLST at M = K: {'; '.join(said)}. Such a label has no direction."] if said else []


def _tree_sweep(data: Dataset, split: int, dimensions: tuple[int, ...]) -> Outcome:
    """Figure 3: a model tree per code in place of the ridge."""
    from hyperlabel import labelspace

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
    if data.name not in ("emotions", "yeast"):
        train = np.random.default_rng([13, split]).choice(train, 1000, replace=False)
    X_train, Y_train, X_test, Y_test = data.X[train], data.Y[train], data.X[test], data.Y[test]
    values = []
    for name, make in {
        "PLST": lambda m: labelspace.PrincipalEncoder(m),
        "PBR": lambda m: labelspace.FrequentLabelsEncoder(m),
    }.items():
        codes = make(dimensions[-1]).fit_transform(Y_train)
        found = _model_trees(X_train, codes, X_test)  # codes are nested: one set of trees serves every M
        for m in dimensions:
            points = make(m).fit(Y_train).inverse_transform(found[:, :m])
            values += _measure(name, float(m), Y_test, 2 * points - 1)
    for m in dimensions:
        encoder = labelspace.HadamardEncoder(m, random_state=split).fit(Y_train)
        points = encoder.inverse_transform(_model_trees(X_train, encoder.transform(Y_train), X_test))
        values += _measure("CS", float(m), Y_test, 2 * points - 1)
    return Outcome(values)


def _model_trees(X: Any, codes: Any, X_test: Any) -> np.ndarray:
    try:
        from cubist import Cubist
        from pandas import DataFrame
    except ImportError as missing:
        raise ImportError(
            "Figure 3 needs model trees: pip install 'cubist>=1.2' 'pandas>=2.2.2'."
        ) from missing
    codes = dense(codes)
    names = [f"x{i}" for i in range(X.shape[1])]
    rows, new = DataFrame(dense(X), columns=names), DataFrame(dense(X_test), columns=names)
    found = [
        Cubist(random_state=0).fit(rows, h).predict(new) if np.ptp(h) else np.full(len(new), h[0])
        for h in codes.T
    ]
    return np.stack(found, axis=1)


def _tree_cells(plan: Plan) -> list[Cell]:
    def few(name: str) -> int:
        return plan.pick({"emotions": 20, "yeast": 5}, {"emotions": 2, "yeast": 1}).get(name, plan.pick(1, 0))

    return cells(plan, TREES, "neco12 model tree", _tree_sweep, few, lambda name: {"dimensions": TREES[name]})


def _tree_figure(plan: Plan, runs: Runs) -> Result:
    curves = []
    for name, dims in TREES.items():
        curves += _curves(runs, name, "hamming_loss", _THREE, dims)
    return Result(curves=curves)


_STOPPING: dict[str, dict[str, Any]] = {
    "stops at no progress": {},
    "20 iterations": {"max_iter": 20, "patient": True},
}
_SENSING: dict[str, Any] = {f"{kind} matrix": kind for kind in ("bernoulli", "gaussian")}


def _stopping(data: Dataset, split: int) -> Outcome:
    """Hamming loss of CS at M* by CoSaMP's stopping rule, and with the other random matrices of §3.1."""
    from hyperlabel import labelspace
    from hyperlabel.solvers.cosamp import solve_sparse_codes
    from hyperlabel.solvers.ridge import solve_ridge

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
    truth = data.Y[test].toarray() > 0
    model = solve_ridge(data.X[train], data.Y[train], alphas=(0.01,)).solve(0.01)
    scores = dense(data.X[test] @ model.coef) + model.intercept  # codes are linear in labels: one solve
    values = []
    for name, kind in {**dict.fromkeys(_STOPPING, "hadamard"), **_SENSING}.items():
        sensing = labelspace.HadamardEncoder(BEST_M[data.name], sensing=kind, random_state=split)
        encoder = sensing.fit(data.Y[train])
        codes = scores @ encoder.components_.T
        options = _STOPPING.get(name, {})
        found = solve_sparse_codes(encoder.components_, codes, encoder.sparsity_, **options)
        values.append(Value(name, "hamming_loss", float(np.mean((found.toarray() > 0.5) != truth))))
    return Outcome(values)


def _stopping_table(plan: Plan, runs: Runs) -> Result:
    numbers = standard_errors(runs, (
        (SHOWN[name], rule, runs.scores(name, rule, "hamming_loss"), TABLE3[name][2])
        for name in DATA for rule in (*_STOPPING, *_SENSING)
    ))  # fmt: skip
    return Result(numbers=numbers, digits=5)


def _ranking_sweep(data: Dataset, split: int) -> Outcome:
    """Figure 5: calibrated label ranking beside PLST, PBR and CS."""
    import hyperlabel as hl

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
    model = hl.CalibratedLabelRanking(alpha=0.01).fit(data.X[train], data.Y[train])
    return Outcome(_measure("CLR", None, data.Y[test], model.decision_function(data.X[test])))


def _item(
    number: int,
    title: str,
    metrics: tuple[str, ...] | str,
    names: tuple[str, ...],
    methods: tuple[str, ...],
    also: tuple[str, ...] = (),
    flat: tuple[str, ...] = ("BR",),
    work: Callable[[Plan], list[Cell]] | None = None,
) -> Item:
    metrics = (metrics,) if isinstance(metrics, str) else metrics
    show = partial(_curve_figure, metrics, names, (*methods, *also), flat)
    return Item(f"neco12-fig{number}", title, names, work or partial(_cells, names, methods), show)


_SIX = ("PLST", "PLST-Origin", "PBR", "PBR-Mean", "CS", "CS-BestVertex")
_FOUR = ("PLST", "PLST-Origin", "PBR-Mean", "CS-BestVertex")
ITEMS = [
    statistics_item("neco12-table2", ("rows", "labels", "cardinality", "distinct", "hypercube", "largest")),
    Item("neco12-table3", "Test Hamming loss at M*", DATA, partial(_cells, DATA, _THREE), _table3),
    Item("neco12-table4", "Time at M*", DATA, partial(_cells, DATA, _THREE), _table4),
    _item(2, "Hamming loss against M, ridge", "hamming_loss", DATA, _THREE),
    Item("neco12-stopping", "Hamming loss of CS by CoSaMP's stopping rule and random matrix", DATA,
         lambda plan: cells(plan, DATA, "neco12 stopping, sensing", _stopping, partial(splits, plan)),
         _stopping_table),
    Item("neco12-fig3", "Hamming loss against M, model trees", tuple(TREES), _tree_cells, _tree_figure),
    _item(4, "Ranking loss against M", "ranking_loss", DATA, _THREE, ("CS (soft)",)),
    _item(5, "Calibrated label ranking beside PLST", ("ranking_loss", "hamming_loss"), _RANKED, _THREE,
          flat=("BR", "CLR"),
          work=lambda plan: [*_cells(_RANKED, _THREE, plan),
                             *cells(plan, _RANKED, "neco12 clr", _ranking_sweep, partial(splits, plan))]),
    _item(6, "Macro AUC against M", "roc_auc_macro", DATA, _THREE, ("CS (soft)",)),
    _item(7, "Macro F1 against M", "f1_macro", DATA, _THREE),
    _item(8, "Macro precision and recall on delicious", ("precision_macro", "recall_macro"), ("delicious",),
          _THREE),
    _item(9, "Hamming loss with the ideal learner", "ideal_hamming", DATA, _THREE, flat=()),
    _item(10, "Encoding error of PBR and PLST", "encoding_error", DATA, ("PBR", "PLST"), flat=()),
    _item(11, "Reference points", "hamming_loss", ("delicious", "yeast"), _SIX),
    _item(12, "Improved PBR and CS beside PLST", "hamming_loss", DATA, _FOUR),
]  # fmt: skip

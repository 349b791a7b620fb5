"""Tai, Lin, *Multilabel Classification with Principal Label Space Transformation*, Neural Computation 2012.

Protocol (§4): 90 % of the rows to train on, 20 random partitions, ridge with λ = 0.01 (RLR); mean and
standard error over partitions, the M of the reduced label space swept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.papers.item import Item, Plan, Runs, cell, random_part, statistics_item
from hyperlabel.experiments.papers.result import Curve, Number, Result
from hyperlabel.experiments.runner import Cell, Outcome, Value
from hyperlabel.solvers.arrays import dense

# Small ones first, so that a run that is stopped has most of the tables.
DATA = ("emotions", "yeast", "corel5k", "mediamill-disc3", "delicious")
SHOWN = {name: name.removesuffix("-disc3") for name in DATA}
BEST_M = {"delicious": 129, "corel5k": 16, "mediamill-disc3": 11, "yeast": 4, "emotions": 2}
# Table 2: N, K, cardinality, distinct label sets, hypercube sparsity, most labels of a row.
TABLE2 = {
    "delicious": (16105, 983, 19.02, 15806, 1.93e-292, 25),
    "corel5k": (5000, 374, 3.52, 3175, 8.25e-110, 5),
    "mediamill-disc3": (43507, 101, 4.38, 6555, 2.59e-27, 18),
    "yeast": (2417, 14, 4.24, 198, 1.21e-2, 11),
    "emotions": (593, 6, 1.87, 27, 4.22e-1, 3),
}
# Table 3: test Hamming loss of BR, PLST(M*), CS(M*).
TABLE3 = {
    "delicious": (0.01813, 0.01819, 0.01954),
    "corel5k": (0.00940, 0.00944, 0.01021),
    "mediamill-disc3": (0.03003, 0.03015, 0.04332),
    "yeast": (0.19916, 0.20320, 0.29390),
    "emotions": (0.20653, 0.20542, 0.31042),
}
# Table 4: seconds: BR regression; PLST regression, encode + decode; CS regression, encode + decode.
TABLE4 = {
    "delicious": (4417.90, 577.38, 154.38, 579.71, 886.41),
    "corel5k": (560.11, 23.96, 7.76, 24.13, 2.97),
    "mediamill-disc3": (105.96, 11.55, 8.39, 11.43, 57.14),
    "yeast": (0.70, 0.20, 0.02, 0.18, 1.03),
    "emotions": (0.06, 0.02, 0.00, 0.02, 0.15),
}
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
NOTE_MEDIAMILL = (
    "mediamill: the public file with nearly all rows (43 851) has every feature cut to three levels by its "
    "publisher, so figures are not comparable to the paper's digit by digit."
)
NOTE_SPREAD = "± is the standard error over partitions, as the paper prints it; partitions overlap."
NOTE_FIGURE = "The paper prints this as a figure only, so there is no number to set beside ours."


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


def _splits(plan: Plan, name: str) -> int:
    if plan.quick:
        return {"emotions": 5, "yeast": 3, "corel5k": 1}.get(name, 1)
    return {"delicious": 5, "mediamill-disc3": 5}.get(name, 20)


def _cells(names: tuple[str, ...], methods: tuple[str, ...], plan: Plan) -> list[Cell]:
    found = []
    for name in names:
        if not plan.has(name):
            continue
        data = plan.load(name)
        dimensions = _dimensions(plan, name)
        for split in range(_splits(plan, name)):
            for method in methods:
                work = partial(_sweep, data, split, (method,), dimensions)
                spec = {"what": "neco12 sweep, CS 0/1", "methods": [method], "dimensions": list(dimensions)}
                found.append(cell(data, work, split=split, **spec))
    return found


def _standard_error(runs: Runs, row: str, column: str, scores: list[float], paper: float | None) -> Number:
    found = runs.number(row, column, scores, paper)
    spread = found.spread / math.sqrt(found.n) if found.n > 1 else math.nan
    return Number(row, column, found.ours, spread, found.n, paper, found.cells)


def _splits_note(plan: Plan) -> str:
    counts = ", ".join(f"{SHOWN[name]} {_splits(plan, name)}" for name in DATA)
    return f"Partitions: {counts} (the paper: 20 each)."


def _table3(plan: Plan, runs: Runs) -> Result:
    numbers = []
    for name, printed in TABLE3.items():
        m = float(BEST_M[name])
        rows = {"BR": ("BR", None), "PLST(M*)": ("PLST", m), "CS(M*)": ("CS", m)}
        for (row, (series, at)), paper in zip(rows.items(), printed, strict=True):
            scores = runs.scores(name, series, "hamming_loss", at)
            if scores:
                numbers.append(_standard_error(runs, SHOWN[name], row, scores, paper))
        found = _own_best(plan, runs, name)
        if found is not None:
            scores = runs.scores(name, "PLST", "hamming_loss", found)
            numbers.append(Number(SHOWN[name], "our M*", found, n=len(scores), cells=scores.cells))
            numbers.append(_standard_error(runs, SHOWN[name], "PLST(our M*)", scores, None))
    notes = [
        "M*: the smallest M of the sweep ("
        + "; ".join(f"{SHOWN[n]} {', '.join(map(str, _dimensions(plan, n)))}" for n in TABLE3)
        + ") whose PLST loss lies within the sum of the two standard errors of BR's: the rule that the "
        "printed figures obey to the last digit. PLST(M*) and CS(M*) stand at the paper's M*.",
        f"M* of the paper: {', '.join(f'{SHOWN[n]} {m}' for n, m in BEST_M.items())}.",
        NOTE_SPREAD,
        _splits_note(plan),
        NOTE_MEDIAMILL,
        "CS: M random rows of a Hadamard matrix, CoSaMP with the largest label-set size of the training "
        "rows.",
        "On corel5k an empty prediction has Hamming loss 0.00942 (all rows): the measure says little on "
        "sparse labels.",
    ]
    return Result("neco12-table3", "Test Hamming loss of BR, PLST and CS", numbers, notes=notes, digits=5)


def _own_best(plan: Plan, runs: Runs, name: str) -> float | None:
    """M* by the rule of §4.1 on our own runs; None when nothing was computed or no M is good enough."""
    br = _standard_error(runs, "", "", runs.scores(name, "BR", "hamming_loss"), None)
    for m in _dimensions(plan, name):
        plst = _standard_error(runs, "", "", runs.scores(name, "PLST", "hamming_loss", m), None)
        if plst.ours - br.ours <= plst.spread + br.spread:
            return float(m)
    return None


def _table4(plan: Plan, runs: Runs) -> Result:
    numbers = []
    columns = ("BR fit", "PLST fit", "PLST predict", "CS fit", "CS predict")
    for name, printed in TABLE4.items():
        m = BEST_M[name]
        keys = ("BR fit", f"PLST {m} fit", f"PLST {m} predict", f"CS {m} fit", f"CS {m} predict")
        for column, key, paper in zip(columns, keys, printed, strict=True):
            scores = runs.timings(name, key)
            if scores:
                numbers.append(runs.number(SHOWN[name], column, scores, paper))
    notes = [
        "Seconds of this machine, one thread; the paper's are MATLAB on a 2.4 GHz Opteron and solve each "
        "sub-task on "
        "its own. Here BR shares one Gram matrix between all labels, so there is little left to save in "
        "training.",
        "fit holds encoding and regression, predict holds regression and decoding of the test rows; the "
        "paper's second "
        "column of PLST and CS is encode + decode.",
        NOTE_MEDIAMILL,
    ]
    return Result(
        "neco12-table4", "Time of BR, PLST and CS at M*", numbers, notes=notes, digits=3, scores=False
    )


def _curve_figure(
    number: int,
    title: str,
    metric: str,
    names: tuple[str, ...],
    methods: tuple[str, ...],
    plan: Plan,
    runs: Runs,
) -> Result:
    curves = []
    for name in names:
        dims = [float(m) for m in _dimensions(plan, name)]
        scores = {}
        for method in methods:
            path = runs.path(name, method, metric, dims)
            if path:
                scores[method] = path
        flat = runs.scores(name, "BR", metric)
        if scores and flat and metric not in ("ideal_hamming", "encoding_error"):
            scores["BR"] = [[value] * len(dims) for value in flat]
        if scores:
            label = metric.replace("_", " ")
            curves.append(
                Curve(f"{SHOWN[name]}: {label} against M", dims, scores, "label dimensions M", label)
            )
    notes = [NOTE_FIGURE, _splits_note(plan)]
    if any(method.endswith("(soft)") for method in methods):
        notes.append("CS: its 0/1 output, as the paper scores it; CS (soft): the entries CoSaMP recovers.")
    if metric == "ideal_hamming":
        notes += _unseen_note(runs, names)
    notes += [NOTE_MEDIAMILL] if "mediamill-disc3" in names else []
    return Result(f"neco12-fig{number}", title, curves=curves, notes=notes, digits=5)


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


def _precision_recall(plan: Plan, runs: Runs) -> Result:
    two = [
        _curve_figure(8, "", metric, ("delicious",), ("PBR", "PLST", "CS"), plan, runs)
        for metric in ("precision_macro", "recall_macro")
    ]
    curves = [curve for part in two for curve in part.curves]
    return Result("neco12-fig8", "Macro precision and recall on delicious", curves=curves, notes=two[0].notes)


def _tree_sweep(data: Dataset, split: int, dimensions: tuple[int, ...]) -> Outcome:
    """Figure 3: a model tree per code in place of the ridge."""
    from hyperlabel import labelspace

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
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
        raise ImportError("Figure 3 needs model trees: pip install 'hyperlabel[papers]'.") from missing
    codes = dense(codes)
    names = [f"x{i}" for i in range(X.shape[1])]
    rows, new = DataFrame(dense(X), columns=names), DataFrame(dense(X_test), columns=names)
    found = [
        Cubist(random_state=0).fit(rows, h).predict(new) if np.ptp(h) else np.full(len(new), h[0])
        for h in codes.T
    ]
    return np.stack(found, axis=1)


def _tree_cells(plan: Plan) -> list[Cell]:
    found = []
    for name in ("yeast", "emotions"):
        if plan.has(name):
            data, dims = plan.load(name), QUICK_DIMENSIONS[name]
            for split in range(plan.pick(5, 1) if name == "yeast" else plan.pick(20, 2)):
                work = partial(_tree_sweep, data, split, dims)
                found.append(cell(data, work, what="neco12 model tree", split=split, dimensions=list(dims)))
    return found


def _tree_figure(plan: Plan, runs: Runs) -> Result:
    curves = []
    for name in ("yeast", "emotions"):
        dims = [float(m) for m in QUICK_DIMENSIONS[name]]
        paths = {m: runs.path(name, m, "hamming_loss", dims) for m in ("PBR", "PLST", "CS")}
        scores = {m: path for m, path in paths.items() if path}
        if scores:
            curves.append(
                Curve(f"{name}: Hamming loss against M", dims, scores, "label dimensions M", "hamming loss")
            )
    notes = [
        NOTE_FIGURE,
        "WEKA's M5P is replaced by Cubist (package cubist), the rule form of the same model trees by the "
        "author of M5: linear models in the leaves, no committees, default settings.",
        "Partitions: 20 for emotions, 5 for yeast; 2 and 1 in a quick run.",
    ]
    missing = ["delicious, corel5k and mediamill: thousands of model trees per partition, left out for time"]
    return Result("neco12-fig3", "Hamming loss with model trees", curves=curves, notes=notes, missing=missing)


_STOPPING: dict[str, dict[str, Any]] = {
    "stops at no progress": {},
    "20 iterations": {"max_iter": 20, "patient": True},
}


def _stopping(data: Dataset, split: int, m: int) -> Outcome:
    """Hamming loss of CS at M* when CoSaMP stops at no progress (ours), or after 20 iterations."""
    from hyperlabel import labelspace
    from hyperlabel.solvers.cosamp import solve_sparse_codes
    from hyperlabel.solvers.ridge import solve_ridge

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
    encoder = labelspace.HadamardEncoder(m, random_state=split).fit(data.Y[train])
    model = solve_ridge(data.X[train], encoder.transform(data.Y[train]), alphas=(0.01,)).solve(0.01)
    codes = dense(data.X[test] @ model.coef) + model.intercept
    truth = data.Y[test].toarray() > 0
    values = []
    for name, options in _STOPPING.items():
        found = solve_sparse_codes(encoder.components_, codes, encoder.sparsity_, **options)
        values.append(Value(name, "hamming_loss", float(np.mean((found.toarray() > 0.5) != truth))))
    return Outcome(values)


def _stopping_cells(plan: Plan) -> list[Cell]:
    return [
        cell(data, partial(_stopping, data, split, BEST_M[name]), what="neco12 stopping", split=split)
        for name, data in ((name, plan.load(name)) for name in DATA if plan.has(name))
        for split in range(_splits(plan, name))
    ]


def _stopping_table(plan: Plan, runs: Runs) -> Result:
    numbers = [
        _standard_error(runs, SHOWN[name], rule, scores, TABLE3[name][2])
        for name in DATA
        for rule in _STOPPING
        if (scores := runs.scores(name, rule, "hamming_loss"))
    ]
    notes = [
        "CS at the paper's M*; the paper does not say how its CoSaMP stops.",
        NOTE_SPREAD,
        NOTE_MEDIAMILL,
    ]
    return Result("neco12-stopping", "Hamming loss of CS by stopping rule", numbers, notes=notes, digits=5)


def _ranking_sweep(data: Dataset, split: int) -> Outcome:
    """Figure 5: calibrated label ranking beside PLST, PBR and CS."""
    import hyperlabel as hl

    train, test = random_part(data.n_rows, round(0.9 * data.n_rows), 12, split)
    model = hl.CalibratedLabelRanking(alpha=0.01).fit(data.X[train], data.Y[train])
    return Outcome(_measure("CLR", None, data.Y[test], model.decision_function(data.X[test])))


_RANKED = ("yeast", "emotions", "mediamill-disc3")


def _ranking_cells(plan: Plan) -> list[Cell]:
    found = _cells(_RANKED, ("PBR", "PLST", "CS"), plan)
    for name in _RANKED:
        if plan.has(name):
            data = plan.load(name)
            for split in range(_splits(plan, name)):
                work = partial(_ranking_sweep, data, split)
                found.append(cell(data, work, what="neco12 clr", split=split))
    return found


def _ranking_figure(plan: Plan, runs: Runs) -> Result:
    curves = []
    for metric in ("ranking_loss", "hamming_loss"):
        for name in _RANKED:
            part = _curve_figure(5, "", metric, (name,), ("PBR", "PLST", "CS"), plan, runs)
            if not part.curves:
                continue
            curve, flat = part.curves[0], runs.scores(name, "CLR", metric)
            scores = curve.scores | {"CLR": [[v] * len(curve.x) for v in flat]}
            curves.append(Curve(curve.title, curve.x, scores, curve.xlabel, curve.ylabel))
    notes = [NOTE_FIGURE, _splits_note(plan), NOTE_MEDIAMILL]
    return Result("neco12-fig5", "Calibrated label ranking beside PLST", curves=curves, notes=notes)


def _item(
    number: int,
    title: str,
    metric: str,
    names: tuple[str, ...],
    methods: tuple[str, ...],
    also: tuple[str, ...] = (),
) -> Item:
    return Item(
        f"neco12-fig{number}",
        title,
        names,
        partial(_cells, names, methods),
        partial(_curve_figure, number, title, metric, names, (*methods, *also)),
    )


_THREE = ("PBR", "PLST", "CS")
_SIX = ("PLST", "PLST-Origin", "PBR", "PBR-Mean", "CS", "CS-BestVertex")
_FOUR = ("PLST", "PLST-Origin", "PBR-Mean", "CS-BestVertex")
ITEMS = [
    statistics_item("neco12-table2", ("rows", "labels", "cardinality", "distinct", "hypercube", "largest"),
                    TABLE2, ["mediamill: the public file at hand has 43 851 rows."]),
    Item("neco12-table3", "Test Hamming loss at M*", DATA, partial(_cells, DATA, _THREE), _table3),
    Item("neco12-table4", "Time at M*", DATA, partial(_cells, DATA, _THREE), _table4),
    _item(2, "Hamming loss against M, ridge", "hamming_loss", DATA, _THREE),
    Item("neco12-stopping", "Hamming loss of CS by CoSaMP's stopping rule", DATA,
         _stopping_cells, _stopping_table),
    Item("neco12-fig3", "Hamming loss against M, model trees", ("yeast", "emotions"),
         _tree_cells, _tree_figure),
    _item(4, "Ranking loss against M", "ranking_loss", DATA, _THREE, ("CS (soft)",)),
    Item("neco12-fig5", "Calibrated label ranking beside PLST", _RANKED, _ranking_cells, _ranking_figure),
    _item(6, "Macro AUC against M", "roc_auc_macro", DATA, _THREE, ("CS (soft)",)),
    _item(7, "Macro F1 against M", "f1_macro", DATA, _THREE),
    Item("neco12-fig8", "Macro precision and recall on delicious", ("delicious",),
         partial(_cells, ("delicious",), _THREE), _precision_recall),
    _item(9, "Hamming loss with the ideal learner", "ideal_hamming", DATA, _THREE),
    _item(10, "Encoding error of PBR and PLST", "encoding_error", DATA, ("PBR", "PLST")),
    _item(11, "Reference points", "hamming_loss", ("delicious", "yeast"), _SIX),
    _item(12, "Improved PBR and CS beside PLST", "hamming_loss", DATA, _FOUR),
]  # fmt: skip

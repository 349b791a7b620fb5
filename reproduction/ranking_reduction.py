"""Future work of Tai & Lin (§4.2): a reduction that ranks like calibrated label ranking and costs less.

The trial: Rank-SVM, whose cost is linear in pairs of labels of a row and needs no model per pair, and its
scores on the M directions that hold most of them. PLST and CPLST at the same M stand beside it.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hyperlabel as hl
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.metrics import ranking_loss
from reproduction.item import Item, Plan, Runs, make_cells, random_split
from reproduction.result import Result

# M: the paper's M* of these sets, and twice as many directions.
DIMENSIONS = {"emotions": (2, 4), "yeast": (4, 8)}
COLUMNS = ("ranking loss", "CPU seconds of the fit")


def reduce_ranker(scores: np.ndarray, train_scores: np.ndarray, m: int) -> np.ndarray:
    """Keep the m directions that hold most of the training scores; orders ignore what all labels share.

    >>> scores = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 2.0], [5.0, 3.0, 4.0]])
    >>> reduce_ranker(scores, scores, 1).argmax(axis=1).tolist()
    [0, 1, 0]
    """
    differences = train_scores - train_scores.mean(axis=1, keepdims=True)
    centre = differences.mean(axis=0)
    directions = np.linalg.svd(differences - centre, full_matrices=False)[2][:m]
    own = scores - scores.mean(axis=1, keepdims=True) - centre
    return np.asarray(own @ directions.T @ directions + centre)


def _compare(data: Dataset, split: int, dimensions: tuple[int, ...]) -> JobResult:
    """Ranking loss on test rows, and CPU seconds of the fit, of each method."""
    train, test = random_split(data.n_rows, round(0.9 * data.n_rows), 12, split)
    X_train, Y_train, X_test, Y_test = data.X[train], data.Y[train], data.X[test], data.Y[test]
    values: list[Measurement] = []

    def measure(name: str, model: Any) -> Any:
        start = time.process_time()
        model.fit(X_train, Y_train)
        seconds = time.process_time() - start
        scores = (
            model.rank_scores(X_test) if hasattr(model, "rank_scores") else model.decision_function(X_test)
        )
        values.append(Measurement(name, COLUMNS[0], float(ranking_loss(Y_test, scores))))
        values.append(Measurement(name, COLUMNS[1], seconds))
        return model

    make_ranker: Callable[[], Any] = lambda: hl.RankSVM(C=1.0, tol=1e-2, random_state=split)  # noqa: E731
    make_ranker().fit(X_train[:60], Y_train[:60])  # compile before the clock runs
    measure("calibrated label ranking", hl.CalibratedLabelRanking(alpha=0.01))
    ranker = measure("Rank-SVM", make_ranker())
    for m in dimensions:
        measure(f"PLST, M = {m}", hl.PLST(m, alpha=0.01))
        measure(f"CPLST, M = {m}", hl.CPLST(m, alpha=0.01))
        reduced = reduce_ranker(ranker.rank_scores(X_test), ranker.rank_scores(X_train), m)
        values.append(Measurement(f"Rank-SVM, M = {m}", COLUMNS[0], float(ranking_loss(Y_test, reduced))))
    return JobResult(values)


def _plan_cells(plan: Plan) -> list[Job]:
    def settings(name: str) -> dict[str, Any]:
        return {"dimensions": DIMENSIONS[name]}

    return make_cells(plan, DIMENSIONS, "neco12 ranking reduction", _compare, plan.pick(20, 2), settings)


def _collect(plan: Plan, runs: Runs) -> Result:
    series = dict.fromkeys(v["series"] for v in runs.values)
    numbers = runs.numbers(
        (f"{name}, {method}", column, runs.scores(name, method, column), None)
        for name in DIMENSIONS
        for method in series
        for column in COLUMNS
    )
    return Result(numbers=numbers, scores=False)


ITEMS = [
    Item("neco12-ranking", "A reduction that ranks like calibrated label ranking", tuple(DIMENSIONS),
         _plan_cells, _collect),
]  # fmt: skip

"""Tai & Lin (2012), Figure 3: a model tree per code in place of the ridge."""

from typing import Any

import numpy as np

from hyperlabel import labelspace
from hyperlabel.apps.comparison.runner import Job, JobResult
from hyperlabel.datasets import Dataset
from hyperlabel.solvers.arrays import as_dense
from reproduction.item import Item, Plan, Runs, make_cells
from reproduction.neco12 import MAIN_METHODS, QUICK_DIMENSIONS, measure, split_rows, sweep_curves
from reproduction.result import Result

# Figure 3 fits one model tree per dimension. All of them would take days, so three sets have few M and rows.
TREE_DIMENSIONS = {
    "emotions": QUICK_DIMENSIONS["emotions"],
    "yeast": QUICK_DIMENSIONS["yeast"],
    "corel5k": (4, 8),
    "mediamill-disc3": (2, 11),
    "delicious": (4, 10),
}


def _tree_sweep(data: Dataset, split: int, dimensions: tuple[int, ...]) -> JobResult:
    """Figure 3: a model tree per code in place of the ridge."""
    train, test = split_rows(data, split)
    if data.name not in ("emotions", "yeast"):
        train = np.random.default_rng([13, split]).choice(train, 1000, replace=False)
    X_train, Y_train, X_test, Y_test = data.X[train], data.Y[train], data.X[test], data.Y[test]
    values = []
    encoders = {"PLST": labelspace.PrincipalEncoder, "PBR": labelspace.FrequentLabelsEncoder}
    for name, make_encoder in encoders.items():
        codes = make_encoder(dimensions[-1]).fit_transform(Y_train)
        # The codes of a small M are the first columns of those of a larger one: one set of trees serves all.
        predicted_codes = _predict_by_trees(X_train, codes, X_test)
        for m in dimensions:
            points = make_encoder(m).fit(Y_train).inverse_transform(predicted_codes[:, :m])
            values += measure(name, float(m), Y_test, 2 * points - 1)
    for m in dimensions:
        encoder = labelspace.HadamardEncoder(m, random_state=split).fit(Y_train)
        points = encoder.inverse_transform(_predict_by_trees(X_train, encoder.transform(Y_train), X_test))
        values += measure("CS", float(m), Y_test, 2 * points - 1)
    return JobResult(values)


def _predict_by_trees(X_train: Any, codes: Any, X_test: Any) -> np.ndarray:
    """Fit a model tree to every column of the codes; return the codes predicted for the test rows."""
    try:
        from cubist import Cubist
        from pandas import DataFrame
    except ImportError as missing:
        raise ImportError("Figure 3 needs model trees: pip install cubist pandas.") from missing
    names = [f"x{i}" for i in range(X_train.shape[1])]
    train_frame, test_frame = (DataFrame(as_dense(X), columns=names) for X in (X_train, X_test))
    predicted_codes = [
        # In a constant code there is nothing to learn.
        Cubist(random_state=0).fit(train_frame, code).predict(test_frame)
        if np.ptp(code)
        else np.full(len(test_frame), code[0])
        for code in as_dense(codes).T
    ]
    return np.stack(predicted_codes, axis=1)


def count_partitions(plan: Plan, name: str) -> int:
    """Return how many partitions of a data set Figure 3 has here."""
    counts = plan.pick({"emotions": 20, "yeast": 5}, {"emotions": 2, "yeast": 1})
    return int(counts.get(name, plan.pick(1, 0)))


def count_trees(plan: Plan) -> int:
    """Return how many model trees are fitted: PLST and PBR share theirs between all M, CS does not."""
    return sum(
        count_partitions(plan, name) * (2 * max(dimensions) + sum(dimensions))
        for name, dimensions in TREE_DIMENSIONS.items()
    )


def _tree_cells(plan: Plan) -> list[Job]:
    def n_splits(name: str) -> int:
        return count_partitions(plan, name)

    def settings(name: str) -> dict[str, Any]:
        return {"dimensions": TREE_DIMENSIONS[name]}

    return make_cells(plan, TREE_DIMENSIONS, "neco12 model tree", _tree_sweep, n_splits, settings)


def _collect_tree_curves(plan: Plan, runs: Runs) -> Result:
    curves = []
    for name, dimensions in TREE_DIMENSIONS.items():
        curves += sweep_curves(runs, name, "hamming_loss", MAIN_METHODS, dimensions)
    return Result(curves=curves)


ITEMS = [
    Item("neco12-fig3", "Hamming loss against M, model trees", tuple(TREE_DIMENSIONS), _tree_cells,
         _collect_tree_curves),
]  # fmt: skip

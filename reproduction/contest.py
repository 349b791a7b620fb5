"""Contests the papers do not print: methods with grids, tuned inside the training rows, on their data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.protocol import Method, describe, fit_and_score
from hyperlabel.experiments.runner import Cell, Outcome
from reproduction.item import Item, Plan, Runs, make_cells, random_split
from reproduction.result import Result

SHARE = 0.7
Entrants = dict[str, tuple[Any, dict[str, list[Any]]]]


@dataclass(frozen=True)
class Contest:
    """Methods (`enter` names them, with estimator and grid) × data sets × random partitions.

    The grid is searched by `scoring`; `columns` maps what the table shows to measures. A quick run has one
    partition, two folds and every other value of a grid.
    """

    id: str
    title: str
    data: tuple[str, ...]
    enter: Callable[[], Entrants]
    scoring: str
    columns: Mapping[str, str]
    splits: int = 3

    def _work(self, data: Dataset, split: int, method: str, grid: Any, folds: int, **_: Any) -> Outcome:
        train, test = random_split(data.n_rows, round(SHARE * data.n_rows), 20, split)
        contender = Method(method, self.enter()[method][0], grid)
        found = fit_and_score(data, contender, train, test, self.scoring, folds, split)
        kept = [value for value in found.values if value.metric in self.columns.values()]
        best = {key: _value(value) for key, value in found.details.get("chosen", {}).items()}
        searched = {key: [_value(value) for value in values] for key, values in grid.items()}
        return Outcome(kept, found.cost, {"chosen": {method: best}, "grids": {method: searched}})

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell for each data set, method and partition."""
        how = {"share": SHARE, "scoring": self.scoring, "folds": plan.pick(3, 2)}
        given = []
        for method, (estimator, grid) in self.enter().items():
            grid = {key: values[:: plan.pick(1, 2)] for key, values in grid.items()}
            given.append({"method": method, "estimator": describe(estimator), "grid": grid, **how})
        return make_cells(plan, self.data, self.id, self._work, plan.pick(self.splits, 1), given)

    def collect(self, plan: Plan, runs: Runs) -> Result:
        """Return the table: a row for each data set and method."""
        numbers = runs.numbers(
            (f"{name}, {method}", column, runs.scores(name, method, metric), None)
            for name in self.data
            for method in self.enter()
            for column, metric in self.columns.items()
        )
        how = f"{plan.pick(self.splits, 1)} random partitions, {SHARE:.0%} of the rows to train on; "
        notes = [f"{how}grids by {plan.pick(3, 2)}-fold cross-validation of {self.scoring}."]
        return Result(numbers=numbers, notes=notes)

    def item(self) -> Item:
        """Return what can be asked for."""
        return Item(self.id, self.title, self.data, self.cells, self.collect)


def _value(setting: Any) -> float:
    """The number of a setting, which may be the one entry of a dict."""
    return float(next(iter(setting.values())) if isinstance(setting, dict) else setting)


def _scaled(**steps: Any) -> Any:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    return Pipeline([("scale", StandardScaler()), *steps.items()])


def _sets() -> Entrants:
    import hyperlabel as hl

    pruned, kde = partial(hl.LabelPowerset, min_count=5), hl.KernelDependencyEstimation
    models = {
        "power-set": hl.LabelPowerset(),
        "pruned, rare to the nearest": pruned(),
        "pruned, rare dropped": pruned(rare="drop"),
        "PLST, M = K": hl.PLST(),
        "KDE, linear": kde(label_kernel="linear"),
        "KDE, rbf": kde(),
        "KDE, poly": kde(label_kernel="poly"),
    }
    grid = {"model__alpha": [1.0, 10.0, 100.0, 1000.0]}
    return {name: (_scaled(model=model), grid) for name, model in models.items()}


def _topics() -> Entrants:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import NMF
    from sklearn.mixture import GaussianMixture

    from hyperlabel import LabelTopicModel

    clusterings = {
        "LDA": None,
        "k-means": KMeans(n_init=3, random_state=0),
        "Gaussian mixture": GaussianMixture(covariance_type="diag", reg_covar=1e-2, random_state=0),
        "NMF": NMF(init="random", max_iter=2000, tol=1e-3, random_state=0),
    }
    sizes = {"n_topics": [4, 8, 16]}
    return {
        name: (LabelTopicModel(clustering=by, n_init=1, random_state=0), sizes)
        for name, by in clusterings.items()
    }


def _spectral() -> Entrants:
    import hyperlabel as hl

    def pipe(**given: Any) -> Any:
        return _scaled(spectral=hl.HypergraphSpectral(**given), ridge=hl.BinaryRelevance(alpha=1e-3))

    rbf = partial(pipe, kernel="rbf", kernel_params={"gamma": 0.01}, random_state=0)
    widths = {"spectral__kernel_params": [{"gamma": 10.0**e} for e in (-3.0, -2.5, -2.0, -1.5)]}
    grid: dict[str, list[Any]] = {"spectral__alpha": [0.1, 1.0, 10.0, 100.0], **widths}
    return {
        "linear": (pipe(), {"spectral__alpha": [1.0, 10.0, 100.0, 1000.0]}),
        "rbf": (rbf(), grid),
        "rbf, Nyström 200": (rbf(n_landmarks=200), grid),
    }


def _rankers() -> Entrants:
    from sklearn.kernel_approximation import Nystroem

    from hyperlabel import HypergraphRankSVM

    rank = partial(HypergraphRankSVM, tol=1e-2, hypergraph_weight=0.1, random_state=0)
    near = Nystroem(gamma=0.01, n_components=200, random_state=0)
    Cs = [1.0, 8.0, 64.0, 512.0]
    widths = {"nystroem__gamma": [0.001, 0.003, 0.01, 0.03]}
    return {
        "linear": (rank(), {"C": Cs}),
        "rbf": (rank(kernel="rbf"), {"C": Cs}),
        "rbf, Nyström 200": (_scaled(nystroem=near, rank=rank()), {"rank__C": Cs, **widths}),
    }


_HAMMING = {"Hamming loss": "hamming_loss"}
_SETS = ("emotions", "scene", "yeast")
CONTESTS = [
    Contest("kdd08-kernel", "Kernel forms of hypergraph spectral learning", _SETS, _spectral, "roc_auc_macro",
            {"mean ROC AUC": "roc_auc_macro"}),
    Contest("cvpr09-kernel", "Kernel forms of Rank-HLapSVM", _SETS, _rankers, "f1_macro",
            {"F1 macro": "f1_macro", "F1 micro": "f1_micro"}),
    Contest("neco12-sets", "Label sets as a whole: power-set, KDE and PLST", _SETS, _sets, "subset_accuracy",
            {"subset accuracy": "subset_accuracy", **_HAMMING}),
    Contest("neco12-topics", "Algorithm 5 with other clusterings", _SETS, _topics, "hamming_loss",
            {**_HAMMING, "F1 macro": "f1_macro"}),
]  # fmt: skip
ITEMS = [contest.item() for contest in CONTESTS]

"""Contests the papers do not print: methods with grids, tuned inside the training rows, on their data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.kernel_approximation import Nystroem
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import hyperlabel as hl
from hyperlabel.apps.comparison.protocol import Method, describe_value, fit_and_score
from hyperlabel.apps.comparison.runner import Job, JobResult
from hyperlabel.datasets import Dataset
from reproduction.item import Item, Plan, Runs, make_cells, random_split
from reproduction.result import Result

SHARE = 0.7
# Estimator and grid of each method, by name.
Entrants = dict[str, tuple[Any, dict[str, list[Any]]]]


@dataclass(frozen=True)
class Contest:
    """Methods (`make_entrants` returns them) × data sets × random partitions.

    The grids are searched by `scoring`. `columns` maps the titles of the table to measures. A quick run has
    one partition, two folds and every other value of a grid.
    """

    id: str
    title: str
    data: tuple[str, ...]
    make_entrants: Callable[[], Entrants]
    scoring: str
    columns: Mapping[str, str]
    splits: int = 3

    def _work(self, data: Dataset, split: int, method: str, grid: Any, folds: int, **_: Any) -> JobResult:
        train, test = random_split(data.n_rows, round(SHARE * data.n_rows), 20, split)
        entrant = Method(method, self.make_entrants()[method][0], grid)
        outcome = fit_and_score(data, entrant, train, test, self.scoring, folds, split)
        table_values = [value for value in outcome.values if value.metric in self.columns.values()]
        best = {name: _as_number(value) for name, value in outcome.details.get("chosen", {}).items()}
        number_grid = {name: [_as_number(value) for value in values] for name, values in grid.items()}
        details = {"chosen": {method: best}, "grids": {method: number_grid}}
        return JobResult(table_values, outcome.cost, details)

    def cells(self, plan: Plan) -> list[Job]:
        """Return one cell for each data set, method and partition."""
        protocol = {"share": SHARE, "scoring": self.scoring, "folds": plan.pick(3, 2)}
        settings = []
        for method, (estimator, full_grid) in self.make_entrants().items():
            grid = {name: values[:: plan.pick(1, 2)] for name, values in full_grid.items()}
            settings.append(
                {"method": method, "estimator": describe_value(estimator), "grid": grid, **protocol}
            )
        return make_cells(plan, self.data, self.id, self._work, plan.pick(self.splits, 1), settings)

    def collect(self, plan: Plan, runs: Runs) -> Result:
        """Return the table: a row for each data set and method."""
        numbers = runs.numbers(
            (f"{name}, {method}", column, runs.scores(name, method, metric), None)
            for name in self.data
            for method in self.make_entrants()
            for column, metric in self.columns.items()
        )
        note = (
            f"{plan.pick(self.splits, 1)} random partitions, {SHARE:.0%} of the rows to train on; "
            f"grids by {plan.pick(3, 2)}-fold cross-validation of {self.scoring}."
        )
        return Result(numbers=numbers, notes=[note])

    def item(self) -> Item:
        """Return what can be asked for."""
        return Item(self.id, self.title, self.data, self.cells, self.collect)


def _as_number(setting: Any) -> float:
    """Return the number of a setting, which may be the only value of a dict (``{"gamma": 0.01}``)."""
    return float(next(iter(setting.values())) if isinstance(setting, dict) else setting)


def _scaled(**steps: Any) -> Any:
    return Pipeline([("scale", StandardScaler()), *steps.items()])


def _set_methods() -> Entrants:
    make_pruned, make_kde = partial(hl.LabelPowerset, min_count=5), hl.KernelDependencyEstimation
    models = {
        "power-set": hl.LabelPowerset(),
        "pruned, rare to the nearest": make_pruned(),
        "pruned, rare dropped": make_pruned(rare="drop"),
        "PLST, M = K": hl.PLST(),
        "KDE, linear": make_kde(label_kernel="linear"),
        "KDE, rbf": make_kde(),
        "KDE, poly": make_kde(label_kernel="poly"),
    }
    grid = {"model__alpha": [1.0, 10.0, 100.0, 1000.0]}
    return {name: (_scaled(model=model), grid) for name, model in models.items()}


def _topic_models() -> Entrants:
    clusterings = {
        "LDA": None,
        "k-means": KMeans(n_init=3, random_state=0),
        "Gaussian mixture": GaussianMixture(covariance_type="diag", reg_covar=1e-2, random_state=0),
        "NMF": NMF(init="random", max_iter=2000, tol=1e-3, random_state=0),
    }
    sizes = {"n_topics": [4, 8, 16]}
    return {
        name: (hl.LabelTopicModel(clustering=clustering, n_init=1, random_state=0), sizes)
        for name, clustering in clusterings.items()
    }


def _spectral_methods() -> Entrants:
    def make_pipeline(**parameters: Any) -> Any:
        spectral = hl.HypergraphSpectral(**parameters)
        return _scaled(spectral=spectral, ridge=hl.BinaryRelevance(alpha=1e-3))

    make_rbf = partial(make_pipeline, kernel="rbf", kernel_params={"gamma": 0.01}, random_state=0)
    gammas = [{"gamma": 10.0**exponent} for exponent in (-3.0, -2.5, -2.0, -1.5)]
    grid: dict[str, list[Any]] = {
        "spectral__alpha": [0.1, 1.0, 10.0, 100.0],
        "spectral__kernel_params": gammas,
    }
    return {
        "linear": (make_pipeline(), {"spectral__alpha": [1.0, 10.0, 100.0, 1000.0]}),
        "rbf": (make_rbf(), grid),
        "rbf, Nyström 200": (make_rbf(n_landmarks=200), grid),
    }


def _rankers() -> Entrants:
    make_ranker = partial(hl.HypergraphRankSVM, tol=1e-2, hypergraph_weight=0.1, random_state=0)
    nystroem = Nystroem(gamma=0.01, n_components=200, random_state=0)
    Cs = [1.0, 8.0, 64.0, 512.0]
    gammas = [0.001, 0.003, 0.01, 0.03]
    return {
        "linear": (make_ranker(), {"C": Cs}),
        "rbf": (make_ranker(kernel="rbf"), {"C": Cs}),
        "rbf, Nyström 200": (
            _scaled(nystroem=nystroem, rank=make_ranker()),
            {"rank__C": Cs, "nystroem__gamma": gammas},
        ),
    }


_HAMMING = {"Hamming loss": "hamming_loss"}
_DATA = ("emotions", "scene", "yeast")
CONTESTS = [
    Contest("kdd08-kernel", "Kernel forms of hypergraph spectral learning", _DATA, _spectral_methods,
            "roc_auc_macro", {"mean ROC AUC": "roc_auc_macro"}),
    Contest("cvpr09-kernel", "Kernel forms of Rank-HLapSVM", _DATA, _rankers, "f1_macro",
            {"F1 macro": "f1_macro", "F1 micro": "f1_micro"}),
    Contest("neco12-sets", "Label sets as a whole: power-set, KDE and PLST", _DATA, _set_methods,
            "subset_accuracy", {"subset accuracy": "subset_accuracy", **_HAMMING}),
    Contest("neco12-topics", "Algorithm 5 with other clusterings", _DATA, _topic_models, "hamming_loss",
            {**_HAMMING, "F1 macro": "f1_macro"}),
]  # fmt: skip
ITEMS = [contest.item() for contest in CONTESTS]

"""What the results of a comparison say: scores with standard deviations, differences with intervals,
costs, labels.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hyperlabel.apps.comparison.protocol import LOWER_IS_BETTER
from hyperlabel.apps.comparison.store import Store
from hyperlabel.metrics import statistics

FEW_DATASETS = 8


@dataclass(frozen=True)
class PairwiseTest:
    """A method against the best one on a data set: difference (best − method, in "better" direction)."""

    method: str
    difference: float
    low: float
    high: float
    p_value: float
    best_better: float
    equivalent: float
    best_worse: float

    @property
    def is_significant(self) -> bool:
        """Whether the corrected test at 5 % finds the two significantly different."""
        return self.p_value < 0.05


@dataclass(frozen=True)
class Cost:
    """Median cost of a method on a data set."""

    fit_seconds: float
    predict_seconds: float
    peak_mb: float | None


@dataclass(frozen=True)
class LabelScore:
    """How a method does on one label, counts pooled over all test parts."""

    name: str
    actual: int
    predicted: int
    hits: int

    @property
    def precision(self) -> float:
        """Share of predicted rows that carry the label."""
        return self.hits / self.predicted if self.predicted else math.nan

    @property
    def recall(self) -> float:
        """Share of rows with the label that are found."""
        return self.hits / self.actual if self.actual else math.nan

    @property
    def f1(self) -> float:
        """Harmonic mean of the two; 0 when nothing is found."""
        total = self.predicted + self.actual
        return 2 * self.hits / total if total else math.nan


@dataclass(frozen=True)
class AcrossDatasets:
    """Methods over several data sets: Friedman, pairwise Wilcoxon–Holm, groups."""

    methods: list[str]
    friedman: statistics.Friedman
    groups: list[list[int]]
    few: bool


class Comparison:
    """Read a finished suite of `Protocol` cells and answer questions about it.

    Parameters
    ----------
    store : Store
        The results.
    suite : str
        Name of the suite.
    scoring : str, default=None
        The measure to judge by; the suite's own when None.
    rope : float, default=0.01
        Differences up to this size do not matter in practice.

    Examples
    --------
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.datasets import make_multilabel
    >>> from hyperlabel.apps.comparison import Comparison, Method, Protocol, Splits, Store, run
    >>> data = make_multilabel(90, 5, 4, random_state=0, name="made")
    >>> methods = [Method("weak", BinaryRelevance()), Method("strong", BinaryRelevance(alpha=1e4))]
    >>> protocol = Protocol("small", [data], methods, Splits("folds", 3))
    >>> with Store(":memory:") as store:
    ...     _ = run(protocol.cells(), store, "small", spec=protocol.spec())
    ...     comparison = Comparison(store, "small")
    >>> comparison.best("made"), len(comparison.splits("made", "weak"))
    ('weak', 3)
    """

    def __init__(self, store: Store, suite: str, *, scoring: str | None = None, rope: float = 0.01) -> None:
        self.record = store.suite(suite)
        spec = self.record["spec"]
        self.scoring: str = scoring or spec["scoring"]
        self.metrics: list[str] = list(dict.fromkeys([self.scoring, *spec.get("metrics", [])]))
        self.rope = rope
        self.datasets: list[str] = [data["name"] for data in spec["datasets"]]
        self.facts: dict[str, dict[str, Any]] = {data["name"]: data for data in spec["datasets"]}
        self.methods: list[str] = [method["name"] for method in spec["methods"]]
        self.data_profiles = {name: store.artifact(suite, f"portrait:{name}") or {} for name in self.datasets}
        self.curves = {name: store.artifact(suite, f"curve:{name}") for name in self.datasets}
        self._cells = store.cells(suite)
        self._by_id = {cell["id"]: cell for cell in self._cells}
        self._values: dict[tuple[str, str, str], dict[int, float]] = {}
        for row in store.values(suite):
            cell = self._by_id[row["cell"]]["spec"]
            key = (cell["data"], cell["method"], row["metric"])
            self._values.setdefault(key, {})[cell["split"]] = row["value"]
        if not self._values:
            raise ValueError(
                "No cell of the comparison has finished with a result: there is nothing to show."
            )
        known = {metric for _, _, metric in self._values}
        if self.scoring not in known:
            raise ValueError(f"The results hold no {self.scoring!r}; they hold {', '.join(sorted(known))}.")
        self.metrics = [metric for metric in self.metrics if metric in known]

    # -- scores -------------------------------------------------------------------------------------

    def splits(self, dataset: str, method: str, metric: str | None = None) -> dict[int, float]:
        """Return the finite scores of a method, by split."""
        found = self._values.get((dataset, method, metric or self.scoring), {})
        return {split: value for split, value in found.items() if math.isfinite(value)}

    def mean(self, dataset: str, method: str, metric: str | None = None) -> float:
        """Return the mean score over splits (NaN when there is none)."""
        found = list(self.splits(dataset, method, metric).values())
        return float(np.mean(found)) if found else math.nan

    def std(self, dataset: str, method: str, metric: str | None = None) -> float:
        """Return the standard deviation over splits, not a standard error."""
        return statistics.split_std(list(self.splits(dataset, method, metric).values()))

    def sign(self, metric: str | None = None) -> float:
        """Return +1 when greater is better, −1 for losses."""
        return -1.0 if (metric or self.scoring) in LOWER_IS_BETTER else 1.0

    def ranking(self, dataset: str, metric: str | None = None) -> list[str]:
        """Return the methods that have a score on every finished split, best mean first."""
        means = {m: self.sign(metric) * self.mean(dataset, m, metric) for m in self.methods}
        return sorted((m for m in self.methods if math.isfinite(means[m])), key=lambda m: -means[m])

    def best(self, dataset: str) -> str:
        """Return the method with the best mean score."""
        ranking = self.ranking(dataset)
        if not ranking:
            raise ValueError(f"No method has finished on {dataset}.")
        return ranking[0]

    def test_share(self, dataset: str) -> float:
        """Return rows tested / rows trained on, averaged over splits."""
        parts = [c["spec"] for c in self._cells if c["spec"]["data"] == dataset]
        return float(np.mean([p["n_test"] / p["n_train"] for p in parts]))

    def versus_best(self, dataset: str) -> list[PairwiseTest]:
        """Compare every other method with the best, on the splits both have."""
        best = self.best(dataset)
        mine = self.splits(dataset, best)
        found = []
        for method in self.ranking(dataset)[1:]:
            theirs = self.splits(dataset, method)
            common = sorted(mine.keys() & theirs.keys())
            if len(common) < 2:
                continue
            a = self.sign() * np.array([mine[i] for i in common])
            b = self.sign() * np.array([theirs[i] for i in common])
            share = self.test_share(dataset)
            t = statistics.corrected_resampled_t(a, b, test_share=share)
            bayes = statistics.bayesian_correlated_t(a, b, test_share=share, rope=self.rope)
            found.append(
                PairwiseTest(
                    method, t.mean, t.low, t.high, t.p_value, bayes.better, bayes.equivalent, bayes.worse
                )
            )
        return found

    def far_behind(self, dataset: str) -> list[str]:
        """Return methods so far behind (a floor) that a figure with them would show nothing else."""
        behind = {v.method: v.difference for v in self.versus_best(dataset)}
        if len(behind) < 3:
            return []
        limit = 4 * float(np.median(list(behind.values())))
        return [method for method, difference in behind.items() if difference > limit > 0]

    def not_significantly_different(self, dataset: str) -> list[str]:
        """Return the methods that the test does not find significantly different from the best."""
        return [v.method for v in self.versus_best(dataset) if not v.is_significant]

    @cached_property
    def across(self) -> AcrossDatasets | None:
        """Return the tests over several data sets (None with fewer than two, or three methods)."""
        complete = [m for m in self.methods if all(math.isfinite(self.mean(d, m)) for d in self.datasets)]
        if len(self.datasets) < 2 or len(complete) < 3:
            return None
        table = self.sign() * np.array([[self.mean(d, m) for m in complete] for d in self.datasets])
        result = statistics.friedman(table)
        groups = statistics.indistinguishable_groups(result.ranks, statistics.wilcoxon_holm(table))
        return AcrossDatasets(complete, result, groups, len(self.datasets) < FEW_DATASETS)

    # -- costs, labels, failures --------------------------------------------------------------------

    def _of(self, dataset: str, method: str) -> list[dict[str, Any]]:
        asked = (dataset, method)
        return [cell for cell in self._cells if (cell["spec"]["data"], cell["spec"]["method"]) == asked]

    def cost(self, dataset: str, method: str) -> Cost | None:
        """Return the median cost over splits, tuning included; None when no split finished."""
        cells = [cell for cell in self._of(dataset, method) if cell["status"] == "done"]
        if not cells:
            return None

        def median(field: str) -> float | None:
            known = [c[field] for c in cells if c[field] is not None]
            return float(np.median(known)) if known else None

        return Cost(median("fit_seconds") or 0.0, median("predict_seconds") or 0.0, median("peak_mb"))

    def labels(self, dataset: str, method: str) -> list[LabelScore]:
        """Return the method's result on each label, counts pooled over test parts."""
        found = [c["details"]["labels"] for c in self._of(dataset, method) if "labels" in c["details"]]
        if not found:
            return []
        kinds = ("actual", "predicted", "hits")
        totals = np.sum([[one[kind] for kind in kinds] for one in found], axis=0)
        names = self.data_profiles[dataset].get("label_names") or [f"y{j}" for j in range(totals.shape[1])]
        return [
            LabelScore(name, *(int(v) for v in column)) for name, column in zip(names, totals.T, strict=True)
        ]

    def failures(self) -> list[dict[str, Any]]:
        """Return failed cells: data set, method, number of splits, first error."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for cell in self._cells:
            if cell["status"] == "failed":
                key = (cell["spec"]["data"], cell["spec"]["method"])
                entry = found.setdefault(
                    key, {"data": key[0], "method": key[1], "n": 0, "error": cell["error"]}
                )
                entry["n"] += 1
        return list(found.values())

    def warnings(self) -> list[tuple[str, str]]:
        """Return (method, warning) pairs, each once."""
        return sorted(
            {(c["spec"]["method"], text) for c in self._cells for text in c["details"].get("warnings", [])}
        )

"""The results of a comparison: scores with standard deviations, differences with intervals, costs, labels."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hyperlabel.apps.comparison.store import Store
from hyperlabel.metrics import statistics
from hyperlabel.metrics.measures import is_loss

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
        """Whether the corrected test at the 5 % level rejects equal means."""
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
        """Share of rows with the label that are predicted to carry it."""
        return self.hits / self.actual if self.actual else math.nan

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 without a true positive."""
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
        suite_spec = self.record["spec"]
        self.scoring: str = scoring or suite_spec["scoring"]
        self.metrics: list[str] = list(dict.fromkeys([self.scoring, *suite_spec.get("metrics", [])]))
        self.rope = rope
        self.datasets: list[str] = [data["name"] for data in suite_spec["datasets"]]
        self.facts: dict[str, dict[str, Any]] = {data["name"]: data for data in suite_spec["datasets"]}
        self.methods: list[str] = [method["name"] for method in suite_spec["methods"]]
        self.data_profiles = {name: store.artifact(suite, f"portrait:{name}") or {} for name in self.datasets}
        self.curves = {name: store.artifact(suite, f"curve:{name}") for name in self.datasets}
        self._cells = store.cells(suite)
        self._by_id = {job["id"]: job for job in self._cells}
        self._values: dict[tuple[str, str, str], dict[int, float]] = {}
        for measurement in store.values(suite):
            job_spec = self._by_id[measurement["cell"]]["spec"]
            score_key = (job_spec["data"], job_spec["method"], measurement["metric"])
            self._values.setdefault(score_key, {})[job_spec["split"]] = measurement["value"]
        if not self._values:
            raise ValueError(
                "No cell of the comparison has finished with a result: there is nothing to show."
            )
        measured_metrics = {metric for _, _, metric in self._values}
        if self.scoring not in measured_metrics:
            raise ValueError(
                f"The results hold no {self.scoring!r}; they hold {', '.join(sorted(measured_metrics))}."
            )
        self.metrics = [metric for metric in self.metrics if metric in measured_metrics]

    # -- scores -------------------------------------------------------------------------------------

    def splits(self, dataset: str, method: str, metric: str | None = None) -> dict[int, float]:
        """Return the finite scores of a method, by split."""
        split_scores = self._values.get((dataset, method, metric or self.scoring), {})
        return {split: score for split, score in split_scores.items() if math.isfinite(score)}

    def mean(self, dataset: str, method: str, metric: str | None = None) -> float:
        """Return the mean score over splits (NaN when there is none)."""
        split_scores = list(self.splits(dataset, method, metric).values())
        return float(np.mean(split_scores)) if split_scores else math.nan

    def std(self, dataset: str, method: str, metric: str | None = None) -> float:
        """Return the standard deviation over splits, not a standard error."""
        return statistics.split_std(list(self.splits(dataset, method, metric).values()))

    def sign(self, metric: str | None = None) -> float:
        """Return +1 when greater is better, −1 for losses."""
        return -1.0 if is_loss(metric or self.scoring) else 1.0

    def ranking(self, dataset: str, metric: str | None = None) -> list[str]:
        """Return the methods that have a score on every finished split, best mean first."""
        signed_means = {m: self.sign(metric) * self.mean(dataset, m, metric) for m in self.methods}
        return sorted(
            (m for m in self.methods if math.isfinite(signed_means[m])), key=lambda m: -signed_means[m]
        )

    def best(self, dataset: str) -> str:
        """Return the method with the best mean score."""
        ranked_methods = self.ranking(dataset)
        if not ranked_methods:
            raise ValueError(f"No method has finished on {dataset}.")
        return ranked_methods[0]

    def test_share(self, dataset: str) -> float:
        """Return rows tested / rows trained on, averaged over splits."""
        job_specs = [c["spec"] for c in self._cells if c["spec"]["data"] == dataset]
        return float(np.mean([p["n_test"] / p["n_train"] for p in job_specs]))

    def versus_best(self, dataset: str) -> list[PairwiseTest]:
        """Compare every other method with the best, on the splits both have."""
        best_method = self.best(dataset)
        best_scores = self.splits(dataset, best_method)
        pairwise_tests = []
        for method in self.ranking(dataset)[1:]:
            method_scores = self.splits(dataset, method)
            common_splits = sorted(best_scores.keys() & method_scores.keys())
            if len(common_splits) < 2:
                continue
            a = self.sign() * np.array([best_scores[i] for i in common_splits])
            b = self.sign() * np.array([method_scores[i] for i in common_splits])
            test_share = self.test_share(dataset)
            t = statistics.corrected_resampled_t(a, b, test_share=test_share)
            posterior = statistics.bayesian_correlated_t(a, b, test_share=test_share, rope=self.rope)
            pairwise_tests.append(
                PairwiseTest(
                    method,
                    t.mean,
                    t.low,
                    t.high,
                    t.p_value,
                    posterior.better,
                    posterior.equivalent,
                    posterior.worse,
                )
            )
        return pairwise_tests

    def far_behind(self, dataset: str) -> list[str]:
        """Return the methods so far behind the best that a figure with them would show nothing else."""
        score_differences = {v.method: v.difference for v in self.versus_best(dataset)}
        if len(score_differences) < 3:
            return []
        difference_limit = 4 * float(np.median(list(score_differences.values())))
        return [
            method for method, difference in score_differences.items() if difference > difference_limit > 0
        ]

    def not_significantly_different(self, dataset: str) -> list[str]:
        """Return the methods that are not significantly different from the best."""
        return [v.method for v in self.versus_best(dataset) if not v.is_significant]

    @cached_property
    def across(self) -> AcrossDatasets | None:
        """Return the tests over several data sets (None with fewer than two, or three methods)."""
        complete_methods = [
            m for m in self.methods if all(math.isfinite(self.mean(d, m)) for d in self.datasets)
        ]
        if len(self.datasets) < 2 or len(complete_methods) < 3:
            return None
        mean_scores = self.sign() * np.array(
            [[self.mean(d, m) for m in complete_methods] for d in self.datasets]
        )
        friedman_test = statistics.friedman(mean_scores)
        method_groups = statistics.indistinguishable_groups(
            friedman_test.ranks, statistics.wilcoxon_holm(mean_scores)
        )
        return AcrossDatasets(
            complete_methods, friedman_test, method_groups, len(self.datasets) < FEW_DATASETS
        )

    # -- costs, labels, failures --------------------------------------------------------------------

    def _select_jobs(self, dataset: str, method: str) -> list[dict[str, Any]]:
        job_key = (dataset, method)
        return [job for job in self._cells if (job["spec"]["data"], job["spec"]["method"]) == job_key]

    def cost(self, dataset: str, method: str) -> Cost | None:
        """Return the median cost over splits, tuning included; None when no split finished."""
        finished_jobs = [job for job in self._select_jobs(dataset, method) if job["status"] == "done"]
        if not finished_jobs:
            return None

        def median(field: str) -> float | None:
            measured_costs = [c[field] for c in finished_jobs if c[field] is not None]
            return float(np.median(measured_costs)) if measured_costs else None

        return Cost(median("fit_seconds") or 0.0, median("predict_seconds") or 0.0, median("peak_mb"))

    def labels(self, dataset: str, method: str) -> list[LabelScore]:
        """Return the method's result on each label, counts pooled over test parts."""
        split_counts = [
            c["details"]["labels"] for c in self._select_jobs(dataset, method) if "labels" in c["details"]
        ]
        if not split_counts:
            return []
        count_kinds = ("actual", "predicted", "hits")
        total_counts = np.sum([[counts[kind] for kind in count_kinds] for counts in split_counts], axis=0)
        label_names = self.data_profiles[dataset].get("label_names") or [
            f"y{j}" for j in range(total_counts.shape[1])
        ]
        return [
            LabelScore(name, *(int(v) for v in label_counts))
            for name, label_counts in zip(label_names, total_counts.T, strict=True)
        ]

    def failures(self) -> list[dict[str, Any]]:
        """Return failed cells: data set, method, number of splits, first error."""
        failure_of_method: dict[tuple[str, str], dict[str, Any]] = {}
        for job in self._cells:
            if job["status"] == "failed":
                method_key = (job["spec"]["data"], job["spec"]["method"])
                failure_entry = failure_of_method.setdefault(
                    method_key,
                    {"data": method_key[0], "method": method_key[1], "n": 0, "error": job["error"]},
                )
                failure_entry["n"] += 1
        return list(failure_of_method.values())

    def warnings(self) -> list[tuple[str, str]]:
        """Return (method, warning) pairs, each once."""
        return sorted(
            {(c["spec"]["method"], text) for c in self._cells for text in c["details"].get("warnings", [])}
        )

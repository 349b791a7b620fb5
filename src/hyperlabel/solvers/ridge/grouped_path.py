"""Ridge of labels in groups, each on the samples where it is known (`solvers.moments.label_groups`).

A group is solved from its own moments, or from its samples where moments would take too much memory. What the
scores of a label are like, their mean and spread, is said of all samples, also those where it is unknown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.moments.grouped_moments import GroupedMoments
from hyperlabel.solvers.moments.label_groups import WeightedEntries
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.operators import weighted_row_mean
from hyperlabel.solvers.ridge.evidence import degrees_of_freedom
from hyperlabel.solvers.ridge.factored import RidgePath, RidgeResult
from hyperlabel.solvers.ridge.routes import Solver, alpha_of_labels, choose_alpha, solve_ridge


class GroupedPath(ABC):
    """Solutions of all groups for every λ; labels of which nothing is known keep zeros."""

    solver: str = "gram"
    x_mean: np.ndarray
    counts: np.ndarray
    known: np.ndarray

    def __init__(self, alphas: Sequence[float]) -> None:
        self.alphas = tuple(alphas)
        self._results: dict[float, RidgeResult] = {}

    @abstractmethod
    def _iter_paths(self, alphas: Sequence[float]) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield the labels of each group that knows any sample, and its path."""

    @abstractmethod
    def choose(self) -> float:
        """Return the λ of the evidence, as if an unknown target were the mean of its label."""

    @abstractmethod
    def spread(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each label's scores over all samples."""

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ, and for those announced with it."""
        if alpha not in self._results:
            alphas = self.alphas if alpha in self.alphas else (alpha,)
            shape = (len(self.x_mean), len(self.counts))
            coefs = {value: np.zeros(shape) for value in alphas}
            intercepts = {value: np.zeros(shape[1]) for value in alphas}
            residuals = dict.fromkeys(alphas, 0.0)
            for labels, path in self._iter_paths(alphas):
                self.solver = path.solver
                for value in alphas:
                    result = path.solve(value)
                    coefs[value][:, labels], intercepts[value][labels] = result.coef, result.intercept
                    residuals[value] = max(residuals[value], result.residual)
            self._results |= {a: RidgeResult(coefs[a], intercepts[a], residuals[a]) for a in alphas}
        return self._results[alpha]

    def mean_scores(self, alpha: float) -> np.ndarray:
        """Return the mean score of each label over all samples, on the scale 0/1."""
        return self.spread(alpha)[0]

    def fitted_squares(self, alpha: float) -> np.ndarray:
        """Return the variance of each label's scores, times the weight of the samples that know it."""
        return self.spread(alpha)[1] * self.known


class SummedGroups(GroupedPath):
    """From moments."""

    def __init__(self, moments: GroupedMoments, alphas: Sequence[float] = ()) -> None:
        super().__init__(alphas)
        self.moments = moments
        self.counts, self.known = moments.sum_targets, moments.weight
        overall = moments.overall
        self.x_mean = overall.shift + overall.sum_x / overall.weight

    def _iter_paths(self, alphas: Sequence[float]) -> Iterator[tuple[np.ndarray, Any]]:
        for index, sums in enumerate(self.moments.groups):
            if sums.weight > 0 and sums.n > 0:
                yield self.moments.labels_of(index), RidgePath(sums, alphas=tuple(alphas))

    def choose(self) -> float:
        return alpha_of_groups(self.moments)

    def spread(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        result, overall = self.solve(alpha), self.moments.overall
        x_mean = overall.sum_x / overall.weight
        fitted = overall.gram @ result.coef - np.outer(overall.sum_x, x_mean @ result.coef)
        variances = np.einsum("ij,ij->j", result.coef, fitted) / overall.weight
        return self.x_mean @ result.coef + result.intercept, np.maximum(variances, 0.0)


class RowGroups(GroupedPath):
    """From the samples themselves, one group after the other."""

    def __init__(
        self, X: Any, entries: WeightedEntries, alphas: Sequence[float] = (), *, solver: Solver = "auto"
    ) -> None:
        super().__init__(alphas)
        self.X, self.entries, self.route = X, entries, solver
        self.row_weights = entries.row_weights
        self.counts, self.known = entries.counts()
        self.x_mean = weighted_row_mean(X, self.row_weights)

    def _iter_paths(self, alphas: Sequence[float]) -> Iterator[tuple[np.ndarray, Any]]:
        for group in self.entries.each_group(self.entries.groups()):
            if len(group.rows) and (group.weights is None or group.weights.any()):
                X = self.X if len(group.rows) == self.X.shape[0] else self.X[group.rows]
                yield (
                    group.labels,
                    solve_ridge(
                        X, group.targets, alphas=alphas, solver=self.route, sample_weight=group.weights
                    ),
                )

    def choose(self) -> float:
        weights = None if self.entries.weights is None else self.row_weights
        return choose_alpha(self.X, self.entries.filled(), solver=self.route, sample_weight=weights)

    def spread(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        result, weights = self.solve(alpha), self.row_weights / self.row_weights.sum()
        fitted = as_dense(self.X @ result.coef) + result.intercept
        means = weights @ fitted
        return means, np.maximum(weights @ np.square(fitted - means), 0.0)


def alpha_of_groups(moments: GroupedMoments) -> float:
    """Return the λ of the evidence, as if an unknown target were the mean of its label."""
    filled_sums, shares = moments.filled()
    total = float(np.sum(np.maximum(moments.sum_targets * (1.0 - shares), 0.0)))
    return RidgePath(filled_sums).choose(total, degrees_of_freedom(filled_sums.weight, filled_sums.n))


def sums_path(moments: RowMoments | GroupedMoments, alphas: Sequence[float] = ()) -> Any:
    """Return the ridge path over sums, grouped or not."""
    if isinstance(moments, GroupedMoments):
        return SummedGroups(moments, alphas)
    return RidgePath(moments, alphas=tuple(alphas))


def alpha_of_sums(moments: RowMoments | GroupedMoments, path: Any = None) -> float:
    """Return the λ that the evidence of labels chooses, from their sums (along a path over them)."""
    if isinstance(moments, GroupedMoments):
        return alpha_of_groups(moments)
    return alpha_of_labels(moments, path)

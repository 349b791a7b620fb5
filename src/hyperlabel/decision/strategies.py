"""Threshold strategies: fitted on scores and truth, they decide which scores are high enough.

`ThresholdTuner`, `AutoMultiLabel`, reports and the command line all take them from `STRATEGIES` by name. To
add one, write a subclass of `Strategy` here; `register_strategy` lists it everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from hyperlabel._params import one_of
from hyperlabel._topk import top_k
from hyperlabel.decision.calibration_curves import Sigmoid, expected_f1_sets
from hyperlabel.decision.guarantee_table import Guarantees
from hyperlabel.decision.known_entries import is_complete
from hyperlabel.decision.label_set_size import LabelSetSize
from hyperlabel.decision.risk_control import check_guarantee, guarantee_precision, guarantee_recall
from hyperlabel.decision.risk_control_overall import guarantee_overall_precision, guarantee_overall_recall
from hyperlabel.decision.thresholds import (
    best_k,
    decide,
    find_objective,
    global_threshold,
    per_label_thresholds,
    proportional_thresholds,
)

Fitted = dict[str, Any]  # attributes by name, each ending in an underscore


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What a strategy is fitted on: out-of-fold scores of some rows and their labels.

    `constant` marks labels never (-1) or always (+1) on in training: they are decided already, and would
    only bias what is shared by labels.
    """

    scores: np.ndarray
    Y: sparse.csr_array
    sample_weight: np.ndarray | None = None
    X: Any = None  # rows as numbers, for strategies with `needs_rows`
    constant: np.ndarray | None = None
    groups: np.ndarray | None = None
    names: Any = ()  # of the labels
    on_new_rows: bool = False  # whether the model that will be used has not seen these rows

    @property
    def varies(self) -> np.ndarray:
        """Mark the labels that are not constant."""
        return np.ones(self.scores.shape[1], dtype=bool) if self.constant is None else self.constant == 0

    def varying(self) -> tuple[np.ndarray, sparse.csr_array]:
        """Return the scores and labels of the labels that are not constant."""
        varies = self.varies
        if varies.all():
            return self.scores, self.Y
        return np.ascontiguousarray(self.scores[:, varies]), self.Y[:, varies]

    def take(self, rows: np.ndarray) -> OutOfFold:
        """Return some of the rows."""
        weight, X, groups = (
            None if values is None else values[rows] for values in (self.sample_weight, self.X, self.groups)
        )
        return replace(
            self, scores=self.scores[rows], Y=self.Y[rows], sample_weight=weight, X=X, groups=groups
        )


class Strategy(ABC):
    """How scores become label sets: parameters, `fit` to out-of-fold scores, and `decide`.

    A subclass is a frozen dataclass; its fields are parameters of `ThresholdTuner` of the same names.
    """

    name: ClassVar[str]
    guarantees: ClassVar[bool] = False  # whether it is tested on rows of its own, and takes no score
    needs_rows: ClassVar[bool] = False  # whether it looks at the rows, which must then be numbers

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Strategy:
        """Return the strategy with its own among these parameters."""
        own_names = {own_field.name for own_field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in params.items() if name in own_names})

    def check(self, n_labels: int) -> None:  # noqa: B027 (most take every value)
        """Refuse parameters that cannot be, before anything is fitted."""

    @abstractmethod
    def fit(self, data: OutOfFold) -> Fitted:
        """Return the fitted attributes by name."""

    @abstractmethod
    def decide(
        self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any = None, constant: Any = None
    ) -> np.ndarray:
        """Return the label sets of rows with these scores as a boolean array."""


StrategyType = TypeVar("StrategyType", bound=type[Strategy])
STRATEGIES: dict[str, type[Strategy]] = {}


def register_strategy(strategy: StrategyType) -> StrategyType:
    """List a strategy under its name, as a decorator of the class."""
    if strategy.name in STRATEGIES:
        raise ValueError(f"There is a strategy {strategy.name!r} already.")
    STRATEGIES[strategy.name] = strategy
    return strategy


def make_strategy(name: Any, params: Mapping[str, Any]) -> Strategy:
    """Return the strategy of this name with its own among the parameters."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise ValueError(f"strategy must be {one_of(*STRATEGIES).wording}, got {name!r}.")
    return STRATEGIES[name].of(params)


def constant_thresholds(constant: np.ndarray) -> np.ndarray:
    """Return thresholds that always predict the labels always on in training, and no other."""
    return np.where(constant > 0, -np.inf, np.inf)


def cross_decide(strategy: Strategy, data: OutOfFold, folds: Sequence[tuple[Any, Any]]) -> np.ndarray:
    """Return the label sets of all rows, those of each test fold by a rule fitted on its training rows.

    Examples
    --------
    >>> scores, Y = np.array([[3.0], [0.0], [2.0], [1.0]]), sparse.csr_array([[1.0], [0.0], [1.0], [0.0]])
    >>> folds = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> cross_decide(Global("f1_micro"), OutOfFold(scores, Y), folds).ravel()
    array([ True, False,  True, False])
    """
    label_sets = np.zeros(data.scores.shape, dtype=bool)
    for train_rows, test_rows in folds:
        fitted = strategy.fit(data.take(train_rows))
        X = None if data.X is None else data.X[test_rows]
        label_sets[test_rows] = strategy.decide(fitted, data.scores[test_rows], X, data.constant)
    return label_sets


# -- thresholds -------------------------------------------------------------------------------------


class ThresholdStrategy(Strategy):
    """One threshold for each label, `thresholds_`, kept infinite for constant labels."""

    @abstractmethod
    def find_thresholds(
        self, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the thresholds of these labels."""

    def fit(self, data: OutOfFold) -> Fitted:
        thresholds = np.empty(0)
        if data.varies.any():
            thresholds = self.find_thresholds(*data.varying(), data.sample_weight)
        if data.constant is None:
            return {"thresholds_": thresholds}
        all_thresholds = constant_thresholds(data.constant)
        all_thresholds[data.varies] = thresholds
        return {"thresholds_": all_thresholds}

    def decide(
        self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any = None, constant: Any = None
    ) -> np.ndarray:
        return decide(scores, fitted["thresholds_"])


@register_strategy
@dataclass(frozen=True)
class PerLabel(ThresholdStrategy):
    """A threshold for each label; see :func:`per_label_thresholds`."""

    name: ClassVar[str] = "per_label"
    scoring: str = "f1_macro"
    shrinkage: float = 10.0

    def check(self, n_labels: int) -> None:
        find_objective(self.scoring, self.name)

    def find_thresholds(
        self, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        return per_label_thresholds(
            scores, Y, scoring=self.scoring, shrinkage=self.shrinkage, sample_weight=sample_weight
        ).thresholds


@register_strategy
@dataclass(frozen=True)
class Global(ThresholdStrategy):
    """One threshold for all labels; see :func:`global_threshold`."""

    name: ClassVar[str] = "global"
    scoring: str = "f1_macro"

    def check(self, n_labels: int) -> None:
        find_objective(self.scoring, self.name)

    def find_thresholds(
        self, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        return global_threshold(scores, Y, scoring=self.scoring, sample_weight=sample_weight).thresholds


@register_strategy
@dataclass(frozen=True)
class TopK(Strategy):
    """The `k` best labels of every row; None finds the k that maximises `scoring`."""

    name: ClassVar[str] = "top_k"
    scoring: str = "f1_macro"
    k: int | None = None

    def check(self, n_labels: int) -> None:
        find_objective(self.scoring, self.name)
        if self.k is not None and not 1 <= self.k <= n_labels:
            raise ValueError(f"k must be between 1 and the number of labels ({n_labels}), got {self.k}.")

    def fit(self, data: OutOfFold) -> Fitted:
        scores, Y = data.varying()
        found_k = self.k or best_k(scores, Y, scoring=self.scoring, sample_weight=data.sample_weight)[0]
        return {"k_": found_k}

    def decide(
        self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any = None, constant: Any = None
    ) -> np.ndarray:
        constant = np.zeros(scores.shape[1]) if constant is None else constant
        label_sets = np.broadcast_to(constant > 0, scores.shape).copy()
        best_labels = top_k(scores, min(fitted["k_"], scores.shape[1]))[0]
        np.put_along_axis(label_sets, best_labels, True, axis=1)
        label_sets[:, constant < 0] = False
        return label_sets


@register_strategy
@dataclass(frozen=True)
class Proportional(ThresholdStrategy):
    """Each label as often as in the training labels; see :func:`proportional_thresholds`."""

    name: ClassVar[str] = "proportional"

    def find_thresholds(
        self, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        return proportional_thresholds(scores, Y, sample_weight=sample_weight)


# -- rules for each row -----------------------------------------------------------------------------


class RowStrategy(Strategy):
    """A rule that looks at all scores of a row at once, those of constant labels aside."""

    def decide(
        self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any = None, constant: Any = None
    ) -> np.ndarray:
        constant = np.zeros(scores.shape[1]) if constant is None else constant
        label_sets = np.broadcast_to(constant > 0, scores.shape).copy()
        varies = constant == 0
        label_sets[:, varies] = self.decide_varying(fitted, scores[:, varies], X)
        return label_sets

    @abstractmethod
    def decide_varying(self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any) -> np.ndarray:
        """Return the label sets among the labels that vary."""


@register_strategy
@dataclass(frozen=True)
class RowThreshold(RowStrategy):
    """A threshold for each row, regressed on it; see :class:`LabelSetSize`."""

    name: ClassVar[str] = "label_set_size"
    needs_rows: ClassVar[bool] = True

    def fit(self, data: OutOfFold) -> Fitted:
        if data.sample_weight is not None and data.sample_weight.ndim == 2:
            raise ValueError("The size of a label set belongs to a row: it takes one weight for each row.")
        set_size = LabelSetSize().fit(data.X, *data.varying(), sample_weight=data.sample_weight)
        return {"set_size_": set_size}

    def decide_varying(self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any) -> np.ndarray:
        return fitted["set_size_"].decide(X, scores)


@register_strategy
@dataclass(frozen=True)
class ExpectedF1(RowStrategy):
    """For each row the set of greatest expected F1; see :func:`expected_f1_sets`."""

    name: ClassVar[str] = "expected_f1"

    def fit(self, data: OutOfFold) -> Fitted:
        return {"f1_sigmoid_": Sigmoid.fit(*data.varying(), data.sample_weight)}

    def decide_varying(self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any) -> np.ndarray:
        return expected_f1_sets(fitted["f1_sigmoid_"].probabilities(scores))


# -- guarantees -------------------------------------------------------------------------------------


class GuaranteeStrategy(Strategy):
    """Thresholds with a guarantee, `guarantees_`; every row counts alike, whatever its weight."""

    guarantees: ClassVar[bool] = True

    @abstractmethod
    def find_guarantees(self, data: OutOfFold, names: list[str]) -> Guarantees:
        """Return the guarantees of the labels that vary, which have these names."""

    def fit(self, data: OutOfFold) -> Fitted:
        if not is_complete(data.Y, None):
            raise ValueError(
                f"{self.name!r} counts rows with and without a label, so it needs every label known, as 0 or "
                "1: use another strategy, or keep such rows for the fit and tune with cv='prefit' on others."
            )
        constant = np.zeros(data.scores.shape[1]) if data.constant is None else data.constant
        label_names = [str(name) for name in data.names] or [f"label{j}" for j in range(len(constant))]
        varying_names = [name for name, c in zip(label_names, constant, strict=True) if c == 0]
        guarantees = replace(
            self.find_guarantees(data, varying_names), basis="split" if data.on_new_rows else "cross-fitted"
        )
        guarantees = guarantees.widened(constant, len(data.scores), label_names)
        return {
            "guarantees_": guarantees,
            "thresholds_": guarantees.thresholds,
            "coverage_": float(guarantees.right.sum() / max(guarantees.positives.sum(), 1)),
        }

    def decide(
        self, fitted: Mapping[str, Any], scores: np.ndarray, X: Any = None, constant: Any = None
    ) -> np.ndarray:
        return fitted["guarantees_"].decide(scores)


@register_strategy
@dataclass(frozen=True)
class PrecisionAtLeast(GuaranteeStrategy):
    """The lowest threshold whose precision is guaranteed; see :func:`guarantee_precision`."""

    name: ClassVar[str] = "precision_at_least"
    precision: float = 0.9
    confidence: float = 0.9
    error_control: str | None = None

    def check(self, n_labels: int) -> None:
        check_guarantee(self.precision, self.confidence)

    def find_guarantees(self, data: OutOfFold, names: list[str]) -> Guarantees:
        options: dict[str, Any] = {"groups": data.groups, "confidence": self.confidence}
        if self.error_control == "overall":
            return guarantee_overall_precision(*data.varying(), self.precision, **options)
        options |= {"names": names, "error_control": self.error_control or "fdr"}
        return guarantee_precision(*data.varying(), self.precision, **options)


@register_strategy
@dataclass(frozen=True)
class RecallAtLeast(GuaranteeStrategy):
    """The highest threshold that misses few enough rows of a label; see :func:`guarantee_recall`."""

    name: ClassVar[str] = "recall_at_least"
    recall: float = 0.9
    error_control: str | None = None

    def check(self, n_labels: int) -> None:
        check_guarantee(self.recall, None, "recall")
        if self.error_control == "fdr":
            raise ValueError(
                "error_control='fdr' is about precision: a recall holds in expectation, by label or overall."
            )

    def find_guarantees(self, data: OutOfFold, names: list[str]) -> Guarantees:
        if self.error_control == "overall":
            return guarantee_overall_recall(*data.varying(), self.recall, groups=data.groups)
        return guarantee_recall(*data.varying(), self.recall, groups=data.groups, names=names)

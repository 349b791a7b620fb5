"""The methods of the arena: ours, peers of scikit-learn, and others where they are installed.

A method enters by one Python file that defines ``make(setting)``, an unfitted classifier in scikit-learn's
conventions for an indicator y (or for one label at a time), and may define ``TITLE``, ``SETTINGS`` (a list,
the likeliest first) and ``ONE_BY_ONE = True`` (fit a clone for each label)::

    python -m benchmarks.arena OUT --enter my_method.py
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from hyperlabel import BinaryRelevance, MLkNN
from hyperlabel._base import score_rows
from hyperlabel.linear import ChainEnsemble
from hyperlabel.meta.candidate_selection import MemberCalibrator


@dataclass(frozen=True)
class Entrant:
    """A peer: how a setting is made, the settings to tune, and the package it needs."""

    title: str
    make: Callable[[dict[str, Any]], Any]
    settings: list[dict[str, Any]]
    needs: str = "sklearn"

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.needs) is not None


class DenseLabels(ClassifierMixin, BaseEstimator):
    """Hands labels (and, if asked, samples) to an estimator that takes no sparse ones."""

    def __init__(self, estimator: Any = None, dense_samples: bool = False) -> None:
        self.estimator, self.dense_samples = estimator, dense_samples

    def fit(self, X: Any, y: Any) -> DenseLabels:
        Y = y.toarray() if sparse.issparse(y) else np.asarray(y)
        self.estimator.fit(self._samples(X), Y.astype(np.uint8))
        self.classes_ = np.arange(Y.shape[1])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return score_rows(self.estimator, self._samples(X))

    def _samples(self, X: Any) -> Any:
        return X.toarray() if self.dense_samples and sparse.issparse(X) else X


class SoftVote(ClassifierMixin, BaseEstimator):
    """Mean probability of a logistic regression for each label and a random forest."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Any) -> SoftVote:
        linear = BinaryRelevance(LogisticRegression(C=self.C, max_iter=1000))
        forest = DenseLabels(RandomForestClassifier(100, random_state=0))
        self.estimators_ = [linear.fit(X, y), forest.fit(X, y)]
        self.classes_ = np.arange(y.shape[1])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        linear, forest = (estimator.decision_function(X) for estimator in self.estimators_)
        return (1 / (1 + np.exp(-linear)) + forest) / 2


def one_by_one(make: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda setting: BinaryRelevance(make(**setting))


def _lightgbm(**setting: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **setting)


def _boomer(setting: dict[str, Any]) -> Any:
    from mlrl.boosting import BoomerClassifier

    return DenseLabels(BoomerClassifier(random_state=1, **setting), dense_samples=True)


PEERS = (
    Entrant(
        "logistic regression",
        one_by_one(lambda **s: LogisticRegression(max_iter=1000, **s)),
        [{"C": C} for C in (1.0, 10.0, 0.1)],
    ),
    Entrant("LinearSVC", one_by_one(LinearSVC), [{"C": C} for C in (0.1, 1.0, 0.01)]),
    Entrant(
        "classifier chains",
        lambda s: ChainEnsemble(LogisticRegression(max_iter=1000, **s), n_chains=3, random_state=0),
        [{"C": C} for C in (1.0, 0.1)],
    ),
    Entrant("ML-kNN", lambda s: MLkNN(**s), [{"n_neighbors": k} for k in (10, 20)]),
    Entrant(
        "random forest",
        lambda s: DenseLabels(RandomForestClassifier(100, random_state=0, **s)),
        [{"min_samples_leaf": leaf} for leaf in (1, 3)],
    ),
    Entrant("soft vote", lambda s: SoftVote(**s), [{"C": C} for C in (1.0, 10.0)]),
    Entrant("LightGBM", one_by_one(_lightgbm), [{"n_estimators": 50}, {"n_estimators": 100}], "lightgbm"),
    Entrant(
        "BOOMER",
        _boomer,
        [{"max_rules": 300, "loss": loss} for loss in ("logistic-decomposable", "logistic-non-decomposable")],
        "mlrl.boosting" if importlib.util.find_spec("mlrl") else "mlrl",
    ),
)


def read_entrant(path: Path) -> Entrant:
    """Return the entrant of a Python file (see the module)."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make = module.make
    if getattr(module, "ONE_BY_ONE", False):
        inner = make

        def make(setting: dict[str, Any]) -> Any:
            return BinaryRelevance(inner(setting))

    return Entrant(getattr(module, "TITLE", path.stem), make, getattr(module, "SETTINGS", [{}]))


def calibrated(oof: np.ndarray, Y: Any, scores: np.ndarray) -> np.ndarray:
    """Return probabilities of the scores, by a sigmoid for each label fitted on out-of-fold scores."""
    return MemberCalibrator.fit(oof, Y).sigmoid.probabilities(scores)

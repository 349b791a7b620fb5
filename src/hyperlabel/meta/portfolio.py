"""The portfolio of `AutoMultiLabel`: what it tries, and how each gets out-of-fold scores.

Methods come from the catalogue, by name. The ridge family compares a whole grid from one pass
(`BinaryRelevance(cv=…)`, `FreeSearchCV`), with λ in proportion to the size of the columns; the others
are fitted on each training fold. Methods that fit label by label are timed on a few labels before the
first fold, the first fold then tells whether the rest fits in the time left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from hyperlabel._base import score_rows
from hyperlabel._validation import TargetLayout
from hyperlabel.meta.catalogue import Rows, known
from hyperlabel.meta.free_search import FreeSearchCV

# λ of the ridge family, as multiples of the mean diagonal of XᵀX.
ALPHAS = np.array([1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0])
RANK_SVM_BYTES = 2**30
KERNEL_COLUMNS = 2000  # above, an RBF kernel of standardised columns says little
PROBED = 6  # labels whose fit tells what all labels will take


@dataclass(frozen=True, eq=False)
class Task:
    """The validated problem every candidate gets."""

    X: Any
    Y: sparse.csr_array
    layout: TargetLayout
    splits: list[tuple[np.ndarray, np.ndarray]]
    criterion: Any  # scorer(estimator, X, y) that grids are compared on
    n_jobs: int | None
    random_state: int | None

    def make(self, name: str, **params: Any) -> Any:
        """Return a method of the catalogue for these rows, with the given parameters."""
        model = known(name).make(Rows.of(self.X))
        own = model.get_params()
        fixed = {key: self.random_state for key in own if key.split("__")[-1] == "random_state"}
        if "n_jobs" in own:
            fixed["n_jobs"] = self.n_jobs
        return model.set_params(**fixed | params)

    @property
    def alphas(self) -> list[float]:
        """Ridge λ in proportion to the size of the columns."""
        squares = self.X.multiply(self.X).sum() if sparse.issparse(self.X) else np.square(self.X).sum()
        scale = max(float(squares) / self.X.shape[1], 1e-12)
        return [float(alpha) for alpha in ALPHAS * scale]

    @property
    def large(self) -> bool:
        """Whether one fold at one λ is already seconds of work, so that grids must be short."""
        n, d = self.X.shape
        width = min(n, d)
        return width * self.Y.shape[1] * (n + width) > 2e10

    @property
    def middle_alpha(self) -> float:
        """A λ that is rarely far off, where no grid is searched."""
        return self.alphas[len(ALPHAS) // 2]


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate with out-of-fold scores of every row."""

    name: str
    params: dict[str, Any]
    model: Any  # unfitted, ready for `fit` on all rows
    scores: np.ndarray
    seconds: float
    refit_seconds: float  # what fitting it on all rows will about cost


class OutOfTime(Exception):
    """The candidate would not finish in the time left; says how long it would take."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"would take about {seconds:.0f} s")


@dataclass(frozen=True)
class Candidate:
    """A name and a function from the task (and a deadline) to what was tried."""

    name: str
    run: Callable[[Task, float], Iterator[Tried]] = field(repr=False)
    like_ridge: bool = False  # costs about as much as the ridge grid, tried first


def _ridge(task: Task, deadline: float) -> Iterator[Tried]:
    start = time.perf_counter()
    alphas = task.alphas[3::2] if task.large else task.alphas
    model = task.make("ridge", alpha=alphas, cv=task.splits, scoring=task.criterion)
    model.fit(task.X, task.Y)
    spent = time.perf_counter() - start
    final = task.make("ridge", alpha=model.alpha_)
    yield Tried("ridge", {"alpha": model.alpha_}, final, model.oof_scores_, spent, spent / 4)


def _kernel_ridge(task: Task, deadline: float) -> Iterator[Tried]:
    n, d = task.X.shape
    if sparse.issparse(task.X) or d > KERNEL_COLUMNS:
        raise ValueError(f"wants dense rows of at most {KERNEL_COLUMNS} columns")
    for gamma in known("kernel-ridge").grid(Rows.of(task.X))["nystroem__gamma"]:
        start = time.perf_counter()
        lift, ridge = task.make("kernel-ridge", nystroem__gamma=gamma)
        Z = lift.fit_transform(task.X)
        alphas = [float(alpha) for alpha in n * np.array([1e-6, 1e-5, 1e-4, 1e-3])]
        ridge.set_params(alpha=alphas, cv=task.splits, scoring=task.criterion).fit(Z, task.Y)
        spent = time.perf_counter() - start
        final = task.make("kernel-ridge", nystroem__gamma=gamma, binaryrelevance__alpha=ridge.alpha_)
        params = {"gamma": gamma, "alpha": ridge.alpha_}
        yield Tried("kernel-ridge", params, final, ridge.oof_scores_, spent, spent / 3)
        _stop_if_late(deadline, spent)


def _searched(name: str, model: Any, grid: dict[str, list[Any]], task: Task) -> Tried:
    start = time.perf_counter()
    search = FreeSearchCV(model, grid, cv=task.splits, scoring=task.criterion).fit(task.X, task.Y)
    spent = time.perf_counter() - start
    final = clone(search.estimator_)
    return Tried(name, search.best_params_, final, search.oof_scores_, spent, spent / 4)


def _plst(task: Task, deadline: float) -> Iterator[Tried]:
    rank = min(task.Y.shape)
    sizes = sorted({max(1, round(rank * share)) for share in (0.1, 0.25, 0.5)})
    grid = {"alpha": task.alphas[::2], "n_components": sizes}
    yield _searched("plst", task.make("plst"), grid, task)


def _spectral(task: Task, deadline: float) -> Iterator[Tried]:
    for expansion in ("clique", "zhou"):
        start = time.perf_counter()
        model = task.make("spectral", projection__expansion=expansion)
        yield _searched(f"spectral {expansion}", model, {"alpha": task.alphas[::2]}, task)
        _stop_if_late(deadline, time.perf_counter() - start)


def _stop_if_late(deadline: float, needed: float) -> None:
    if time.perf_counter() + needed > deadline:
        raise OutOfTime(needed)


def _stop_if_labels_take_too_long(model: Any, task: Task, deadline: float) -> None:
    """Fit a few labels of the first fold, from frequent to rare, and stop if all would come too late."""
    K = task.Y.shape[1]
    if K < 4 * PROBED:
        return
    train, _ = task.splits[0]
    by_frequency = np.argsort(-np.asarray(task.Y.sum(axis=0)).ravel(), kind="stable")
    few = by_frequency[np.linspace(0, K - 1, PROBED).astype(int)]
    start = time.perf_counter()
    clone(model).fit(task.X[train], task.Y[train][:, few])
    each = (time.perf_counter() - start) * K / PROBED
    _stop_if_late(deadline, each * (len(task.splits) + 1.3))


def _refitted(name: str, params: dict[str, Any], model: Any, task: Task, deadline: float) -> Tried:
    """Fit on each training fold; after the first, stop if the others would come too late."""
    scores = np.full(task.Y.shape, np.nan)
    start = time.perf_counter()
    for done, (train, test) in enumerate(task.splits, start=1):
        fitted = clone(model).fit(task.X[train], task.Y[train])
        scores[test] = score_rows(fitted, task.X[test], task.layout)
        each = (time.perf_counter() - start) / done
        left = len(task.splits) - done + 1.3  # the fit on all rows as well
        if done < len(task.splits) and time.perf_counter() + left * each > deadline:
            raise OutOfTime(each * (len(task.splits) + 1.3))
    spent = time.perf_counter() - start
    return Tried(name, params, model, scores, spent, 1.3 * spent / len(task.splits))


def _grid_of(name: str) -> Candidate:
    """Return a candidate that fits label by label, for every C of the catalogue, the likeliest first."""

    def run(task: Task, deadline: float) -> Iterator[Tried]:
        for C in known(name).grid(Rows.of(task.X))["estimator__C"]:
            model = task.make(name, estimator__C=C)
            _stop_if_labels_take_too_long(model, task, deadline)
            yield _refitted(name, {"C": C}, model, task, deadline)

    return Candidate(name, run)


def _rank_svm(task: Task, deadline: float) -> Iterator[Tried]:
    model = task.make("rank-svm")
    needed = model.estimate_memory(task.X, task.Y)
    if needed > RANK_SVM_BYTES:
        raise ValueError(f"would take about {needed / 2**30:.1f} GiB of memory")
    yield _refitted("rank-svm", {"C": model.C}, model, task, deadline)


def _neighbours(task: Task, deadline: float) -> Iterator[Tried]:
    alpha = task.middle_alpha
    model = task.make("hopls-mlknn", hopls__alpha=alpha)
    yield _refitted("hopls-mlknn", {"alpha": alpha}, model, task, deadline)


def _chains(task: Task, deadline: float) -> Iterator[Tried]:
    model = task.make("chain-ensemble", estimator__C=0.3)
    _stop_if_labels_take_too_long(model, task, deadline)
    yield _refitted("chain-ensemble", {"C": 0.3, "n_chains": model.n_chains}, model, task, deadline)


# Cheapest first: what is tried before the time is up is the most useful part.
PORTFOLIO = [
    Candidate("ridge", _ridge),
    Candidate("kernel-ridge", _kernel_ridge, like_ridge=True),
    Candidate("plst", _plst, like_ridge=True),
    Candidate("spectral", _spectral, like_ridge=True),
    Candidate("hopls-mlknn", _neighbours),
    _grid_of("linear-svm"),
    Candidate("rank-svm", _rank_svm),
    _grid_of("logistic"),
    Candidate("chain-ensemble", _chains),
]

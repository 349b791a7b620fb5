"""The portfolio of `AutoMultiLabel`: what it tries, and how each gets out-of-fold scores.

Methods come from the catalogue, by name. The ridge family, on rows as they are prepared or through
landmarks, compares a whole grid from one pass (`BinaryRelevance(cv=…)`, `ClosedFormSearchCV`), with λ in
proportion to the size of the columns; a forest brings out-of-fold scores along; all these come fitted on all
rows, but for trees split by means, grown anew on them. The others are fitted on each training fold. Whatever
may be slow is first timed on a few rows (and a few labels where they are fitted one by one); the first fold
then tells whether the rest fits in the time left.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from hyperlabel._base import score_rows
from hyperlabel._validation import TargetLayout
from hyperlabel.forest import LabelForest
from hyperlabel.linear import BinaryRelevance
from hyperlabel.meta.catalogue import LANDMARKS, DataShape, method_spec
from hyperlabel.meta.closed_form_search import ClosedFormSearchCV
from hyperlabel.solvers.clock import working_seconds

# λ of the ridge family, as multiples of the mean diagonal of XᵀX.
ALPHAS = np.array([1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0])
RANK_SVM_BYTES = 2**30
KERNEL_COLUMNS = 2000  # above, an RBF kernel of standardised columns says little
PROBED = 6  # labels whose fit tells what all labels will take
PROBED_ROWS, PROBED_VALUES = 4000, 1e6  # likewise of rows, and of their entries
MOST_LANDMARKS = 3000
LANDMARK_BYTES = 2**31  # of the rows seen through them
TREES = 200
FEW_ROWS, FOLD_TREES = (
    2000,
    100,
)  # up to so many rows each fold has its hundred: fewer would look worse than they are
NEIGHBOUR_ROWS = 50_000  # each is compared with all others


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
    clock: Callable[[], float] = working_seconds  # stands still while code is compiled

    def make(self, name: str, **params: Any) -> Any:
        """Return a method of the catalogue for these rows, with the given parameters."""
        model = method_spec(name).make(DataShape.of(self.X))
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
        """Whether one fold at one λ is already seconds of work, so that there is no time for a grid."""
        n, d = self.X.shape
        width = min(n, d)
        return width * self.Y.shape[1] * (n + width) > 2e10

    @property
    def middle_alpha(self) -> float:
        """A λ that is rarely far off, where no grid is searched."""
        return self.alphas[len(ALPHAS) // 2]


@dataclass(frozen=True, eq=False)
class CandidateRun:
    """A candidate with out-of-fold scores of every row."""

    name: str
    params: dict[str, Any]
    model: Any  # fitted on all rows where `refit_seconds` is 0
    scores: np.ndarray
    seconds: float
    refit_seconds: float  # what fitting it on all rows will about cost

    def fitted(self, task: Task) -> Any:
        """Return the model fitted on all rows."""
        return clone(self.model).fit(task.X, task.Y) if self.refit_seconds else self.model

    @property
    def linear(self) -> bool:
        """Whether its scores are a linear function of the rows as far as can be seen."""
        return not (hasattr(self.model, "steps") or isinstance(self.model, LabelForest))


class OutOfTime(Exception):
    """The candidate would not finish in the time left; says how long it would take."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"would take about {seconds:.0f} s")


@dataclass(frozen=True)
class Candidate:
    """A name and a function from the task (and a deadline) to what was tried."""

    name: str
    run: Callable[[Task, float], Iterator[CandidateRun]] = field(repr=False)
    like_ridge: bool = False  # costs about as much as the ridge grid, tried first


def _run_ridge(task: Task, deadline: float) -> Iterator[CandidateRun]:
    start = task.clock()
    # one λ, of largest evidence, where each would cost another round of scores
    alphas = "auto" if task.large else task.alphas
    model = task.make("ridge", alpha=alphas, threshold=0.0, cv=task.splits, scoring=task.criterion)
    model.fit(task.X, task.Y)
    spent = task.clock() - start
    yield CandidateRun("ridge", {"alpha": model.alpha_}, *_split_off_scores(model), spent, 0.0)


def _split_off_scores(ridge: BinaryRelevance) -> tuple[BinaryRelevance, np.ndarray]:
    """Part a ridge fitted with folds into the fit on all rows and its out-of-fold scores."""
    scores = ridge.oof_scores_
    del ridge.oof_scores_, ridge.cv_results_
    ridge._drop_calibrators()
    return ridge.set_params(alpha=ridge.alpha_, cv=None, scoring=None), scores


def choose_preprocessor(task: Task, deadline: float) -> tuple[Any, Any]:
    """Return how to prepare the rows, and the rows so prepared: what serves the shared ridge best.

    Dense columns get unit variance. Sparse rows are compared at unit length, as tf-idf and as they are, on
    out-of-fold scores at the λ of largest evidence. None of it looks at a label.
    """
    if not sparse.issparse(task.X):
        scaler = StandardScaler().fit(task.X)
        return scaler, scaler.transform(task.X)
    ways: list[Any] = [Normalizer(), None]
    if task.X.data.min(initial=0.0) >= 0:
        ways.insert(1, TfidfTransformer())
    best, found = -np.inf, (None, task.X)
    for way in ways:
        start = task.clock()
        X = task.X if way is None else sparse.csr_array(way.fit_transform(task.X))
        if task.large:
            return way, X
        model = BinaryRelevance(alpha="auto", threshold=0.0, cv=task.splits, scoring=task.criterion)
        value = float(model.fit(X, task.Y).cv_results_["mean_test_score"][0])
        if value > best:
            best, found = value, (way, X)
        now = task.clock()
        if now + 5 * (now - start) > deadline:
            break
    return found


def _landmark_ridge(task: Task, size: int, width: float, alphas: Any) -> tuple[CandidateRun, float]:
    start = task.clock()
    params = {"nystroemrbf__n_components": size, "nystroemrbf__length_scale": width}
    lift, ridge = task.make("kernel-ridge", **params)
    ridge.set_params(alpha=[float(alpha) for alpha in alphas], cv=task.splits, scoring=task.criterion)
    ridge.fit(lift.fit_transform(task.X), task.Y)
    value = float(max(ridge.cv_results_["mean_test_score"]))
    ridge, scores = _split_off_scores(ridge)
    shown = {"landmarks": size, "length_scale": width, "alpha": ridge.alpha_}
    spent = task.clock() - start
    return CandidateRun("kernel-ridge", shown, make_pipeline(lift, ridge), scores, spent, 0.0), value


def _kernel_ridge(task: Task, deadline: float) -> Iterator[CandidateRun]:
    """Few landmarks choose the width; then as many as the time left allows."""
    n, d = task.X.shape
    if not sparse.issparse(task.X) and d > KERNEL_COLUMNS:
        raise ValueError(f"wants dense rows of at most {KERNEL_COLUMNS} columns")
    few = min(LANDMARKS, n)
    _stop_if_late(task, deadline, 2 * _seconds_of_all(task.make("kernel-ridge"), task))
    best, chosen = -np.inf, None
    for width in method_spec("kernel-ridge").grid(DataShape.of(task.X))["nystroemrbf__length_scale"]:
        tried, value = _landmark_ridge(task, few, width, n * np.array([1e-6, 1e-5, 1e-4, 1e-3]))
        yield tried
        if value > best:
            best, chosen = value, tried
        _stop_if_late(task, deadline, tried.seconds)
    assert chosen is not None
    n_affordable = (deadline - task.clock()) / (3 * chosen.seconds)  # the cost grows about as size^1.5
    most = min(n, MOST_LANDMARKS, LANDMARK_BYTES // (4 * n), int(few * min(n_affordable, 1e3) ** (2 / 3)))
    if most > 1.5 * few:
        alphas = chosen.params["alpha"] * np.array([0.3, 1.0])
        yield _landmark_ridge(task, most, chosen.params["length_scale"], alphas)[0]


def _run_forest(task: Task, deadline: float) -> Iterator[CandidateRun]:
    """As many trees as fit in, dealt to the folds: all out-of-fold scores cost one growth."""
    folds = len(task.splits)
    start = task.clock()
    # on few rows means say much of what landmarks say: blended with these, columns add more
    splits = "auto" if task.X.shape[0] > FEW_ROWS else "columns"
    each = _seconds_of_all(task.make("forest", splits=splits, n_estimators=folds), task) / folds
    n_affordable = 0.4 * (deadline - task.clock()) / each
    most = TREES if task.X.shape[0] > FEW_ROWS else max(TREES, FOLD_TREES * folds)
    size = int(min(most, n_affordable)) // folds * folds
    if size < 4 * folds:
        raise OutOfTime(4 * folds * each)
    model = task.make("forest", splits=splits, n_estimators=size, cv=task.splits).fit(task.X, task.Y)
    scores, params = model.oof_scores_, {"n_estimators": size}
    del model.oof_scores_
    spent = task.clock() - start
    # split by columns, trees grown on most of the rows, leaves filled with all, are as good as any
    whole = not model._by_means and min(len(train) for train, _ in task.splits) > task.X.shape[0] / 2
    yield CandidateRun(
        "forest", params, model.set_params(cv=None), scores, spent, 0.0 if whole else 1.3 * spent
    )


def _run_search(name: str, model: Any, grid: dict[str, list[Any]], task: Task) -> CandidateRun:
    start = task.clock()
    search = ClosedFormSearchCV(model, grid, cv=task.splits, scoring=task.criterion).fit(task.X, task.Y)
    spent = task.clock() - start
    return CandidateRun(name, search.best_params_, search.estimator_, search.oof_scores_, spent, 0.0)


def _run_plst(task: Task, deadline: float) -> Iterator[CandidateRun]:
    rank = min(task.Y.shape)
    sizes = sorted({max(1, round(rank * share)) for share in (0.1, 0.25, 0.5)})
    grid = {"alpha": task.alphas[::2], "n_components": sizes}
    yield _run_search("plst", task.make("plst"), grid, task)


def _run_spectral(task: Task, deadline: float) -> Iterator[CandidateRun]:
    model = task.make("spectral", projection__expansion="clique")
    yield _run_search("spectral", model, {"alpha": task.alphas[::2]}, task)


def _stop_if_late(task: Task, deadline: float, needed: float) -> None:
    if task.clock() + needed > deadline:
        raise OutOfTime(needed)


def _seconds_of_all(model: Any, task: Task, labels: Any = slice(None)) -> float:
    """Return what fitting all rows would about take, from a fit of some: it grows as n log n."""
    train, _ = task.splits[0]
    entries = task.X.nnz if sparse.issparse(task.X) else task.X.size
    most = int(min(PROBED_ROWS, max(PROBED_VALUES * task.X.shape[0] / max(entries, 1), 300)))
    some = np.sort(np.random.default_rng(0).permutation(train)[:most])
    start = task.clock()
    clone(model).fit(task.X[some], task.Y[some][:, labels])
    share = len(some) * np.log1p(len(some)) / (len(train) * np.log1p(len(train)))
    return (task.clock() - start) / share


def _stop_if_labels_take_too_long(model: Any, task: Task, deadline: float) -> None:
    """Fit a few labels on a few rows, from frequent to rare, and stop if all would come too late."""
    K = task.Y.shape[1]
    if K < 4 * PROBED and task.X.shape[0] <= PROBED_ROWS:
        return
    by_frequency = np.argsort(-np.asarray(task.Y.sum(axis=0)).ravel(), kind="stable")
    few = by_frequency[np.linspace(0, K - 1, min(K, PROBED)).astype(int)]
    each = _seconds_of_all(model, task, few) * K / len(few)
    _stop_if_late(task, deadline, each * (len(task.splits) + 1.3))


def _run_refits(name: str, params: dict[str, Any], model: Any, task: Task, deadline: float) -> CandidateRun:
    """Fit on each training fold; after the first, stop if the others would come too late."""
    scores = np.full(task.Y.shape, np.nan)
    start = task.clock()
    for done, (train, test) in enumerate(task.splits, start=1):
        fitted = clone(model).fit(task.X[train], task.Y[train])
        scores[test] = score_rows(fitted, task.X[test], task.layout)
        each = (task.clock() - start) / done
        left = len(task.splits) - done + 1.3  # the fit on all rows as well
        if done < len(task.splits) and task.clock() + left * each > deadline:
            raise OutOfTime(each * (len(task.splits) + 1.3))
    spent = task.clock() - start
    return CandidateRun(name, params, model, scores, spent, 1.3 * spent / len(task.splits))


def _grid_of(name: str) -> Candidate:
    """Return a candidate that fits label by label, for every C of the catalogue, the likeliest first."""

    def run(task: Task, deadline: float) -> Iterator[CandidateRun]:
        for C in method_spec(name).grid(DataShape.of(task.X))["estimator__C"]:
            model = task.make(name, estimator__C=C)
            _stop_if_labels_take_too_long(model, task, deadline)
            yield _run_refits(name, {"C": C}, model, task, deadline)

    return Candidate(name, run)


def _rank_svm(task: Task, deadline: float) -> Iterator[CandidateRun]:
    model = task.make("rank-svm")
    needed = model.estimate_memory(task.X, task.Y)
    if needed > RANK_SVM_BYTES:
        raise ValueError(f"would take about {needed / 2**30:.1f} GiB of memory")
    yield _run_refits("rank-svm", {"C": model.C}, model, task, deadline)


def _run_neighbors(task: Task, deadline: float) -> Iterator[CandidateRun]:
    if task.X.shape[0] > NEIGHBOUR_ROWS:
        raise ValueError(f"wants at most {NEIGHBOUR_ROWS} rows")
    alpha = task.middle_alpha
    model = task.make("hopls-mlknn", hopls__alpha=alpha)
    yield _run_refits("hopls-mlknn", {"alpha": alpha}, model, task, deadline)


def _run_chains(task: Task, deadline: float) -> Iterator[CandidateRun]:
    model = task.make("chain-ensemble", estimator__C=0.3)
    _stop_if_labels_take_too_long(model, task, deadline)
    yield _run_refits("chain-ensemble", {"C": 0.3, "n_chains": model.n_chains}, model, task, deadline)


# Cheapest first: what is tried before the time is up is the most useful part.
PORTFOLIO = [
    Candidate("ridge", _run_ridge),
    Candidate("kernel-ridge", _kernel_ridge, like_ridge=True),
    Candidate("forest", _run_forest),
    Candidate("plst", _run_plst, like_ridge=True),
    Candidate("spectral", _run_spectral, like_ridge=True),
    Candidate("hopls-mlknn", _run_neighbors),
    _grid_of("linear-svm"),
    Candidate("rank-svm", _rank_svm),
    _grid_of("logistic"),
    Candidate("chain-ensemble", _run_chains),
]

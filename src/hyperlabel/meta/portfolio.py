"""The portfolio of `AutoMultiLabel`: the candidates, and how each computes its out-of-fold scores.

Methods come from the catalogue, by name. The ridge family, on preprocessed samples or on landmarks, compares
a whole grid in one pass (`BinaryRelevance(cv=…)`, `ClosedFormSearchCV`), with λ in proportion to the size of
the columns. A forest computes out-of-fold scores while it is fitted. Both are then fitted on all samples
already; only trees split by means are grown again. Other methods are fitted on each training fold. A method
that may be slow is first timed on a few samples (and a few labels where they are fitted one by one). Its
first fold then shows whether the remaining folds fit in the budget.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from hyperlabel._base import fit_checked, score_rows
from hyperlabel._missing_labels import label_counts
from hyperlabel._validation import TargetLayout, checked_indicator
from hyperlabel.forest import LabelForest
from hyperlabel.linear import BinaryRelevance
from hyperlabel.meta.catalogue import LANDMARKS, DataShape, method_spec
from hyperlabel.meta.closed_form_search import ClosedFormSearchCV
from hyperlabel.meta.wrapper_base import split_off_scores
from hyperlabel.solvers.clock import working_seconds

# λ of the ridge family, as multiples of the mean diagonal of XᵀX.
ALPHAS = np.array([1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0])
RANK_SVM_BYTES = 2**30
KERNEL_COLUMNS = 2000  # above, distances of standardised columns are nearly equal: an RBF kernel adds little
PROBED = 6  # labels fitted to estimate the time of all
PROBED_ROWS, PROBED_VALUES = 4000, 1e6  # likewise samples, and their entries
MOST_LANDMARKS = 3000
LANDMARK_BYTES = 2**31  # of the landmark features
TREES = 200
# Up to FEW_ROWS samples each fold has a hundred trees: with fewer the forest scores worse than it is.
FEW_ROWS, FOLD_TREES = 2000, 100
NEIGHBOUR_ROWS = 50_000  # each sample is compared with all others


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

    def fit(self, model: Any, rows: Any = None, labels: Any = None) -> Any:
        """Fit a model on some rows (and labels), or on all, with a y that is validated already."""
        X, Y = (self.X, self.Y) if rows is None else (self.X[rows], self.Y[rows])
        Y = Y if labels is None else Y[:, labels]
        return fit_checked(model, X, Y, checked_indicator(Y), {})

    def make(self, name: str, **params: Any) -> Any:
        """Return a method of the catalogue for these samples, with the given parameters."""
        model = method_spec(name).make(DataShape.of(self.X))
        default_params = model.get_params()
        fixed_params = {
            key: self.random_state for key in default_params if key.split("__")[-1] == "random_state"
        }
        if "n_jobs" in default_params:
            fixed_params["n_jobs"] = self.n_jobs
        return model.set_params(**fixed_params | params)

    @property
    def alphas(self) -> list[float]:
        """Ridge λ in proportion to the size of the columns."""
        squared_norm = self.X.multiply(self.X).sum() if sparse.issparse(self.X) else np.square(self.X).sum()
        column_scale = max(float(squared_norm) / self.X.shape[1], 1e-12)
        return [float(alpha) for alpha in ALPHAS * column_scale]

    @property
    def large(self) -> bool:
        """Whether one fold at one λ already takes seconds, so that there is no time for a grid."""
        n, d = self.X.shape
        smaller_side = min(n, d)
        return smaller_side * self.Y.shape[1] * (n + smaller_side) > 2e10

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
        return task.fit(clone(self.model)) if self.refit_seconds else self.model

    @property
    def linear(self) -> bool:
        """Whether its scores are a linear function of the samples, judged by its type."""
        return not (hasattr(self.model, "steps") or isinstance(self.model, LabelForest))


class OutOfTime(Exception):
    """The candidate would not finish in the time left; says how long it would take."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"would take about {seconds:.0f} s")


@dataclass(frozen=True)
class Candidate:
    """A name and a function from the task and a deadline to the candidate runs."""

    name: str
    run: Callable[[Task, float], Iterator[CandidateRun]] = field(repr=False)
    like_ridge: bool = False  # costs about as much as the ridge grid, tried first


def _run_ridge(task: Task, deadline: float) -> Iterator[CandidateRun]:
    start_time = task.clock()
    # Each λ of a grid costs another round of scores: large tasks take the one of largest evidence.
    alphas = "auto" if task.large else task.alphas
    model = task.make("ridge", alpha=alphas, threshold=0.0, cv=task.splits, scoring=task.criterion)
    task.fit(model)
    seconds = task.clock() - start_time
    yield CandidateRun("ridge", {"alpha": model.alpha_}, *_split_off_scores(model), seconds, 0.0)


def _split_off_scores(ridge: BinaryRelevance) -> tuple[BinaryRelevance, np.ndarray]:
    """Return a ridge fitted with folds as the model of all samples and its out-of-fold scores."""
    oof_scores = split_off_scores(ridge)
    del ridge.cv_results_
    return ridge.set_params(alpha=ridge.alpha_, scoring=None), oof_scores


def choose_preprocessor(task: Task, deadline: float) -> tuple[Any, Any]:
    """Return the preprocessor under which the shared ridge scores best, and the preprocessed samples.

    Dense columns get unit variance. Sparse samples are compared at unit length, as tf-idf and unchanged, on
    out-of-fold scores at the λ of largest evidence. No preprocessor is fitted on labels.
    """
    if not sparse.issparse(task.X):
        scaler = StandardScaler().fit(task.X)
        return scaler, scaler.transform(task.X)
    preprocessors: list[Any] = [Normalizer(), None]
    if task.X.data.min(initial=0.0) >= 0:
        preprocessors.insert(1, TfidfTransformer())
    best_score, best_preparation = -np.inf, (None, task.X)
    for preprocessor in preprocessors:
        start_time = task.clock()
        X = task.X if preprocessor is None else sparse.csr_array(preprocessor.fit_transform(task.X))
        if task.large:
            return preprocessor, X
        model = BinaryRelevance(alpha="auto", threshold=0.0, cv=task.splits, scoring=task.criterion)
        mean_score = float(replace(task, X=X).fit(model).cv_results_["mean_test_score"][0])
        if mean_score > best_score:
            best_score, best_preparation = mean_score, (preprocessor, X)
        current_time = task.clock()
        if current_time + 5 * (current_time - start_time) > deadline:
            break
    return best_preparation


def _fit_landmark_ridge(
    task: Task, n_landmarks: int, length_scale: float, alphas: Any
) -> tuple[CandidateRun, float]:
    start_time = task.clock()
    landmark_params = {"nystroemrbf__n_components": n_landmarks, "nystroemrbf__length_scale": length_scale}
    lift, ridge = task.make("kernel-ridge", **landmark_params)
    ridge.set_params(alpha=[float(alpha) for alpha in alphas], cv=task.splits, scoring=task.criterion)
    replace(task, X=lift.fit_transform(task.X)).fit(ridge)
    best_score = float(max(ridge.cv_results_["mean_test_score"]))
    ridge, oof_scores = _split_off_scores(ridge)
    report_params = {"landmarks": n_landmarks, "length_scale": length_scale, "alpha": ridge.alpha_}
    seconds = task.clock() - start_time
    return CandidateRun(
        "kernel-ridge", report_params, make_pipeline(lift, ridge), oof_scores, seconds, 0.0
    ), best_score


def grow_landmarks(n_first: int, first_seconds: float, seconds_left: float) -> int:
    """Return how many landmarks a third of the time left affords, by the time that the first ones took.

    Sums grow as their square, factorisations as their cube: 600 landmarks took .26 s on slashdot, 2600 9.5 s.
    """
    return int(n_first * min(max(seconds_left, 0.0) / (3 * first_seconds), 1e3) ** (1 / 2.5))


def _run_kernel_ridge(task: Task, deadline: float) -> Iterator[CandidateRun]:
    """Choose the length scale with few landmarks, then take as many as the time left allows."""
    n, d = task.X.shape
    if not sparse.issparse(task.X) and d > KERNEL_COLUMNS:
        raise ValueError(f"wants dense rows of at most {KERNEL_COLUMNS} columns")
    n_first = min(LANDMARKS, n)
    _stop_if_late(task, deadline, 2 * _estimate_fit_seconds(task.make("kernel-ridge"), task))
    best_score, best_run = -np.inf, None
    for length_scale in method_spec("kernel-ridge").grid(DataShape.of(task.X))["nystroemrbf__length_scale"]:
        landmark_run, run_score = _fit_landmark_ridge(
            task, n_first, length_scale, n * np.array([1e-6, 1e-5, 1e-4, 1e-3])
        )
        yield landmark_run
        if run_score > best_score:
            best_score, best_run = run_score, landmark_run
        _stop_if_late(task, deadline, landmark_run.seconds)
    assert best_run is not None
    n_affordable = grow_landmarks(n_first, best_run.seconds, deadline - task.clock())
    n_landmarks = min(n, MOST_LANDMARKS, LANDMARK_BYTES // (4 * n), n_affordable)
    if n_landmarks > 1.5 * n_first:
        alphas = best_run.params["alpha"] * np.array([0.3, 1.0])
        yield _fit_landmark_ridge(task, n_landmarks, best_run.params["length_scale"], alphas)[0]


def _run_forest(task: Task, deadline: float) -> Iterator[CandidateRun]:
    """Grow as many trees as time allows, each for one fold: out-of-fold scores cost one forest."""
    n_folds = len(task.splits)
    start_time = task.clock()
    # On few samples splits by means resemble landmarks: split by columns, the forest adds more to the blend.
    split_kind = "auto" if task.X.shape[0] > FEW_ROWS else "columns"
    tree_seconds = (
        _estimate_fit_seconds(task.make("forest", splits=split_kind, n_estimators=n_folds), task) / n_folds
    )
    n_affordable = 0.4 * (deadline - task.clock()) / tree_seconds
    max_trees = TREES if task.X.shape[0] > FEW_ROWS else max(TREES, FOLD_TREES * n_folds)
    n_trees = int(min(max_trees, n_affordable)) // n_folds * n_folds
    if n_trees < 4 * n_folds:
        raise OutOfTime(4 * n_folds * tree_seconds)
    model = task.make("forest", splits=split_kind, n_estimators=n_trees, cv=task.splits)
    task.fit(model)
    oof_scores, params = split_off_scores(model), {"n_estimators": n_trees}
    seconds = task.clock() - start_time
    # Split by columns, trees grown on most samples with leaves filled from all need no second growth.
    keeps_trees = not model._by_means and min(len(train) for train, _ in task.splits) > task.X.shape[0] / 2
    yield CandidateRun(
        "forest",
        params,
        model,
        oof_scores,
        seconds,
        0.0 if keeps_trees else 1.3 * seconds,
    )


def _run_search(name: str, model: Any, grid: dict[str, list[Any]], task: Task) -> CandidateRun:
    start_time = task.clock()
    search = task.fit(ClosedFormSearchCV(model, grid, cv=task.splits, scoring=task.criterion))
    seconds = task.clock() - start_time
    return CandidateRun(name, search.best_params_, search.estimator_, search.oof_scores_, seconds, 0.0)


def _run_plst(task: Task, deadline: float) -> Iterator[CandidateRun]:
    label_rank = min(task.Y.shape)
    component_grid = sorted({max(1, round(label_rank * rank_share)) for rank_share in (0.1, 0.25, 0.5)})
    grid = {"alpha": task.alphas[::2], "n_components": component_grid}
    yield _run_search("plst", task.make("plst"), grid, task)


def _run_spectral(task: Task, deadline: float) -> Iterator[CandidateRun]:
    model = task.make("spectral", projection__expansion="clique")
    yield _run_search("spectral", model, {"alpha": task.alphas[::2]}, task)


def _stop_if_late(task: Task, deadline: float, needed_seconds: float) -> None:
    if task.clock() + needed_seconds > deadline:
        raise OutOfTime(needed_seconds)


def _estimate_fit_seconds(model: Any, task: Task, labels: Any = None) -> float:
    """Return the estimated seconds of a fit on a training fold, from a probe: the time grows as n log n."""
    train_rows, _ = task.splits[0]
    n_entries = task.X.nnz if sparse.issparse(task.X) else task.X.size
    max_rows = int(min(PROBED_ROWS, max(PROBED_VALUES * task.X.shape[0] / max(n_entries, 1), 300)))
    probe_rows = np.sort(np.random.default_rng(0).permutation(train_rows)[:max_rows])
    start_time = task.clock()
    task.fit(clone(model), probe_rows, labels)
    work_share = len(probe_rows) * np.log1p(len(probe_rows)) / (len(train_rows) * np.log1p(len(train_rows)))
    return (task.clock() - start_time) / work_share


def _stop_if_labels_take_too_long(model: Any, task: Task, deadline: float) -> None:
    """Time a few labels, from frequent to rare, on a few samples; stop if all labels would take too long."""
    K = task.Y.shape[1]
    if K < 4 * PROBED and task.X.shape[0] <= PROBED_ROWS:
        return
    counts, _ = label_counts(task.Y, None)
    by_frequency = np.argsort(-np.asarray(counts).ravel(), kind="stable")
    probe_labels = by_frequency[np.linspace(0, K - 1, min(K, PROBED)).astype(int)]
    fit_seconds = _estimate_fit_seconds(model, task, probe_labels) * K / len(probe_labels)
    _stop_if_late(task, deadline, fit_seconds * (len(task.splits) + 1.3))


def _run_refits(name: str, params: dict[str, Any], model: Any, task: Task, deadline: float) -> CandidateRun:
    """Fit on each training fold; stop once the remaining folds would take too long."""
    oof_scores = np.full(task.Y.shape, np.nan)
    start_time = task.clock()
    for n_done, (train_rows, test_rows) in enumerate(task.splits, start=1):
        fold_model = task.fit(clone(model), train_rows)
        oof_scores[test_rows] = score_rows(fold_model, task.X[test_rows], task.layout)
        fold_seconds = (task.clock() - start_time) / n_done
        n_remaining_fits = len(task.splits) - n_done + 1.3  # the fit on all rows as well
        if n_done < len(task.splits) and task.clock() + n_remaining_fits * fold_seconds > deadline:
            raise OutOfTime(fold_seconds * (len(task.splits) + 1.3))
    seconds = task.clock() - start_time
    return CandidateRun(name, params, model, oof_scores, seconds, 1.3 * seconds / len(task.splits))


def _make_grid_candidate(name: str) -> Candidate:
    """Return a candidate that fits label by label, for every C of the catalogue, the likeliest first."""

    def run(task: Task, deadline: float) -> Iterator[CandidateRun]:
        for C in method_spec(name).grid(DataShape.of(task.X))["estimator__C"]:
            model = task.make(name, estimator__C=C)
            _stop_if_labels_take_too_long(model, task, deadline)
            yield _run_refits(name, {"C": C}, model, task, deadline)

    return Candidate(name, run)


def _run_rank_svm(task: Task, deadline: float) -> Iterator[CandidateRun]:
    model = task.make("rank-svm")
    needed_bytes = model.estimate_memory(task.X, task.Y)
    if needed_bytes > RANK_SVM_BYTES:
        raise ValueError(f"would take about {needed_bytes / 2**30:.1f} GiB of memory")
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


# Cheapest first, so that a short budget still tries the most useful ones.
PORTFOLIO = [
    Candidate("ridge", _run_ridge),
    Candidate("kernel-ridge", _run_kernel_ridge, like_ridge=True),
    Candidate("forest", _run_forest),
    Candidate("plst", _run_plst, like_ridge=True),
    Candidate("spectral", _run_spectral, like_ridge=True),
    Candidate("hopls-mlknn", _run_neighbors),
    _make_grid_candidate("linear-svm"),
    Candidate("rank-svm", _run_rank_svm),
    _make_grid_candidate("logistic"),
    Candidate("chain-ensemble", _run_chains),
]

"""A declarative protocol: data × methods × splits → cells for the runner."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._base import score_rows, seeded
from hyperlabel._missing_labels import split_missing
from hyperlabel.apps.comparison.resource_meter import Meter
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset

# Y is handed to estimators dense up to this many entries: some of scikit-learn's take no sparse y.
_DENSE_Y = 50_000_000


def describe_value(value: Any) -> Any:
    """Return a JSON description of a parameter value: the same content, the same description."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "get_params") and not isinstance(value, type):
        value_type = type(value)
        described_params = {key: describe_value(v) for key, v in sorted(value.get_params(deep=False).items())}
        return [f"{value_type.__module__}.{value_type.__qualname__}", described_params]
    if isinstance(value, Mapping):
        return {str(key): describe_value(v) for key, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [describe_value(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    if sparse.issparse(value) or isinstance(value, np.ndarray):
        return hash_arrays(value)
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__dict__"):
        value_type = type(value)
        return [f"{value_type.__module__}.{value_type.__qualname__}", describe_value(vars(value))]
    return repr(value)


def hash_arrays(*arrays: Any) -> str:
    """Hash the content of arrays, dense or sparse."""
    digest = hashlib.sha256()
    for array in arrays:
        if sparse.issparse(array):
            array = sparse.csr_array(array)
            array.sort_indices()
            array_buffers = [array.indptr.astype(np.int64), array.indices.astype(np.int64), array.data]
        else:
            array_buffers = [np.asarray(array)]
        digest.update(repr((np.shape(array), [str(p.dtype) for p in array_buffers])).encode())
        for array_buffer in array_buffers:
            if array_buffer.dtype.kind in "OUT":
                digest.update("\0".join(map(str, array_buffer.ravel())).encode())
            else:
                digest.update(np.ascontiguousarray(array_buffer).tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Method:
    """A method under test: a name, an estimator and, if it is to be tuned, a grid.

    Parameters
    ----------
    name : str
        How tables and figures call it.
    estimator : estimator
        Cloned for every fit; `random_state` parameters left at None get the split's seed.
    grid : dict of str to list, default={}
        Values tried by cross-validation inside each training part; wrap the estimator in a
        `ThresholdTuner` and the thresholds are tuned inside as well.

    Examples
    --------
    >>> from hyperlabel import PLST
    >>> from hyperlabel.apps.comparison import Method
    >>> Method("PLST", PLST(), {"n_components": [2, 4]}).name
    'PLST'
    """

    name: str
    estimator: Any
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Splits:
    """How rows are split into training and test rows.

    Parameters
    ----------
    kind : {"folds", "groups", "time", "random"}, default="folds"
        Stratified folds; folds that keep groups together; training on the past only; random parts
        (`train_size` rows, the rest is tested).
    n_splits : int, default=5
        Folds, or splits in time; for "random" the number of parts.
    n_repeats : int, default=1
        Times the rows are shuffled and divided into folds again.
    train_size : int or float, default=0.9
        For "random": number or share of rows to train on.
    seed : int, default=0
        Seed of the first repeat.

    Examples
    --------
    >>> from hyperlabel.datasets import make_multilabel
    >>> from hyperlabel.apps.comparison import Splits
    >>> parts = Splits("random", 2, train_size=6).parts(make_multilabel(10, 3, 2, random_state=0))
    >>> [(len(train), len(test)) for train, test in parts]
    [(6, 4), (6, 4)]
    """

    kind: str = "folds"
    n_splits: int = 5
    n_repeats: int = 1
    train_size: int | float = 0.9
    seed: int = 0

    def parts(self, data: Dataset) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (train, test) row numbers of every split."""
        if self.kind == "random":
            return [self._draw_random_split(data.n_rows, i) for i in range(self.n_splits * self.n_repeats)]
        split_rows = []
        for repeat in range(1 if self.kind == "time" else self.n_repeats):
            splitter, groups = self._make_splitter(data, repeat)
            split_rows += list(splitter.split(data.X, data.Y, groups))
        return split_rows

    def _make_splitter(self, data: Dataset, repeat: int) -> tuple[Any, Any]:
        from hyperlabel.model_selection import TimeOrderedSplit
        from hyperlabel.model_selection.folds import make_splitter

        shuffle_options: dict[str, Any] = {"shuffle": True, "random_state": self.seed + repeat}
        if self.kind == "folds":
            return make_splitter(self.n_splits, **shuffle_options), None
        if self.kind == "groups":
            if data.groups is None:
                raise ValueError(f"{data.name} has no groups: name the column that holds them.")
            return make_splitter(self.n_splits, data.groups, **shuffle_options), data.groups
        if self.kind == "time":
            if data.time is None:
                raise ValueError(f"{data.name} has no time column: name the column that holds it.")
            return TimeOrderedSplit(self.n_splits), data.time
        raise ValueError(f"kind must be folds, groups, time or random; got {self.kind!r}.")

    def _draw_random_split(self, n: int, i: int) -> tuple[np.ndarray, np.ndarray]:
        row_order = np.random.default_rng([self.seed, i]).permutation(n)
        n_train = self.train_size if isinstance(self.train_size, int) else round(self.train_size * n)
        if not 0 < n_train < n:
            raise ValueError(f"train_size must leave rows on both sides of {n}, got {self.train_size}.")
        return np.sort(row_order[:n_train]), np.sort(row_order[n_train:])


@dataclass(frozen=True, eq=False)
class Protocol:
    """What to run: every method on every split of every data set.

    Parameters
    ----------
    name : str
        Name of the suite in the store.
    datasets : sequence of Dataset
        The data.
    methods : sequence of Method
        The methods, with their grids.
    splits : Splits
        How rows are split into training and test rows.
    scoring : str, default="f1_macro"
        What inner cross-validation selects by, and the first measure of tables.
    inner_cv : int, default=3
        Folds of the inner cross-validation.
    seed : int, default=0
        Base of the seeds given to estimators.

    Examples
    --------
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.datasets import Dataset
    >>> from hyperlabel.apps.comparison import Method, Protocol, Splits, Store, run
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    >>> ridge = Method("ridge", BinaryRelevance(), {"alpha": [1.0, 10.0]})
    >>> protocol = Protocol("tiny", [Dataset(X, Y)], [ridge], Splits("random", 2, train_size=40))
    >>> with Store(":memory:") as store:
    ...     summary = run(protocol.cells(), store, protocol.name)
    >>> summary.computed, summary.failed
    (2, 0)
    """

    name: str
    datasets: Sequence[Dataset]
    methods: Sequence[Method]
    splits: Splits = field(default_factory=Splits)
    scoring: str = "f1_macro"
    inner_cv: int = 3
    seed: int = 0

    def spec(self) -> dict[str, Any]:
        """Describe the protocol as JSON."""
        return {
            "datasets": [data_facts(data) for data in self.datasets],
            "methods": [{"name": m.name, "grid": describe_value(m.grid)} for m in self.methods],
            "splits": describe_value(vars(self.splits)),
            "scoring": self.scoring,
            "inner_cv": self.inner_cv,
            "seed": self.seed,
        }

    def cells(self) -> list[Job]:
        """Return one cell for each data set, method and split, in that order."""
        jobs = []
        for data in self.datasets:
            content_hash = hash_arrays(data.X, data.Y, *([data.missing] if has_gaps(data) else ()))
            split_rows = self.splits.parts(data)
            groups = data.groups if self.splits.kind == "groups" else None
            for method in self.methods:
                for i, (train_rows, test_rows) in enumerate(split_rows):
                    job_spec = {
                        "data": data.name,
                        "content": content_hash,
                        "method": method.name,
                        "estimator": describe_value(method.estimator),
                        "grid": describe_value(method.grid),
                        "split": i,
                        "rows": hash_arrays(train_rows, test_rows),
                        "n_train": len(train_rows),
                        "n_test": len(test_rows),
                        "scoring": self.scoring if method.grid else None,
                        "inner_cv": self.inner_cv if method.grid else None,
                        "groups": None if groups is None else hash_arrays(groups),
                        "seed": self.seed + i,
                    }
                    fit_options = (self.scoring, self.inner_cv, self.seed + i, groups)
                    jobs.append(
                        Job(
                            job_spec,
                            partial(fit_and_score, data, method, train_rows, test_rows, *fit_options),
                        )
                    )
        return jobs


def has_gaps(data: Dataset) -> bool:
    """Say whether some label entries of a data set are unknown."""
    return data.missing is not None and data.missing.nnz > 0


def known_targets(data: Dataset) -> Any:
    """Return the labels as methods are given them: dense where that is small, NaN where nobody knows."""
    Y = data.Y
    if has_gaps(data):
        gaps = sparse.csr_array(data.missing, dtype=np.float64)
        gaps.data[:] = np.nan
        Y = sparse.csr_array(Y.astype(np.float64) + gaps)
    return Y.toarray() if data.n_rows * data.n_labels <= _DENSE_Y else Y


def data_facts(data: Dataset) -> dict[str, Any]:
    """Return the size of a data set as JSON."""
    gap_facts = {"unknown_entries": int(data.missing.nnz)} if has_gaps(data) else {}
    return {
        "name": data.name,
        "rows": data.n_rows,
        "features": data.n_features,
        "labels": data.n_labels,
        "labels_per_row": round(data.Y.sum() / max(data.n_rows, 1), 3),
        **gap_facts,
    }


def fit_and_score(
    data: Dataset,
    method: Method,
    train: np.ndarray,
    test: np.ndarray,
    scoring: str,
    inner_cv: int,
    seed: int,
    groups: Any = None,
) -> JobResult:
    """Tune inside the training rows, fit, predict the test rows, measure; groups stay in one fold."""
    from hyperlabel.metrics import evaluate
    from hyperlabel.model_selection.groups import groups_for_fit

    Y = known_targets(data)
    X_train, Y_train = data.X[train], Y[train]
    train_groups = None if groups is None else np.asarray(groups)[train]
    job_details: dict[str, Any] = {}
    with Meter() as fit_meter:
        model = seeded(method.estimator, seed)
        if method.grid:
            best_params = tune_grid(
                model, method.grid, X_train, Y_train, scoring, inner_cv, seed, train_groups
            )
            job_details["chosen"] = describe_value(best_params)
            model.set_params(**best_params)
        model.fit(X_train, Y_train, **groups_for_fit(model, train_groups))
    with Meter() as predict_meter:
        predicted_sets = model.predict(data.X[test])
        gives_scores = hasattr(model, "decision_function") or hasattr(model, "predict_proba")
        test_scores = score_rows(model, data.X[test]) if gives_scores else None
    test_metrics = evaluate(Y[test], predicted_sets, test_scores)
    job_details["labels"] = label_score_counts(Y[test], predicted_sets)
    job_measurements = [Measurement(method.name, name, float(value)) for name, value in test_metrics.items()]
    job_cost = {
        "fit_seconds": fit_meter.seconds,
        "predict_seconds": predict_meter.seconds,
        "peak_mb": fit_meter.peak_mb,
    }
    return JobResult(job_measurements, job_cost, job_details)


def tune_grid(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    X: Any,
    Y: Any,
    scoring: Any,
    folds: int,
    seed: int,
    groups: Any = None,
) -> dict[str, Any]:
    """Return the choice of the grid with the best mean score over stratified folds; groups stay together."""
    from sklearn.model_selection import ParameterGrid

    from hyperlabel.model_selection.folds import make_folds

    cv = make_folds(folds, sparse.csr_array(Y), groups, shuffle=True, random_state=seed)
    grid_points = list(ParameterGrid(grid))
    mean_scores = [mean_score(model, grid_point, X, Y, scoring, cv, groups) for grid_point in grid_points]
    best_params: dict[str, Any] = grid_points[int(np.nanargmax(mean_scores))]
    return best_params


def mean_score(
    model: Any, choice: Mapping[str, Any], X: Any, Y: Any, scoring: Any, cv: Any, groups: Any = None
) -> float:
    """Return the mean cross-validation score of a model with the chosen parameters."""
    from sklearn.base import clone

    from hyperlabel.model_selection import cross_val_scores

    candidate = clone(model).set_params(**choice)
    fold_scores = cross_val_scores(candidate, X, Y, scoring=scoring, cv=cv, groups=groups)
    return float(np.mean(fold_scores["test_score"]))


def label_score_counts(Y_true: Any, Y_pred: Any) -> dict[str, list[int]]:
    """Return true positives, predicted and actual positives per label among the known entries.

    They are enough for any F-measure.
    """
    true_sets, missing = split_missing(sparse.csr_array(Y_true))
    predicted_sets = sparse.csr_array(Y_pred)
    if missing is not None:
        predicted_sets = predicted_sets - predicted_sets.multiply(missing)
    hit_sets = true_sets.multiply(predicted_sets)
    return {
        name: [int(v) for v in np.asarray(matrix.sum(axis=0)).ravel()]
        for name, matrix in (("hits", hit_sets), ("predicted", predicted_sets), ("actual", true_sets))
    }

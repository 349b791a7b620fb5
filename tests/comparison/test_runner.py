from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification

from hyperlabel import BinaryRelevance
from hyperlabel.apps.comparison import Job, JobResult, Measurement, Method, Protocol, Splits, Store, run
from hyperlabel.datasets import Dataset


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=90, n_features=8, n_classes=4, random_state=1)
    return Dataset(X, Y, name="made")


def protocol_on(data, **changes):
    methods = [
        Method("ridge", BinaryRelevance(), {"alpha": [0.1, 10.0]}),
        Method("broken", BinaryRelevance(alpha=-1.0)),
    ]
    given = {"splits": Splits("folds", 3, 2, seed=5), "scoring": "f1_micro"} | changes
    return Protocol("suite", [data], methods, **given)


def test_killed_at_twenty_random_moments_it_ends_with_the_same_bytes(tmp_path):
    script = Path(__file__).with_name("kill_suite.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path, "20", "0"],
        capture_output=True,
        text=True,
        timeout=900,  # half a minute on a free machine
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 20


def test_side_by_side_and_one_by_one_give_the_same_bytes(data, tmp_path):
    tables = []
    for n_jobs in (1, 2):
        protocol = protocol_on(data)
        with Store(tmp_path / f"{n_jobs}.sqlite") as store:
            summary = run(protocol.cells(), store, "suite", n_jobs=n_jobs)
            tables.append(repr(store.values("suite")))
        assert (summary.computed, summary.failed) == (12, 6)
    assert tables[0] == tables[1]


class SeesGroups(ClassifierMixin, BaseEstimator):
    """Refuses to be fitted without the groups of exactly its rows, or to be tested on a group it knows."""

    tested: ClassVar[list] = []

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y, groups=None):
        assert groups is not None
        np.testing.assert_array_equal(groups, X[:, 0])
        self.groups_ = set(groups)
        self.classes_ = np.arange(y.shape[1])
        return self

    def predict(self, X):
        assert not self.groups_ & set(X[:, 0])
        self.tested.append(self.C)
        return np.zeros((len(X), len(self.classes_)), dtype=int)


def test_groups_stay_together_where_a_method_is_tuned(data):
    groups = np.repeat(np.arange(15.0), 6)
    X = np.column_stack([groups, data.X])
    grouped = Dataset(X, data.Y, name="grouped", groups=groups)
    methods = [Method("sees", SeesGroups(), {"C": [1.0, 2.0]})]
    protocol = Protocol("suite", [grouped], methods, Splits("groups", 3), scoring="f1_micro")
    with Store(":memory:") as store:
        summary = run(protocol.cells(), store, "suite")
        assert (summary.computed, summary.failed) == (3, 0), store.cells("suite")
    assert len(SeesGroups.tested) == 3 * (2 * 3 + 1)
    regrouped = Dataset(X, data.Y, name="grouped", groups=groups + 1)
    other = Protocol("suite", [regrouped], methods, Splits("groups", 3), scoring="f1_micro")
    assert {cell.id for cell in protocol.cells()}.isdisjoint({cell.id for cell in other.cells()})


def test_a_failed_cell_keeps_its_error_and_the_rest_go_on(data):
    with Store(":memory:") as store:
        run(protocol_on(data).cells(), store, "suite")
        cells = store.cells("suite")
        failed = [cell for cell in cells if cell["status"] == "failed"]
        assert len(failed) == 6
        assert all("alpha must be" in cell["error"] for cell in failed)
        done = [cell for cell in cells if cell["status"] == "done"]
        assert {cell["details"]["chosen"]["alpha"] for cell in done} <= {0.1, 10.0}
        assert all(cell["fit_seconds"] > 0 for cell in done)
        again = run(protocol_on(data).cells(), store, "suite")
        assert (again.computed, again.resumed) == (0, 12)
        retried = run(protocol_on(data).cells(), store, "suite", retry_failed=True)
        assert (retried.computed, retried.failed) == (6, 6)
        anew = run(protocol_on(data).cells(), store, "suite", fresh=True)
        assert anew.computed == 12


def test_other_data_parameters_or_rows_are_other_cells(data):
    ids = {cell.id for cell in protocol_on(data).cells()}
    assert ids == {cell.id for cell in protocol_on(data).cells()}
    changed = Dataset(np.asarray(data.X) + 1e-9, data.Y, name="made")
    assert not ids & {cell.id for cell in protocol_on(changed).cells()}
    assert not ids & {cell.id for cell in protocol_on(data, splits=Splits("folds", 3, 2, seed=6)).cells()}
    tuned = protocol_on(data, scoring="hamming_loss")
    assert len(ids & {cell.id for cell in tuned.cells()}) == 6  # the method without a grid is the same


def test_progress_warnings_and_details_are_kept():
    import warnings

    def work():
        warnings.warn("scale your features", UserWarning, stacklevel=1)
        return JobResult([Measurement("a", "m", float("nan"))], details={"k": 1})

    seen = []
    with Store(":memory:") as store:
        run([Job({"i": 0}, work)], store, "s", progress=lambda *a: seen.append(a), command="hyperlabel x")
        cell = store.cells("s")[0]
        assert cell["details"].pop("cpu_seconds") >= 0
        assert cell["details"] == {"k": 1, "warnings": ["UserWarning: scale your features"]}
        assert np.isnan(store.values("s")[0]["value"])
        assert store.suite("s")["command"] == "hyperlabel x"
        store.put_artifact("s", "portrait", {"n": 3})
        assert store.artifact("s", "portrait") == {"n": 3}
        assert store.artifact("s", "other") is None
        with pytest.raises(ValueError, match="holds no suite 'nope'"):
            store.suite("nope")
    assert seen == [(1, 1, 0, {"i": 0})]


def test_a_worker_that_is_killed_costs_only_its_own_cell():
    def die_or_work(i):  # inside, so that it travels to the workers by value
        if i == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return JobResult([Measurement("a", "m", float(i))])

    cells = [Job({"i": i}, partial(die_or_work, i)) for i in range(3)]
    with Store(":memory:") as store:
        summary = run(cells, store, "s", n_jobs=2)
        assert (summary.computed, summary.failed) == (3, 1)
        assert [c["status"] for c in store.cells("s")] == ["done", "failed", "done"]
        assert "was killed" in store.cells("s")[1]["error"]


def test_equal_cells_are_refused():
    cell = Job({"i": 0}, JobResult)
    with Store(":memory:") as store, pytest.raises(ValueError, match="same specification"):
        run([cell, Job({"i": 0}, JobResult)], store, "s")


def test_a_file_that_is_no_store_is_named(tmp_path):
    path = tmp_path / "x.sqlite"
    path.write_text("not a database, but long enough to be looked at as one" * 40)
    with pytest.raises(ValueError, match="x.sqlite is not a hyperlabel results file"):
        Store(path)


def test_time_and_group_splits(data):
    with pytest.raises(ValueError, match="has no groups"):
        Splits("groups").parts(data)
    with pytest.raises(ValueError, match="has no time column"):
        Splits("time").parts(data)
    with pytest.raises(ValueError, match="kind must be"):
        Splits("other").parts(data)
    grouped = Dataset(data.X, data.Y, groups=np.arange(90) // 3, time=np.arange(90))
    for train, test in Splits("groups", 3).parts(grouped):
        assert not set(grouped.groups[train]) & set(grouped.groups[test])
    for train, test in Splits("time", 3).parts(grouped):
        assert grouped.time[train].max() < grouped.time[test].min()
    train, test = Splits("random", 1, train_size=30).parts(data)[0]
    assert len(train) == 30
    assert sorted([*train, *test]) == list(range(90))


def work_that_counts_threads():
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((50, 50)) @ np.ones((50, 50))
    pools = threadpool_info()
    most = max((pool["num_threads"] for pool in pools), default=1)
    return JobResult(
        [Measurement("threads", "most", float(most)), Measurement("threads", "pools", float(len(pools)))]
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_runs_with_one_blas_thread_whatever_is_set_outside(n_jobs):
    from threadpoolctl import threadpool_limits

    cells = [Job({"fold": fold}, work_that_counts_threads) for fold in range(2)]
    with Store(":memory:") as store, threadpool_limits(2):
        run(cells, store, "threads", n_jobs=n_jobs)
        counts = {(row["metric"], row["value"]) for row in store.values("threads")}
    assert ("most", 1.0) in counts
    assert not {value for metric, value in counts if metric == "most"} - {1.0}
    assert min(value for metric, value in counts if metric == "pools") > 0

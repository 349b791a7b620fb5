"""Dask fits against fits in memory; the cluster tests run real worker processes."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from hyperlabel import BinaryRelevance, HypergraphSpectral

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
client_module = pytest.importorskip("distributed")

from hyperlabel import distributed  # noqa: E402
from hyperlabel.distributed._fit import _Blocks, _sum_blocks  # noqa: E402
from hyperlabel.moments.blocks import add_scans, open_fit, scan_block, sum_block  # noqa: E402
from hyperlabel.solvers.moments.row_moments import RowMoments  # noqa: E402

N, D, K = 300, 6, 4


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7) + 5.0
    Y = (X @ rng.normal(size=(D, K)) + rng.normal(size=(N, K)) > 3.0).astype(int)
    Y[:, 1] = 0
    return X, Y


@pytest.fixture(scope="module")
def client():
    quick = {"distributed.comm.timeouts.connect": "3s"}  # a dead worker is given up sooner
    with (
        dask.config.set(quick),
        client_module.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        client_module.Client(cluster) as client,
    ):
        yield client


def _sparse(array):
    return array.map_blocks(sparse.csr_array)


def _same(a, b, X, rtol=1e-8):
    if hasattr(a, "decision_function"):
        mine, theirs = a.decision_function(X), b.decision_function(X)
    else:  # a projection is fixed by its metric, not by the signs of its columns
        mine, theirs = (Z @ Z.T for Z in (a.transform(X), b.transform(X)))
    assert_allclose(mine, theirs, rtol=0, atol=rtol * np.abs(theirs).max())


MODELS = [BinaryRelevance(alpha=2.0), HypergraphSpectral(edge_weights="compactness")]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("rows", [1000, 77, (1, 0, 150, 149)])
@pytest.mark.parametrize("wrap", [lambda a: a, _sparse], ids=["dense", "sparse"])
def test_any_chunks_equal_the_fit_in_memory(model, rows, wrap, data):
    X, Y = data
    whole = clone(model).fit(X, Y)
    features = da.from_array(X, chunks=(rows, 4))
    for label_rows in (rows, 64):
        labels = da.from_array(Y, chunks=(label_rows, K))
        got = distributed.fit(clone(model), wrap(features), wrap(labels))
        _same(got, whole, X)


def test_weights_and_one_dimensional_y(data):
    X, Y = data
    w = np.random.default_rng(1).random(N)
    rows = da.from_array(X, chunks=(90, D))
    got = distributed.fit(
        BinaryRelevance(), rows, da.from_array(Y, chunks=50), sample_weight=da.from_array(w, chunks=70)
    )
    _same(got, BinaryRelevance().fit(X, Y, w), X)
    y = np.array(["a", "b", "c"])[np.arange(N) // 100]
    got = distributed.fit(BinaryRelevance(), rows, da.from_array(y, chunks=40))
    assert (got.predict(X) == BinaryRelevance().fit(X, y).predict(X)).all()


def test_dataframes_keep_their_names(data):
    X, Y = data
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    Y = pd.DataFrame(Y, columns=list("abcd"))
    frame = dd.from_pandas(X, npartitions=4)
    got = distributed.fit(BinaryRelevance(), frame, dd.from_pandas(Y, npartitions=4))
    whole = BinaryRelevance().fit(X, Y)
    _same(got, whole, X)
    assert list(got.label_names_) == list("abcd")
    assert list(got.feature_names_in_) == list(X.columns)
    found = distributed.predict(got, frame).compute()
    assert list(found.columns) == list("abcd")
    assert (found.to_numpy() == whole.predict(X)).all()
    with pytest.raises(ValueError, match="same partitions"):
        distributed.fit(BinaryRelevance(), frame, dd.from_pandas(Y, npartitions=2))


def test_labels_fan_out_for_a_classifier_per_label(data):
    X, Y = data
    model = BinaryRelevance(LogisticRegression())
    whole = clone(model).fit(X, Y)
    rows, labels = da.from_array(X, chunks=(90, D)), da.from_array(Y, chunks=(50, K))
    got = distributed.fit(clone(model), rows, labels, label_block=2)
    _same(got, whole, X)
    got = distributed.fit(clone(model), _sparse(rows), labels)
    assert_allclose(got.predict_proba(X), whole.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("draw_weights", [lambda rng: 5 * rng.random(N), lambda rng: rng.integers(0, 2, N)])
@pytest.mark.parametrize(
    "classifier", [LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)]
)
def test_a_classifier_per_label_heeds_the_weights(draw_weights, classifier, data):
    X, Y = data
    weights = draw_weights(np.random.default_rng(1)).astype(float)
    model = BinaryRelevance(classifier)
    got = distributed.fit(
        clone(model),
        da.from_array(X, chunks=(60, D)),
        da.from_array(Y, chunks=(90, K)),
        sample_weight=da.from_array(weights, chunks=70),
    )
    _same(got, clone(model).fit(X, Y, sample_weight=weights), X)
    unweighted = clone(model).fit(X, Y).predict_proba(X)
    assert np.abs(got.predict_proba(X) - unweighted).max() > 0.01


def test_adding_up_leaves_the_inputs_of_a_task_as_they_were(data):
    """A worker may die and Dask add its neighbours' sums once more: they must still be theirs."""
    X, Y = data
    model = HypergraphSpectral(edge_weights="compactness")
    open_fit(model, X, Y)
    blocks = [slice(0, 100), slice(100, 180), slice(180, N)]
    scans = [scan_block(model, X[rows], Y[rows]) for rows in blocks]
    model._use_scan(_sum_blocks(add_scans, scans))
    sums = [sum_block(model, X[rows], Y[rows]) for rows in blocks]
    for add, parts, to_arrays in ((add_scans, scans, dict), (RowMoments.add, sums, RowMoments.to_arrays)):
        before = [{name: np.copy(value) for name, value in to_arrays(part).items()} for part in parts]
        first, again = (to_arrays(_sum_blocks(add, [None, *parts])) for _ in range(2))
        for name in first:
            np.testing.assert_array_equal(first[name], again[name])
        for part, old in zip(parts, before, strict=True):
            for name, value in to_arrays(part).items():
                np.testing.assert_array_equal(value, old[name])


def test_sums_kept_on_the_workers_give_the_same_total_twice(data):
    X, Y = data
    kept = {}

    def sum_and_keep(model, X, labels, weights):
        key = float(X[0, 0]), len(X)
        return kept.setdefault(key, sum_block(model, X, labels, weights))

    blocks = _Blocks(da.from_array(X, chunks=(77, D)), da.from_array(Y, chunks=(77, K)), None, None)
    blocks._how = {"scheduler": "synchronous"}
    model = blocks.open(BinaryRelevance(), None, None)
    first = blocks.total(sum_and_keep, model, RowMoments.add).to_arrays()
    again = blocks.total(sum_and_keep, model, RowMoments.add).to_arrays()
    assert int(first["n"]) == int(again["n"]) == N
    np.testing.assert_array_equal(first["gram"], again["gram"])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_predictions_are_collections(container, data):
    X, Y = data
    model = BinaryRelevance().fit(X, container(Y))
    rows = da.from_array(X, chunks=(110, 4))
    found = distributed.predict(model, rows)
    assert found.shape == (N, K)
    assert found.chunks[0] == rows.chunks[0]
    blocks = [block.compute() for block in found.blocks]
    stacked = sparse.vstack(blocks).toarray() if sparse.issparse(blocks[0]) else np.vstack(blocks)
    expected = model.predict(X)
    assert sparse.issparse(blocks[0]) == sparse.issparse(expected)
    assert (stacked == (expected.toarray() if sparse.issparse(expected) else expected)).all()
    assert_allclose(distributed.predict(model, rows, output="scores"), model.decision_function(X))
    best, scores = distributed.predict(model, rows, output="topk", k=2)
    assert (best.compute() == model.predict_topk(X, k=2)[0]).all()
    assert scores.shape == (N, 2)


def test_what_is_no_collection_gets_a_sentence(data):
    X, Y = data
    with pytest.raises(TypeError, match="Dask array"):
        distributed.fit(BinaryRelevance(), X, Y)
    with pytest.raises(ValueError, match="rows but y has"):
        distributed.fit(BinaryRelevance(), da.from_array(X), da.from_array(Y[:7]))
    with pytest.raises(TypeError, match="not a function of sums"):
        distributed.fit(LogisticRegression(), da.from_array(X), da.from_array(Y))


# -- real processes ----------------------------------------------------------------------------------


def test_searches_run_over_dask_through_joblib(client, data):
    X, Y = data
    search = GridSearchCV(BinaryRelevance(), {"alpha": [0.1, 10.0]}, cv=2, scoring="f1_micro")
    with joblib.parallel_config("dask"):
        over_dask = clone(search).fit(X, Y)
    assert_allclose(over_dask.cv_results_["mean_test_score"], search.fit(X, Y).cv_results_["mean_test_score"])


def test_a_worker_killed_mid_fit_changes_nothing(client, data):
    X, Y = data
    # a lambda travels by value: workers need not import this file
    slowly = lambda block: (time.sleep(0.15), block)[1]  # noqa: E731
    rows = da.from_array(X, chunks=(15, D)).map_blocks(slowly, dtype=float)
    labels = da.from_array(Y, chunks=(15, K))
    client.run(lambda: importlib.import_module("hyperlabel.moments.blocks") and None)
    victim = next(iter(client.run(os.getpid).values()))

    def kill():
        time.sleep(0.8)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    got = distributed.fit(BinaryRelevance(), rows, labels, client=client)
    killer.join()
    _same(got, BinaryRelevance().fit(X, Y), X, rtol=1e-12)
    with pytest.raises(ProcessLookupError):  # it was mid-fit indeed
        os.kill(victim, 0)


def test_without_dask_the_library_imports_and_says_what_is_missing():
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "import hyperlabel\n"
        "try:\n    hyperlabel.distributed\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install 'hyperlabel[dask]'" in done.stdout, done.stderr


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_labels_with_gaps_give_the_fit_in_memory(estimator, class_weight):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0.2).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = BinaryRelevance(estimator, class_weight=class_weight)
    expected = clone(model).fit(X, Y)
    found = distributed.fit(model, da.from_array(X, chunks=(40, 4)), da.from_array(Y, chunks=(40, 3)))
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("by_entry", [False, True])
def test_gaps_and_weights_give_the_fit_in_memory(by_entry):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0.2).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    W = rng.gamma(1.0, size=Y.shape)
    weights = W if by_entry else W[:, 0]
    chunks = (40, 3) if by_entry else 40
    rows, labels = da.from_array(X, chunks=(40, 4)), da.from_array(Y, chunks=(40, 3))
    found = distributed.fit(
        BinaryRelevance(), rows, labels, sample_weight=da.from_array(weights, chunks=chunks)
    )
    expected = BinaryRelevance().fit(X, Y, sample_weight=weights)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-9)

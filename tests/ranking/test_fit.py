"""Memory and costs of a ranking fit."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from hyperlabel import HypergraphRankSVM, RankSVM

TIGHT = {"tol": 1e-11, "max_iter": 50_000, "random_state": 0}


def make(seed=0, n=60, d=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 2.0
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(int)
    Y[0], Y[1] = 0, 1
    return X, Y


def peak_of(model, X, Y):
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_label_costs():
    X, Y = make(6, n=150)
    Y[:, 3] = Y[:, 3] * (np.arange(150) % 6 == 0)
    plain = RankSVM(1.0, **TIGHT).fit(X, Y)
    ones = RankSVM(1.0, label_cost=np.ones(4), **TIGHT).fit(X, Y)
    assert_allclose(ones.coef_, plain.coef_)
    balanced = RankSVM(1.0, label_cost="balanced", **TIGHT).fit(X, Y)
    counts = Y.sum(axis=0)
    by_hand = RankSVM(1.0, label_cost=counts.mean() / counts, **TIGHT).fit(X, Y)
    assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-6)
    named = RankSVM(1.0, label_cost={"label3": 5.0}, **TIGHT).fit(X, Y)
    rare = Y[:, 3] == 1
    place = (-plain.rank_scores(X)).argsort(axis=1).argsort(axis=1)[rare, 3].mean()
    assert (-named.rank_scores(X)).argsort(axis=1).argsort(axis=1)[rare, 3].mean() <= place
    for wrong, says in (("even", "balanced"), ([1.0], "each of the 4"), ({"nobody": 1}, "nobody")):
        with pytest.raises(ValueError, match=says):
            RankSVM(1.0, label_cost=wrong).fit(X, Y)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (RankSVM(1.0, max_iter=1), (3000, 60, 120)),
        (RankSVM(max_iter=1, random_state=0), (3000, 60, 120)),
        (RankSVM(max_iter=1, random_state=0), (1500, 60, 120)),
        (RankSVM(1.0, max_iter=1, solver_options={"dual_dtype": "float32"}), (3000, 60, 120)),
        (RankSVM(1.0, max_iter=1), (6000, 300, 5)),
        (HypergraphRankSVM(1.0, max_iter=1), (2000, 400, 20)),
        (HypergraphRankSVM(1.0, max_iter=1), (500, 2000, 10)),
        (RankSVM(1.0, kernel="rbf", max_iter=1), (800, 20, 10)),
        (HypergraphRankSVM(1.0, kernel="rbf", max_iter=1), (800, 20, 10)),
        (RankSVM(1.0, max_iter=1), (4000, 600, -10)),
        (RankSVM(1.0, max_iter=1), (4000, 4000, -50)),
        (HypergraphRankSVM(1.0, max_iter=1), (2000, 500, -10)),
    ],
    ids=str,
)
def test_memory_estimate_is_within_half_of_the_measured(model, shape):
    n, d, k = shape  # k < 0: sparse rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) if k > 0 else sparse.random_array((n, d), density=0.03, rng=rng, format="csr")
    Y = sparse.csr_array((rng.random((n, abs(k))) < 0.1).astype(np.uint8))
    peak_of(model, X[:50], Y[:50])  # compiled code is loaded before counting
    expected, found = model.estimate_memory(X, Y), peak_of(model, X, Y)
    assert expected / 1.5 < found < expected * 1.5


def test_too_large_fits_are_refused_with_advice():
    X, Y = make(12)
    for model, advice in (
        (RankSVM(memory_limit=1000), "'dual_dtype': 'float32'"),
        (HypergraphRankSVM(memory_limit=1000), "hypergraph_weight=0"),
        (RankSVM(kernel="rbf", memory_limit=1000), "kernel='linear'"),
    ):
        with pytest.raises(ValueError, match="more than memory_limit") as refusal:
            model.fit(X, Y)
        assert advice in str(refusal.value)

"""Paths of ranking fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hyperlabel import HypergraphRankSVM, RankSVM, rank_svm_path

TIGHT = {"tol": 1e-11, "max_iter": 50_000, "random_state": 0}


def make(seed=0, n=60, d=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 2.0
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(int)
    Y[0], Y[1] = 0, 1
    return X, Y


def test_path_equals_separate_fits_and_warm_starts():
    X, Y = make(11, n=120)
    Cs, weights = [0.5, 2.0, 1.0], [0.0, 0.3]
    path = rank_svm_path(X, Y, Cs=Cs, hypergraph_weights=weights, **TIGHT)
    for model in path:
        alone = HypergraphRankSVM(model.C, hypergraph_weight=model.hypergraph_weight, **TIGHT).fit(X, Y)
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-5)
    X, Y = make(11, n=400, d=12)
    quick = {"tol": 1e-3, "random_state": 0}
    warm = sum(m.n_iter_ for m in rank_svm_path(X, Y, Cs=[1.0, 1.1, 1.2, 1.3], **quick))
    cold = sum(RankSVM(C, **quick).fit(X, Y).n_iter_ for C in [1.0, 1.1, 1.2, 1.3])
    assert warm < cold
    again = RankSVM(1.0, warm_start=True, **quick).fit(X, Y)
    assert again.fit(X, Y).n_iter_ == 0
    with pytest.raises(ValueError, match="at least one C"):
        rank_svm_path(X, Y, Cs=[])

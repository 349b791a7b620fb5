"""Neighbours as estimators search them: in blocks, in any unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from hyperlabel import MLkNN
from hyperlabel.neighbors._search import find_neighbors


def direct(X, Y, X_new, k=10, s=1.0, metric="euclidean"):
    """Posterior probabilities by the formulas of the paper, label by label."""
    n, n_labels = Y.shape
    inside = cdist(X, X, metric)
    np.fill_diagonal(inside, np.inf)  # leave self out by index
    near = np.argsort(inside, axis=1, kind="stable")[:, :k]
    near_new = np.argsort(cdist(X_new, X, metric), axis=1, kind="stable")[:, :k]
    answer = np.empty((len(X_new), n_labels))
    for l in range(n_labels):
        has = Y[:, l] == 1
        prior = (s + has.sum()) / (2 * s + n)
        C = Y[near, l].sum(axis=1)
        c1 = np.array([(C[has] == j).sum() for j in range(k + 1)])
        c0 = np.array([(C[~has] == j).sum() for j in range(k + 1)])
        p1, p0 = (s + c1) / (s * (k + 1) + c1.sum()), (s + c0) / (s * (k + 1) + c0.sum())
        j = Y[near_new, l].sum(axis=1)
        answer[:, l] = prior * p1[j] / (prior * p1[j] + (1 - prior) * p0[j])
    return answer


def agree(model, X_new, expected):
    ordinary = model._constant == 0
    np.testing.assert_allclose(model.predict_proba(X_new)[:, ordinary], expected[:, ordinary], rtol=1e-9)
    scores = model.decision_function(X_new)
    predicted = model.predict(X_new)
    predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
    np.testing.assert_array_equal(predicted == 1, scores > 0)
    np.testing.assert_array_equal(model.predict_proba(X_new) > 0.5, scores > 0)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(90, 4)).astype(float)  # many duplicates, many equal distances
    Y = (rng.random((90, 5)) < [0.1, 0.3, 0.5, 0.7, 0.9]).astype(int)
    X_new = rng.integers(0, 3, size=(40, 4)).astype(float)
    return X, Y, X_new


def test_blocks_do_not_change_the_neighbours(small, monkeypatch):
    X, Y, X_new = small
    whole = MLkNN(metric="chebyshev").fit(sparse.csr_array(X), Y).log_odds_
    for room in ("hyperlabel.solvers.arrays.BLOCK_BYTES", "hyperlabel.neighbors._search.BLOCK_BYTES"):
        monkeypatch.setattr(room, 800)
    np.testing.assert_array_equal(MLkNN(metric="chebyshev").fit(sparse.csr_array(X), Y).log_odds_, whole)
    agree(MLkNN().fit(X, Y), X_new, direct(X, Y, X_new))


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1e-18, 1e-12, 1.0, 1e12, 1e30, 1e100])
def test_neighbours_do_not_depend_on_the_unit_of_the_features(size):
    """Below 1e-19 the float32 products that choose whom to measure vanished, and neighbours were wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    X[:20] *= 1e-12  # a tight cluster, whose own distances are far below the rest
    found = find_neighbors(X * size, X * size, 4, skip=np.arange(80))
    exact = ((X[:, None].astype(np.longdouble) - X) ** 2).sum(axis=2)
    np.fill_diagonal(exact, np.inf)
    np.testing.assert_array_equal(found.index, np.argsort(exact, axis=1, kind="stable")[:, :4])

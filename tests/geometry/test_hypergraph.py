"""The label hypergraph against dense Laplacians."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.geometry import LabelHypergraph


def _labels(seed: int = 0, n: int = 14, k: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, k)) < 0.35).astype(float)
    Y[2] = 0.0  # an unlabelled sample
    Y[:, 3] = 0.0  # an empty label
    return Y


def _similarity(Y: np.ndarray, w: np.ndarray, expansion: str) -> np.ndarray:
    """The literal definitions, built pair by pair (clique), from the star graph, by matrices."""
    n, k = Y.shape
    size = Y.sum(axis=0)
    if expansion == "clique":
        A = np.array([[(w * Y[u] * Y[v]).sum() for v in range(n)] for u in range(n)])  # (2)
        D = A.sum(axis=1)
    elif expansion == "star":
        M = np.array([[w[e] / size[e] if Y[u, e] else 0.0 for e in range(k)] for u in range(n)])  # (4)
        D, De = M.sum(axis=1), M.sum(axis=0)
        A = M @ np.diag([1 / x if x > 0 else 0.0 for x in De]) @ M.T  # (6)
    elif expansion == "zhou":
        D = Y @ w
        A = Y @ np.diag([w[e] / size[e] if size[e] else 0.0 for e in range(k)]) @ Y.T  # (7)
    else:
        Yc = Y - Y.mean(axis=0)
        return Yc @ np.linalg.pinv(Yc.T @ Yc, rcond=1e-10, hermitian=True) @ Yc.T
    root = np.array([1 / np.sqrt(x) if x > 0 else 0.0 for x in D])
    return root[:, None] * A * root


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_quadratic_forms_equal_the_dense_laplacian(expansion, as_sparse):
    Y = _labels(1)
    X = np.random.default_rng(2).normal(size=(14, 4))
    graph = LabelHypergraph(Y, weights=[1.0, 2.0, 0.5, 1.0, 1.0])
    given = sparse.csr_array(X) if as_sparse else X
    for normalized in (False, True):
        L = graph.laplacian(expansion, normalized=normalized) @ np.eye(14)
        assert_allclose(
            graph.quadratic_form(given, expansion, normalized=normalized), X.T @ L @ X, atol=1e-12
        )
    assert_allclose(graph.laplacian(expansion, normalized=False) @ np.ones(14), np.zeros(14), atol=1e-12)
    L = np.eye(14) - _similarity(Y, np.ones(5), "cca")
    assert_allclose(graph.quadratic_form(given, "cca", normalized=True), X.T @ L @ X, atol=1e-12)


def test_an_offset_costs_the_quadratic_form_nothing():
    Y, rng = _labels(3, n=60), np.random.default_rng(4)
    X = rng.normal(size=(60, 4))
    graph = LabelHypergraph(Y)
    near, far = graph.quadratic_form(X), graph.quadratic_form(X + 1e3)
    assert np.abs(near - far).max() < 1e-11 * np.abs(near).max()


@pytest.mark.parametrize("weights", ["uniform", "compactness"])
def test_a_sample_weight_is_a_repetition(weights):
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(40, 4)), (rng.random((40, 3)) < 0.4).astype(float)
    s = rng.integers(0, 4, 40)
    rows = np.repeat(np.arange(40), s)
    once = LabelHypergraph(Y, X, weights=weights, sample_weight=s.astype(float))
    written_out = LabelHypergraph(Y[rows], X[rows], weights=weights)
    assert_allclose(once.weights, written_out.weights, rtol=1e-10)
    assert_allclose(once.quadratic_form(X), written_out.quadratic_form(X[rows]), atol=1e-9)
    assert_allclose(once.quadratic_form(sparse.csr_array(X)), written_out.quadratic_form(X[rows]), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_random_walk_is_the_literal_transition_matrix(weighted):
    Y, w = _labels(6), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    Y[2] = 0.0
    s = np.random.default_rng(1).integers(1, 4, len(Y)).astype(float) if weighted else np.ones(len(Y))
    graph = LabelHypergraph(Y, weights=w, sample_weight=s if weighted else None)
    P, size = np.zeros((len(Y), len(Y))), s @ Y
    for u in range(len(Y)):  # choose an edge of u by its weight, then a sample on it by its own
        for e in np.flatnonzero(Y[u]):
            P[u] += w[e] / (w @ Y[u]) * s * Y[:, e] / size[e]
    found = graph.transition_matrix() @ np.eye(len(Y))
    assert_allclose(found, P, atol=1e-12)
    assert_allclose(graph.transition_matrix().T @ np.eye(len(Y)), P.T, atol=1e-12)
    walks = Y.any(axis=1)
    assert_allclose(found.sum(axis=1), walks)
    pi = graph.stationary_distribution()
    assert_allclose(pi @ P, pi, atol=1e-12)
    assert_allclose(pi.sum(), 1.0)
    assert_allclose(np.linalg.matrix_power(P[np.ix_(walks, walks)], 500)[0], pi[walks], atol=1e-6)
    if not weighted:  # Zhou's similarity is the walk made symmetric: S = D^(1/2) P D^(-1/2)
        root = np.sqrt(graph.degrees("zhou")[walks])
        S = _similarity(Y, w, "zhou")[np.ix_(walks, walks)]
        assert_allclose(root[:, None] * P[np.ix_(walks, walks)] / root, S, atol=1e-12)


def test_nowhere_to_walk_is_refused():
    with pytest.raises(ValueError, match="nowhere to go"):
        LabelHypergraph(np.zeros((3, 2))).stationary_distribution()


@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_a_sample_weight_is_a_repetition_in_the_normalised_form_too(expansion):
    rng = np.random.default_rng(7)
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 3)) < 0.4).astype(float)
    s = rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), s)
    once, written_out = LabelHypergraph(Y, sample_weight=s.astype(float)), LabelHypergraph(Y[rows])
    want = written_out.quadratic_form(X[rows], expansion, normalized=True)
    for given in (X, sparse.csr_array(X)):
        assert_allclose(once.quadratic_form(given, expansion, normalized=True), want, atol=1e-9)
    with pytest.raises(ValueError, match="repeat the samples"):
        once.quadratic_form(X, "cca", normalized=True)

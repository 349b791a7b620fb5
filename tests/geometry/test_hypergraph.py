from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.geometry import EXPANSIONS, EdgeMoments, ExpansionFactor, LabelHypergraph, edge_weights


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


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_factors_give_the_literal_similarities(expansion, weighted):
    Y = _labels()
    w = np.array([0.5, 2.0, 1.0, 3.0, 0.0]) if weighted else np.ones(5)
    graph = LabelHypergraph(Y, weights=w)
    S = _similarity(Y, w, expansion)
    F = graph.factor(expansion).toarray()
    if expansion == "cca":
        F = F - F.mean(axis=0)
    assert np.isfinite(F).all()
    assert_allclose(F @ F.T, S, atol=1e-12)
    L = graph.laplacian(expansion)
    assert_allclose(L @ np.eye(len(Y)), np.eye(len(Y)) - S, atol=1e-12)
    assert_allclose(L @ np.arange(14.0), (np.eye(len(Y)) - S) @ np.arange(14.0), atol=1e-11)
    assert_allclose(graph.factor(expansion).centered_gram(), (F - F.mean(0)).T @ (F - F.mean(0)), atol=1e-12)


@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_blocks_of_rows_give_the_rows_of_the_factor(expansion):
    Y = sparse.csr_array(_labels())
    rule = ExpansionFactor(expansion)
    edges = rule.edges(rule.count(Y))
    whole = rule.on(Y, edges)
    assert_allclose(rule.on(Y[5:9], edges).toarray(), whole.toarray()[5:9])
    assert sparse.issparse(whole.tosparse())


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


def test_compactness_is_the_mean_squared_distance_of_pairs():
    Y, X = _labels(5), np.random.default_rng(6).normal(size=(14, 3)) + 100.0
    Y[:, 4] = 0
    Y[7, 4] = 1  # a single member
    scatter = np.full(5, np.nan)
    for e in range(3):
        rows = X[Y[:, e] > 0]
        pairs = [((a - b) ** 2).sum() for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j]
        scatter[e] = np.mean(pairs)
    sums = EdgeMoments.from_rows(sparse.csr_array(Y), X)
    assert_allclose(sums.scatter(), scatter)
    parts = EdgeMoments.from_rows(sparse.csr_array(Y[:6]), X[:6], shift=sums.shift)
    parts.add(EdgeMoments.from_rows(sparse.csr_array(Y[6:]), X[6:], shift=sums.shift))
    assert_allclose(parts.scatter(), scatter)
    sparse_sums = EdgeMoments.from_rows(sparse.csr_array(Y), sparse.csr_array(X))
    assert_allclose(sparse_sums.scatter(), scatter)
    literal = edge_weights("compactness-literal", sums, nu=0.5)
    assert_allclose(literal, [*np.exp(-0.5 * scatter[:3]), 1.0, 1.0])
    relative = edge_weights("compactness", sums, nu=0.5)
    assert_allclose(relative, [*np.exp(-0.5 * scatter[:3] / scatter[:3].mean()), 1.0, 1.0])


def test_weights_that_make_no_sense_are_refused():
    sums = EdgeMoments.from_rows(sparse.csr_array(_labels()))
    names = np.array(list("abcde"))
    assert_allclose(edge_weights({"b": 3.0, 2: 0.5}, sums, label_names=names), [1, 3, 0.5, 1, 1])
    for wrong, sentence in [
        ("magic", "Unknown edge_weights"),
        ({"z": 1.0}, "which y does not have"),
        ([1.0, 2.0], "one number for each"),
        ([-1.0, 1, 1, 1, 1], "not negative"),
        (np.zeros(5), "Every hyperedge weight is 0"),
        ("compactness", "need the rows X"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            edge_weights(wrong, sums, label_names=names)
    with pytest.raises(ValueError, match="Unknown expansion"):
        ExpansionFactor("square")


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

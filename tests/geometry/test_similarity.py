"""Label factors against the literal similarity matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hyperlabel.geometry import EXPANSIONS, LabelHypergraph


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

"""LPP: against the dense eigenproblem."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.metrics import pairwise_distances
from tests.projection import oracles
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import LPP
from hyperlabel.projection import lpp

SHAPES = [(60, 12), (25, 40)]


def check(model, values, W, tol=1e-8):
    assert model.components_.T.shape == W.shape
    assert oracles.metric_error(model.components_.T, W) < tol
    assert_allclose(model.eigenvalues_, values, rtol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_lpp_equals_the_dense_eigenproblem(shape, alpha):
    X, _ = make_data(39, *shape)
    n = len(X)
    squared = pairwise_distances(X) ** 2
    near = np.argsort(squared + np.diag(np.full(n, np.inf)), axis=1)[:, :4]
    linked = np.zeros((n, n), dtype=bool)
    linked[np.repeat(np.arange(n), 4), near.ravel()] = True
    width = squared[np.repeat(np.arange(n), 4), near.ravel()].mean()
    A = np.where(linked | linked.T, np.exp(-squared / width), 0.0)
    D = A.sum(axis=1)
    Xc = X - D @ X / D.sum()
    s, Q = linalg.eigh(Xc.T @ (D[:, None] * Xc))
    s, Q = s[s > 1e-10 * s[-1]], Q[:, s > 1e-10 * s[-1]]
    half = Q / np.sqrt(s + alpha)
    values, V = linalg.eigh(half.T @ Xc.T @ A @ Xc @ half)
    for given in (X, sparse.csr_array(X)):
        model = LPP(3, n_neighbors=4, alpha=alpha).fit(given)
        assert_allclose(model.width_, width)
        check(model, values[::-1][:3], (half @ V)[:, ::-1][:, :3])
    assert np.abs(LPP(n_neighbors=4, alpha=0.0).fit(X).eigenvalues_).max() <= 1 + 1e-10
    nearest = squared[np.arange(n), near[:, 0]].mean()
    assert_allclose(LPP(n_neighbors=1).fit(1e-3 * X).width_, 1e-6 * nearest)


def test_lpp_names_the_side_it_solved_on():
    X = np.random.default_rng(0).normal(size=(12, 8))
    assert [LPP(2, n_neighbors=3).fit(rows).solver_ for rows in (X, X.T)] == ["gram", "samples"]


@pytest.mark.parametrize("shape", [(12, 8), (8, 12), (10, 10)])
def test_lpp_factors_no_matrix_larger_than_the_smaller_side(shape, monkeypatch):
    sizes = []
    spectrum = lpp._range_basis
    monkeypatch.setattr(lpp, "_range_basis", lambda gram: (sizes.append(gram.shape), spectrum(gram))[1])
    LPP(2, n_neighbors=3).fit(np.random.default_rng(0).normal(size=shape))
    assert sizes == [(min(shape), min(shape))]

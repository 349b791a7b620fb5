"""MDDM: against the eigenvectors of the cross-covariance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from tests.projection import oracles
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import MDDM

SHAPES = [(60, 12), (25, 40)]


def check(model, values, W, tol=1e-8):
    assert model.components_.T.shape == W.shape
    assert oracles.metric_error(model.components_.T, W) < tol
    assert_allclose(model.eigenvalues_, values, rtol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_mddm_projection_is_the_top_eigenvectors_of_the_cross_covariance(shape):
    X, Y = make_data(34, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    values, V = linalg.eigh(Xc.T @ Yc @ Yc.T @ Xc)
    for given in (X + 100.0, sparse.csr_array(X)):
        for c in (None, 2):
            model = MDDM(c).fit(given, Y)
            check(model, values[::-1][: c or 4], V[:, ::-1][:, : c or 4])
            assert model.solver_ == "none"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_mddm_feature_variant(shape, mu):
    X, Y = make_data(35, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    C = mu * Xc.T @ Xc + (1 - mu) * np.eye(X.shape[1])
    s, Q = linalg.eigh(C)
    half = Q[:, s > 1e-10 * s[-1]] / np.sqrt(s[s > 1e-10 * s[-1]])
    values, V = linalg.eigh(half.T @ Xc.T @ Yc @ Yc.T @ Xc @ half)
    check(MDDM(variant="feature", mu=mu).fit(X, Y), values[::-1][:4], (half @ V)[:, ::-1][:, :4])

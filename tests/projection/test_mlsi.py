"""MLSI: both variants against dense eigenproblems."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.decomposition import PCA
from tests.projection import oracles
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import MLSI

SHAPES = [(60, 12), (25, 40)]


def check(model, values, W, tol=1e-8):
    assert model.components_.T.shape == W.shape
    assert oracles.metric_error(model.components_.T, W) < tol
    assert_allclose(model.eigenvalues_, values, rtol=1e-7)


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_mlsi_projection_reading(shape, beta):
    X, Y = make_data(36, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    K = (1 - beta) * Xc @ Xc.T + beta * Yc @ Yc.T
    for given, solver in ((X, "auto"), (sparse.csr_array(X), "gram"), (X, "samples")):
        model = MLSI(3, beta=beta, alpha=0.5, variant="projection", solver=solver).fit(given, Y)
        check(model, *oracles.generalised(X, K, 0.5, 3))


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [(60, 12), (25, 40), (14, 12)])
def test_mlsi_latent_reading(shape, beta):
    X, Y = make_data(37, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    K = (1 - beta) * Xc @ Xc.T + beta * Yc @ Yc.T
    right = Xc.T @ linalg.pinvh(K, rtol=1e-10) @ Xc + 0.5 * np.eye(X.shape[1])
    values, W = linalg.eigh(Xc.T @ Xc, right)
    values, W = values[::-1][:3], W[:, ::-1][:, :3]
    for given, solver in ((X, "auto"), (sparse.csr_array(X), "gram"), (X, "samples")):
        model = MLSI(3, beta=beta, alpha=0.5, solver=solver).fit(given, Y)
        check(model, values, W * np.sqrt(values), tol=1e-7)


def test_mlsi_latent_reading_is_pca_when_rows_are_many():
    X, Y = make_data(38, n=200)
    W = MLSI(3, beta=0.7).fit(X, Y).components_
    pca = PCA(3).fit(X).components_
    cosines = linalg.svdvals((W / np.linalg.norm(W, axis=1, keepdims=True)) @ pca.T)
    assert_allclose(cosines, 1.0, atol=1e-8)

"""Principal label directions: every route against scipy's dense SVD."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.spectral import label_svd
from hyperlabel.solvers.spectral.label_svd import predictable_directions, principal_directions


def _labels(seed=0, n=120, K=40):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 6)) @ rng.normal(size=(6, K)) + 0.5 * rng.normal(size=(n, K))
    return sparse.csr_array((latent > 2.0).astype(float))


def _assert_same_subspace(found, Y, offset, M, atol):
    Z = Y.toarray() - offset
    _, sigma, Vt = linalg.svd(Z, full_matrices=False)
    assert_allclose(found.singular_values, sigma[:M], atol=atol * sigma[0])
    P = found.components
    assert_allclose(P @ P.T, np.eye(M), atol=1e-9)
    angles = linalg.subspace_angles(P.T, Vt[:M].T)
    assert angles.max() < atol * sigma[0] / (sigma[M - 1] - sigma[M])
    assert (P[np.arange(M), np.abs(P).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("reference", ["mean", "origin"])
@pytest.mark.parametrize("route", ["label gram", "sample gram", "operator"])
def test_singular_subspaces_equal_the_dense_svd(monkeypatch, reference, route):
    Y = _labels(n=30 if route == "sample gram" else 120)
    if route != "label gram":
        monkeypatch.setattr(label_svd, "GRAM_MAX", 35 if route == "sample gram" else 5)
    offset = Y.toarray().mean(axis=0) if reference == "mean" else np.zeros(40)
    found = principal_directions(Y, 7, offset=offset)
    _assert_same_subspace(found, Y, offset, 7, atol=1e-5 if route == "operator" else 1e-10)
    assert found.converged
    assert found.residual < 1e-6


def test_none_means_the_rank_and_constant_labels_are_legal():
    Y = _labels(n=12, K=30)
    offset = Y.toarray().mean(axis=0)
    rank = np.linalg.matrix_rank(Y.toarray() - offset)
    assert len(principal_directions(Y, offset=offset).components) == rank
    constant = principal_directions(sparse.csr_array(np.ones((5, 3))), offset=np.ones(3))
    assert constant.components.shape == (1, 3)
    assert_allclose(constant.singular_values, 0, atol=1e-12)


def test_too_many_directions_for_the_iterative_route_are_refused(monkeypatch):
    monkeypatch.setattr(label_svd, "GRAM_MAX", 5)
    with pytest.raises(ValueError, match="ask for at most 10"):
        principal_directions(_labels(), 20)


@pytest.mark.parametrize("d", [4, 60])
def test_predictable_directions_equal_the_textbook(d):
    Y = _labels(3, n=150, K=12)
    X = np.random.default_rng(0).normal(size=(150, d)) @ np.diag(np.linspace(0.1, 3, d))
    found = predictable_directions(RowMoments.from_rows(X, Y).centered(), 0.7, 3)
    Xc, Yc = X - X.mean(axis=0), Y.toarray() - Y.toarray().mean(axis=0)
    A = Yc.T @ Xc @ np.linalg.solve(Xc.T @ Xc + 0.7 * np.eye(d), Xc.T @ Yc)
    values, vectors = np.linalg.eigh(A)
    assert_allclose(found.singular_values**2, values[::-1][:3], rtol=1e-9)
    assert linalg.subspace_angles(found.components.T, vectors[:, ::-1][:, :3]).max() < 1e-7
    assert found.residual < 1e-10


def test_the_residual_of_predictable_directions_is_relative():
    """Targets in another unit have the same directions, and the same residual up to rounding."""
    X = np.random.default_rng(0).normal(size=(150, 4))
    Y = 1e5 * _labels(3, n=150, K=12).toarray()
    found = predictable_directions(RowMoments.from_rows(X, Y).centered(), 0.7, 3)
    assert found.singular_values[0] > 1e5
    assert found.residual < 1e-10


def test_directions_of_an_ill_conditioned_gram_are_refused_without_a_ridge_alone():
    X = np.random.default_rng(0).normal(size=(150, 2)) * [1e7, 1.0]
    sums = RowMoments.from_rows(X, _labels(3, n=150, K=12)).centered()
    assert predictable_directions(sums, 0.5).residual < 1e-10
    with pytest.raises(ValueError, match="alpha = 0 has no reliable answer"):
        predictable_directions(sums, 0.0)

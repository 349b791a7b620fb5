"""Conjugate gradients over label blocks: the exact ridge, its true residual, a warning where missed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.solvers.ridge import conjugate_gradients
from hyperlabel.solvers.ridge.conjugate_gradients import ConjugateRidge
from hyperlabel.solvers.ridge.label_blocks import block_width


@pytest.fixture
def text():
    """Rows whose columns differ in frequency by three orders, as words do; one label nobody has."""
    rng = np.random.default_rng(0)
    frequency = 0.6 * np.arange(1, 91) ** -1.1
    X = sparse.csr_array((rng.random((150, 90)) < frequency) * rng.random((150, 90)))
    Y = sparse.csr_array((rng.random((150, 12)) < 0.2) * (np.arange(12) != 5) * 1.0)
    return X, Y


def exact(X, Y, alpha, weight):
    root = np.sqrt(weight)[:, None]
    Xc = root * (X.toarray() - np.average(X.toarray(), axis=0, weights=weight))
    Yc = root * (Y.toarray() - np.average(Y.toarray(), axis=0, weights=weight))
    return Xc.T @ Xc + alpha * np.eye(X.shape[1]), Xc.T @ Yc


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.01, 10.0])
def test_the_solution_is_the_exact_ridge(text, alpha, weighted):
    X, Y = text
    weight = np.random.default_rng(1).integers(0, 4, size=150).astype(float) if weighted else None
    A, B = exact(X, Y, alpha, np.ones(150) if weight is None else weight)
    ridge = ConjugateRidge(X, alpha, sample_weight=weight)
    found, fitted = ridge.solve(Y, tol=1e-10)
    assert_allclose(found.coef, np.linalg.solve(A, B), atol=1e-7)
    std = np.einsum("ij,ij->j", found.coef, (A - alpha * np.eye(len(A))) @ found.coef)
    assert_allclose(fitted, std, atol=1e-9)
    scores = X @ found.coef + found.intercept
    assert_allclose(
        np.average(scores, axis=0, weights=weight), np.average(Y.toarray(), axis=0, weights=weight)
    )
    assert not found.coef[:, 5].any()


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 2e-4])
def test_residual_and_error_are_those_of_the_coefficients_returned(text, tol):
    X, Y = text
    A, B = exact(X, Y, 1.0, np.ones(150))
    found, _ = ConjugateRidge(X, 1.0, dtype=np.float32).solve(Y, tol=tol)
    held = np.arange(12) != 5
    true = np.linalg.norm(B - A @ found.coef, axis=0)[held] / np.linalg.norm(B, axis=0)[held]
    assert found.coef.dtype == np.float32
    assert_allclose(found.residual, true.max(), rtol=1e-2)
    small, _ = ConjugateRidge(X * 2.0**-10, 2.0**-20, dtype=np.float32).solve(Y, tol=tol)
    assert small.residual == found.residual
    missed = (
        X @ (found.coef - np.linalg.solve(A, B)) + found.intercept - (Y - X @ np.linalg.solve(A, B)).mean(0)
    )
    assert 0 < np.sqrt((missed**2).mean(axis=0)).max() <= 1.5 * tol


def test_a_residual_out_of_reach_is_stated_with_a_warning(text):
    X, Y = text
    with pytest.warns(RuntimeWarning, match="stopped after 2 products"):
        found, _ = ConjugateRidge(X, 1e-3).solve(Y, tol=1e-8, max_iter=2)
    assert found.residual > 1e-8


def test_labels_that_are_done_leave_the_block(text, monkeypatch):
    X, Y = text
    X = sparse.block_diag([X, sparse.eye_array(6)], format="csr")  # six words of one row each: one product
    Y = sparse.block_diag([Y, sparse.eye_array(6)], format="csr")
    widths = []
    times = conjugate_gradients.ConjugateRidge._times
    monkeypatch.setattr(
        conjugate_gradients.ConjugateRidge,
        "_times",
        lambda self, V: widths.append(V.shape[1]) or times(self, V),
    )
    ConjugateRidge(X, 1.0).solve(Y, tol=1e-6)
    assert widths[0] == 17  # the label nobody has is no work
    assert min(widths) <= 11


def test_no_ridge_is_left_to_the_krylov_path(text):
    with pytest.raises(ValueError, match="alpha above 0"):
        ConjugateRidge(text[0], 0.0)


@pytest.mark.parametrize(
    ("k", "budget", "width"), [(300, 2**30, 100), (7, 1, 1), (129, 2**30, 65), (2000, 2.4e7, 10)]
)
def test_label_blocks_are_even_and_within_the_budget(k, budget, width):
    assert block_width((200_000, 100_000), k, budget, 4, conjugate=True) == width

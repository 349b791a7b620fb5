"""Generalised eigenproblems of low rank: against SciPy's dense solution."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import linalg

from hyperlabel.solvers.spectral.eigen import Gram


def make(seed=0):
    rng = np.random.default_rng(seed)
    X, F = rng.normal(size=(40, 7)), rng.normal(size=(40, 3))
    F = np.column_stack([F, F[:, 0], np.zeros(40)])  # a repeated and an empty column
    X, F = X - X.mean(axis=0), F - F.mean(axis=0)
    C = X.T @ X + 0.5 * np.eye(7)
    return X, F, C, np.linalg.solve(C, X.T @ F)


def test_the_exact_form_solves_the_dense_problem():
    X, F, C, R = make()
    B = X.T @ F
    found = Gram(F.T @ F).exact_form(B.T @ R)
    values, V = linalg.eigh(B @ B.T, C)
    assert_allclose(found.values, values[::-1][:3], rtol=1e-9)
    W, want = R @ found.right, V[:, ::-1][:, :3]
    assert_allclose(W.T @ C @ W, np.eye(3), atol=1e-9)
    assert_allclose(np.abs(W.T @ C @ want), np.eye(3), atol=1e-8)


def test_the_least_squares_form_regresses_the_left_singular_vectors():
    X, F, C, R = make(1)
    found = Gram(F.T @ F).least_squares_form()
    U, sigma, _ = np.linalg.svd(F, full_matrices=False)
    want = np.linalg.solve(C, X.T @ U[:, :3])
    assert_allclose(found.values, sigma[:3] ** 2, rtol=1e-9)
    W = R @ found.right
    assert_allclose(W @ W.T, want @ want.T, atol=1e-9)

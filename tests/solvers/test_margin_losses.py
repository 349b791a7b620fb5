"""Squared hinge and logistic loss of all labels, against scipy's minimiser and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression

from hyperlabel.solvers import margin_losses
from hyperlabel.solvers.margin_losses import solve_margins

LOSSES = ("squared_hinge", "logistic")


def problem(seed=0, n=120, d=6, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(1, 30, d) + 2
    T = np.where(X @ rng.normal(size=(d, k)) / 30 + rng.normal(size=(n, k)) > 0.4, 1, -1).astype(np.int8)
    return X, T


def objective(v, X, t, loss, alpha, weight):
    f = t * (X @ v[:-1] + v[-1])
    each = np.maximum(1 - f, 0) ** 2 if loss == "squared_hinge" else np.logaddexp(0, -f)
    return (weight * np.abs(t) * each).sum() + alpha * v[:-1] @ v[:-1]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_each_label_reaches_the_minimum_that_scipy_finds(loss, alpha):
    X, T = problem()
    T[:30, 1] = 0  # unknown
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(X))
    found = solve_margins(X, T, loss, alpha, sample_weight=weight, tol=1e-7)
    assert found.residual <= 1e-7
    for j in range(T.shape[1]):
        given_ = (X, T[:, j].astype(float), loss, alpha, weight)
        best = optimize.minimize(objective, np.zeros(X.shape[1] + 1), given_, method="BFGS", tol=1e-8)
        mine = objective(np.r_[found.coef[:, j], found.intercept[j]], *given_)
        assert mine <= best.fun * (1 + 1e-9)


def test_the_logistic_loss_is_that_of_scikit_learn():
    X, T = problem(3)
    found = solve_margins(X, T, "logistic", 0.25, tol=1e-8)
    for j in range(T.shape[1]):
        theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10000, solver="newton-cholesky").fit(
            X, T[:, j]
        )
        np.testing.assert_allclose(found.coef[:, j], theirs.coef_[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found.intercept[j], theirs.intercept_[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_of_labels_sparse_rows_and_the_diagonal_change_nothing(loss, monkeypatch):
    X, T = problem(5)
    whole = solve_margins(X, T, loss, 1.0, tol=1e-8)
    rare = solve_margins(sparse.csr_array(X), T, loss, 1.0, tol=1e-8)
    np.testing.assert_allclose(rare.coef, whole.coef, rtol=1e-5, atol=1e-8)
    monkeypatch.setattr(margin_losses, "BLOCK", 1)
    parts = solve_margins(X, T, loss, 1.0, tol=1e-8, start=solve_margins(X, T, loss, 10.0))
    np.testing.assert_allclose(parts.coef, whole.coef, rtol=1e-5, atol=1e-8)
    monkeypatch.setattr(margin_losses, "FACTORED", 1)
    plain = solve_margins(sparse.csr_array(X), T, loss, 1.0, tol=1e-6)
    assert plain.residual <= 1e-6
    np.testing.assert_allclose(plain.coef, whole.coef, rtol=1e-3, atol=1e-5)


@given(seed=st.integers(0, 10_000), loss=st.sampled_from(LOSSES))
def test_a_label_has_the_same_solution_among_any_others(seed, loss):
    X, T = problem(seed, n=40, d=3)
    order = np.random.default_rng(seed).permutation(4)
    whole, moved = (
        solve_margins(X, part, loss, 1.0, tol=1e-6) for part in (T, np.ascontiguousarray(T[:, order]))
    )
    np.testing.assert_allclose(moved.coef, whole.coef[:, order], rtol=1e-3, atol=1e-4)

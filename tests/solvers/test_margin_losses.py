"""Squared hinge and logistic loss of all labels, against scipy's minimiser and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from hyperlabel.solvers.margin import hinge_active_set, losses
from hyperlabel.solvers.margin.hinge_active_set import solve_hinge_active_set
from hyperlabel.solvers.margin.losses import solve_margins

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
    monkeypatch.setattr(losses, "BLOCK", 1)
    parts = solve_margins(X, T, loss, 1.0, tol=1e-8, start=solve_margins(X, T, loss, 10.0))
    np.testing.assert_allclose(parts.coef, whole.coef, rtol=1e-5, atol=1e-8)
    monkeypatch.setattr(losses, "FACTORED", 1)
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


def text(seed=0, n=300, d=500, k=9, dtype=np.float64):
    """Unit rows of a few words each, labels from rare to frequent, some unknown, rows of weight 0."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.03, rng=rng, format="csr", dtype=dtype)
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr)).astype(dtype)
    scores = X @ rng.normal(size=(d, k)) + 0.2 * rng.normal(size=(n, k))
    T = np.where(scores > np.quantile(scores, np.linspace(0.2, 0.99, k), axis=0).diagonal(), 1, -1)
    T[rng.random(T.shape) < 0.05] = 0
    weight = rng.uniform(0.2, 2.0, n) * (rng.random(n) < 0.9)
    return sparse.csr_array(X), T.astype(np.int8), weight


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_rows_inside_the_margin_alone_lead_to_the_minimum(alpha, dtype, monkeypatch):
    X, T, weight = text(dtype=dtype)
    monkeypatch.setattr(hinge_active_set, "ROUNDS", 200)
    monkeypatch.setattr(hinge_active_set, "LABELS", 4)
    coef, intercept, residual = solve_hinge_active_set(X, T, alpha, weight, 1e-5)
    assert coef.dtype == dtype
    assert residual.max() <= 1e-5
    dense = X.toarray().astype(float)
    exact = solve_margins(dense, T, "squared_hinge", alpha, sample_weight=weight, tol=1e-9)
    for j in range(T.shape[1]):
        given_ = (dense, T[:, j].astype(float), "squared_hinge", alpha, weight)
        mine = objective(np.r_[coef[:, j], intercept[j]], *given_)
        assert mine <= objective(np.r_[exact.coef[:, j], exact.intercept[j]], *given_) * (1 + 1e-6)
    np.testing.assert_allclose(coef, exact.coef, atol=2e-3)
    # the gradient stated is that of the weights returned
    V = np.vstack([coef, intercept]).astype(float)
    _, slopes = losses._evaluate_squared_hinge(losses._compute_scores(dense, V), T, weight)
    _, first = losses._evaluate_squared_hinge(np.zeros(T.shape), T, weight)
    norm = np.linalg.norm(losses._compute_gradient(dense, slopes, V, alpha), axis=0)
    at_zero = np.linalg.norm(losses._compute_gradient(dense, first, 0 * V, alpha), axis=0)
    np.testing.assert_allclose(residual, norm / at_zero, rtol=0.02, atol=1e-7)


def test_labels_that_the_rounds_leave_go_on_by_lbfgs(monkeypatch):
    X, T, weight = text(1)
    whole = solve_margins(X, T, "squared_hinge", 1.0, sample_weight=weight, tol=1e-6)
    monkeypatch.setattr(losses, "FACTORED", 1)
    monkeypatch.setattr(hinge_active_set, "ROUNDS", 3)
    found = solve_margins(X, T, "squared_hinge", 1.0, sample_weight=weight, tol=1e-6)
    assert found.residual <= 1e-6
    np.testing.assert_allclose(found.coef, whole.coef, rtol=1e-3, atol=1e-4)


@given(seed=st.integers(0, 10_000))
def test_a_label_of_wide_rows_does_not_depend_on_the_others(seed):
    X, T, weight = text(seed, n=60, d=80, k=5)
    T = T[:, (T > 0).any(axis=0) & (T < 0).any(axis=0)]
    order = np.random.default_rng(seed).permutation(T.shape[1])
    whole, moved = (solve_hinge_active_set(X, part, 1.0, weight, 1e-4) for part in (T, T[:, order]))
    np.testing.assert_allclose(moved[0], whole[0][:, order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moved[1], whole[1][order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("places", [1, 2, 3])
def test_places_that_labels_take_in_turn_change_nothing(places, monkeypatch):
    X, T, weight = text(4, k=7)
    whole = solve_hinge_active_set(X, T, 1.0, weight, 1e-4)
    monkeypatch.setattr(hinge_active_set, "LABELS", places)
    for found, known in zip(solve_hinge_active_set(X, T, 1.0, weight, 1e-4), whole, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-12)


def test_wide_rows_have_the_minimum_of_liblinear():
    X, T, _ = text(2)
    T, alpha = np.where(T > 0, 1, -1).astype(np.int8), 0.5
    coef, intercept, residual = solve_hinge_active_set(X, T, alpha, np.ones(X.shape[0]), 1e-4)
    assert residual.max() <= 1e-4
    for j in range(T.shape[1]):
        # liblinear penalises the intercept: with so large a constant column, next to nothing
        theirs = LinearSVC(C=0.5 / alpha, intercept_scaling=1e3, dual=False, tol=1e-9, max_iter=10_000)
        theirs.fit(X, T[:, j])
        np.testing.assert_allclose(coef[:, j], theirs.coef_[0], atol=5e-3)
        np.testing.assert_allclose(intercept[j], theirs.intercept_[0], atol=5e-3)


def test_rare_labels_stop_at_a_tighter_gradient(monkeypatch):
    X, _, _ = text(5, n=1600, k=12)
    T = np.where(np.arange(1600)[:, None] % 800 == np.arange(12), 1, -1).astype(np.int8)  # two rows each
    monkeypatch.setattr(hinge_active_set, "ROUNDS", 200)
    for tol in (0.03, 0.01, 0.005):
        assert solve_hinge_active_set(X, T, 1.0, np.ones(1600), tol)[2].max() <= tol * 20 * np.sqrt(2 / 1600)

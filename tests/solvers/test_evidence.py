"""λ of the largest evidence or nearly, against Gaussian densities written out, and along every route."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import helmert
from scipy.stats import multivariate_normal, norm

from hyperlabel import BinaryRelevance
from hyperlabel.solvers.moments.global_threshold import solve_global_threshold
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge import factored
from hyperlabel.solvers.ridge.evidence import (
    _Look,
    alpha_grid,
    centered_sum_of_squares,
    fallback_alpha,
    krylov_alpha,
)
from hyperlabel.solvers.ridge.routes import RidgePath, SamplePath, choose_alpha, solve_auto, solve_ridge
from hyperlabel.solvers.ridge.tridiagonal import root_of_squares


def rows(n, d, k=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 3.0, d) + rng.normal(size=d)
    scores = X @ rng.normal(size=(d, k)) / np.sqrt(d) + noise * rng.normal(size=(n, k))
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(float)


def literal_choice(X, Y):
    """The first grid point whose density of the contrasts of Y is within exp(−.0025) per entry of the best.

    The noise is profiled; no formula is shared.
    """
    n, k = Y.shape
    H = helmert(n)  # (n − 1)×n, orthonormal, blind to the mean
    Z, G = H @ Y, H @ X @ X.T @ H.T
    grid = alpha_grid(float(np.trace(G)))
    found = []
    for alpha in grid:
        C = np.eye(n - 1) + G / alpha
        variance = np.sum(Z * np.linalg.solve(C, Z)) / (k * (n - 1))
        found.append(sum(multivariate_normal.logpdf(z, cov=variance * C) for z in Z.T))
    return float(grid[np.array(found) >= max(found) - 0.0025 * k * (n - 1)][0])


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
@pytest.mark.parametrize(("n", "d"), [(60, 5), (40, 40), (25, 80)])
def test_the_choice_is_the_least_shrinkage_that_explains_the_labels(n, d, solver):
    for seed in range(3):
        X, Y = rows(n, d, seed=seed)
        path, alpha = solve_auto(X, Y, solver=solver)
        assert alpha == literal_choice(X, Y)
        assert path.solve(alpha).residual < 1e-5


def test_the_solution_at_the_choice_is_the_ridge_there():
    X, Y = rows(90, 30)
    for solver in ("gram", "samples"):
        path, alpha = solve_auto(X, Y, solver=solver)
        Xc = X - X.mean(axis=0)
        direct = np.linalg.solve(Xc.T @ Xc + alpha * np.eye(30), Xc.T @ Y)
        assert_allclose(path.solve(alpha).coef, direct, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_a_row_of_weight_two_is_two_rows(solver):
    X, Y = rows(50, 12)
    times = np.random.default_rng(1).integers(0, 4, size=50)
    twice = solve_auto(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), solver=solver)[1]
    assert solve_auto(X, Y, solver=solver, sample_weight=times.astype(float))[1] == twice


def test_weights_that_are_shares_count_the_rows():
    X, Y = rows(50, 12)
    even = np.full(50, 1 / 50)
    plain, shares = solve_auto(X, Y)[1], solve_auto(X, Y, sample_weight=even)[1]
    assert abs(np.log10(plain / 50 / shares)) <= 0.25  # the same λ per unit of weight, up to the grid


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_columns_of_zeros_and_constant_labels_change_nothing(solver):
    X, Y = rows(70, 9)
    plain = solve_auto(X, Y, solver=solver)[1]
    wide = np.hstack([X, np.zeros((70, 30))])
    more = np.hstack([Y, np.zeros((70, 2)), np.ones((70, 1))])
    assert solve_auto(wide, more, solver=solver)[1] == plain


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_where_nothing_varies_lambda_is_the_mean_diagonal_or_one(solver):
    X, Y = rows(30, 4)
    Xc = X - X.mean(axis=0)
    assert_allclose(solve_auto(X, np.ones_like(Y), solver=solver)[1], np.trace(Xc.T @ Xc) / 4)
    assert solve_auto(np.zeros((30, 4)), Y, solver=solver)[1] == 1.0


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_an_exact_fit_takes_the_smallest_lambda_of_the_grid(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    F = X @ rng.normal(size=(6, 3))
    assert solve_auto(X, F, solver=solver)[1] == alpha_grid(np.sum((X - X.mean(axis=0)) ** 2))[0]


def test_sums_added_up_differently_choose_the_same_number():
    X, Y = rows(300, 20)
    X += 1e4
    whole = RidgePath(RowMoments.from_rows(X, Y)).choose(centered_sum_of_squares(Y, None), 299.0)
    rng = np.random.default_rng(2)
    for _ in range(5):
        order = rng.permutation(300)
        parts = [RowMoments.from_rows(X[part], Y[part]) for part in np.array_split(order, 7)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        assert RidgePath(total).choose(centered_sum_of_squares(Y, None), 299.0) == whole


def test_random_columns_choose_as_the_whole_spectrum_does_for_many_sparse_labels():
    rng = np.random.default_rng(3)
    X = sparse.random_array((400, 900), density=0.03, rng=rng, format="csr")
    W = rng.normal(size=(900, 150))
    scores = X @ W
    Y = sparse.csr_array((scores > np.quantile(scores, 0.95, axis=0)).astype(float))
    path = SamplePath.from_rows(X, Y)
    exact = path.choose(centered_sum_of_squares(Y, None), 399.0)
    assert abs(np.log10(krylov_alpha(X, Y) / exact)) <= 0.2500001  # at most the next grid point


def test_fitted_squares_are_those_of_the_training_scores():
    X, Y = rows(40, 60)
    right = np.random.default_rng(0).normal(size=(3, 5))
    Xc = X - X.mean(axis=0)
    for solver in ("gram", "samples", "krylov", "rows", "lsqr"):
        path = solve_ridge(X, Y, alphas=(2.0,), solver=solver, tol=1e-9)
        fitted = Xc @ path.solve(2.0).coef
        assert_allclose(path.fitted_squares(2.0), (fitted**2).sum(axis=0), rtol=1e-6)
        assert_allclose(path.fitted_squares(2.0, right), ((fitted @ right) ** 2).sum(axis=0), rtol=1e-6)


def test_the_shared_threshold_predicts_as_many_labels_as_normal_scores_carry():
    rng = np.random.default_rng(0)
    shares = rng.uniform(0.01, 0.6, size=40)
    stds = rng.uniform(0.02, 0.3, size=40)
    t = solve_global_threshold(shares, stds, shares)
    drawn = shares + stds * rng.normal(size=(20000, 40))
    assert_allclose((drawn > t).sum(axis=1).mean(), shares.sum(), rtol=0.01)
    assert_allclose(norm.sf(t, loc=shares, scale=stds).sum(), shares.sum(), rtol=1e-9)


def test_the_shared_threshold_leaves_out_labels_that_do_not_vary():
    shares, stds = np.array([0.2, 0.3]), np.array([0.1, 0.2])
    padded = np.array([0.2, 0.0, 0.3, 1.0])
    with_constants = solve_global_threshold(padded, np.array([0.1, 0.0, 0.2, 0.0]), padded)
    assert with_constants == solve_global_threshold(shares, stds, shares)
    assert solve_global_threshold(np.array([0.0, 1.0]), np.zeros(2), np.array([0.0, 1.0])) is None


def test_labels_whose_scores_do_not_vary_still_have_a_threshold():
    shares = np.array([0.2, 0.4])
    t = solve_global_threshold(
        shares, np.zeros(2), shares
    )  # every row scores .2 and .4: one of two labels at most
    assert t >= 0.2


def test_the_choice_of_krylov_follows_the_unit_of_the_features():
    X, Y = rows(30, 40)
    assert centered_sum_of_squares(1e-5 * X, None) < 1e-3
    assert krylov_alpha(1e-5 * X, Y) == pytest.approx(1e-10 * krylov_alpha(X, Y), rel=1e-9)


def test_the_evidence_is_looked_at_after_six_products_and_then_at_every_third(monkeypatch):
    """Each look costs a decomposition of the whole space so far."""
    X, Y = rows(1500, 800, noise=0.01)
    seen, choose = [], _Look._choose

    def watch(self, space, complete):
        seen.append(space.n_iter)
        return choose(self, space, complete)

    monkeypatch.setattr(_Look, "_choose", watch)
    krylov_alpha(X, Y)
    assert seen == [6, 9, 12, 15]


@pytest.mark.parametrize("solver", ["auto", "gram", "samples"])
def test_a_lambda_alone_is_that_of_the_route_that_would_be_solved(solver, monkeypatch):
    monkeypatch.delattr("hyperlabel.solvers.ridge.routes.krylov_alpha")  # not looked for where a factor tells
    rng = np.random.default_rng(8)
    X, F = rng.normal(size=(40, 6)), (rng.random((40, 3)) < 0.5) * 1.0
    assert choose_alpha(X, F, solver=solver) == solve_auto(X, F, solver=solver)[1]


@pytest.mark.parametrize(("size", "known"), [(1e-5, False), (1e-4, True)])
def test_targets_within_rounding_of_their_mean_tell_nothing_of_lambda(size, known):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 5))
    found = krylov_alpha(X, size * (X[:, :2] > 0))
    assert (found != fallback_alpha(centered_sum_of_squares(X, None), 5)) == known


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_labels_are_judged_by_a_root_of_their_squares(order, monkeypatch):
    rng = np.random.default_rng(5)
    T = np.array(rng.normal(size=(9, 4)) @ rng.normal(size=(4, 60)), order=order)  # of rank 4
    root = root_of_squares(T)
    assert root.shape == (9, 4)
    assert_allclose(root @ root.T, T @ T.T, atol=1e-12 * np.linalg.norm(T) ** 2)

    X = rng.normal(size=(80, 6))
    Y = sparse.csr_array((X @ rng.normal(size=(6, 40)) + rng.normal(size=(80, 40)) > 1).astype(float))
    many = BinaryRelevance().fit(X, Y)
    calls = []
    monkeypatch.setattr(factored, "root_of_squares", lambda T: calls.append(T.shape) or T)
    plain = BinaryRelevance().fit(X, Y)
    assert calls == [(6, 40)]
    assert many.alpha_ == plain.alpha_
    assert_allclose(many.coef_, plain.coef_, rtol=1e-10, atol=1e-14)
    BinaryRelevance().fit(X, Y[:, :12])  # as many as twice the columns: solved directly
    assert len(calls) == 1

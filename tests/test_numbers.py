"""Sizes, offsets and condition numbers: right to the stated accuracy, or refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from hyperlabel import (
    CPLST,
    HOPLS,
    LPP,
    MDDM,
    MLSI,
    OPLS,
    PLST,
    BinaryRelevance,
    HypergraphSpectral,
    MLkNN,
    RankSVM,
    ThresholdTuner,
)
from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.problem import RankProblem
from hyperlabel.solvers.ridge.krylov_path import KrylovPath
from hyperlabel.solvers.ridge.routes import solve_ridge
from hyperlabel.solvers.spectral.label_svd import principal_directions


def rows(n=60, d=5, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0).astype(int)


def told(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.transform(X)


# Methods whose answers do not depend on the unit of the features (no penalty, or one that scales along).
UNITLESS = [
    BinaryRelevance(alpha=0.0),
    PLST(2, alpha=0.0),
    CPLST(2, alpha=0.0),
    HypergraphSpectral(2, alpha=0.0),
    OPLS(2, alpha=0.0),
    MLkNN(3),
    ThresholdTuner(BinaryRelevance(alpha=0.0)),
]
OTHERS = [
    BinaryRelevance(),
    HypergraphSpectral(2),
    HOPLS(2),
    OPLS(2),
    MDDM(2),
    MLSI(2),
    LPP(2),
    PLST(2),
    RankSVM(),
]


@pytest.mark.parametrize("exponent", [-332, -100, 100, 332])  # 2³³² is 9e99
@pytest.mark.parametrize("model", UNITLESS, ids=str)
def test_the_unit_of_the_features_does_not_matter(model, exponent):
    X, Y = rows()
    scaled = X * 2.0**exponent * (0.9 if exponent == 332 else 1.1) / np.abs(X).max()
    here = told(clone(model).fit(X, Y), X)
    there = told(clone(model).fit(scaled, Y), scaled)
    assert_allclose(np.abs(there), np.abs(here), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("size", [1e-100, 1e-50, 1e50, 1e100])
@pytest.mark.parametrize("write", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", OTHERS, ids=str)
def test_any_size_of_features_gives_finite_answers(model, write, size):
    X, Y = rows()
    X = write(X * (size / np.abs(X).max()))
    answer = told(clone(model).fit(X, Y), X)
    assert np.isfinite(answer).all()
    assert answer.any() or size < 1  # a penalty may shrink answers to nothing, never to NaN


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-102, 1e102, 1e160, 1e300])
@pytest.mark.parametrize("write", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", [*UNITLESS, *OTHERS], ids=str)
def test_sizes_beyond_are_refused_with_the_reason(model, write, size):
    X, Y = rows()
    with pytest.raises(ValueError, match=r"largest feature is .*e[+-]\d+ in size.*scale them"):
        clone(model).fit(write(X * size), Y)


def test_features_that_are_all_zero_have_no_size():
    assert BinaryRelevance().fit(np.zeros((4, 2)), np.eye(4, 2, dtype=int)).predict(
        np.zeros((1, 2))
    ).shape == (1, 2)


@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("model", [BinaryRelevance(), PLST(2), HypergraphSpectral(2), MLkNN(3)], ids=str)
def test_an_offset_costs_as_many_digits_as_it_has(model, ratio):
    X, Y = rows()
    moved = X + ratio
    exact = moved - ratio  # what is left of X after rounding
    here, there = told(clone(model).fit(exact, Y), exact), told(clone(model).fit(moved, Y), moved)
    assert_allclose(np.abs(there), np.abs(here), atol=1e-15 * ratio * 10)


@pytest.mark.parametrize("kappa", [1e4, 1e8, 1e12])
def test_ill_conditioned_columns_give_the_least_squares_fit(kappa):
    Z, Y = rows(80, 8)
    X = Z * np.logspace(0, -np.log10(kappa), 8)
    here = BinaryRelevance(alpha=0.0).fit(Z, Y).decision_function(Z)
    there = BinaryRelevance(alpha=0.0).fit(X, Y).decision_function(X)
    assert_allclose(there, here, atol=1e-13 * kappa / 100 + 1e-9)


# -- certificates, recomputed with nothing of the library and 80-bit numbers --------------------------------


def ridge_residual(X, F, alpha, W):
    X, F, W = (np.asarray(part, dtype=np.longdouble) for part in (X, F, W))
    Xc, Fc = X - X.mean(axis=0), F - F.mean(axis=0)
    gap = Xc.T @ (Fc - Xc @ W) - alpha * W
    return float(np.sqrt((gap**2).sum()) / np.sqrt(((Xc.T @ Fc) ** 2).sum()))


@given(
    st.integers(0, 10**6),
    st.sampled_from(["gram", "samples", "krylov", "rows"]),
    st.sampled_from([1e-3, 0.1, 10.0]),
    st.floats(0.0, 3.0),
)
@settings(max_examples=40, deadline=None)
# A Krylov space that has filled the space: its last, faint directions must be orthogonal to the others too.
@example(884, "krylov", 1e-3, 0.0)
@example(884, "krylov", 0.1, 0.0)
@example(601, "krylov", 10.0, 1.0)
@example(52, "krylov", 10.0, 0.0)
def test_the_certificate_of_ridge_is_its_residual(seed, route, alpha, std):
    rng = np.random.default_rng(seed)
    n, d = (int(size) for size in rng.integers(5, 40, size=2))
    X = rng.normal(size=(n, d)) * np.logspace(0, -std, d)
    F = (rng.random((n, 3)) < 0.4).astype(float)
    F[0], F[1] = 0, 1
    path = solve_ridge(X, sparse.csr_array(F), alphas=(alpha,), solver=route, tol=1e-6)
    found = path.solve(alpha)
    true = ridge_residual(X, F, alpha, found.coef)
    # The n×n and Krylov routes measure in their own space and column by column: a column that is small after
    # centring has a large relative residual of its own, and another in the norm of all columns.
    room = np.linalg.norm(X - X.mean(axis=0), 2) / np.sqrt(alpha) if route in ("samples", "krylov") else 1.0
    assert true <= 10 * max(room, 1.0) * found.residual + 1e-11


@given(
    st.integers(0, 10**6),
    st.integers(1, 20),
    st.floats(-4.0, 3.0),
    st.floats(0.0, 4.0),
    st.sampled_from([1e-3, 1e-6, 1e-10]),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:The Krylov solver stopped")
def test_the_certificate_of_a_krylov_space_bounds_its_residual(seed, k, power, std, tol, dtype):
    rng = np.random.default_rng(seed)
    n, d, alpha = *(int(size) for size in rng.integers(3, 60, size=2)), 10.0**power
    X = (rng.normal(size=(n, d)) * np.logspace(0, -std, d)).astype(dtype)
    F = (rng.random((n, k)) < 0.4).astype(float)
    F[0], F[1] = 0, 1
    path = KrylovPath(X, sparse.csr_array(F), alpha=alpha, tol=tol, dtype=dtype)
    Xc, Fc = (part - part.mean(axis=0) for part in (X.astype(np.longdouble), F.astype(np.longdouble)))
    Z = path.spaces[0].expand(path.spaces[0].small_solution(alpha)[0]).astype(np.longdouble)
    A, B = (Xc @ Xc.T, Fc) if path.side == "samples" else (Xc.T @ Xc, Xc.T @ Fc)
    true = np.sqrt(((B - A @ Z - alpha * Z) ** 2).sum(axis=0) / (B**2).sum(axis=0)).max()
    assert true <= 2 * path.residual(alpha) + 100 * np.finfo(dtype).eps  # B itself is rounded


@given(st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 100.0]))
@settings(max_examples=15, deadline=None)
def test_the_duality_gap_of_ranking_is_the_true_one(seed, C):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(12, 3)), (rng.random((12, 4)) < 0.5).astype(float)
    if not ((Y.sum(axis=1) > 0) & (Y.sum(axis=1) < 4)).any():
        return
    found = solve_rank_dcd(RankProblem.build(X, sparse.csr_array(Y)), C=C, tol=1e-3)
    W, b = (np.asarray(part, dtype=np.longdouble) for part in (found.W, found.b))
    primal, dual_W, dual_b, place = (W**2).sum() / 2 + (b**2).sum() / 2, np.zeros_like(W), np.zeros_like(b), 0
    for x, y in zip(X, Y, strict=True):
        on, off = np.flatnonzero(y), np.flatnonzero(y == 0)
        scores = x @ W + b
        for p in on:
            for q in off:
                primal += C / (len(on) * len(off)) * max(0.0, 1 - scores[p] + scores[q])
                a = found.alpha[place]
                assert -1e-12 <= a <= C / (len(on) * len(off)) * (1 + 1e-9)
                dual_W[:, p] += a * x
                dual_W[:, q] -= a * x
                dual_b[p] += a
                dual_b[q] -= a
                place += 1
    dual = float(found.alpha.sum(dtype=np.longdouble) - (dual_W**2).sum() / 2 - (dual_b**2).sum() / 2)
    assert float(primal) == pytest.approx(found.primal, rel=1e-6)
    assert dual == pytest.approx(found.dual, rel=1e-6, abs=1e-9)
    assert (float(primal) - dual) / max(abs(float(primal)), 1e-300) <= found.gap * 1.01 + 1e-7


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_the_certificate_of_principal_directions_is_their_residual(seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((30, 8)) < 0.3).astype(float)
    Y[0] = 1
    found = principal_directions(sparse.csr_array(Y), 3, offset=Y.mean(axis=0))
    V = found.components.astype(np.longdouble)
    Yc = (Y - Y.mean(axis=0)).astype(np.longdouble)
    values = found.singular_values.astype(np.longdouble) ** 2
    gap = V @ Yc.T @ Yc - values[:, None] * V
    true = float(np.sqrt((gap**2).sum(axis=1)).max() / values[0])
    assert true <= 2 * found.residual + 1e-12

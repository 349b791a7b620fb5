"""λ = 0 on ill-conditioned rows: the orthogonal route, and the sentence of those that have sums only."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel import CPLST, OPLS, PLST, BinaryRelevance, HypergraphSpectral
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import RidgePath, SamplePath, solve_ridge

SCALES = np.logspace(0, -8.6, 12)  # condition number 4e8


def problem(n=80, scales=SCALES, *, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, len(scales)))
    Y = (Z @ rng.normal(size=(len(scales), 4)) + rng.normal(size=(n, 4)) > 0.3).astype(float)
    return Z, Z * scales, Y


def least_squares(X, Y, w=None):
    root = np.ones(len(X)) if w is None else np.sqrt(w)
    Xc = root[:, None] * (X - np.average(X, axis=0, weights=w))
    Yc = root[:, None] * (Y - np.average(Y, axis=0, weights=w))
    return np.linalg.lstsq(Xc, Yc, rcond=None)[0]


@pytest.mark.parametrize("write", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_lambda_zero_is_the_least_squares_solution_at_any_scale(write, weighted):
    Z, X, Y = problem()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    path = solve_ridge(write(X), Y, alphas=(0.0,), sample_weight=w)
    assert path.solver == "rows"
    W = least_squares(Z, Y, w)
    assert_allclose(path.solve(0.0).coef * SCALES[:, None], W, atol=1e-6)
    assert_allclose(path.combine(0.0, np.eye(4)[:, :1]) * SCALES[:, None], W[:, :1], atol=1e-6)
    plain = solve_ridge(write(Z), Y, alphas=(0.0,), sample_weight=w)
    assert plain.solver == "gram"
    assert_allclose(path.reduced(0.0), plain.reduced(0.0), atol=1e-6)
    assert_allclose(path.solve(0.0).intercept, plain.solve(0.0).intercept, atol=1e-6)
    assert path.solve(0.0).residual < 1e-6


def test_the_route_on_rows_serves_every_lambda_and_walks_in_blocks(monkeypatch):
    Z, _, Y = problem(200)
    expected = solve_ridge(Z, Y, solver="gram")
    monkeypatch.setattr("hyperlabel.solvers.ridge.from_rows.BLOCK_BYTES", 1)
    path = solve_ridge(Z, Y, solver="rows")
    for alpha in (0.0, 0.5, 100.0):
        assert_allclose(path.solve(alpha).coef, expected.solve(alpha).coef, atol=1e-12)
        assert_allclose(path.reduced(alpha), expected.reduced(alpha), atol=1e-9)
        assert path.residual(alpha) < 1e-12


def test_fewer_rows_than_features_give_the_smallest_solution():
    Z, _, Y = problem(9)
    X = Z * np.logspace(0, -11, 12)
    path = solve_ridge(X, Y, alphas=(0.0,))
    assert path.solver == "rows"
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    assert_allclose(Xc @ path.solve(0.0).coef, Yc, atol=1e-6)
    again = solve_ridge(Z, Y, alphas=(0.0,))
    assert again.solver == "samples"


def test_dependent_columns_are_left_out():
    Z, _, Y = problem()
    X = np.hstack([Z, Z[:, :3] + Z[:, 3:6], np.ones((len(Z), 1))])
    coef = solve_ridge(X, Y, alphas=(0.0,)).solve(0.0).coef
    assert_allclose(coef, least_squares(X, Y), atol=1e-10)


@pytest.mark.parametrize("model", [HypergraphSpectral(2, alpha=0.0), OPLS(2, alpha=0.0)], ids=str)
def test_projections_do_not_change_when_columns_are_scaled(model):
    Z, X, Y = problem()
    scaled, plain = (type(model)(**model.get_params()).fit(rows, Y).transform(rows) for rows in (X, Z))
    assert_allclose(np.abs(scaled), np.abs(plain), atol=1e-5)


@pytest.mark.parametrize(
    "model", [BinaryRelevance(alpha=0.0), PLST(2, alpha=0.0), CPLST(2, alpha=0.0)], ids=str
)
def test_classifiers_do_not_change_when_columns_are_scaled(model):
    Z, X, Y = problem()
    scaled, plain = (
        type(model)(**model.get_params()).fit(rows, Y).decision_function(rows) for rows in (X, Z)
    )
    assert_allclose(scaled, plain, atol=1e-5)


def test_sums_name_the_condition_number():
    _, X, Y = problem()
    with pytest.raises(ValueError, match=r"condition number of the rows is about \de\+0\d"):
        RidgePath(RowMoments.from_rows(X, Y), alphas=(0.0,)).solve(0.0)
    with pytest.raises(ValueError, match="condition number"):
        SamplePath.from_rows(X, Y, alphas=(0.0,)).solve(0.0)
    for model in (BinaryRelevance(alpha=0.0), OPLS(2, alpha=0.0), CPLST(2, alpha=0.0)):
        with pytest.raises(ValueError, match="condition number"):
            model.partial_fit(X, Y)
    assert RidgePath(RowMoments.from_rows(X, Y)).solve(1e-9).residual < 1e-6

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.operators import CenteredRows, narrow_columns
from hyperlabel.solvers.ridge.factored import CONDITION_LIMIT
from hyperlabel.solvers.ridge.krylov_space import block_lanczos, orthonormalize_columns
from hyperlabel.solvers.ridge.routes import (
    SPARSE_LIMIT,
    KrylovPath,
    RidgePath,
    SamplePath,
    choose_route,
    solve_ridge,
)
from hyperlabel.solvers.spectral.eigen import _eigenpairs_above_noise, fix_signs

ROUTES = ("gram", "samples", "krylov")


def _problem(seed: int, n: int, d: int, m: int, *, as_sparse: bool) -> tuple:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    F = (rng.random((n, m)) < 0.3).astype(float)
    F[:, -1] = 0.0  # an empty label
    F[:, 1] = F[:, 0]  # a repeated one
    X = sparse.csr_array(X) if as_sparse else X + 3.0
    return X, sparse.csr_array(F), rng.uniform(0.5, 2.0, size=n)


def _textbook(X, F, alpha, w):
    X = X.toarray() if sparse.issparse(X) else X
    F = F.toarray()
    w = np.ones(len(X)) if w is None else w
    root = np.sqrt(w)[:, None]
    Xc = root * (X - w @ X / w.sum())
    Fc = root * (F - w @ F / w.sum())
    B = Xc.T @ Fc
    W = linalg.pinv(Xc.T @ Xc + alpha * np.eye(X.shape[1])) @ B if alpha else linalg.pinv(Xc) @ Fc
    return W, B.T @ W


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_route_solves_the_textbook_equation(route, shape, as_sparse, weighted):
    X, F, w = _problem(0, *shape, 5, as_sparse=as_sparse)
    w = w if weighted else None
    path = solve_ridge(X, F, alphas=(0.0, 0.1), solver=route, sample_weight=w, tol=1e-12)
    assert path.solver == route
    for alpha in (0.0, 0.1, 30.0):
        W, K = _textbook(X, F, alpha, w)
        result = path.solve(alpha)
        assert_allclose(result.coef, W, atol=1e-8)
        assert_allclose(path.reduced(alpha), K, atol=1e-8)
        assert_allclose(path.combine(alpha, np.eye(5)[:, :2]), W[:, :2], atol=1e-8)
        assert result.residual < 1e-8
        intercept = np.average(F.toarray() - (X @ result.coef), axis=0, weights=w)
        assert_allclose(result.intercept, intercept, atol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
def test_one_lambda_equals_the_path(route):
    X, F, _ = _problem(1, 40, 30, 4, as_sparse=True)
    once = solve_ridge(X, F, alphas=(0.5,), solver=route, tol=1e-12)
    path = solve_ridge(X, F, alphas=(0.1, 0.5), solver=route, tol=1e-12)
    assert_allclose(once.solve(0.5).coef, path.solve(0.5).coef, atol=1e-9)
    assert_allclose(once.reduced(0.5), path.reduced(0.5), atol=1e-9)


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)])
def test_the_residual_of_the_krylov_route_is_the_true_one(shape):
    X, F, _ = _problem(2, *shape, 8, as_sparse=True)
    path = KrylovPath(X, F, alpha=0.5, tol=1e-5)
    rows = CenteredRows(X)
    assert path.converged
    for alpha in (0.5, 5.0, 0.05):  # the last lies below what the space was built for
        space = path.spaces[0]
        y, claimed = space.small_solution(alpha)
        Z = space.expand(y)
        if path.side == "samples":
            rhs, image = rows.targets(F), rows.matmat(rows.rmatmat(Z))
        else:
            rhs, image = rows.rmatmat(rows.targets(F)), rows.rmatmat(rows.matmat(Z))
        norms = np.linalg.norm(rhs, axis=0)
        true = np.linalg.norm(image + alpha * Z - rhs, axis=0)[norms > 0] / norms[norms > 0]
        assert_allclose(claimed[norms > 0], true, rtol=1e-3, atol=1e-11)
        assert path.residual(alpha) <= 1e-5 or alpha < 0.5


def test_rounding_is_no_new_direction_of_a_krylov_space():
    rng = np.random.default_rng(0)
    Q = linalg.qr(rng.normal(size=(60, 60)))[0]
    A = (Q * np.repeat([1.0, 2.0], 30)) @ Q.T  # two eigenvalues: the space is full after two blocks
    B = rng.normal(size=(60, 2))
    space = block_lanczos(lambda V: A @ V, B, alpha=0.5, tol=0.0, max_iter=30)
    assert space.converged
    assert space.n_iter == 2
    Z = space.expand(space.small_solution(0.5)[0])
    assert_allclose(Z, linalg.solve(A + 0.5 * np.eye(60), B), atol=1e-12)


@pytest.mark.parametrize("slack", [1e-10, -1e-10])
def test_rounding_does_not_decide_the_sign_of_a_direction(slack):
    W = np.array([[0.1], [-1.0], [1.0 + slack]])
    assert_allclose(fix_signs(W), -W)
    assert_allclose(fix_signs(-W), -W)


def test_blocks_of_columns_give_the_same_coefficients():
    X, F, _ = _problem(3, 200, 150, 9, as_sparse=True)
    whole = KrylovPath(X, F, alpha=1.0, tol=1e-10)
    parts = KrylovPath(X, F, alpha=1.0, tol=1e-10, memory_limit=40 * 8 * 150 * 4)
    assert [b.stop - b.start for b in parts.blocks] == [4, 4, 1]
    assert_allclose(parts.solve(1.0).coef, whole.solve(1.0).coef, atol=1e-8)
    with pytest.raises(ValueError, match="memory_limit"):
        parts.reduced(1.0)


def test_krylov_says_when_it_did_not_arrive():
    X, F, _ = _problem(4, 200, 150, 3, as_sparse=True)
    with pytest.warns(RuntimeWarning, match="raise max_iter"):
        path = KrylovPath(X, F, alpha=1e-6, tol=1e-12, max_iter=3)
    assert not path.converged
    assert path.solve(1e-6).residual > 1e-12


def test_krylov_in_single_precision():
    X, F, _ = _problem(5, 200, 400, 6, as_sparse=True)
    exact = solve_ridge(X, F, solver="samples").solve(5.0).coef
    path = KrylovPath(X, F, alpha=5.0, tol=1e-5, dtype=np.float32)
    coef = path.solve(5.0).coef
    assert coef.dtype == np.float32
    assert np.linalg.norm(coef - exact) < 1e-4 * np.linalg.norm(exact)
    rows = CenteredRows(X)
    dual, rhs = path.spaces[0].expand(path.spaces[0].small_solution(0.01)[0]), rows.targets(F)
    gap = np.linalg.norm(rows.matmat(rows.rmatmat(dual)) + 0.01 * dual - rhs, axis=0)
    true = (gap[:-1] / np.linalg.norm(rhs, axis=0)[:-1]).max()
    assert true <= path.residual(0.01) < 1  # the certificate counts the rounding of single precision


def test_nearly_dependent_columns_keep_their_span():
    rng = np.random.default_rng(6)
    W = rng.normal(size=(50, 4))
    W = np.hstack([W, W[:, :2] + 1e-9 * rng.normal(size=(50, 2)), W[:, :1]])
    Q, C = orthonormalize_columns(W)
    assert Q.shape == (50, 6)
    assert_allclose(Q.T @ Q, np.eye(6), atol=1e-12)
    assert_allclose(Q @ C, W, atol=1e-13)
    empty, none = orthonormalize_columns(np.zeros((5, 3)))
    assert empty.shape == (5, 0)
    assert none.shape == (0, 3)


def test_zero_right_hand_sides_need_no_product():
    space = block_lanczos(lambda V: V, np.zeros((6, 2)), alpha=1.0)
    assert space.converged
    assert space.n_iter == 0
    assert_allclose(space.expand(space.small_solution(1.0)[0]), np.zeros((6, 2)))


def test_route_follows_shape_and_density():
    assert choose_route(np.empty((10, 5))) == "gram"
    assert choose_route(np.empty((5, 10))) == "samples"
    assert choose_route(sparse.csr_array((3000, 4000))) == "krylov"
    assert choose_route(sparse.csr_array((30000, 400))) == "gram"
    between = sparse.csr_array((SPARSE_LIMIT // 2, SPARSE_LIMIT // 2))
    assert [choose_route(between, n_alphas) for n_alphas in (1, 2)] == ["gram", "krylov"]
    assert choose_route(sparse.csr_array((2000, 3000))) == "samples"
    assert choose_route(sparse.csr_array((2000, 3000)), 12) == "krylov"
    with pytest.raises(ValueError, match="Unknown solver"):
        solve_ridge(np.eye(3), np.eye(3), solver="magic")


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_lsqr_with_a_bias_column_is_the_ridge_with_a_free_intercept(alpha, weighted):
    rng = np.random.default_rng(0)
    X, F = sparse.random_array((40, 60), density=0.2, rng=rng, format="csr"), rng.normal(size=(40, 3))
    weights = rng.uniform(0.5, 2.0, 40) if weighted else None
    found = solve_ridge(X, F, solver="lsqr", sample_weight=weights, tol=1e-10, max_iter=2000)
    other = solve_ridge(X, F, solver="gram", sample_weight=weights)
    exact = other.solve(alpha)
    assert_allclose(found.solve(alpha).coef, exact.coef, atol=1e-7)
    assert_allclose(found.solve(alpha).intercept, exact.intercept, atol=1e-7)
    assert_allclose(found.reduced(alpha), other.reduced(alpha), atol=1e-6)
    assert_allclose(found.fitted_squares(alpha), other.fitted_squares(alpha), atol=1e-6)
    assert found.residual(alpha) < 1e-8
    assert found.n_iter > 3


def test_lsqr_says_when_it_stopped_too_early():
    rng = np.random.default_rng(0)
    path = solve_ridge(rng.normal(size=(40, 60)), rng.normal(size=(40, 2)), solver="lsqr", max_iter=3)
    with pytest.warns(RuntimeWarning, match="LSQR stopped with relative residual"):
        path.solve(1e-3)


def test_a_penalty_that_rounding_swallows_is_solved_without_cholesky():
    """Two equal columns: A + λI is singular in floating point, and half of the weight belongs to each."""
    X, F = np.repeat([[1.0], [2.0], [4.0]], 2, axis=1), np.array([[0.0], [1.0], [1.0]])
    found = solve_ridge(X, F, alphas=(1e-25,), solver="gram").solve(1e-25)
    W, _ = _textbook(X, sparse.csr_array(F), 0.0, None)
    assert_allclose(X @ found.coef + found.intercept, X @ W + (F - X @ W).mean(axis=0), atol=1e-6)


def test_what_counts_as_noise_among_eigenvalues_does_not_depend_on_their_unit():
    for unit in (1.0, 1e-8, 1e8):
        values, _ = _eigenpairs_above_noise(unit * np.diag([1.0, 1e-2, 1e-4]), 1e-3)
        assert_allclose(values, [unit, 1e-2 * unit])


def test_a_kernel_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="must be square"):
        SamplePath.from_kernel(np.ones((3, 2)), np.ones((3, 1)))


def test_whether_the_gram_resolves_zero_is_asked_of_its_largest_eigenvalue():
    for least, resolved in ((2.0, True), (0.5, False)):
        size = np.sqrt([1.0, 0.1, least / CONDITION_LIMIT**2])
        sums = RowMoments.from_rows(np.vstack([np.diag(size), -np.diag(size)]), np.ones((6, 1)))
        assert RidgePath(sums).resolves_zero is resolved


@pytest.mark.parametrize(
    ("shape", "side"), [((9, 10), "samples"), ((10, 10), "samples"), ((11, 10), "features")]
)
def test_krylov_works_on_the_smaller_side_and_on_samples_where_both_are_equal(shape, side):
    rng = np.random.default_rng(0)
    path = KrylovPath(rng.normal(size=shape), rng.normal(size=(shape[0], 2)), alpha=1.0)
    assert path.side == side


def test_lsqr_takes_at_most_300_steps_unless_told_otherwise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 400)) * np.geomspace(1.0, 1e-7, 400)
    path = solve_ridge(X, rng.normal(size=(500, 1)), solver="lsqr", tol=1e-13)
    with pytest.warns(RuntimeWarning, match="LSQR stopped"):
        path.solve(0.0)
    assert path.n_iter == 300


def test_indices_are_narrow_where_they_fit():
    A = sparse.csr_array(np.eye(3))
    wide = sparse.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    found = narrow_columns(wide)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), np.eye(3))


def test_a_krylov_path_gives_up_after_300_products():
    X = np.random.default_rng(0).normal(size=(420, 400)) * np.logspace(0, -3, 400)
    with pytest.warns(RuntimeWarning, match="stopped after 300 block products"):
        assert KrylovPath(X, X[:, :1], alpha=1e-9, tol=1e-14).n_iter == 300

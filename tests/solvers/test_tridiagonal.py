"""Several λ from one tridiagonal form, against dense solves and against the other factorisations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.factored import RidgePath, SamplePath
from hyperlabel.solvers.ridge.tridiagonal import solve_shifted

ALPHAS = (0.01, 1.0, 30.0)


@pytest.mark.parametrize(("q", "m"), [(1, 1), (2, 1), (3, 2), (40, 5), (150, 1), (200, 7)])
def test_solutions_equal_dense_solves(q, m):
    rng = np.random.default_rng(q)
    X, T = rng.normal(size=(2 * q, q)), rng.normal(size=(q, m))
    A = X.T @ X
    kept = A.copy()
    for alpha, Z in zip(ALPHAS, solve_shifted(A, T, ALPHAS), strict=True):
        assert_allclose(Z, np.linalg.solve(A + alpha * np.eye(q), T), rtol=1e-9, atol=1e-12)
    assert_allclose(A, kept, rtol=0)


def test_what_is_not_positive_definite_is_left_to_the_eigenvectors():
    assert solve_shifted(np.diag([1.0, -1.0, 2.0]), np.ones((3, 1)), [0.5, 2.0]) is None
    assert solve_shifted(np.array([[-1.0]]), np.ones((1, 1)), [0.5, 2.0]) is None


@pytest.mark.parametrize("route", ["gram", "samples"])
def test_announced_paths_equal_the_eigenvectors_and_scikit_learn(route):
    rng = np.random.default_rng(0)
    X, F = rng.normal(size=(90, 60)) + 3.0, rng.normal(size=(90, 4))

    def path(alphas):
        if route == "gram":
            return RidgePath(RowMoments.from_rows(X, F), alphas=alphas)
        return SamplePath.from_rows(X, F, alphas=alphas)

    announced, free = path(ALPHAS), path(())
    right = rng.normal(size=(4, 2))
    for alpha in (*ALPHAS, 5.0):  # the last was not announced
        twin = Ridge(alpha=alpha, solver="svd").fit(X, F)
        found = announced.solve(alpha)
        assert_allclose(found.coef.T, twin.coef_, atol=1e-9)
        assert_allclose(found.intercept, twin.intercept_, atol=1e-8)
        assert found.residual < 1e-10
        assert_allclose(announced.reduced(alpha), free.reduced(alpha), rtol=1e-8, atol=1e-9)
        assert_allclose(announced.combine(alpha, right), free.combine(alpha, right), rtol=1e-7, atol=1e-10)
    assert "_eigen" in announced.__dict__  # for the one that was not announced only
    assert set(announced._announced) == set(ALPHAS)

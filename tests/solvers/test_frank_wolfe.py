"""Frank-Wolfe for label ranking: the optimum of coordinate descent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.frank_wolfe import solve_rank_frank_wolfe
from hyperlabel.solvers.rank.problem import RankProblem


def make(seed=0, n=30, d=4, k=5, weighted=False, costly=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(float)
    Y[0], Y[1] = 0, 1
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    cost = rng.random(k) + 0.5 if costly else None
    return X, Y, weights, cost


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_frank_wolfe_finds_the_same_optimum(container):
    X, Y, weights, cost = make(8, weighted=True, costly=True)
    problem = RankProblem.build(
        container(X), sparse.csr_array(Y), sample_weight=weights, label_cost=cost, shift=None
    )
    slow = solve_rank_frank_wolfe(problem, tol=1e-4, max_iter=100_000, trace=True)
    fast = solve_rank_dcd(problem, tol=1e-8, max_iter=5000)
    assert slow.converged
    assert slow.dual <= fast.primal * (1 + 1e-12)
    assert_allclose(slow.primal, fast.primal, rtol=1e-4)
    assert (np.diff(slow.trace[:, 2]) >= -1e-9).all()

"""The ranking problem: certificates that hold for any W and α."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.frank_wolfe import solve_rank_frank_wolfe
from hyperlabel.solvers.rank.problem import RankProblem, count_relevant, rank_memory


def make(seed=0, n=30, d=4, k=5, weighted=False, costly=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(float)
    Y[0], Y[1] = 0, 1
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    cost = rng.random(k) + 0.5 if costly else None
    return X, Y, weights, cost


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.1, 1.0, 20.0]), share=st.floats(0, 1))
def test_primal_is_never_below_dual(seed, C, share):
    X, Y, weights, cost = make(seed, n=12, weighted=True, costly=True)
    problem = RankProblem.build(X, sparse.csr_array(Y), sample_weight=weights, label_cost=cost)
    rng = np.random.default_rng(seed)
    anywhere = rng.random(problem.n_pairs) * (rng.random(problem.n_pairs) < share)
    start = solve_rank_dcd(problem, C=C, tol=2.0, alpha=anywhere)  # clipped to the box, not a step taken
    assert start.n_iter == 0
    assert start.primal >= start.dual - 1e-12 * abs(start.primal)
    found = solve_rank_dcd(problem, C=C, tol=1e-4, trace=True)
    _, primal, dual = found.trace.T
    assert (primal >= dual - 1e-12 * primal).all()
    assert (np.diff(dual) >= -1e-9 * np.abs(dual[1:])).all()  # every step climbs the dual
    assert start.primal >= found.dual - 1e-12


def test_nothing_to_rank():
    X, Y = np.ones((3, 2)), sparse.csr_array(np.array([[0.0, 0], [1, 1], [0, 0]]))
    for solve in (solve_rank_dcd, solve_rank_frank_wolfe):
        found = solve(RankProblem.build(X, Y))
        assert found.converged
        assert not found.W.any()
    with pytest.raises(ValueError, match="at least 1"):
        solve_rank_dcd(RankProblem.build(X, Y), max_iter=0)


def test_memory_of_a_solve_is_its_duals_weights_score_blocks_and_rows():
    n, d, k, pairs = 10, 3, 4, 7
    assert rank_memory(n, d, k, pairs, np.float32) == 4 * pairs + 8 * (4 * d * k + 2 * n * k + 5 * n)


def test_known_labels_are_counted_and_only_they_are_paired():
    gaps = np.array([[1, 0, np.nan, 1], [np.nan, np.nan, 0, 0], [1, np.nan, np.nan, np.nan], [0, 1, 1, 0.0]])
    Y = sparse.csr_array(gaps)
    n_relevant, n_irrelevant = count_relevant(Y)
    assert n_relevant.tolist() == [2, 0, 1, 2]
    assert n_irrelevant.tolist() == [1, 2, 0, 2]
    problem = RankProblem.build(np.eye(4), Y)
    assert np.diff(problem.start).tolist() == [2, 0, 0, 4]
    W, b = np.random.default_rng(0).normal(size=(4, 4)), np.zeros(4)
    loss = 0.0
    for f, y in zip(W, gaps, strict=True):
        if (y == 1).any() and (y == 0).any():
            loss += np.maximum(0, 1 - f[y == 1][:, None] + f[y == 0]).mean()
    assert problem.primal(W, b, 2.0) == pytest.approx(0.5 * np.sum(W**2) + 2.0 * loss)

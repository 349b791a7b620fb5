"""Label ranking: an independent QP, Algorithm 1 word for word, shrinking and warm starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse

from hyperlabel.solvers.rank.dual_coordinate_descent import _State, _Visits, solve_rank_dcd
from hyperlabel.solvers.rank.problem import RankProblem


def make(seed=0, n=30, d=4, k=5, weighted=False, costly=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(float)
    Y[0], Y[1] = 0, 1
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    cost = rng.random(k) + 0.5 if costly else None
    return X, Y, weights, cost


def pairs_of(Y):
    return [(i, p, q) for i in range(len(Y)) for p in np.flatnonzero(Y[i]) for q in np.flatnonzero(Y[i] == 0)]


def dense_objective(X, Y, w, C, weights, cost):
    """(9) and (10) pair by pair, with nothing of the library."""
    W = w.reshape(Y.shape[1], -1)
    total = 0.5 * np.sum(W * W)
    for i, p, q in pairs_of(Y):
        size = Y[i].sum() * (1 - Y[i]).sum()
        total += C * weights[i] * cost[p] / size * max(0.0, 1 - (W[p] - W[q]) @ np.append(X[i], 1.0))
    return total


def qp_optimum(X, Y, C, weights, cost):
    """The dual (17) as a box-constrained QP for scipy."""
    Xa = np.hstack([X, np.ones((len(X), 1))])
    pairs = pairs_of(Y)
    T = np.zeros((len(pairs), Y.shape[1] * Xa.shape[1]))
    upper = np.zeros(len(pairs))
    for t, (i, p, q) in enumerate(pairs):
        block = np.zeros((Y.shape[1], Xa.shape[1]))
        block[p], block[q] = Xa[i], -Xa[i]
        T[t] = block.ravel()
        upper[t] = C * weights[i] * cost[p] / (Y[i].sum() * (1 - Y[i]).sum())
    found = optimize.minimize(
        lambda a: (0.5 * np.sum((T.T @ a) ** 2) - a.sum(), T @ (T.T @ a) - 1.0),
        np.zeros(len(pairs)), jac=True, bounds=list(zip(np.zeros_like(upper), upper, strict=True)),
        method="L-BFGS-B", options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return -found.fun, T.T @ found.x


def algorithm_1(X, Y, C, epochs):
    """Algorithm 1 as printed: one pair at a time, two weight vectors per step, rows in order."""
    Xa = np.hstack([X, np.ones((len(X), 1))])
    W = np.zeros((Y.shape[1], Xa.shape[1]))
    alpha = dict.fromkeys(pairs_of(Y), 0.0)
    for _ in range(epochs):
        for i, p, q in alpha:
            box = C / (Y[i].sum() * (1 - Y[i]).sum())
            G = (W[p] - W[q]) @ Xa[i] - 1
            old = alpha[i, p, q]
            PG = min(0, G) if old == 0 else max(0, G) if old == box else G
            if PG != 0:
                new = min(max(old - G / (2 * Xa[i] @ Xa[i]), 0), box)
                W[p] += (new - old) * Xa[i]
                W[q] -= (new - old) * Xa[i]
                alpha[i, p, q] = new
    return W, np.array(list(alpha.values()))


class Falling:
    """Stands for the duals: guesses that were measured an epoch ago, two rows active at first, then one."""

    def __init__(self, guesses):
        self.guesses = iter(guesses)

    def epoch(self, order, low, high):
        return next(self.guesses), 1.0, -1.0, np.arange(len(order)) == 0


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_optimum_equals_an_independent_qp(C, costly):
    X, Y, weights, cost = make(1, weighted=costly, costly=costly)
    problem = RankProblem.build(X, sparse.csr_array(Y), sample_weight=weights, label_cost=cost)
    found = solve_rank_dcd(problem, C=C, tol=1e-9, max_iter=5000)
    weights = np.ones(len(X)) if weights is None else weights
    cost = np.ones(Y.shape[1]) if cost is None else cost
    best, _ = qp_optimum(X, Y, C, weights, cost)
    assert found.converged
    assert_allclose([found.primal, found.dual], best, rtol=1e-5)
    ours = np.vstack([found.W, found.b]).T.ravel()
    assert_allclose(dense_objective(X, Y, ours, C, weights, cost), found.primal, rtol=1e-12)


@pytest.mark.parametrize("epochs", [1, 2, 7])
def test_row_blocks_give_the_iterates_of_algorithm_1(epochs):
    X, Y, *_ = make(2)
    W, alpha = algorithm_1(X, Y, 2.0, epochs)
    for rows in (X, sparse.csr_array(X)):
        problem = RankProblem.build(rows, sparse.csr_array(Y))
        found = solve_rank_dcd(problem, C=2.0, tol=0.0, max_iter=epochs, permute=False, shrinking=False)
        assert_allclose(np.vstack([found.W, found.b]).T, W, atol=1e-13)
        assert_allclose(found.alpha, alpha, atol=1e-14)


def test_centred_sparse_rows_equal_centred_dense_rows():
    X, Y, weights, _ = make(3, weighted=True)
    mean = X.mean(axis=0)
    settings_ = {"C": 3.0, "tol": 0.0, "max_iter": 20, "shrinking": False}
    dense = solve_rank_dcd(
        RankProblem.build(X - mean, sparse.csr_array(Y), sample_weight=weights), **settings_
    )
    rows = sparse.csr_array(X)
    problem = RankProblem.build(rows, sparse.csr_array(Y), sample_weight=weights, shift=mean)
    assert problem.X is rows
    found = solve_rank_dcd(problem, **settings_)
    assert_allclose(found.W, dense.W, atol=1e-11)
    assert_allclose([found.primal, found.dual], [dense.primal, dense.dual], rtol=1e-11)


def test_a_weight_is_a_repetition():
    X, Y, weights, _ = make(4, weighted=True)
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    weighted = RankProblem.build(X, sparse.csr_array(Y), sample_weight=weights)
    written_out = RankProblem.build(X[repeated], sparse.csr_array(Y[repeated]))
    one = solve_rank_dcd(weighted, tol=1e-12, max_iter=5000)
    two = solve_rank_dcd(written_out, tol=1e-12, max_iter=5000)
    assert_allclose(one.primal, two.primal, rtol=1e-10)
    assert_allclose(one.W, two.W, atol=1e-5)


def test_shrinking_changes_the_work_not_the_answer():
    X, Y, *_ = make(5, n=200)
    problem = RankProblem.build(X, sparse.csr_array(Y))
    with_it = solve_rank_dcd(problem, C=4.0, tol=1e-8, max_iter=20_000)
    without = solve_rank_dcd(problem, C=4.0, tol=1e-8, max_iter=20_000, shrinking=False)
    assert with_it.converged
    assert without.converged
    assert_allclose(with_it.primal, without.primal, rtol=1e-7)


def test_float32_duals_stay_inside_the_box_and_certify():
    X, Y, _, cost = make(6, n=100, costly=True)
    problem = RankProblem.build(X, sparse.csr_array(Y), label_cost=cost)
    found = solve_rank_dcd(problem, C=3.0, tol=1e-5, max_iter=5000, dual_dtype=np.float32)
    assert found.alpha.dtype == np.float32
    assert found.converged
    box = np.array([3.0 * problem.unit[i] * cost[p] for i, p, _ in pairs_of(Y)])
    assert (found.alpha.astype(float) <= box).all()
    assert_allclose(found.primal, solve_rank_dcd(problem, C=3.0, tol=1e-6, max_iter=5000).primal, rtol=2e-5)


def test_warm_starts_save_epochs():
    X, Y, *_ = make(7, n=300)
    problem = RankProblem.build(X, sparse.csr_array(Y))
    first = solve_rank_dcd(problem, C=2.0, tol=1e-6, max_iter=5000)
    again = solve_rank_dcd(problem, C=2.0, tol=1e-6, alpha=first.alpha)
    assert again.n_iter == 0
    next_C = solve_rank_dcd(problem, C=2.2, tol=1e-6, alpha=first.alpha * 1.1, max_iter=5000)
    assert next_C.n_iter < solve_rank_dcd(problem, C=2.2, tol=1e-6, max_iter=5000).n_iter
    with pytest.raises(ValueError, match="this problem has"):
        solve_rank_dcd(problem, alpha=first.alpha[:-1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_guess_of_a_first_visit_is_the_gap_before_it_over_the_dual_after_it(container):
    """One pair: its gap at α = 0 is the whole primal, and Σα is followed as it moves."""
    problem = RankProblem.build(container([[1.0, 2.0]]), sparse.csr_array([[1.0, 0.0]]), shift=None)
    state = _State(problem, 0.1, None, np.dtype(np.float64))
    before = problem.certify(state.alpha, 0.1)[2]
    guess = state.epoch(problem.trained_rows, -np.inf, np.inf)[0]
    dual = problem.certify(state.alpha, 0.1)[3]
    assert state.total == pytest.approx(state.alpha.sum())
    assert 0 < dual < before
    assert guess == pytest.approx(before / (dual + before))


def test_a_guess_is_carried_on_by_its_own_rate_of_fall():
    visits = _Visits(np.arange(2), None, shrinking=False)
    state = Falling([0.5, 0.25, 0.3, 0.0, 0.1])
    assert [visits.epoch(state) for _ in range(5)] == pytest.approx([0.5, 0.125, 0.3, 0.0, 0.1])


def test_a_single_active_row_is_no_reason_for_a_certificate(monkeypatch):
    """None is: then everything comes back, or the problem is solved."""
    X, Y, *_ = make(7)
    problem = RankProblem.build(X, sparse.csr_array(Y))
    left = iter([1, 1, 0, 1])
    real = _Visits.epoch

    def epoch(self, state):
        real(self, state)
        self.active = self.everything[: next(left)]
        return 1.0

    monkeypatch.setattr(_Visits, "epoch", epoch)
    found = solve_rank_dcd(problem, tol=1e-12, max_iter=4)
    assert found.trace[:, 0].tolist() == [3, 4]


@pytest.mark.parametrize("seed", range(4))
def test_sparse_rows_take_the_epochs_of_dense_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.5)
    Y = sparse.csr_array((rng.random((60, 5)) < 0.4).astype(float))
    problems = [RankProblem.build(rows, Y) for rows in (X, sparse.csr_array(X))]
    dense, rare = (solve_rank_dcd(problem, C=5.0, tol=1e-6) for problem in problems)
    assert rare.n_iter == dense.n_iter > 5
    states = [_State(p, 5.0, None, np.dtype(np.float64)) for p in problems]
    for _ in range(60):
        found = [state.epoch(np.arange(60), -np.inf, np.inf) for state in states]
        for one, other in zip(*found, strict=True):
            assert_allclose(one, other, atol=1e-9)
    assert 0 < found[0][1] < 1

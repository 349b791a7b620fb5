"""Frank–Wolfe for label ranking: the solver Rank-SVM was published with, as a baseline.

The linear problem over the box has the vertex s_ipq = u_ip where the margin is short
(f_p − f_q < 1) and 0 elsewhere; the step towards it is found exactly. Nothing but sums over
pairs is ever needed, so the duals are not kept: W, b and Σα are linear in α and move with it.
The Frank–Wolfe gap ∇g(α)ᵀ(α − s) *is* the duality gap P − D here, so both solvers stop on the
same number.

This is an honest opponent for `solve_rank_dcd`: compiled, O(nkd + Σ|y||ȳ|) an iteration through
BLAS, where the published method forms O(n²k).

References
----------
.. [1] A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.
"""

import numpy as np

from hyperlabel.solvers.compiling import compiled
from hyperlabel.solvers.rank.problem import RankProblem, RankResult, relative_duality_gap, split_labels


def solve_rank_frank_wolfe(
    problem: RankProblem, *, C: float = 1.0, tol: float = 1e-3, max_iter: int = 10_000, trace: bool = False
) -> RankResult:
    """Minimise the same P to the same relative duality gap as `solve_rank_dcd`; no duals are kept."""
    k, d = problem.n_labels, problem.X.shape[1]
    W, b, total = np.zeros((d, k)), np.zeros(k), 0.0
    records = []
    for iteration in range(max_iter + 1):
        loss, W_vertex, b_vertex, vertex_total = _best_vertex(problem, W, b, C)
        norm = float(np.vdot(W, W) + b @ b)
        primal, dual = 0.5 * norm + loss, total - 0.5 * norm
        gap = relative_duality_gap(primal, dual)
        if trace:
            records.append((iteration, primal, dual))
        if gap <= tol or iteration == max_iter:
            break
        towards, towards_b = W_vertex - W, b_vertex - b
        curvature = np.vdot(towards, towards) + towards_b @ towards_b
        step = 1.0 if curvature <= primal - dual else (primal - dual) / curvature
        W += step * towards
        b += step * towards_b
        total += step * (vertex_total - total)
    kept = np.array(records).reshape(-1, 3)
    return RankResult(W, b, None, primal, dual, gap, iteration, gap <= tol, kept)


def _best_vertex(
    problem: RankProblem, W: np.ndarray, b: np.ndarray, C: float
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Loss at (W, b), and the weights and Σ of the vertex s."""
    W_new, b_new, loss, total = np.zeros_like(W), np.zeros_like(b), 0.0, 0.0
    for rows in problem.blocks():
        F = problem.scores(rows, W, b)
        beta = np.zeros_like(F)
        part = _short_margins(
            F, rows.start, problem.indptr, problem.indices, problem.unit, problem.cost, beta
        )
        loss, total = loss + part[0], total + part[1]
        W_new += problem.X[rows].T @ beta
        b_new += beta.sum(axis=0)
    W_new -= np.outer(problem.shift, b_new)
    return C * loss, C * W_new, C * b_new, C * total


@compiled
def _short_margins(F, first, indptr, indices, unit, cost, beta):
    """Loss, Σs and β of the vertex s for a block of rows, all per unit of C."""
    k = F.shape[1]
    on, off, rival, short = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k), np.empty(k)
    loss, total = 0.0, 0.0
    for r in range(F.shape[0]):
        i = first + r
        if unit[i] == 0.0:
            continue
        n_on, n_off = split_labels(i, indptr, indices, on, off)
        for j in range(n_off):
            rival[j] = F[r, off[j]]
            short[j] = 0.0
        for a in range(n_on):
            p = on[a]
            box, mine, lost, count = unit[i] * cost[p], 1.0 - F[r, p], 0.0, 0.0
            for j in range(n_off):
                miss = mine + rival[j]
                inside = 1.0 if miss > 0.0 else 0.0
                lost += inside * miss
                count += inside
                short[j] += inside * box
            loss += box * lost
            beta[r, p] = box * count
            total += box * count
        for j in range(n_off):
            beta[r, off[j]] = -short[j]
    return loss, total

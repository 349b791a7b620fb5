"""Frank–Wolfe for label ranking: the solver Rank-SVM was published with, as a baseline.

The linear problem over the box has the vertex s_ipq = u_ip where the margin is short
(f_p − f_q < 1) and 0 elsewhere; the step towards it is exact. Nothing but sums over
pairs is ever needed, so the duals are not kept: W, b and Σα are linear in α and move with it.
The Frank–Wolfe gap ∇g(α)ᵀ(α − s) *is* the duality gap P − D here, so both solvers stop on the
same number.

This is an honest opponent for `solve_rank_dcd`: compiled, O(nkd + Σ|y||ȳ|) an iteration through
BLAS, where the published method forms O(n²k).

References
----------
.. [1] A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.
"""

from collections.abc import Callable

import numpy as np

from hyperlabel.solvers.compiling import compiled
from hyperlabel.solvers.rank.problem import RankProblem, RankResult, go_on, relative_duality_gap, split_labels


def solve_rank_frank_wolfe(
    problem: RankProblem,
    *,
    C: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    trace: bool = False,
    report_epoch: Callable[[], bool] = go_on,
) -> RankResult:
    """Minimise the same P to the same relative duality gap as `solve_rank_dcd`; no duals are kept.

    `report_epoch` is called after each iteration; where it returns True that was the last.
    """
    k, d = problem.n_labels, problem.X.shape[1]
    W, b, dual_sum = np.zeros((d, k)), np.zeros(k), 0.0
    records = []
    for iteration in range(max_iter + 1):
        hinge_loss, W_vertex, b_vertex, vertex_sum = _find_best_vertex(problem, W, b, C)
        squared_norm = float(np.vdot(W, W) + b @ b)
        primal, dual = 0.5 * squared_norm + hinge_loss, dual_sum - 0.5 * squared_norm
        gap = relative_duality_gap(primal, dual)
        if trace:
            records.append((iteration, primal, dual))
        is_last = iteration == max_iter or (iteration > 0 and report_epoch())
        if gap <= tol or is_last:
            break
        w_direction, b_direction = W_vertex - W, b_vertex - b
        curvature = np.vdot(w_direction, w_direction) + b_direction @ b_direction
        # exact on a quadratic: its slope along the direction is the duality gap P − D
        step_length = 1.0 if curvature <= primal - dual else (primal - dual) / curvature
        W += step_length * w_direction
        b += step_length * b_direction
        dual_sum += step_length * (vertex_sum - dual_sum)
    trace_records = np.array(records).reshape(-1, 3)
    return RankResult(W, b, None, primal, dual, gap, iteration, gap <= tol, trace_records)


def _find_best_vertex(
    problem: RankProblem, W: np.ndarray, b: np.ndarray, C: float
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Loss at (W, b), and the weights and Σ of the vertex s."""
    W_new, b_new, hinge_loss, vertex_sum = np.zeros_like(W), np.zeros_like(b), 0.0, 0.0
    for row_block in problem.blocks():
        F = problem.scores(row_block, W, b)
        beta = np.zeros_like(F)
        loss_and_sum = _sum_short_margins(
            F, row_block.start, problem.indptr, problem.indices, problem.unit, problem.cost, beta
        )
        hinge_loss, vertex_sum = hinge_loss + loss_and_sum[0], vertex_sum + loss_and_sum[1]
        W_new += problem.X[row_block].T @ beta
        b_new += beta.sum(axis=0)
    W_new -= np.outer(problem.shift, b_new)
    return C * hinge_loss, C * W_new, C * b_new, C * vertex_sum


@compiled
def _sum_short_margins(F, first, indptr, indices, unit, cost, beta):
    """Loss, Σs and β of the vertex s for a block of rows, all per unit of C; unknown labels keep β = 0."""
    k = F.shape[1]
    relevant_labels, irrelevant_labels, irrelevant_scores, irrelevant_sums = (
        np.empty(k, np.int64),
        np.empty(k, np.int64),
        np.empty(k),
        np.empty(k),
    )
    block_loss, vertex_sum = 0.0, 0.0
    for r in range(F.shape[0]):
        i = first + r
        if unit[i] == 0.0:
            continue
        n_relevant, n_irrelevant = split_labels(i, indptr, indices, relevant_labels, irrelevant_labels)
        for j in range(n_irrelevant):
            irrelevant_scores[j] = F[r, irrelevant_labels[j]]
            irrelevant_sums[j] = 0.0
        for a in range(n_relevant):
            p = relevant_labels[a]
            dual_bound, margin_offset, hinge_sum, n_short = unit[i] * cost[p], 1.0 - F[r, p], 0.0, 0.0
            for j in range(n_irrelevant):
                margin_miss = margin_offset + irrelevant_scores[j]
                is_short = 1.0 if margin_miss > 0.0 else 0.0
                hinge_sum += is_short * margin_miss
                n_short += is_short
                irrelevant_sums[j] += is_short * dual_bound
            block_loss += dual_bound * hinge_sum
            beta[r, p] = dual_bound * n_short
            vertex_sum += dual_bound * n_short
        for j in range(n_irrelevant):
            beta[r, irrelevant_labels[j]] = -irrelevant_sums[j]
    return block_loss, vertex_sum

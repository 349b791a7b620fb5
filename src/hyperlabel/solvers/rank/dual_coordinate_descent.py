"""Dual coordinate descent for label ranking (CVPR'09, Algorithm 1), a row at a time.

Algorithm 1 visits the duals α_ipq one by one and touches two weight vectors of length d for
each. All pairs of one row see W only through the k numbers f = Wᵀxᵢ + b, and a step Δ on α_ipq
moves them by a known amount, f_p += ΔAᵢᵢ and f_q −= ΔAᵢᵢ. So a row costs one product, its
|y||ȳ| scalar steps, and one rank-one update: O(k·nnz + |y||ȳ|) instead of O(|y||ȳ|·d), with
the same iterates for the same order of visits.

Rows are visited in random order. A row whose duals all sit at a bound with the gradient
pointing outwards by more than the last epoch's largest violation is set aside (shrinking, as
in Hsieh et al. 2008) and comes back before anything is declared solved: the stopping gap is
always computed on every pair (`RankProblem.certify`).

Sparse rows stay sparse also when they are centred: with V = Σ x βᵀ, c = Σβ, g = Σ (m·x)β and
uᵢ = m·xᵢ, the score of the centred row is f = Vᵀxᵢ − c uᵢ − g + c(m·m + 1).

References
----------
.. [1] G. Chen, J. Zhang, F. Wang, C. Zhang, Y. Gao. Efficient multi-label classification with
   hypergraph regularization. CVPR 2009. Equations (17)–(25), Algorithm 1.
.. [2] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan. A dual coordinate
   descent method for large-scale linear SVM. ICML 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.compiling import compiled
from hyperlabel.solvers.rank.problem import (
    FLOAT32_SLACK,
    RankProblem,
    RankResult,
    go_on,
    relative_duality_gap,
    split_labels,
)


def solve_rank_dcd(
    problem: RankProblem,
    *,
    C: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    alpha: np.ndarray | None = None,
    dual_dtype: Any = np.float64,
    permute: bool = True,
    shrinking: bool = True,
    seed: int | np.random.RandomState | None = 0,
    trace: bool = False,
    report_epoch: Callable[[], bool] = go_on,
) -> RankResult:
    """Solve the dual (17) until (P − D)/P, computed exactly, is at most `tol`, or for `max_iter` epochs.

    Starting duals `alpha` are copied and clipped to the box; `dual_dtype` is how they are kept. Without
    `permute` (random order) and `shrinking` (settled rows set aside) this is Algorithm 1 literally.
    `report_epoch` is called after each epoch; where it returns True that was the last.
    """
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}.")
    rng = seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)
    dual_state = _State(problem, C, alpha, np.dtype(dual_dtype))
    row_visits = _Visits(problem.trained_rows, rng if permute else None, shrinking)
    records: list[tuple[float, float, float]] = []
    epoch, is_last = 0, False
    if alpha is None and problem.n_pairs:
        gap = 1.0  # at α = 0 the dual is 0
    else:
        W, b, primal, dual = problem.certify(dual_state.alpha, C)
        gap = relative_duality_gap(primal, dual)
    while gap > tol and not is_last:
        epoch += 1
        looks_done = row_visits.epoch(dual_state) <= tol or len(row_visits.active) == 0
        is_last = epoch == max_iter or report_epoch()
        if trace or looks_done or is_last:
            W, b, primal, dual = problem.certify(dual_state.alpha, C)
            gap = relative_duality_gap(primal, dual)
            records.append((epoch, primal, dual))
            dual_state.restart_from(W, b)
            if looks_done and gap > tol:
                row_visits.start_over()
    trace_records = np.array(records).reshape(len(records), 3)
    return RankResult(W, b, dual_state.alpha, primal, dual, gap, epoch, gap <= tol, trace_records)


class _Visits:
    """Which rows the next epoch visits, in which order, and the gradients at which a row is set aside."""

    def __init__(self, everything: np.ndarray, rng: np.random.RandomState | None, shrinking: bool) -> None:
        self.everything, self.rng, self.shrinking = everything, rng, shrinking
        self.start_over()

    def start_over(self) -> None:
        """Take every row back."""
        self.active, self.low, self.high = self.everything, -np.inf, np.inf
        self.guess = np.inf

    def epoch(self, dual_state: _State) -> float:
        """Visit the active rows once and return the gap to be expected after it."""
        visit_order = self.active if self.rng is None else self.rng.permutation(self.active)
        gap_estimate, max_gradient, min_gradient, is_busy = dual_state.epoch(visit_order, self.low, self.high)
        if self.shrinking:
            self.active = visit_order[is_busy]
            self.high, self.low = (
                (max_gradient if max_gradient > 0 else np.inf),
                (min_gradient if min_gradient < 0 else -np.inf),
            )
        # The guess lags by an epoch: its own rate of fall says where the gap is by now.
        previous_estimate, self.guess = self.guess, gap_estimate
        return (
            gap_estimate * min(1.0, gap_estimate / previous_estimate)
            if 0 < previous_estimate < np.inf
            else gap_estimate
        )


class _State:
    """The duals and the weights they imply, as the kernels keep them."""

    def __init__(self, problem: RankProblem, C: float, alpha: np.ndarray | None, dtype: np.dtype) -> None:
        self.problem = problem
        self.slack = 1.0 if dtype == np.float64 else 1.0 - FLOAT32_SLACK
        self.upper = C * problem.unit
        if alpha is None:
            self.alpha = np.zeros(problem.n_pairs, dtype)
        else:
            if alpha.shape != (problem.n_pairs,):
                raise ValueError(
                    f"The starting duals have shape {alpha.shape}, this problem has {problem.n_pairs} pairs."
                )
            self.alpha = alpha.astype(dtype)
            _clip_to_box(problem, self.alpha, self.upper, self.slack)
        W, b, self.total = problem.weights_of(self.alpha)
        self.is_sparse = sparse.issparse(problem.X)
        if self.is_sparse:
            self.offsets = problem.X @ problem.shift
            self.constant = float(problem.shift @ problem.shift) + 1.0
        self.restart_from(W, b)

    def restart_from(self, W: np.ndarray, b: np.ndarray) -> None:
        """Take over freshly computed weights, so that rounding does not pile up."""
        self.b = b.copy()
        if self.is_sparse:  # W = V − m cᵀ and g = Vᵀm
            self.W = W + np.outer(self.problem.shift, b)
            self.g = self.problem.shift @ self.W
        else:
            self.W = W.copy()

    def epoch(
        self, visit_order: np.ndarray, low: float, high: float
    ) -> tuple[float, float, float, np.ndarray]:
        """Visit the rows once; return a guess of the relative gap, the extreme violations, who moved."""
        p = self.problem
        is_busy = np.zeros(len(visit_order), dtype=np.bool_)
        pair_arrays = (p.norms, visit_order, p.indptr, p.indices, p.start, self.upper, p.cost, self.slack)
        k = p.n_labels  # room for a row's labels and scores: kernels that make none compile faster
        scratch = np.empty((2, k), dtype=np.int64), np.empty((4, k)), np.empty(1, dtype=self.alpha.dtype)
        if self.is_sparse:
            gap_sum, max_gradient, min_gradient, dual_change = _visit_sparse_rows(
                p.X.data, p.X.indices, p.X.indptr, self.offsets, self.constant, *pair_arrays,
                low, high, self.alpha, self.W, self.b, self.g, is_busy, *scratch,
            )  # fmt: skip
            W = self.W - np.outer(p.shift, self.b)
        else:
            gap_sum, max_gradient, min_gradient, dual_change = _visit_dense_rows(
                p.X, *pair_arrays, low, high, self.alpha, self.W, self.b, is_busy, *scratch
            )
            W = self.W
        self.total += dual_change
        dual_objective = self.total - 0.5 * (np.vdot(W, W) + self.b @ self.b)
        return gap_sum / max(dual_objective + gap_sum, 1e-300), max_gradient, min_gradient, is_busy


def _clip_to_box(problem: RankProblem, alpha: np.ndarray, upper: np.ndarray, slack: float) -> None:
    """Clip the duals to 0 … u_ip in place."""
    is_relevant = problem.indices >= 0  # the others are unknown
    relevant_rows = np.repeat(np.arange(len(upper)), np.diff(problem.indptr))[is_relevant]
    n_relevant = np.bincount(relevant_rows, minlength=len(upper))
    pairs_per_label = np.diff(problem.start) // np.maximum(n_relevant, 1)
    label_bounds = upper[relevant_rows] * problem.cost[problem.indices[is_relevant]] * slack
    pair_bounds = np.repeat(label_bounds.astype(alpha.dtype), pairs_per_label[relevant_rows])
    np.clip(alpha, 0.0, pair_bounds, out=alpha)


@compiled(fastmath={"contract"})
def _step_pairs(
    f, relevant_labels, n_relevant, irrelevant_labels, n_irrelevant, alpha, t, norm, upper, cost, slack,
    low, high, label_steps, irrelevant_scores, irrelevant_steps, rounded_bound,
):  # fmt: skip
    """Algorithm 1's inner loop on the k scores of one row.

    Returns (gap of the row before its steps, largest and smallest projected gradient, Σ of the
    changes, whether the row must stay active, whether anything moved).
    """
    half_inverse_norm = 0.5 / norm  # f_p and f_q both move by ΔAᵢᵢ: the curvature is 2Aᵢᵢ (23)
    row_gap, max_gradient, min_gradient, dual_change = 0.0, 0.0, 0.0, 0.0
    stays_active, any_moved = False, False
    for j in range(n_irrelevant):
        irrelevant_scores[j] = f[irrelevant_labels[j]]
        irrelevant_steps[j] = 0.0
    for a in range(n_relevant):
        p = relevant_labels[a]
        rounded_bound[0] = upper * cost[p] * slack  # an array of α's type: rounded as the duals are
        dual_bound = np.float64(rounded_bound[0])
        relevant_score, relevant_step = f[p] - 1.0, 0.0
        for j in range(n_irrelevant):
            G = relevant_score - irrelevant_scores[j]  # (20)
            old_dual = np.float64(alpha[t])
            if G >= 0.0 and old_dual <= 0.0:  # projected gradient 0 (22)
                if high >= G:
                    stays_active = True
            elif G <= 0.0 and old_dual >= dual_bound:
                if low <= G:
                    stays_active = True
            else:
                stays_active, any_moved = True, True
                if max_gradient < G:
                    max_gradient = G
                elif min_gradient > G:
                    min_gradient = G
                # P − D of this pair: the hinge u·max(0, −G) plus α·G
                row_gap += old_dual * G if G > 0.0 else (old_dual - dual_bound) * G
                new_dual = old_dual - G * half_inverse_norm  # (23)
                if new_dual < 0.0:
                    new_dual = 0.0
                elif new_dual > dual_bound:
                    new_dual = dual_bound
                alpha[t] = new_dual
                delta = np.float64(alpha[t]) - old_dual
                relevant_score += delta * norm
                irrelevant_scores[j] -= delta * norm
                relevant_step += delta
                irrelevant_steps[j] -= delta
            t += 1
        label_steps[p] = relevant_step
        dual_change += relevant_step
    for j in range(n_irrelevant):
        label_steps[irrelevant_labels[j]] = irrelevant_steps[j]
    return row_gap, max_gradient, min_gradient, dual_change, stays_active, any_moved


@compiled(fastmath={"contract"})
def _visit_dense_rows(
    X, norms, visit_order, indptr, indices, start, upper, cost, slack, low, high, alpha, W, b, is_busy,
    label_rows, score_rows, rounded_bound,
):  # fmt: skip
    d, k = W.shape
    relevant_labels, irrelevant_labels = label_rows[0], label_rows[1]
    f, label_steps, irrelevant_scores, irrelevant_steps = (
        score_rows[0],
        score_rows[1],
        score_rows[2],
        score_rows[3],
    )
    gap_sum, max_gradient, min_gradient, dual_change = 0.0, 0.0, 0.0, 0.0
    unrolled_stop = d - d % 4
    for s in range(visit_order.shape[0]):
        i = visit_order[s]
        n_relevant, n_irrelevant = split_labels(i, indptr, indices, relevant_labels, irrelevant_labels)
        for p in range(k):
            f[p], label_steps[p] = b[p], 0.0  # a label that nobody knows takes no step
        for j in range(0, unrolled_stop, 4):  # four features at a time: f is loaded and stored once for them
            x0, x1, x2, x3 = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
            for p in range(k):
                f[p] += x0 * W[j, p] + x1 * W[j + 1, p] + x2 * W[j + 2, p] + x3 * W[j + 3, p]
        for j in range(unrolled_stop, d):
            for p in range(k):
                f[p] += X[i, j] * W[j, p]
        row_gap, row_max, row_min, row_change, is_busy[s], any_moved = _step_pairs(
            f, relevant_labels, n_relevant, irrelevant_labels, n_irrelevant, alpha, start[i], norms[i],
            upper[i], cost, slack, low, high, label_steps, irrelevant_scores, irrelevant_steps, rounded_bound,
        )  # fmt: skip
        gap_sum, dual_change = gap_sum + row_gap, dual_change + row_change
        if row_max > max_gradient:
            max_gradient = row_max
        if row_min < min_gradient:
            min_gradient = row_min
        if any_moved:  # (24), (25)
            for p in range(k):
                b[p] += label_steps[p]
            for j in range(d):
                x = X[i, j]
                for p in range(k):
                    W[j, p] += x * label_steps[p]
    return gap_sum, max_gradient, min_gradient, dual_change


@compiled(fastmath={"contract"})
def _visit_sparse_rows(
    data, columns, rows, offsets, constant, norms, visit_order, indptr, indices, start, upper, cost, slack,
    low, high, alpha, V, c, g, is_busy, label_rows, score_rows, rounded_bound,
):  # fmt: skip
    k = V.shape[1]
    relevant_labels, irrelevant_labels = label_rows[0], label_rows[1]
    f, label_steps, irrelevant_scores, irrelevant_steps = (
        score_rows[0],
        score_rows[1],
        score_rows[2],
        score_rows[3],
    )
    gap_sum, max_gradient, min_gradient, dual_change = 0.0, 0.0, 0.0, 0.0
    for s in range(visit_order.shape[0]):
        i = visit_order[s]
        n_relevant, n_irrelevant = split_labels(i, indptr, indices, relevant_labels, irrelevant_labels)
        shift_factor = constant - offsets[i]
        for p in range(k):
            f[p], label_steps[p] = c[p] * shift_factor - g[p], 0.0
        for e in range(rows[i], rows[i + 1]):
            x, j = data[e], columns[e]
            for p in range(k):
                f[p] += x * V[j, p]
        row_gap, row_max, row_min, row_change, is_busy[s], any_moved = _step_pairs(
            f, relevant_labels, n_relevant, irrelevant_labels, n_irrelevant, alpha, start[i], norms[i],
            upper[i], cost, slack, low, high, label_steps, irrelevant_scores, irrelevant_steps, rounded_bound,
        )  # fmt: skip
        gap_sum, dual_change = gap_sum + row_gap, dual_change + row_change
        if row_max > max_gradient:
            max_gradient = row_max
        if row_min < min_gradient:
            min_gradient = row_min
        if any_moved:
            for p in range(k):
                c[p] += label_steps[p]
                g[p] += offsets[i] * label_steps[p]
            for e in range(rows[i], rows[i + 1]):
                x, j = data[e], columns[e]
                for p in range(k):
                    V[j, p] += x * label_steps[p]
    return gap_sum, max_gradient, min_gradient, dual_change

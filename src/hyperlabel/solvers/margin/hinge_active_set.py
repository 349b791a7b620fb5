r"""Squared hinge on wide sparse rows: dual coordinate steps over the rows that count for a label.

Each label minimises Σᵢ cᵢ max(0, 1 − tᵢ(wᵀxᵢ + b))² + α‖w‖², as `solvers.margin.losses` does. Of wide text
3 to 7 % of the rows lie inside the margin of a label: they alone enter its gradient, and a step for one of
them costs its nonzeros (Hsieh et al. 2008). So a round is

* a scan: scores of all rows for some labels side by side, X read once for all of them. It finds the rows
  inside each margin and, from them, the true gradient; a label whose gradient is small gives its slot to
  the next one, so that no scan serves labels that are done;
* sweeps over the listed rows: aᵢ, the multiplier of a row, takes its best value with the others held.

The first round knows the rows of the rarer side alone: at w = 0, b = ∓1 all others sit on their margin. Then
rows come in from the worst, by a threshold that falls from round to round. Two things keep the intercept,
which is not penalised, from slowing the sweeps: rows count as centred (one number per row and label more,
nothing is densified), and a proximal term (b − o)²/β, with β the inverse of the curvature along b.

Notation
--------
code       meaning                                                       shape
T          targets −1, 0, +1                                             k×n
ratio      α/cᵢ, infinite for rows of no weight                          n
mean       μ, the mean row; shared holds xᵢᵀμ                            d, n
A          multipliers of the labels side by side                        m×n
U, total   Σ aᵢtᵢxᵢ and Σ aᵢtᵢ: w = u − total·μ                            m×d, m
b          intercepts: b + wᵀμ = o + β·total                               m
rows, gap  rows inside the margin or with aᵢ > 0, and 1 − t·score        m×n
"""

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.compiling import compiled
from hyperlabel.solvers.operators import narrow_columns, weighted_row_mean

LABELS = 64  # side by side in a scan
ROUNDS = 14  # labels unfinished after them go on by L-BFGS
SWEEPS = 4  # over the listed rows, in each round
KNOWN = 4  # rounds until nearly all rows of a margin are listed: then each sweep corrects the intercept
RARE = 20.0  # times the root of the rarer side's share: where this is below 1, it tightens the tolerance
TINY = np.finfo(float).tiny
_FAST = {"contract", "reassoc"}


def solve_hinge_active_set(
    X: Any, T: np.ndarray, alpha: float, weight: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (d×k, of X's precision), intercepts, and each label's gradient relative to that at zero.

    A label stops at `tol`, a rare one at less, since its gradient is small before anything is learnt; or
    after `ROUNDS`.
    """
    X = narrow_columns(sparse.csr_array(X))
    (n, d), k = X.shape, T.shape[1]
    squared_norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    mean = weighted_row_mean(X, weight)
    ratio = np.divide(alpha, weight, out=np.full(n, np.inf), where=weight > 0)
    csr_rows = (X.indptr, X.indices, X.data, squared_norms, X @ mean, ratio)
    label_targets = np.ascontiguousarray(T.T)
    side_weights = _sum_side_weights(label_targets, weight)
    label_tolerances = tol * np.minimum(
        1.0, RARE * np.sqrt(side_weights.min(axis=0) / np.maximum(side_weights.sum(axis=0), TINY))
    )
    label_order = np.argsort(-side_weights.min(axis=0), kind="stable")  # what needs most rounds comes first
    common_side = np.where(side_weights[0] > side_weights[1], 1, -1)
    coef_rows, intercept, residual = np.empty((k, d), dtype=X.dtype), np.empty(k), np.empty(k)
    coef = np.empty((d, k), dtype=X.dtype)
    _solve_labels(
        csr_rows,
        mean,
        X.T @ weight,
        label_targets,
        alpha,
        label_tolerances,
        common_side,
        label_order,
        (LABELS, ROUNDS, SWEEPS),
        coef_rows,
        intercept,
        residual,
    )
    _transpose_rows(coef_rows, coef, k)
    return coef, intercept, residual


@compiled
def _sum_side_weights(T, weight):
    """Return the weight of the rows with and without each label."""
    side_weights = np.zeros((2, len(T)))
    for j in range(len(T)):
        for i in range(len(weight)):
            if T[j, i] != 0:
                side_weights[0 if T[j, i] > 0 else 1, j] += weight[i]
    return side_weights


@compiled(fastmath=_FAST)
def _solve_labels(
    X, mean, feature_sums, T, alpha, label_tolerances, common_side, label_order, limits, coef_rows,
    intercept, residual,
):  # fmt: skip
    """Minimise all labels, some side by side, and fill the last three arrays."""
    (k, n), d, (max_slots, n_rounds, n_sweeps) = T.shape, len(mean), limits
    m, n_live, n_started, mean_squared = min(max_slots, k), 0, 0, 0.0
    for c in range(d):
        mean_squared += mean[c] * mean[c]
    U, V, g = np.empty((m, d), dtype=coef_rows.dtype), np.empty((d, m), dtype=coef_rows.dtype), np.empty(d)
    A, t = np.empty((m, n)), np.empty((n, m), dtype=T.dtype)
    rows, gap, row_count = np.empty((m, n), dtype=np.int32), np.empty((m, n)), np.empty(m, dtype=np.int64)
    b, total, start_norm = np.empty(m), np.empty(m), np.empty(m)
    slot_label, slot_round = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    while n_live > 0 or n_started < k:
        s = 0
        while s < n_live or (n_live < m and n_started < k):
            if s == n_live:  # an empty slot
                j = slot_label[s] = label_order[n_started]
                U[s], A[s], t[:, s] = 0, 0, T[j]
                b[s], total[s], slot_round[s] = common_side[j], 0.0, 0
                row_count[s], start_norm[s] = _begin_label(
                    X, feature_sums, T[j], common_side[j], alpha, rows[s], gap[s], g
                )
                n_started += 1
                n_live += 1
            j, slot_rows, slot_gaps = slot_label[s], rows[s, : row_count[s]], gap[s, : row_count[s]]
            if slot_round[s] > 0:
                gradient_norm = _compute_gradient_norm(
                    X, mean, T[j], alpha, slot_rows, slot_gaps, U[s], total[s], g
                )
                # only here, after a scan: the residual returned is that of the weights returned
                if gradient_norm <= label_tolerances[j] * start_norm[s] or slot_round[s] == n_rounds:
                    for c in range(d):
                        coef_rows[j, c] = U[s, c] - total[s] * mean[c]
                    intercept[j], residual[j] = b[s], gradient_norm / max(start_norm[s], TINY)
                    n_live -= 1
                    # the last slot moves into the freed one, so that live slots stay side by side
                    U[s], A[s], t[:, s] = U[n_live], A[n_live], t[:, n_live]
                    rows[s], gap[s], row_count[s] = rows[n_live], gap[n_live], row_count[n_live]
                    b[s], total[s], start_norm[s] = b[n_live], total[n_live], start_norm[n_live]
                    slot_label[s], slot_round[s] = slot_label[n_live], slot_round[n_live]
                    continue
            b[s], total[s] = _sweep_multipliers(
                X, mean_squared, T[j], A[s], slot_rows, slot_gaps, U[s], b[s], slot_round[s], n_sweeps
            )
            slot_round[s] += 1
            s += 1
        _transpose_rows(U, V, n_live)
        _scan_margins(X, t, V, b, total, A, n_live, rows, gap, row_count)


@compiled(fastmath=_FAST)
def _begin_label(X, feature_sums, t, common_side, alpha, rows, gap, g):
    """List the rows of the rarer side; return their number and the norm of the gradient at zero."""
    indptr, indices, data, _, _, ratio = X
    row_count, intercept_gradient, squared_norm = 0, 0.0, 0.0
    for c in range(len(g)):
        g[c] = common_side * feature_sums[c]
    for i in range(len(t)):
        row_weight = alpha / ratio[i]
        intercept_gradient += row_weight * t[i]
        if t[i] != common_side and row_weight > 0:
            for z in range(indptr[i], indptr[i + 1]):
                g[indices[z]] += row_weight * (t[i] - common_side) * data[z]
            if t[i] != 0:
                rows[row_count], gap[row_count] = i, 2.0
                row_count += 1
    for c in range(len(g)):
        squared_norm += g[c] * g[c]
    return row_count, 2 * np.sqrt(squared_norm + intercept_gradient * intercept_gradient)


@compiled
def _transpose_rows(A, out, n):
    """Write the first n rows of A as columns, in strips that fit into the cache."""
    for strip_start in range(0, A.shape[1], 32):
        for i in range(n):
            for c in range(strip_start, min(strip_start + 32, A.shape[1])):
                out[c, i] = A[i, c]


@compiled(fastmath=_FAST)
def _scan_margins(X, T, V, b, total, A, n_live, rows, gap, row_count):
    """Find the rows inside the margin of each label, or with a multiplier."""
    indptr, indices, data, _, shared, ratio = X
    u = np.empty(n_live, dtype=V.dtype)
    row_count[:] = 0
    for i in range(len(T)):
        if ratio[i] == np.inf:
            continue
        for j in range(n_live):
            u[j] = 0
        for z in range(indptr[i], indptr[i + 1]):
            value, coef_row = data[z], V[indices[z]]
            for j in range(n_live):
                u[j] += value * coef_row[j]
        for j in range(n_live):
            margin_gap = 1.0 - T[i, j] * (u[j] + b[j] - total[j] * shared[i])
            if (margin_gap > 0 or A[j, i] > 0) and T[i, j] != 0:
                rows[j, row_count[j]], gap[j, row_count[j]] = i, margin_gap
                row_count[j] += 1


@compiled(fastmath=_FAST)
def _compute_gradient_norm(X, mean, t, alpha, rows, gap, u, total, g):
    """Return the norm of a label's gradient, intercept included, from the rows inside its margin."""
    indptr, indices, data, _, _, ratio = X
    intercept_gradient, squared_norm = 0.0, 0.0
    for c in range(len(u)):
        g[c] = 2 * alpha * (u[c] - total * mean[c])
    for q in range(len(rows)):
        if gap[q] > 0:
            i = rows[q]
            row_slope = -2.0 * alpha / ratio[i] * t[i] * gap[q]
            intercept_gradient += row_slope
            for z in range(indptr[i], indptr[i + 1]):
                g[indices[z]] += row_slope * data[z]
    for c in range(len(u)):
        squared_norm += g[c] * g[c]
    return np.sqrt(squared_norm + intercept_gradient * intercept_gradient)


@compiled(fastmath=_FAST)
def _sweep_multipliers(X, mean_squared, t, a, rows, gap, u, b, round_number, n_sweeps):
    """Set the multipliers of the listed rows, forwards and backwards, and u; return b and Σ aᵢtᵢ."""
    indptr, indices, data, squares, shared, ratio = X
    n_visited, total, mean_product, intercept_curvature, intercept_slope = _choose_rows(
        shared, ratio, t, a, rows, gap, round_number
    )
    b += mean_product - total * mean_squared  # b + wᵀμ: the intercept of centred rows
    beta = 0.0
    for sweep in range(n_sweeps):
        if intercept_curvature > 0 and (round_number >= KNOWN or (round_number > 0 and sweep == 0)):
            b += beta * total
            beta = 1 / intercept_curvature
            # one Newton step along b; −β·total is the proximal centre that makes b the present intercept
            b += beta * (intercept_slope - total)
        intercept_curvature, intercept_slope = 0.0, 0.0
        for q in range(n_visited):
            i = rows[q if sweep % 2 == 0 else n_visited - 1 - q]
            row_score = b + total * (beta + mean_squared - shared[i]) - mean_product
            for z in range(indptr[i], indptr[i + 1]):
                row_score += data[z] * u[indices[z]]
            margin_gap = 1.0 - t[i] * row_score
            if margin_gap > 0:
                intercept_curvature += 1 / ratio[i]
                intercept_slope += t[i] * margin_gap / ratio[i]
            dual_curvature = squares[i] - 2 * shared[i] + mean_squared + beta + ratio[i]
            # exact along aᵢ: at its optimum the gap is aᵢα/cᵢ; the curvature is ‖xᵢ − μ‖² + β + α/cᵢ
            new_multiplier = max(a[i] + (margin_gap - ratio[i] * a[i]) / dual_curvature, 0.0)
            multiplier_step = (new_multiplier - a[i]) * t[i]
            if multiplier_step != 0.0:
                a[i] = new_multiplier
                total += multiplier_step
                mean_product += multiplier_step * shared[i]
                for z in range(indptr[i], indptr[i + 1]):
                    u[indices[z]] += multiplier_step * data[z]
    return b + total * (beta + mean_squared) - mean_product, total


@compiled
def _choose_rows(shared, ratio, t, a, rows, gap, round_number):
    """Put the rows to visit first; return their number, Σ aᵢtᵢ, uᵀμ, and curvature and slope along b."""
    n_visited, total, mean_product, intercept_curvature, intercept_slope = 0, 0.0, 0.0, 0.0, 0.0
    gap_threshold = 0.25**round_number if round_number < 6 else 0.0
    for q in range(len(rows)):
        i = rows[q]
        total += a[i] * t[i]
        mean_product += a[i] * t[i] * shared[i]
        if gap[q] > 0:
            intercept_curvature += 1 / ratio[i]
            intercept_slope += t[i] * gap[q] / ratio[i]
        if a[i] > 0 or gap[q] > gap_threshold:
            rows[n_visited] = i
            n_visited += 1
    return n_visited, total, mean_product, intercept_curvature, intercept_slope

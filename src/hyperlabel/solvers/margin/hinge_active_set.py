r"""Squared hinge on wide sparse rows: dual coordinate steps over the rows that count for a label.

Each label minimises Σᵢ cᵢ max(0, 1 − tᵢ(wᵀxᵢ + b))² + α‖w‖², as `solvers.margin.losses` does. Of wide text
3 to 7 % of the rows lie inside the margin of a label: they alone enter its gradient, and a step for one of
them costs its nonzeros (Hsieh et al. 2008). So a round is

* a scan: scores of all rows for some labels side by side, X read once for all of them. It finds the rows
  inside each margin and, from them, the true gradient; a label whose gradient is small gives its place to
  the next one, so that no scan serves labels that are done;
* sweeps over the rows found: aᵢ, the multiplier of a row, takes its best value with the others held.

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
ROUNDS = 14  # the few labels that then are left go on by L-BFGS
SWEEPS = 4  # over the rows found, in each round
KNOWN = 4  # rounds until nearly all rows of a margin are found: then each sweep corrects the intercept
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
    squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    mean = weighted_row_mean(X, weight)
    ratio = np.divide(alpha, weight, out=np.full(n, np.inf), where=weight > 0)
    lines = (X.indptr, X.indices, X.data, squares, X @ mean, ratio)
    targets = np.ascontiguousarray(T.T)
    sides = _side_weights(targets, weight)
    tight = tol * np.minimum(1.0, RARE * np.sqrt(sides.min(axis=0) / np.maximum(sides.sum(axis=0), TINY)))
    order = np.argsort(-sides.min(axis=0), kind="stable")  # what needs most rounds comes first
    side = np.where(sides[0] > sides[1], 1, -1)
    found, intercept, residual = np.empty((k, d), dtype=X.dtype), np.empty(k), np.empty(k)
    coef = np.empty((d, k), dtype=X.dtype)
    _solve_labels(
        lines,
        mean,
        X.T @ weight,
        targets,
        alpha,
        tight,
        side,
        order,
        (LABELS, ROUNDS, SWEEPS),
        found,
        intercept,
        residual,
    )
    _transpose_rows(found, coef, k)
    return coef, intercept, residual


@compiled
def _side_weights(T, weight):
    """Return the weight of the rows with and without each label."""
    sides = np.zeros((2, len(T)))
    for j in range(len(T)):
        for i in range(len(weight)):
            if T[j, i] != 0:
                sides[0 if T[j, i] > 0 else 1, j] += weight[i]
    return sides


@compiled(fastmath=_FAST)
def _solve_labels(X, mean, pull, T, alpha, tight, side, order, limits, found, intercept, residual):
    """Minimise all labels, some side by side, and fill the last three arrays."""
    (k, n), d, (most, n_rounds, n_sweeps) = T.shape, len(mean), limits
    m, live, taken, mean_squared = min(most, k), 0, 0, 0.0
    for c in range(d):
        mean_squared += mean[c] * mean[c]
    U, V, g = np.empty((m, d), dtype=found.dtype), np.empty((d, m), dtype=found.dtype), np.empty(d)
    A, t = np.empty((m, n)), np.empty((n, m), dtype=T.dtype)
    rows, gap, count = np.empty((m, n), dtype=np.int32), np.empty((m, n)), np.empty(m, dtype=np.int64)
    b, total, scale = np.empty(m), np.empty(m), np.empty(m)
    label, turn = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    while live > 0 or taken < k:
        s = 0
        while s < live or (live < m and taken < k):
            if s == live:  # a free place
                j = label[s] = order[taken]
                U[s], A[s], t[:, s] = 0, 0, T[j]
                b[s], total[s], turn[s] = side[j], 0.0, 0
                count[s], scale[s] = _begin_label(X, pull, T[j], side[j], alpha, rows[s], gap[s], g)
                taken += 1
                live += 1
            j, seen, short = label[s], rows[s, : count[s]], gap[s, : count[s]]
            if turn[s] > 0:
                norm = _gradient_norm(X, mean, T[j], alpha, seen, short, U[s], total[s], g)
                if norm <= tight[j] * scale[s] or turn[s] == n_rounds:  # what is returned has been judged
                    for c in range(d):
                        found[j, c] = U[s, c] - total[s] * mean[c]
                    intercept[j], residual[j] = b[s], norm / max(scale[s], TINY)
                    live -= 1
                    U[s], A[s], t[:, s], rows[s], gap[s] = U[live], A[live], t[:, live], rows[live], gap[live]
                    b[s], total[s], scale[s], count[s] = b[live], total[live], scale[live], count[live]
                    label[s], turn[s] = label[live], turn[live]
                    continue
            b[s], total[s] = _sweep_multipliers(
                X, mean_squared, T[j], A[s], seen, short, U[s], b[s], turn[s], n_sweeps
            )
            turn[s] += 1
            s += 1
        _transpose_rows(U, V, live)
        _scan_margins(X, t, V, b, total, A, live, rows, gap, count)


@compiled(fastmath=_FAST)
def _begin_label(X, pull, t, side, alpha, rows, gap, g):
    """List the rows of the rarer side; return their number and the norm of the gradient at zero."""
    indptr, indices, data, _, _, ratio = X
    count, along, norm = 0, 0.0, 0.0
    for c in range(len(g)):
        g[c] = side * pull[c]
    for i in range(len(t)):
        weight = alpha / ratio[i]
        along += weight * t[i]
        if t[i] != side and weight > 0:
            for z in range(indptr[i], indptr[i + 1]):
                g[indices[z]] += weight * (t[i] - side) * data[z]
            if t[i] != 0:
                rows[count], gap[count] = i, 2.0
                count += 1
    for c in range(len(g)):
        norm += g[c] * g[c]
    return count, 2 * np.sqrt(norm + along * along)


@compiled
def _transpose_rows(A, out, n):
    """Write the first n rows of A as columns, in strips that fit into the cache."""
    for at in range(0, A.shape[1], 32):
        for i in range(n):
            for c in range(at, min(at + 32, A.shape[1])):
                out[c, i] = A[i, c]


@compiled(fastmath=_FAST)
def _scan_margins(X, T, V, b, total, A, live, rows, gap, count):
    """Find the rows inside the margin of each label, or with a multiplier."""
    indptr, indices, data, _, shared, ratio = X
    u = np.empty(live, dtype=V.dtype)
    count[:] = 0
    for i in range(len(T)):
        if ratio[i] == np.inf:
            continue
        for j in range(live):
            u[j] = 0
        for z in range(indptr[i], indptr[i + 1]):
            value, line = data[z], V[indices[z]]
            for j in range(live):
                u[j] += value * line[j]
        for j in range(live):
            short = 1.0 - T[i, j] * (u[j] + b[j] - total[j] * shared[i])
            if (short > 0 or A[j, i] > 0) and T[i, j] != 0:
                rows[j, count[j]], gap[j, count[j]] = i, short
                count[j] += 1


@compiled(fastmath=_FAST)
def _gradient_norm(X, mean, t, alpha, rows, gap, u, total, g):
    """Return the norm of a label's gradient, intercept included, from the rows inside its margin."""
    indptr, indices, data, _, _, ratio = X
    along, norm = 0.0, 0.0
    for c in range(len(u)):
        g[c] = 2 * alpha * (u[c] - total * mean[c])
    for q in range(len(rows)):
        if gap[q] > 0:
            i = rows[q]
            slope = -2.0 * alpha / ratio[i] * t[i] * gap[q]
            along += slope
            for z in range(indptr[i], indptr[i + 1]):
                g[indices[z]] += slope * data[z]
    for c in range(len(u)):
        norm += g[c] * g[c]
    return np.sqrt(norm + along * along)


@compiled(fastmath=_FAST)
def _sweep_multipliers(X, mean_squared, t, a, rows, gap, u, b, turn, n_sweeps):
    """Set the multipliers of the rows found, forwards and backwards, and u; return b and Σ aᵢtᵢ."""
    indptr, indices, data, squares, shared, ratio = X
    kept, total, along, curve, slope = _choose_rows(shared, ratio, t, a, rows, gap, turn)
    b += along - total * mean_squared  # of centred rows
    beta = 0.0
    for sweep in range(n_sweeps):
        if curve > 0 and (turn >= KNOWN or (turn > 0 and sweep == 0)):
            b += beta * total
            beta = 1 / curve
            b += beta * (slope - total)  # one Newton step, and the centre that makes it the present value
        curve, slope = 0.0, 0.0
        for q in range(kept):
            i = rows[q if sweep % 2 == 0 else kept - 1 - q]
            score = b + total * (beta + mean_squared - shared[i]) - along
            for z in range(indptr[i], indptr[i + 1]):
                score += data[z] * u[indices[z]]
            short = 1.0 - t[i] * score
            if short > 0:
                curve += 1 / ratio[i]
                slope += t[i] * short / ratio[i]
            width = squares[i] - 2 * shared[i] + mean_squared + beta + ratio[i]
            now = max(a[i] + (short - ratio[i] * a[i]) / width, 0.0)
            step = (now - a[i]) * t[i]
            if step != 0.0:
                a[i] = now
                total += step
                along += step * shared[i]
                for z in range(indptr[i], indptr[i + 1]):
                    u[indices[z]] += step * data[z]
    return b + total * (beta + mean_squared) - along, total


@compiled
def _choose_rows(shared, ratio, t, a, rows, gap, turn):
    """Put the rows to visit first; return their number, Σ aᵢtᵢ, uᵀμ, and curvature and slope along b."""
    kept, total, along, curve, slope = 0, 0.0, 0.0, 0.0, 0.0
    threshold = 0.25**turn if turn < 6 else 0.0
    for q in range(len(rows)):
        i = rows[q]
        total += a[i] * t[i]
        along += a[i] * t[i] * shared[i]
        if gap[q] > 0:
            curve += 1 / ratio[i]
            slope += t[i] * gap[q] / ratio[i]
        if a[i] > 0 or gap[q] > threshold:
            rows[kept] = i
            kept += 1
    return kept, total, along, curve, slope

r"""Squared hinge on wide sparse rows: dual coordinate steps over the rows that count for a label.

Each label minimises Σᵢ cᵢ max(0, 1 − tᵢ(wᵀxᵢ + b))² + α‖w‖², as `solvers.margin_losses` does. Of wide text
3 to 7 % of the rows lie inside the margin of a label: they alone enter its gradient, and a step for one of
them costs its nonzeros (Hsieh et al. 2008). So a round is

* a scan: scores of all rows for some labels side by side, X read once for all of them. It finds the rows
  inside each margin and, from them, the true gradient; labels whose gradient is small are done;
* sweeps over the rows found: aᵢ, the multiplier of a row, takes its best value with the others held.

The first round knows the rows of the rarer side alone: at w = 0, b = ∓1 all others sit on their margin. Then
rows come in from the worst, by a threshold that falls from round to round. Two things keep the intercept,
which is not penalised, from slowing the sweeps: rows count as centred (one number per row and label more,
nothing is densified), and a proximal term (b − o)²/β, with β the inverse of the curvature along b.

Notation
--------
code       meaning                                                       shape
T          targets −1, 0, +1                                             n×m
ratio      α/cᵢ, infinite for rows of no weight                          n
mean       μ, the mean row; shared holds xᵢᵀμ                            d, n
V, b       weights and intercepts; w is one label's column               d×m, m
A          multipliers: w = Σ aᵢtᵢ(xᵢ − μ), b + wᵀμ = o + βΣaᵢtᵢ          m×n
rows, gap  rows inside the margin or with aᵢ > 0, and 1 − t·score        m×n
"""

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers._compile import compiled
from hyperlabel.solvers.operators import narrow, weighted_mean

LABELS = 64  # side by side in a scan
ROUNDS = 20
SWEEPS = 4  # over the rows found, in each round
RARE = 20.0  # times the root of the rarer side's share: where this is below 1, it tightens the tolerance
TINY = np.finfo(float).tiny
_FAST = {"contract", "reassoc"}


def solve_active(
    X: Any, T: np.ndarray, alpha: float, weight: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (d×k, of X's precision), intercepts, and each label's gradient relative to that at zero.

    A label stops at `tol`, a rare one at less, since its gradient is small before anything is learnt; or
    after `ROUNDS`.
    """
    X = narrow(sparse.csr_array(X))
    (n, d), k = X.shape, T.shape[1]
    squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    mean = weighted_mean(X, weight)
    fixed = (squares, mean, X @ mean, np.divide(alpha, weight, out=np.full(n, np.inf), where=weight > 0))
    pull = X.T @ weight
    sides = np.vstack([weight @ (T > 0), weight @ (T < 0)])
    tight = tol * np.minimum(1.0, RARE * np.sqrt(sides.min(axis=0) / np.maximum(sides.sum(axis=0), TINY)))
    coef, intercept, residual = np.empty((d, k), dtype=X.dtype), np.empty(k), np.empty(k)
    order = np.argsort(-sides.min(axis=0), kind="stable")  # labels side by side need about as many rounds
    for at in range(0, k, LABELS):
        labels = order[at : at + LABELS]
        part = np.ascontiguousarray(T[:, labels])
        known = X.T @ sparse.csc_array((part + np.int8(1)) * weight[:, None])
        at_zero = np.square(known.toarray() - pull[:, None]).sum(axis=0)
        at_zero = 2 * np.sqrt(at_zero + np.square(sides[0] - sides[1])[labels])
        V, b = np.zeros((d, len(labels)), dtype=X.dtype), np.where(sides[0] > sides[1], 1.0, -1.0)[labels]
        goal = tight[labels] * at_zero
        norm = _solve_block(X.indptr, X.indices, X.data, *fixed, part, alpha, goal, V, b, ROUNDS, SWEEPS)
        coef[:, labels], intercept[labels] = V, b
        residual[labels] = norm / np.maximum(at_zero, TINY)
    return coef, intercept, residual


@compiled(fastmath=_FAST)
def _solve_block(
    indptr, indices, data, squares, mean, shared, ratio, T, alpha, goal, V, b, n_rounds, n_sweeps
):
    """Minimise labels side by side; V and b are changed in place. Return the norm of each gradient."""
    n, m = T.shape
    A, rows, gap = np.zeros((m, n)), np.empty((m, n), dtype=np.int32), np.empty((m, n))
    found, u, w = np.zeros(m, dtype=np.int64), np.empty(m, dtype=V.dtype), np.empty(len(V), dtype=V.dtype)
    norm, left, g = np.zeros(m), np.ones(m, dtype=np.bool_), np.empty(len(V))
    for turn in range(n_rounds):
        _scan(indptr, indices, data, ratio, T, V, b, A, left, rows, gap, found, u)
        for j in range(m):
            if not left[j]:
                continue
            t, seen, short = T[:, j], rows[j, : found[j]], gap[j, : found[j]]
            w[:] = V[:, j]
            norm[j] = _gradient_norm(indptr, indices, data, ratio, t, alpha, seen, short, w, g)
            left[j] = norm[j] > goal[j] and turn < n_rounds - 1  # what is returned has been judged
            if left[j]:
                a = A[j]
                b[j] = _sweeps(
                    indptr,
                    indices,
                    data,
                    squares,
                    mean,
                    shared,
                    ratio,
                    t,
                    a,
                    seen,
                    short,
                    w,
                    b[j],
                    turn,
                    n_sweeps,
                )
                V[:, j] = w
        if not left.any():
            break
    return norm


@compiled(fastmath=_FAST)
def _scan(indptr, indices, data, ratio, T, V, b, A, left, rows, gap, found, u):
    """Find the rows inside the margin of each label, or with a multiplier."""
    n, m = T.shape
    found[:] = 0
    for i in range(n):
        if ratio[i] == np.inf:
            continue
        for j in range(m):
            u[j] = 0
        for t in range(indptr[i], indptr[i + 1]):
            value, line = data[t], V[indices[t]]
            for j in range(m):
                u[j] += value * line[j]
        for j in range(m):
            short = 1.0 - T[i, j] * (u[j] + b[j])
            if (short > 0 or A[j, i] > 0) and T[i, j] != 0 and left[j]:
                rows[j, found[j]], gap[j, found[j]] = i, short
                found[j] += 1


@compiled(fastmath=_FAST)
def _gradient_norm(indptr, indices, data, ratio, T, alpha, rows, gap, w, g):
    """Return the norm of a label's gradient, intercept included, from the rows inside its margin."""
    along, total = 0.0, 0.0
    for c in range(len(w)):
        g[c] = 2 * alpha * w[c]
    for q in range(len(rows)):
        if gap[q] > 0:
            i = rows[q]
            slope = -2.0 * alpha / ratio[i] * T[i] * gap[q]
            along += slope
            for t in range(indptr[i], indptr[i + 1]):
                g[indices[t]] += slope * data[t]
    for c in range(len(w)):
        total += g[c] * g[c]
    return np.sqrt(total + along * along)


@compiled(fastmath=_FAST)
def _sweeps(indptr, indices, data, squares, mean, shared, ratio, T, a, rows, gap, w, b, turn, n_sweeps):
    """Set the multipliers of the rows found, forwards and backwards, and w; return the intercept.

    Meanwhile w stands for Σ aᵢtᵢxᵢ, b for the intercept of centred rows.
    """
    kept, total, curve, slope = _choose(ratio, T, a, rows, gap, turn)
    along, mean_squared = 0.0, 0.0  # wᵀμ and μᵀμ
    for c in range(len(w)):
        b += w[c] * mean[c]
        w[c] += total * mean[c]
        along += w[c] * mean[c]
        mean_squared += mean[c] * mean[c]
    beta = 0.0
    if turn > 0 and curve > 0:  # one Newton step along b, and the centre that makes it the present value
        beta = 1 / curve
        b += beta * (slope - total)
    for sweep in range(n_sweeps):
        for q in range(kept):
            i = rows[q if sweep % 2 == 0 else kept - 1 - q]
            score = b + total * (beta + mean_squared - shared[i]) - along
            for t in range(indptr[i], indptr[i + 1]):
                score += data[t] * w[indices[t]]
            width = squares[i] - 2 * shared[i] + mean_squared + beta + ratio[i]
            now = max(a[i] + (1.0 - T[i] * score - ratio[i] * a[i]) / width, 0.0)
            step = (now - a[i]) * T[i]
            if step != 0.0:
                a[i] = now
                total += step
                along += step * shared[i]
                for t in range(indptr[i], indptr[i + 1]):
                    w[indices[t]] += step * data[t]
    b += beta * total
    for c in range(len(w)):
        w[c] -= total * mean[c]
        b -= w[c] * mean[c]
    return b


@compiled
def _choose(ratio, T, a, rows, gap, turn):
    """Put the rows to visit first; return their number, Σ aᵢtᵢ, and curvature and slope along b."""
    kept, total, curve, slope = 0, 0.0, 0.0, 0.0
    threshold = 0.25**turn if turn < 6 else 0.0
    for q in range(len(rows)):
        i = rows[q]
        total += a[i] * T[i]
        if gap[q] > 0:
            curve += 1 / ratio[i]
            slope += T[i] * gap[q] / ratio[i]
        if a[i] > 0 or gap[q] > threshold:
            rows[kept] = i
            kept += 1
    return kept, total, curve, slope

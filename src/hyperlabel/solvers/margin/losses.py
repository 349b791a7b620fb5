r"""Squared hinge or logistic loss for all labels together: L-BFGS preconditioned by one shared factor.

Each label j minimises, on targets t of ±1 (0 where the label of a row is unknown),

.. math:: \sum_i c_i\,\ell(t_{ij}(w_j^T x_i + b_j)) + \alpha \|w_j\|^2.

The Hessian of every label lies below κ·ZᵀCZ + 2αI, where Z has a column of ones and κ is 2 for the squared
hinge, ¼ for the logistic loss (Böhning 1992): one Cholesky factor of that bound serves all labels, and an
iteration is two products with the rows, whatever the number of labels. On wide sparse rows the squared hinge
goes through `solvers.margin.hinge_active_set` first.

Notation
--------
code      meaning                                 shape
X         rows                                    n×d
T         targets −1, 0, +1                       n×k
V         weights and intercept of each label     (d+1)×k
R         scores ZV                               n×k
g         gradient                                (d+1)×k
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.blas import product
from hyperlabel.solvers.compiling import check_rows, check_shape, compiled
from hyperlabel.solvers.margin.hinge_active_set import solve_hinge_active_set

CURVATURE = {"squared_hinge": 2.0, "logistic": 0.25}
MEMORY = 6  # steps that L-BFGS remembers
MOST = 500  # iterations
FACTORED = 4096  # columns: above, the diagonal preconditions
BLOCK = 1 << 23  # scores at a time

Pairs = list[tuple[np.ndarray, np.ndarray, np.ndarray]]


class MarginFit(NamedTuple):
    """Weights (d×k), intercepts, and the largest norm of a label's gradient over that at zero."""

    coef: np.ndarray
    intercept: np.ndarray
    residual: float


def solve_margins(
    X: Any,
    T: np.ndarray,
    loss: str,
    alpha: float,
    *,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-3,
    start: MarginFit | None = None,
) -> MarginFit:
    """Minimise the loss of every label to a relative gradient of `tol`, from `start` or zero."""
    n, d = X.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    check_shape("sample_weight", weight, (n,))
    check_shape("T", T, (n, T.shape[1]))
    if sparse.issparse(X):
        check_rows(X)
    if loss == "squared_hinge" and sparse.issparse(X) and d > FACTORED and alpha > 0:
        return _of_active_rows(X, T, alpha, weight, tol)
    return _solve_preconditioned(X, T, loss, alpha, weight, tol, start)


def _of_active_rows(X: Any, T: np.ndarray, alpha: float, weight: np.ndarray, tol: float) -> MarginFit:
    """Solve by the rows inside each margin; labels that this leaves above `tol` go on from there."""
    coef, intercept, residual = solve_hinge_active_set(X, T, alpha, weight, tol)
    left = residual > tol
    if left.any():
        start = MarginFit(coef[:, left], intercept[left], float(residual.max()))
        rest = _solve_preconditioned(X, T[:, left], "squared_hinge", alpha, weight, tol, start)
        coef[:, left], intercept[left], residual[left] = rest.coef, rest.intercept, rest.residual
    return MarginFit(coef, intercept, float(residual.max(initial=0.0)))


def _solve_preconditioned(
    X: Any, T: np.ndarray, loss: str, alpha: float, weight: np.ndarray, tol: float, start: MarginFit | None
) -> MarginFit:
    """Solve by L-BFGS, in blocks of labels."""
    n, d = X.shape
    solve = _make_preconditioner(X, weight, CURVATURE[loss], alpha)
    first = np.zeros((d + 1, T.shape[1])) if start is None else np.vstack([start.coef, start.intercept])
    width = max(1, BLOCK // n)
    parts = [
        _descend_block(
            X,
            np.ascontiguousarray(T[:, at : at + width]),
            weight,
            loss,
            alpha,
            tol,
            solve,
            first[:, at : at + width],
        )
        for at in range(0, T.shape[1], width)
    ]
    V = np.hstack([part for part, _ in parts]) if parts else first
    return MarginFit(V[:-1], V[-1], max((residual for _, residual in parts), default=0.0))


def _make_preconditioner(
    X: Any, weight: np.ndarray, curvature: float, alpha: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Return g ↦ (κ·ZᵀCZ + 2αI)⁻¹g; of many columns the diagonal alone."""
    d = X.shape[1]
    if d > FACTORED:
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X)
        diagonal = curvature * np.r_[np.asarray(squares.T @ weight).ravel(), weight.sum()]
        diagonal[:-1] += 2 * alpha
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())[:, None]
        return lambda g: g / diagonal
    H = np.empty((d + 1, d + 1))
    weighted = X.multiply(weight[:, None]).tocsr() if sparse.issparse(X) else X * weight[:, None]
    H[:-1, :-1] = as_dense(X.T @ weighted)
    H[-1, :-1] = H[:-1, -1] = np.asarray(weighted.sum(axis=0)).ravel()
    H[-1, -1] = weight.sum()
    H *= curvature
    H[np.arange(d), np.arange(d)] += 2 * alpha + 1e-12 * np.trace(H)
    factor = linalg.cho_factor(H, overwrite_a=True, check_finite=False)
    return lambda g: linalg.cho_solve(factor, g, check_finite=False)


def _descend_block(
    X: Any,
    T: np.ndarray,
    weight: np.ndarray,
    loss: str,
    alpha: float,
    tol: float,
    solve: Callable[[np.ndarray], np.ndarray],
    V: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Minimise a block of labels; those that are done leave it."""
    judge = _squared_hinge if loss == "squared_hinge" else _logistic_loss
    _, slopes = judge(np.zeros(T.shape), T, weight)
    scale = np.maximum(np.linalg.norm(_loss_gradient(X, slopes, 0 * V, alpha), axis=0), np.finfo(float).tiny)
    found, residual = V.copy(), np.zeros(T.shape[1])
    labels, V = np.arange(T.shape[1]), V.copy()
    R = _margin_scores(X, V)
    value, slopes = judge(R, T, weight)
    value += alpha * np.square(V[:-1]).sum(axis=0)
    g = _loss_gradient(X, slopes, V, alpha)
    pairs: Pairs = []
    for step in range(MOST + 1):
        norm = np.linalg.norm(g, axis=0) / scale[labels]
        left = norm > tol
        found[:, labels], residual[labels] = V, norm
        if step == MOST or not left.any():
            break
        if 4 * left.sum() < 3 * len(left):
            labels, T, R, value = labels[left], np.ascontiguousarray(T[:, left]), R[:, left], value[left]
            V, g = V[:, left], g[:, left]
            pairs = [(s[:, left], y[:, left], rho[left]) for s, y, rho in pairs]
        D = -_lbfgs_direction(g, pairs, solve)
        slope = (g * D).sum(axis=0)
        dR, size = _margin_scores(X, D), np.ones(len(labels))
        for _ in range(30):
            moved, trial = V + size * D, R + size * dR
            now, slopes = judge(trial, T, weight)
            now += alpha * np.square(moved[:-1]).sum(axis=0)
            short = now > value + 1e-4 * size * slope + 1e-12 * np.abs(value)
            if not short.any():
                break
            size = np.where(short, size / 2, size)
        g_new = _loss_gradient(X, slopes, moved, alpha)
        s, y = moved - V, g_new - g
        along = (s * y).sum(axis=0)
        curved = along > 1e-14 * np.linalg.norm(s, axis=0) * np.linalg.norm(y, axis=0)
        pairs = [*pairs, (s, y, np.where(curved, 1 / np.where(curved, along, 1.0), 0.0))][-MEMORY:]
        V, R, value, g = moved, trial, now, g_new
    return found, float(residual.max(initial=0.0))


def _lbfgs_direction(g: np.ndarray, pairs: Pairs, solve: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Apply the inverse Hessian that L-BFGS remembers, the shared factor in its middle."""
    q, shares = g.copy(), []
    for s, y, rho in reversed(pairs):
        shares.append(rho * (s * q).sum(axis=0))
        q -= shares[-1] * y
    r = solve(q)
    if pairs:
        # the bound is loose for rare labels: scale it by the curvature of the last step
        _, y, rho = pairs[-1]
        bound = rho * (y * solve(y)).sum(axis=0)
        r *= np.where(bound > 0, 1 / np.where(bound > 0, bound, 1.0), 1.0)
    for (s, y, rho), share in zip(pairs, reversed(shares), strict=True):
        r += s * (share - rho * (y * r).sum(axis=0))
    return r


def _margin_scores(X: Any, V: np.ndarray) -> np.ndarray:
    return (np.asarray(X @ V[:-1]) if sparse.issparse(X) else product(X, V[:-1])) + V[-1]


def _loss_gradient(X: Any, slopes: np.ndarray, V: np.ndarray, alpha: float) -> np.ndarray:
    toward = np.asarray(X.T @ slopes) if sparse.issparse(X) else product(X.T, slopes)
    return np.vstack([toward + 2 * alpha * V[:-1], slopes.sum(axis=0)])


@compiled(fastmath=True)
def _squared_hinge(R, T, weight):
    """Return the loss of each label and its derivative by each score."""
    n, k = R.shape
    value, slopes = np.zeros(k), np.empty((n, k))
    for i in range(n):
        for j in range(k):
            t = np.float64(T[i, j])
            gap = max(1.0 - t * R[i, j], 0.0) * abs(t)
            value[j] += weight[i] * gap * gap
            slopes[i, j] = -2.0 * weight[i] * t * gap
    return value, slopes


@compiled
def _logistic_loss(R, T, weight):
    """Return the loss of each label and its derivative by each score."""
    n, k = R.shape
    value, slopes = np.zeros(k), np.empty((n, k))
    for i in range(n):
        for j in range(k):
            t = np.float64(T[i, j])
            m = t * R[i, j]
            small = np.exp(-abs(m))
            value[j] += weight[i] * abs(t) * (max(-m, 0.0) + np.log1p(small))
            slopes[i, j] = -weight[i] * t * (small if m > 0 else 1.0) / (1.0 + small)
    return value, slopes

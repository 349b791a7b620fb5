"""Linear support vector regression by Newton steps, each a ridge on the rows outside the tube.

Minimise, with an unpenalised intercept::

    ½‖w‖² + C Σᵢ sᵢ [|tᵢ − wᵀxᵢ − b| − ε]₊²

The objective is piecewise quadratic. Where the set of rows outside the tube (and their side) is
known, the minimum is the ridge of the targets tᵢ ∓ ε on those rows with λ = 1/(2C), which the
shared moments solve; when a full step leaves that set unchanged the solution is exact. On many
features conjugate gradients go on from the last weights, a little further each time. A weight sᵢ is
a repetition, and centring X changes nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from hyperlabel.solvers.operators import weighted_row_mean
from hyperlabel.solvers.ridge.routes import solve_ridge

GRAM_FEATURES = 500  # beyond, no d×d matrix is formed


@dataclass(frozen=True, eq=False)
class SvrResult:
    """Weights, intercept and the certificate: the relative norm of the gradient."""

    w: np.ndarray
    b: float
    gradient: float
    n_iter: int
    converged: bool


def solve_svr(
    X: Any,
    t: np.ndarray,
    *,
    C: float = 1.0,
    epsilon: float = 0.1,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> SvrResult:
    """Fit t ≈ Xw + b with a tube of half-width `epsilon` and squared losses outside it.

    It stops when the gradient has fallen to `tol` of its norm at w = 0.
    """
    s = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    w, b = np.zeros(X.shape[1]), float(np.average(t, weights=s))
    left = t - b
    value, scale, converged, iteration = np.inf, 0.0, False, 0
    for iteration in range(max_iter + 1):
        side = np.where(left > epsilon, 1.0, np.where(left < -epsilon, -1.0, 0.0))
        push = 2 * C * s * (left - epsilon * side) * np.abs(side)
        gradient = float(np.hypot(np.linalg.norm(w - X.T @ push), push.sum()))
        scale = scale or float(np.hypot(np.linalg.norm(X.T @ push), push.sum())) or 1.0
        converged = gradient <= tol * scale
        if converged or iteration == max_iter:
            break
        value = 0.5 * float(w @ w) + C * float(s @ np.maximum(np.abs(left) - epsilon, 0) ** 2)
        slack = 0.05 * max(gradient, tol * scale)
        w_new, b_new = _ridge_outside(X, t - epsilon * side, s * np.abs(side), C, w, b, slack)
        step, left_new = 1.0, t - X @ w_new - b_new
        direction, change = w_new - w, left_new - left
        while step > 1e-10:  # the objective is convex along the step: halve until it falls
            w_try, left_try = w + step * direction, left + step * change
            tried = 0.5 * float(w_try @ w_try) + C * float(s @ np.maximum(np.abs(left_try) - epsilon, 0) ** 2)
            if tried < value:
                break
            step /= 2
        else:
            break  # rounding: nothing left to gain
        w, b, left = w_try, b + step * (b_new - b), left_try
    return SvrResult(w, b, gradient / scale, iteration, converged)


def _ridge_outside(
    X: Any, z: np.ndarray, s: np.ndarray, C: float, w: np.ndarray, b: float, slack: float
) -> tuple[np.ndarray, float]:
    """Ridge of z on the rows of positive weight, λ = 1/(2C); on many features to a gradient of `slack`."""
    out = np.flatnonzero(s > 0)
    if not len(out):
        return np.zeros_like(w), b
    alpha = 0.5 / C
    if X.shape[1] <= GRAM_FEATURES:
        path = solve_ridge(X[out], z[out, None], alphas=(alpha,), solver="gram", sample_weight=s[out])
        found = path.solve(alpha)
        return found.coef[:, 0], float(found.intercept[0])
    total, mean, middle = s.sum(), weighted_row_mean(X, s), float(np.average(z, weights=s))
    if sparse.issparse(X):
        squares = np.bincount(X.indices, np.repeat(s, np.diff(X.indptr)) * X.data**2, X.shape[1])
    else:
        squares = np.einsum("ij,ij,i->j", X, X, s)
    diagonal = np.maximum(squares - total * mean**2, 0.0) + alpha

    def times(v: np.ndarray) -> np.ndarray:
        u = s * (X @ v - mean @ v)
        return X.T @ u - mean * u.sum() + alpha * v

    shape = (len(w), len(w))
    A = LinearOperator(shape, matvec=times, dtype=np.float64)
    M = LinearOperator(shape, matvec=lambda v: v / diagonal, dtype=np.float64)
    w, _ = cg(A, X.T @ (s * (z - middle)), x0=w, rtol=0.0, atol=slack * alpha, M=M, maxiter=1000)
    return w, middle - float(mean @ w)

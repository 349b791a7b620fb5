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
    residuals = t - b
    current_objective, start_norm, converged, iteration = np.inf, 0.0, False, 0
    for iteration in range(max_iter + 1):
        tube_side = np.where(residuals > epsilon, 1.0, np.where(residuals < -epsilon, -1.0, 0.0))
        # w = Xᵀ(dual weights) at the optimum, and they sum to 0: the gradient is the difference
        dual_weights = 2 * C * s * (residuals - epsilon * tube_side) * np.abs(tube_side)
        gradient_norm = float(np.hypot(np.linalg.norm(w - X.T @ dual_weights), dual_weights.sum()))
        start_norm = (
            start_norm or float(np.hypot(np.linalg.norm(X.T @ dual_weights), dual_weights.sum())) or 1.0
        )
        converged = gradient_norm <= tol * start_norm
        if converged or iteration == max_iter:
            break
        current_objective = 0.5 * float(w @ w) + C * float(
            s @ np.maximum(np.abs(residuals) - epsilon, 0) ** 2
        )
        ridge_tolerance = 0.05 * max(gradient_norm, tol * start_norm)
        w_new, b_new = _solve_outside_tube(
            X, t - epsilon * tube_side, s * np.abs(tube_side), C, w, b, ridge_tolerance
        )
        step_length, new_residuals = 1.0, t - X @ w_new - b_new
        weight_direction, residual_change = w_new - w, new_residuals - residuals
        while step_length > 1e-10:  # the objective is convex along the step: halve until it falls
            w_trial, trial_residuals = (
                w + step_length * weight_direction,
                residuals + step_length * residual_change,
            )
            trial_objective = 0.5 * float(w_trial @ w_trial) + C * float(
                s @ np.maximum(np.abs(trial_residuals) - epsilon, 0) ** 2
            )
            if trial_objective < current_objective:
                break
            step_length /= 2
        else:
            break  # no step lowers the objective by more than its rounding
        w, b, residuals = w_trial, b + step_length * (b_new - b), trial_residuals
    return SvrResult(w, b, gradient_norm / start_norm, iteration, converged)


def _solve_outside_tube(
    X: Any, z: np.ndarray, s: np.ndarray, C: float, w: np.ndarray, b: float, gradient_tolerance: float
) -> tuple[np.ndarray, float]:
    """Ridge of z on the rows of positive weight, λ = 1/(2C); on many features to `gradient_tolerance`."""
    outside_rows = np.flatnonzero(s > 0)
    if not len(outside_rows):
        return np.zeros_like(w), b
    alpha = 0.5 / C
    if X.shape[1] <= GRAM_FEATURES:
        ridge_path = solve_ridge(
            X[outside_rows],
            z[outside_rows, None],
            alphas=(alpha,),
            solver="gram",
            sample_weight=s[outside_rows],
        )
        ridge_fit = ridge_path.solve(alpha)
        return ridge_fit.coef[:, 0], float(ridge_fit.intercept[0])
    total_weight, mean_row, target_mean = s.sum(), weighted_row_mean(X, s), float(np.average(z, weights=s))
    if sparse.issparse(X):
        column_squares = np.bincount(X.indices, np.repeat(s, np.diff(X.indptr)) * X.data**2, X.shape[1])
    else:
        column_squares = np.einsum("ij,ij,i->j", X, X, s)
    gram_diagonal = np.maximum(column_squares - total_weight * mean_row**2, 0.0) + alpha

    def apply_system(v: np.ndarray) -> np.ndarray:
        u = s * (X @ v - mean_row @ v)
        return X.T @ u - mean_row * u.sum() + alpha * v

    shape = (len(w), len(w))
    A = LinearOperator(shape, matvec=apply_system, dtype=np.float64)
    M = LinearOperator(shape, matvec=lambda v: v / gram_diagonal, dtype=np.float64)
    w, _ = cg(
        A, X.T @ (s * (z - target_mean)), x0=w, rtol=0.0, atol=gradient_tolerance * alpha, M=M, maxiter=1000
    )
    return w, target_mean - float(mean_row @ w)

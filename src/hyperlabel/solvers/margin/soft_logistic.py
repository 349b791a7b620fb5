"""Multinomial logistic regression on soft targets, by L-BFGS.

Minimise −Σᵢ Σₘ hᵢₘ log pᵢₘ + (λ/2)‖W‖² with p = softmax(Z W + b), Z the columns of X divided by
their standard deviation (dense columns are centred as well), b unpenalised.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse, special

from hyperlabel.solvers.arrays import as_dense

TOL = 1e-7  # of the gradient


@dataclass(frozen=True)
class SoftLogisticResult:
    """Solution in the units of X; `gradient` is its largest entry per row of data, in the scaled units."""

    coef: np.ndarray
    intercept: np.ndarray
    gradient: float
    n_iter: int
    converged: bool


def solve_soft_logistic(X: Any, H: np.ndarray, *, alpha: float = 1.0) -> SoftLogisticResult:
    """Fit class probabilities to rows of H that sum to one."""
    n, d = X.shape
    m = H.shape[1]
    column_mean, column_scale = _column_scale(X)
    scaled_rows = X if sparse.issparse(X) else (X - column_mean) / column_scale
    scaled_columns = sparse.csr_array(X.T) if sparse.issparse(X) else scaled_rows.T

    def objective(flat_weights: np.ndarray) -> tuple[float, np.ndarray]:
        W, b = flat_weights[: d * m].reshape(d, m), flat_weights[d * m :]
        scaled_weights = W / column_scale[:, None] if sparse.issparse(X) else W
        logits = as_dense(scaled_rows @ scaled_weights) + b
        log_p = logits - special.logsumexp(logits, axis=1, keepdims=True)
        probability_error = np.exp(log_p) - H
        data_gradient = as_dense(scaled_columns @ probability_error)
        data_gradient = data_gradient / column_scale[:, None] if sparse.issparse(X) else data_gradient
        penalized_loss = -np.sum(H * log_p) + 0.5 * alpha * np.sum(W**2)
        gradient = np.concatenate([(data_gradient + alpha * W).ravel(), probability_error.sum(axis=0)])
        return penalized_loss / n, gradient / n

    lbfgs_fit = optimize.minimize(
        objective,
        np.zeros(d * m + m),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": TOL, "maxiter": 500, "ftol": 0.0, "maxcor": 20},
    )
    coef = lbfgs_fit.x[: d * m].reshape(d, m) / column_scale[:, None]
    gradient = float(np.abs(lbfgs_fit.jac).max(initial=0.0))
    intercept = lbfgs_fit.x[d * m :] - (0.0 if sparse.issparse(X) else column_mean @ coef)
    return SoftLogisticResult(coef, intercept, gradient, int(lbfgs_fit.nit), gradient <= TOL)


def _column_scale(X: Any) -> tuple[np.ndarray, np.ndarray]:
    column_mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if sparse.issparse(X):
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - column_mean**2
    else:
        variance = X.var(axis=0, dtype=np.float64)
    column_std = np.sqrt(np.maximum(variance, 0.0))
    return column_mean, np.where(
        column_std > 1e-12 * np.maximum(np.abs(column_mean), 1e-300), column_std, 1.0
    )

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
    mean, scale = _column_scale(X)
    rows = X if sparse.issparse(X) else (X - mean) / scale
    columns = sparse.csr_array(X.T) if sparse.issparse(X) else rows.T

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W, b = flat[: d * m].reshape(d, m), flat[d * m :]
        inner = W / scale[:, None] if sparse.issparse(X) else W
        logits = as_dense(rows @ inner) + b
        log_p = logits - special.logsumexp(logits, axis=1, keepdims=True)
        gap = np.exp(log_p) - H
        step = as_dense(columns @ gap)
        step = step / scale[:, None] if sparse.issparse(X) else step
        value = -np.sum(H * log_p) + 0.5 * alpha * np.sum(W**2)
        gradient = np.concatenate([(step + alpha * W).ravel(), gap.sum(axis=0)])
        return value / n, gradient / n

    found = optimize.minimize(
        objective,
        np.zeros(d * m + m),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": TOL, "maxiter": 500, "ftol": 0.0, "maxcor": 20},
    )
    coef = found.x[: d * m].reshape(d, m) / scale[:, None]
    gradient = float(np.abs(found.jac).max(initial=0.0))
    intercept = found.x[d * m :] - (0.0 if sparse.issparse(X) else mean @ coef)
    return SoftLogisticResult(coef, intercept, gradient, int(found.nit), gradient <= TOL)


def _column_scale(X: Any) -> tuple[np.ndarray, np.ndarray]:
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if sparse.issparse(X):
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    else:
        variance = X.var(axis=0, dtype=np.float64)
    size = np.sqrt(np.maximum(variance, 0.0))
    return mean, np.where(size > 1e-12 * np.maximum(np.abs(mean), 1e-300), size, 1.0)

"""LSQR on rows with a bias column, one right-hand side after the other: eq. (30) of Sun, Ji & Ye (2008).

Minimise ‖Xw + b − f‖² + λ‖w‖² as the least squares of [1 X; 0 √λI] on [f; 0]: the column of ones keeps
sparse rows sparse, where centring would not, and is not penalised. It is the paper's own route, for
comparison; block Lanczos (`solvers.ridge.krylov_space`) shares every product between all right-hand sides
and all λ.
"""

import warnings
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.operators import CenteredRows, weighted_row_mean
from hyperlabel.solvers.ridge.factored import RidgeResult, RowsKnown


class LsqrPath(RowsKnown):
    """The ridge path by LSQR with a bias column (30); every λ is solved anew."""

    solver = "lsqr"
    n_iter = 0

    def __init__(
        self, X: Any, F: Any, *, sample_weight: np.ndarray | None, tol: float, max_iter: int
    ) -> None:
        self.X, self.F, self.tol, self.max_iter = X, as_dense(F), tol, max_iter
        self.root = np.ones(X.shape[0]) if sample_weight is None else np.sqrt(sample_weight)
        self.rows = CenteredRows(X, sample_weight)
        self.x_mean, self.f_mean = self.rows.mean, weighted_row_mean(F, sample_weight)
        self._last: tuple[float, Any] = (-1.0, None)

    def _stack_operator(self, alpha: float) -> LinearOperator:
        n, d = self.X.shape
        root_alpha = np.sqrt(alpha)

        def forward(v: np.ndarray) -> np.ndarray:
            v = v.ravel()
            return np.concatenate([self.root * (v[0] + self.X @ v[1:]), root_alpha * v[1:]])

        def backward(u: np.ndarray) -> np.ndarray:
            u = u.ravel()
            weighted_rows = self.root * u[:n]
            return np.concatenate([[weighted_rows.sum()], self.X.T @ weighted_rows + root_alpha * u[n:]])

        return LinearOperator((n + d, d + 1), matvec=forward, rmatvec=backward, dtype=np.float64)

    def solve(self, alpha: float) -> RidgeResult:
        if self._last[0] != alpha:
            stacked_operator, d = self._stack_operator(alpha), self.X.shape[1]
            bias_and_coef, self.n_iter, hit_limit = np.zeros((d + 1, self.F.shape[1])), 0, False
            for j, f in enumerate(self.F.T):
                stacked_target = np.concatenate([self.root * f, np.zeros(d)])
                bias_and_coef[:, j], stop_reason, n_steps = lsqr(
                    stacked_operator,
                    stacked_target,
                    atol=0.1 * self.tol,
                    btol=0.1 * self.tol,
                    iter_lim=self.max_iter,
                )[:3]
                self.n_iter, hit_limit = (
                    self.n_iter + n_steps,
                    hit_limit or stop_reason == 7,
                )  # 7: at its limit
            relative_residual = self._relative_residual(bias_and_coef[1:], alpha)
            if hit_limit and relative_residual > self.tol:
                warnings.warn(
                    f"LSQR stopped with relative residual {relative_residual:.1e}, above tol = {self.tol:g}: "
                    "raise max_iter, tol or alpha, or leave the choice to solver='auto'.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self._last = (alpha, RidgeResult(bias_and_coef[1:], bias_and_coef[0], relative_residual))
        return self._last[1]

    def _relative_residual(self, coef: np.ndarray, alpha: float) -> float:
        cross_product = self.rows.rmatmat(self.rows.targets(self.F))
        residual_matrix = self.rows.rmatmat(self.rows.matmat(coef)) + alpha * coef - cross_product
        target_norms = np.linalg.norm(cross_product, axis=0)
        return float(
            np.max(
                np.linalg.norm(residual_matrix, axis=0) / np.where(target_norms > 0, target_norms, 1.0),
                initial=0.0,
            )
        )

    def reduced(self, alpha: float) -> np.ndarray:
        reduced_matrix = self.rows.targets(self.F).T @ self.rows.matmat(self.solve(alpha).coef)
        return (reduced_matrix + reduced_matrix.T) / 2

    def coef(self, alpha: float) -> np.ndarray:
        return self.solve(alpha).coef

    def fitted(self, alpha: float) -> np.ndarray:
        return self.rows.matmat(self.coef(alpha))

    def residual(self, alpha: float) -> float:
        return self.solve(alpha).residual

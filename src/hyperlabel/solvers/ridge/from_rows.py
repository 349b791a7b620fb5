"""The orthogonal ridge path: λ = 0 on ill-conditioned rows (see `solvers.ridge.routes`).

A Gram matrix squares the condition number κ of the rows: beyond κ ≈ 1e6 its small eigenvalues are
rounding, and λ = 0 divides by them. Here the centred rows themselves are factored, Xc = QR by blocks of
rows and R = U diag(s) Vᵀ, which loses κ·ε instead of κ²·ε.

Notation: s singular values of Xc above rounding (r), V d×r, target = UᵀQᵀFc (r×m).
"""

from typing import Any

import numpy as np
from scipy import linalg

from hyperlabel.solvers.arrays import BLOCK_BYTES, as_dense
from hyperlabel.solvers.operators import CenteredRows, weighted_row_mean
from hyperlabel.solvers.ridge.factored import RowsKnown

ROWS_BYTES = 2 * 2**30  # memory of the factor R; it is as large as the dense rows where n < d


class RowsPath(RowsKnown):
    """Every λ, 0 included, from the singular values of the rows."""

    solver = "rows"

    def __init__(self, X: Any, F: Any, *, sample_weight: np.ndarray | None = None) -> None:
        self.rows = CenteredRows(X, sample_weight)
        self.x_mean, self.f_mean = self.rows.mean, weighted_row_mean(F, sample_weight)
        self._Fc = self.rows.targets(F)
        R, target = self._factor_rows()
        U, s, Vt = linalg.svd(R, full_matrices=False, check_finite=False)
        above_rounding = s > max(X.shape) * np.finfo(np.float64).eps * s.max(initial=0.0)
        self.s, self.V, self.target = s[above_rounding], Vt[above_rounding].T, U[:, above_rounding].T @ target

    def _factor_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R and QᵀFc of Xc = QR, one block of rows at a time."""
        n, d = self.rows.shape
        R, target = np.zeros((0, d)), np.zeros((0, self._Fc.shape[1]))
        # at least d rows: the QR of a smaller block would mostly repeat that of R
        rows_per_block = max(d, BLOCK_BYTES // (8 * d))
        for first_row in range(0, n, rows_per_block):
            centered_block = as_dense(self.rows.X[first_row : first_row + rows_per_block]) - self.x_mean
            if self.rows.root is not None:
                centered_block *= self.rows.root[first_row : first_row + rows_per_block, None]
            Q, R = np.linalg.qr(np.vstack([R, centered_block]))
            target = Q.T @ np.vstack([target, self._Fc[first_row : first_row + rows_per_block]])
        return R, target

    def coef(self, alpha: float) -> np.ndarray:
        return self.V @ ((self.s / (self.s**2 + alpha))[:, None] * self.target)

    def project_rows(self, alpha: float, V: np.ndarray) -> np.ndarray:
        """Return (A + λI)⁻¹AV of columns V, d×m: the ridge on the scores XcV."""
        return self.V @ ((self.s**2 / (self.s**2 + alpha))[:, None] * (self.V.T @ V))

    def spectrum(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return S² (r, largest first), UᵀFc (r×m) and the map M → P M (d×c), Xc = U S Pᵀ."""
        return self.s**2, self.target, lambda M: self.V @ M

    def reduced(self, alpha: float) -> np.ndarray:
        return self.target.T @ ((self.s**2 / (self.s**2 + alpha))[:, None] * self.target)

    def fitted(self, alpha: float) -> np.ndarray:
        """Return XcW turned into the range of Xc (r×m)."""
        return (self.s**2 / (self.s**2 + alpha))[:, None] * self.target

    def residual(self, alpha: float) -> float:
        """Return ‖Xcᵀ(Fc − XcW) − λW‖ / ‖XcᵀFc‖, taken on the rows themselves."""
        coef = self.coef(alpha)
        residual_matrix = self.rows.rmatmat(self._Fc - self.rows.matmat(coef)) - alpha * coef
        target_norm = float(np.linalg.norm(self.s[:, None] * self.target))
        return float(np.linalg.norm(residual_matrix)) / target_norm if target_norm else 0.0

"""Ridge regression for many right-hand sides and many λ at once.

Minimise ‖Xc W − Fc‖² + λ‖W‖² with an unpenalised intercept, that is
(XcᵀXc + λI) W = XcᵀFc. One λ is a Cholesky solve; a path is one eigendecomposition of the
d×d Gram; λ = 0 is the pseudo-inverse, eigenvalues below ``rank_tolerance`` counting as 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from hyperlabel.solvers.moments import CenteredMoments, Moments


@dataclass(frozen=True)
class RidgeResult:
    """A solution with its certificate.

    Attributes
    ----------
    coef : ndarray of shape (d, m)
    intercept : ndarray of shape (m,)
    residual : float
        ‖(XcᵀXc + λI)W − B‖ / ‖B‖ in the Frobenius norm, B the part of XcᵀFc inside the
        range of XcᵀXc when λ = 0.
    """

    coef: np.ndarray
    intercept: np.ndarray
    residual: float


class RidgePath:
    """Every λ of one set of moments from one factorisation, solved on demand.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]]); F = np.array([[0.0], [1.0], [2.0]])
    >>> path = RidgePath(Moments.from_rows(X, F))
    >>> [round(float(path.solve(alpha).coef[0, 0]), 6) for alpha in (0.0, 2.0)]
    [1.0, 0.5]
    """

    def __init__(self, moments: Moments | CenteredMoments) -> None:
        self.centered = moments.centered() if isinstance(moments, Moments) else moments

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues s, vectors Q of XcᵀXc, and QᵀXcᵀFc."""
        s, Q = linalg.eigh(self.centered.xx, driver="evd")
        return np.maximum(s, 0.0), Q, Q.T @ self.centered.xf

    @property
    def rank_tolerance(self) -> float:
        """Eigenvalues of XcᵀXc up to this count as zero: d·ε times the largest."""
        s = self._eigen[0]
        return float(s[-1] * len(s) * np.finfo(np.float64).eps) if len(s) else 0.0

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ through the shared eigendecomposition."""
        s, Q, target = self._eigen
        if alpha > 0:
            inverse = 1.0 / (s + alpha)
        else:
            kept = s > self.rank_tolerance
            inverse = np.divide(1.0, s, out=np.zeros_like(s), where=kept)
            target = target * kept[:, None]
        return self._result(Q @ (inverse[:, None] * target), alpha, rhs=Q @ target)

    def solve_once(self, alpha: float) -> RidgeResult:
        """Solve for a single λ by Cholesky (falls back to the eigendecomposition)."""
        if alpha > 0 and "_eigen" not in self.__dict__:
            gram = self.centered.xx.copy()
            gram[np.diag_indices_from(gram)] += alpha
            try:
                factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                return self.solve(alpha)
            return self._result(linalg.cho_solve(factor, self.centered.xf, check_finite=False), alpha)
        return self.solve(alpha)

    def solve_all(self, alphas: Sequence[float]) -> Iterator[RidgeResult]:
        """Solve for each λ in turn, lazily (a coefficient matrix can be large)."""
        return (self.solve(alpha) for alpha in alphas)

    def _result(self, coef: np.ndarray, alpha: float, rhs: np.ndarray | None = None) -> RidgeResult:
        rhs = self.centered.xf if rhs is None else rhs
        scale = float(np.linalg.norm(rhs))
        gap = float(np.linalg.norm(self.centered.xx @ coef + alpha * coef - rhs))
        intercept = self.centered.f_mean - self.centered.x_mean @ coef
        return RidgeResult(coef, intercept, gap / scale if scale else gap)

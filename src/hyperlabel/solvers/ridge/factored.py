"""Ridge paths by factoring a dense symmetric matrix A, XcᵀXc or XcXcᵀ (see `solvers.ridge.routes`).

factorisation       price, A of size q, m right-hand sides, L λ         when
Cholesky            q³/3                                                one λ announced
tridiagonal form    4q³/3, then 4q²mL to turn the solutions back        several, mL at most q
eigenvectors        about 9q³, then 2q²m for each λ                     any λ later, and λ = 0
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from hyperlabel.solvers.arrays import as_dense, rank_tolerance
from hyperlabel.solvers.moments.row_moments import CenteredMoments, RowMoments
from hyperlabel.solvers.operators import CenteredRows, weighted_row_mean
from hyperlabel.solvers.ridge.evidence import STEPS, alpha_grid, best_alpha, fallback_alpha
from hyperlabel.solvers.ridge.tridiagonal import Tridiagonal, root_of_squares, solve_shifted

# λ = 0 from a Gram loses κ²ε: 2e-4 at this condition number κ of the rows.
CONDITION_LIMIT = 1e6


@dataclass(frozen=True)
class RidgeResult:
    """A solution, and the relative residual of the equation solved.

    Gram route: ‖(XcᵀXc + λI)W − B‖/‖B‖, B the part of XcᵀFc inside the range of XcᵀXc when λ = 0; sample
    route: the same with XcXcᵀ and Fc; Krylov: the largest such ratio over the columns.
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {"coef": "d m", "intercept": "m"}

    coef: np.ndarray
    intercept: np.ndarray
    residual: float


class Path(ABC):
    """What every route offers: a route says how W comes about, and may know shorter ways to the rest."""

    solver: str
    x_mean: np.ndarray
    f_mean: np.ndarray

    @property
    def n_iter(self) -> int:
        """Block products with X; 1 for a factorisation."""
        return 1

    @abstractmethod
    def coef(self, alpha: float) -> np.ndarray:
        """Return W (d×m)."""

    @abstractmethod
    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀW (m×m), symmetric positive semi-definite."""

    @abstractmethod
    def residual(self, alpha: float) -> float:
        """Return the certificate of `RidgeResult` alone."""

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ."""
        coef = self.coef(alpha)
        return RidgeResult(coef, self.f_mean - self.x_mean @ coef, self.residual(alpha))

    def combine(self, alpha: float, mixing: np.ndarray) -> np.ndarray:
        """Return W·mixing (d×p)."""
        return self.coef(alpha) @ mixing


class RowsKnown(Path):
    """A route that has the rows at hand: it can tell what is fitted to them."""

    @abstractmethod
    def fitted(self, alpha: float) -> np.ndarray:
        """Return XcW, or a turn of it."""

    def fitted_squares(self, alpha: float, *rights: Any) -> np.ndarray:
        """Return ‖XcW·mixings‖² per column."""
        fitted_rows = self.fitted(alpha)
        for mixing in rights:
            fitted_rows = as_dense(fitted_rows @ mixing)
        return np.einsum("ij,ij->j", fitted_rows, fitted_rows, dtype=np.float64)


def refuse_ill_conditioned(eigenvalues: np.ndarray) -> None:
    """Refuse λ = 0 where these eigenvalues of a Gram, those it divides by, are not far above rounding."""
    kappa = float(np.sqrt(eigenvalues.max() / eigenvalues.min())) if len(eigenvalues) else 1.0
    if kappa > CONDITION_LIMIT:
        raise ValueError(
            f"alpha = 0 has no reliable answer here: the condition number of the rows is about {kappa:.0e}, "
            f"and sums over rows resolve up to {CONDITION_LIMIT:.0e}. Set alpha > 0, scale the features, "
            "or fit on rows in memory with solver='auto'."
        )


class FactoredPath(Path):
    """Shared by the two routes that factor a symmetric matrix A and have a right-hand side T."""

    A: np.ndarray
    null = 0  # eigenvalues of A that are 0 by construction
    alphas: tuple[float, ...]  # announced: the factorisation is chosen for them
    _factor: tuple[float, Any]  # λ last asked for, and the Cholesky factor of A + λI
    _known: dict[float, np.ndarray] | None = None  # solutions had without eigenvectors

    @abstractmethod
    def _rhs(self) -> np.ndarray:
        """Return the right-hand side T."""

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues s and vectors Q of A, and Qᵀ(right-hand side)."""
        s, Q = linalg.eigh(self.A, driver="evd", check_finite=False)
        return np.maximum(s, 0.0), Q, Q.T @ self._rhs()

    @property
    def rank_tolerance(self) -> float:
        """Eigenvalues of A up to this count as zero."""
        return rank_tolerance(self._eigen[0])

    def _drop_null_space(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return `_eigen` without the null space, largest eigenvalue first."""
        s, Q, eigen_target = self._eigen
        above_rounding = s > self.rank_tolerance
        return s[above_rounding][::-1], Q[:, above_rounding][:, ::-1], eigen_target[above_rounding][::-1]

    @property
    def resolves_zero(self) -> bool:
        """Whether λ = 0 is safe: no eigenvalue so small that it may be rounding.

        What lies at the level of rounding may be a null direction or one that the squared condition
        number has swallowed; only the rows can tell.
        """
        s = self._eigen[0]
        return bool(len(s) == 0 or s[self.null :].min(initial=np.inf) > s[-1] / CONDITION_LIMIT**2)

    def _invert_eigenvalues(self, alpha: float) -> np.ndarray:
        """Return 1/(s + λ), or the pseudo-inverse 1/s over the kept eigenvalues at λ = 0."""
        s = self._eigen[0]
        if alpha > 0:
            return 1.0 / (s + alpha)
        refuse_ill_conditioned(s[s > self.rank_tolerance])
        return np.divide(1.0, s, out=np.zeros_like(s), where=s > self.rank_tolerance)

    @property
    def _announced(self) -> dict[float, np.ndarray]:
        """Solutions of the announced λ where they can be had without eigenvectors."""
        if self._known is None:
            self._known = self._solve_announced()
        return self._known

    def _solve_announced(self) -> dict[float, np.ndarray]:
        if not self.alphas or min(self.alphas) <= 0 or "_eigen" in self.__dict__:
            return {}
        rhs = self._rhs()
        if len(self.alphas) == 1:
            cholesky_solution = self._solve_cholesky(self.alphas[0])
            return {} if cholesky_solution is None else {self.alphas[0]: cholesky_solution}
        if len(self.alphas) * rhs.shape[1] > len(self.A):
            return {}
        solutions = solve_shifted(self.A, rhs, self.alphas)
        return {} if solutions is None else dict(zip(self.alphas, solutions, strict=True))

    def choose(self, total: float, nu: float, mixing: np.ndarray | None = None) -> float:
        """Return the λ that the evidence chooses (see `solvers.ridge.evidence`); its solution is then at
        hand.

        `total` is ‖Fc‖², `nu` the degrees of freedom ν; with `mixing` the targets are F·mixing, a diagonal
        or a matrix, and `total` is theirs.
        """
        gram_trace = float(np.trace(self.A))
        if gram_trace <= 0 or total <= 0:
            alpha = fallback_alpha(gram_trace, len(self.x_mean))
            self.alphas = (alpha,)
            return alpha
        mixed_targets = self._rhs()
        if mixing is not None:
            mixed_targets = mixed_targets @ mixing if mixing.ndim == 2 else mixed_targets * mixing
        if (has_many := mixed_targets.shape[1] > 2 * len(self.A)) and self.A.size:
            mixed_targets = root_of_squares(mixed_targets)
        tridiagonal_form, alpha_steps = Tridiagonal(self.A, mixed_targets), alpha_grid(gram_trace)
        spectrum = np.maximum(tridiagonal_form.eigenvalues(), 0.0)
        alpha, near_alphas = 0.0, alpha_steps[::STEPS]
        for _ in range(2):  # whole decades, then every step from the decade below the first good one on
            residual_squares = self._get_residual_squares(
                np.array([tridiagonal_form.quadratic(alpha) for alpha in near_alphas]), near_alphas, total
            )
            log_det = np.array([np.log1p(spectrum / alpha).sum() for alpha in near_alphas])
            alpha, evidence_alpha = best_alpha(near_alphas, residual_squares, log_det, total, nu)
            near_alphas = alpha_steps[(alpha_steps > 0.11 * alpha) & (alpha_steps < 9.0 * evidence_alpha)]
        if mixing is not None:  # of the targets themselves nothing is solved yet
            self.alphas = self.alphas or (alpha,)
            return alpha
        if has_many:  # one Cholesky solve, when it is asked for
            self.alphas, self._known = (alpha,), None
            return alpha
        solution = tridiagonal_form.solve(alpha)
        self.alphas, self._known = (alpha,), {} if solution is None else {alpha: solution}
        return alpha

    @abstractmethod
    def _get_residual_squares(self, quadratic: np.ndarray, alphas: np.ndarray, total: float) -> np.ndarray:
        """Return q(λ), what the fit leaves of the targets plus the penalty, from tr Tᵀ(A + λI)⁻¹T."""

    def _solution(self, alpha: float) -> np.ndarray:
        """Return (A + λI)⁻¹(right-hand side); kept for the λ last asked for."""
        if alpha in self._announced:
            return self._announced[alpha]
        if self.__dict__.get("_last", (None,))[0] != alpha:
            _, Q, eigen_target = self._eigen
            self._last = (alpha, Q @ (self._invert_eigenvalues(alpha)[:, None] * eigen_target))
        return self._last[1]

    def apply_inverse(self, alpha: float, targets: np.ndarray) -> np.ndarray:
        """Return (A + λI)⁻¹T for other right-hand sides T, the pseudo-inverse at λ = 0."""
        factor = None if alpha <= 0 or "_eigen" in self.__dict__ else self._factor_cholesky(alpha)
        if factor is not None:
            return linalg.cho_solve(factor, targets, check_finite=False)
        _, Q, _ = self._eigen
        return Q @ (self._invert_eigenvalues(alpha)[:, None] * (Q.T @ targets))

    def _solve_cholesky(self, alpha: float) -> np.ndarray | None:
        factor = self._factor_cholesky(alpha)
        return None if factor is None else linalg.cho_solve(factor, self._rhs(), check_finite=False)

    def _factor_cholesky(self, alpha: float) -> tuple[np.ndarray, bool] | None:
        """Return the factor of A + λI, kept for the λ last asked for; None where it has none."""
        if self.__dict__.get("_factor", (None,))[0] == alpha:
            return self._factor[1]
        shifted_matrix = self.A.copy()
        shifted_matrix[np.diag_indices_from(shifted_matrix)] += alpha
        try:
            factor = linalg.cho_factor(shifted_matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        self._factor = (alpha, factor)
        return factor

    def residual(self, alpha: float) -> float:
        """Return ‖(A + λI)Z − T‖ / ‖T‖, T inside the range of A when λ = 0."""
        rhs, Z = self._rhs(), self._solution(alpha)
        if alpha <= 0:
            _, Q, eigen_target = self._eigen
            rhs = Q @ (eigen_target * (self._invert_eigenvalues(0.0) > 0)[:, None])
        target_norm = float(np.linalg.norm(rhs))
        residual_norm = float(np.linalg.norm(self.A @ Z + alpha * Z - rhs))
        return residual_norm / target_norm if target_norm else residual_norm


class RidgePath(FactoredPath):
    """The Gram route: every λ of one set of moments from one factorisation, solved on demand."""

    solver = "gram"

    def __init__(self, moments: RowMoments | CenteredMoments, *, alphas: Sequence[float] = ()) -> None:
        self.centered = moments.centered() if isinstance(moments, RowMoments) else moments
        self.A, self.alphas = self.centered.gram, tuple(alphas)
        self.x_mean, self.f_mean = self.centered.x_mean, self.centered.f_mean

    def _rhs(self) -> np.ndarray:
        return self.centered.cross

    def _get_residual_squares(self, quadratic: np.ndarray, alphas: np.ndarray, total: float) -> np.ndarray:
        return total - quadratic

    def fitted_squares(self, alpha: float, *rights: Any) -> np.ndarray:
        """Return ‖XcW·mixings‖² per column; XcᵀXcW is B − λW."""
        W = self._solution(alpha)
        gram_product = self._rhs() - alpha * W
        for mixing in rights:
            W, gram_product = as_dense(W @ mixing), as_dense(gram_product @ mixing)
        return np.maximum(np.einsum("ij,ij->j", W, gram_product), 0.0)

    def coef(self, alpha: float) -> np.ndarray:
        return self._solution(alpha)

    def project_rows(self, alpha: float, V: np.ndarray) -> np.ndarray:
        """Return (A + λI)⁻¹AV of columns V, d×m: the ridge on the scores XcV."""
        if alpha > 0:
            return V - alpha * self.apply_inverse(alpha, V)
        return self.apply_inverse(alpha, self.A @ V)

    def spectrum(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return S² (r, largest first), UᵀFc (r×m) and the map M → P M (d×c), Xc = U S Pᵀ."""
        s, P, eigen_target = self._drop_null_space()
        return s, eigen_target / np.sqrt(s)[:, None], lambda M: P @ M

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀW = Bᵀ(XcᵀXc + λI)⁻¹B (m×m)."""
        if alpha in self._announced:
            K = self._rhs().T @ self._solution(alpha)
        else:
            eigen_target = self._eigen[2]
            K = eigen_target.T @ (self._invert_eigenvalues(alpha)[:, None] * eigen_target)
        return (K + K.T) / 2

    def combine(self, alpha: float, mixing: np.ndarray) -> np.ndarray:
        """Return W·mixing (d×p) without forming W."""
        if alpha in self._announced:
            return self._solution(alpha) @ mixing
        _, Q, eigen_target = self._eigen
        return Q @ (self._invert_eigenvalues(alpha)[:, None] * (eigen_target @ mixing))

    def leverages(self, alpha: float, X: Any) -> np.ndarray:
        """Return x̃ᵢᵀ(XcᵀXc + λI)⁻¹x̃ᵢ for rows X (add 1/n for the intercept; times the row's weight)."""
        _, Q, _ = self._eigen
        Z = np.asarray(X @ Q) - self.x_mean @ Q
        return (Z * Z) @ self._invert_eigenvalues(alpha)


def path_of_codes(moments: CenteredMoments, P: np.ndarray, offset: np.ndarray, alpha: float) -> RidgePath:
    """Return the path from X to the codes P(f − o) of the targets, from sums over the rows alone."""
    codes = replace(
        moments,
        f_mean=np.asarray(P @ (moments.f_mean - offset)),
        cross=np.asarray((P @ moments.cross.T).T),
        target_gram=None,
    )
    return RidgePath(codes, alphas=(alpha,))


class SamplePath(FactoredPath, RowsKnown):
    """The sample-space route: α = (K + λI)⁻¹Fc with the centred n×n Gram (or kernel) K, W = Xcᵀα.

    Without `rows` (a kernel) only `dual` and `reduced` are available.
    """

    solver = "samples"
    null = 1  # the centred targets and rows are orthogonal to the vector of ones

    def __init__(
        self,
        K: np.ndarray,
        Fc: np.ndarray,
        *,
        f_mean: np.ndarray,
        rows: CenteredRows | None = None,
        alphas: Sequence[float] = (),
    ) -> None:
        self.A, self.Fc, self.rows, self.alphas = K, Fc, rows, tuple(alphas)
        self.f_mean = f_mean
        self.x_mean = rows.mean if rows is not None else np.zeros(0)

    @classmethod
    def from_rows(
        cls,
        X: Any,
        F: Any,
        *,
        sample_weight: np.ndarray | None = None,
        alphas: Sequence[float] = (),
        products: np.ndarray | None = None,
    ) -> SamplePath:
        """Form the n×n Gram of the centred rows, from `products` XXᵀ of sparse ones where they are known."""
        rows, target_mean = CenteredRows(X, sample_weight), weighted_row_mean(F, sample_weight)
        return cls(rows.gram(products), rows.targets(F), f_mean=target_mean, rows=rows, alphas=alphas)

    @classmethod
    def from_kernel(cls, K: np.ndarray, F: Any, *, alphas: Sequence[float] = ()) -> SamplePath:
        """Take the kernel matrix of the rows; their "mean" is that of its columns."""
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"A precomputed kernel must be square over the training rows, got {K.shape}.")
        column_means = K.mean(axis=0, dtype=np.float64)
        centered_kernel = K - column_means - column_means[:, None] + column_means.mean()
        dense_targets = as_dense(F)
        target_mean = dense_targets.mean(axis=0)
        sample_path = cls(centered_kernel, dense_targets - target_mean, f_mean=target_mean, alphas=alphas)
        sample_path.x_mean = column_means
        return sample_path

    def _rhs(self) -> np.ndarray:
        return self.Fc

    def _get_residual_squares(self, quadratic: np.ndarray, alphas: np.ndarray, total: float) -> np.ndarray:
        return alphas * quadratic

    def fitted(self, alpha: float) -> np.ndarray:
        """Return XcW, which is Fc − λα."""
        return self.Fc - alpha * self.dual(alpha) if alpha > 0 else self.A @ self.dual(alpha)

    def spectrum(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return S² (r, largest first), UᵀFc (r×m) and the map M → P M (d×c), Xc = U S Pᵀ."""
        s, U, eigen_target = self._drop_null_space()
        centered_rows: Any = self.rows
        return s, eigen_target, lambda M: centered_rows.rmatmat(U @ (M / np.sqrt(s)[:, None]))

    def dual(self, alpha: float, mixing: np.ndarray | None = None) -> np.ndarray:
        """Return α (n×m), or α·mixing: the coefficients over the samples."""
        solution = self._solution(alpha)
        return solution if mixing is None else solution @ mixing

    def coef(self, alpha: float) -> np.ndarray:
        if self.rows is None:
            raise ValueError("A path over a kernel has no coefficients over features: use dual().")
        return self.rows.rmatmat(self.dual(alpha))

    def reduced(self, alpha: float) -> np.ndarray:
        """Return FcᵀKα (m×m); through K, since Fcᵀ(Fc − λα) cancels for large λ."""
        if alpha in self._announced:
            K = self.Fc.T @ (self.A @ self._solution(alpha))
        else:
            s, _, eigen_target = self._eigen
            K = eigen_target.T @ ((s * self._invert_eigenvalues(alpha))[:, None] * eigen_target)
        return (K + K.T) / 2

    def combine(self, alpha: float, mixing: np.ndarray) -> np.ndarray:
        """Return W·mixing; without rows (a kernel), its coefficients α·mixing over the samples."""
        mixed_dual = self.dual(alpha, mixing)
        return mixed_dual if self.rows is None else self.rows.rmatmat(mixed_dual)


class CrossPath(Path):
    """No constraint to solve for: W = B = XcᵀFc, the limit of λ·(ridge coefficients) for large λ."""

    solver = "none"

    def __init__(self, B: np.ndarray, *, x_mean: np.ndarray, f_mean: np.ndarray) -> None:
        self.B, self.x_mean, self.f_mean = B, x_mean, f_mean

    @classmethod
    def from_rows(cls, X: Any, F: Any) -> CrossPath:
        """Form B from rows, centred implicitly."""
        x_mean, f_mean = weighted_row_mean(X, None), weighted_row_mean(F, None)
        B = as_dense(F.T @ X).T - np.outer(X.shape[0] * x_mean, f_mean)
        return cls(B, x_mean=x_mean, f_mean=f_mean)

    def coef(self, alpha: float) -> np.ndarray:
        """Return B itself."""
        return self.B

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀB."""
        return self.B.T @ self.B

    def residual(self, alpha: float) -> float:
        """Return 0: nothing is solved."""
        return 0.0

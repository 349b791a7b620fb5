"""Solve (A + λI)Z = T for several λ from one reduction of A to tridiagonal form.

A = QTQᵀ with Q a product of reflectors that is never formed: a third of the price of the eigenvectors.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, lapack
from scipy.linalg.blas import dsyrk


def solve_shifted(A: np.ndarray, T: np.ndarray, alphas: Sequence[float]) -> list[np.ndarray] | None:
    """Solve for every λ; None where some A + λI is not positive definite to working precision."""
    tridiagonal_form = Tridiagonal(A, T)
    rotated_solutions = [tridiagonal_form.inner(alpha) for alpha in alphas]
    if any(rotated_solution is None for rotated_solution in rotated_solutions):
        return None
    m = T.shape[1]
    stacked_solutions = tridiagonal_form.turn_back(np.hstack(rotated_solutions))  # type: ignore[arg-type]
    return [stacked_solutions[:, m * i : m * (i + 1)] for i in range(len(alphas))]


def root_of_squares(T: np.ndarray) -> np.ndarray:
    """Return R with RRᵀ = TTᵀ and no more columns than rows: tr Tᵀ(A + λI)⁻¹T is the same for both.

    The evidence of many labels needs nothing else of them, at every λ of a grid.
    """
    squares = dsyrk(1.0, T, lower=1) if T.flags.f_contiguous else dsyrk(1.0, T.T, trans=1, lower=1)
    factor, pivots, rank, _ = lapack.dpstrf(squares, lower=1, overwrite_a=1)
    root = np.zeros((len(T), int(rank)), order="F")
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root


class Tridiagonal:
    """A = Q·tridiagonal·Qᵀ and QᵀT: every λ costs little more than turning its solution back."""

    def __init__(self, A: np.ndarray, T: np.ndarray) -> None:
        self.target = np.array(T, dtype=np.float64, order="F")
        self.diagonal, self.off = np.array(np.diag(A), dtype=np.float64), np.zeros(0)
        if len(A) < 2:
            return
        workspace_size = int(lapack.dsytrd_lwork(len(A), lower=1)[0])
        reduced_matrix, self.diagonal, self.off, self._tau, _ = lapack.dsytrd(
            A.T, lower=1, lwork=workspace_size
        )
        # the reflectors leave the first coordinate alone and are stored as those of a QR factorisation
        self._reflectors = np.asfortranarray(reduced_matrix[1:, :-1])
        self.target[1:] = _apply_reflectors("T", self._reflectors, self._tau, self.target[1:])

    def eigenvalues(self) -> np.ndarray:
        """Return the eigenvalues of A, ascending."""
        if not len(self.off):
            return self.diagonal
        return eigvalsh_tridiagonal(self.diagonal, self.off, lapack_driver="sterf", check_finite=False)

    def quadratic(self, alpha: float) -> float:
        """Return tr Tᵀ(A + λI)⁻¹T; infinity where A + λI is not positive definite."""
        rotated_solution = self.inner(alpha)
        return (
            np.inf if rotated_solution is None else float(np.einsum("ij,ij->", self.target, rotated_solution))
        )

    def solve(self, alpha: float) -> np.ndarray | None:
        """Return (A + λI)⁻¹T; None where A + λI is not positive definite."""
        rotated_solution = self.inner(alpha)
        return None if rotated_solution is None else self.turn_back(rotated_solution)

    def inner(self, alpha: float) -> np.ndarray | None:
        """Return Qᵀ(A + λI)⁻¹T; None where A + λI is not positive definite."""
        if not len(self.off):
            is_positive = (self.diagonal + alpha > 0).all()
            return self.target / (self.diagonal + alpha)[:, None] if is_positive else None
        _, _, rotated_solution, lapack_info = lapack.dptsv(self.diagonal + alpha, self.off, self.target)
        return None if lapack_info else rotated_solution

    def turn_back(self, V: np.ndarray) -> np.ndarray:
        """Return QV, in the memory of V where possible."""
        if len(self.off):
            V = np.asfortranarray(V)
            V[1:] = _apply_reflectors("N", self._reflectors, self._tau, V[1:])
        return V


def _apply_reflectors(
    transpose_flag: str, reflectors: np.ndarray, tau: np.ndarray, V: np.ndarray
) -> np.ndarray:
    workspace_size = lapack.dormqr("L", transpose_flag, reflectors, tau, V, -1)[1]
    return lapack.dormqr("L", transpose_flag, reflectors, tau, V, int(workspace_size[0]))[0]

"""Block Lanczos: (A + λI) Z = B for every right-hand side and every λ from one Krylov space.

The space spanned by B, AB, A²B, … does not depend on λ, so one run serves a whole λ-path.

Notation
--------
code      meaning                                     shape
A         symmetric positive semi-definite operator   N×N
B         right-hand sides                            N×m
basis     Q₁, Q₂, …: blocks of the Krylov basis       N×mᵢ
diagonal  Aᵢ = QᵢᵀAQᵢ                                 mᵢ×mᵢ
lower     Cᵢ: A Qᵢ = Qᵢ₋₁Cᵢ₋₁ᵀ + QᵢAᵢ + Qᵢ₊₁Cᵢ        mᵢ₊₁×mᵢ
start     S: B = Q₁S                                  m₁×m

Numerics
--------
Blocks are orthogonalised against their two predecessors only, directions of small norm (the last of a space
that is nearly filled) a second time at unit length. The recurrence then holds to rounding even where far
blocks lose orthogonality, and (T + λI)y = E₁S is solved exactly with the block-tridiagonal T that was built;
hence B − (A + λI)Qy = −Q_{j+1}C_j y_j, so that the residual reported from the small factors is the true
one. Lost orthogonality costs steps, not truth. What products and neighbouring blocks round by,
(ε√N + overlap)‖A‖‖y‖, is added to what is reported.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Operator = Callable[[np.ndarray], np.ndarray]


@dataclass
class KrylovSpace:
    """A block Krylov space, and the solutions of (A + λI)Z = B inside it."""

    size: int
    dtype: np.dtype
    start: np.ndarray
    norms: np.ndarray
    basis: list[np.ndarray] = field(default_factory=list)
    diagonal: list[np.ndarray] = field(default_factory=list)
    lower: list[np.ndarray] = field(default_factory=list)
    norm_estimate: float = 0.0  # running estimate of ‖A‖
    overlap: float = 0.0  # of a block with its two predecessors, at most
    converged: bool = False

    @property
    def n_iter(self) -> int:
        """Number of block products with A."""
        return len(self.diagonal)

    def small_solution(self, alpha: float) -> tuple[list[np.ndarray], np.ndarray]:
        """Solve (T + λI)y = E₁S; return the blocks of y and the relative residual per column.

        Columns of B that are zero have residual 0.
        """
        elimination = _Elimination(self.start, alpha)
        for i, diagonal in enumerate(self.diagonal):
            elimination.push(diagonal, self.lower[i - 1] if i else None)
        if not self.diagonal:
            return [], np.zeros(len(self.norms))
        y = elimination.back_substitute()
        # Little in double precision, the limit in single.
        solution_norms = np.sqrt(sum(np.einsum("ij,ij->j", y_block, y_block) for y_block in y))
        relative_rounding = float(np.finfo(self.dtype).eps) * np.sqrt(self.size) + self.overlap
        rounding_bound = relative_rounding * (self.norm_estimate + alpha) * solution_norms
        return y, _relative_residual(
            np.linalg.norm(self.lower[-1] @ y[-1], axis=0) + rounding_bound, self.norms
        )

    def expand(self, y: list[np.ndarray], mixing: np.ndarray | None = None) -> np.ndarray:
        """Return Q y (times `mixing`, m×p), N×p."""
        if mixing is not None:
            y = [y_block @ mixing for y_block in y]
        n_columns = len(self.norms) if mixing is None else mixing.shape[1]
        Z = np.zeros((self.size, n_columns), dtype=self.dtype)
        for basis_block, y_block in zip(self.basis, y, strict=True):
            Z += basis_block @ y_block.astype(self.dtype)
        return Z


def block_lanczos(
    operator: Operator,
    B: np.ndarray,
    *,
    alpha: float,
    tol: float = 1e-6,
    max_iter: int = 300,
    enough: Callable[[KrylovSpace, bool], bool] | None = None,
) -> KrylovSpace:
    """Build the Krylov space until every column's residual is below `tol` at λ = `alpha`.

    Larger λ need fewer steps, so `alpha` is the smallest of the path. B has the working precision.
    `enough(space, final)`, if given, decides instead; `final` says that the space will not grow.
    """
    norms = np.linalg.norm(B, axis=0)
    column_scale, eps = np.where(norms > 0, norms, 1.0), float(np.finfo(B.dtype).eps)
    Q, S = orthonormalize_columns(B / column_scale.astype(B.dtype))
    space = KrylovSpace(len(B), B.dtype, start=S * column_scale, norms=norms)
    elimination = _Elimination(space.start, alpha)
    previous_block: np.ndarray | None = None
    while Q.shape[1] and space.n_iter < max_iter:
        W = operator(Q)
        if previous_block is not None:
            W -= previous_block @ space.lower[-1].T.astype(W.dtype)
        diagonal_block = Q.T @ W
        diagonal_block = (diagonal_block + diagonal_block.T) / 2
        W -= Q @ diagonal_block
        W -= Q @ (Q.T @ W)  # again: what cancellation left of Q in W
        if previous_block is not None:
            W -= previous_block @ (previous_block.T @ W)
        space.norm_estimate = max(space.norm_estimate, float(np.linalg.norm(diagonal_block, 2)))
        # What is smaller than the rounding of A is no new direction.
        next_block, C = orthonormalize_columns(W, tolerance=space.norm_estimate * 10 * eps)
        # A direction of small norm s loses orthogonality (error ε‖A‖/s): normalise and orthogonalise again.
        overlap_bound = eps * space.norm_estimate / np.linalg.norm(C, axis=1).min(initial=np.inf)
        if overlap_bound > eps ** (2 / 3):
            for block in (Q,) if previous_block is None else (Q, previous_block):
                next_block -= block @ (block.T @ next_block)
            next_block, second_mixing = orthonormalize_columns(next_block)
            C = second_mixing @ C
            overlap_bound = eps
        space.overlap = max(space.overlap, overlap_bound)
        if enough is None:
            elimination.push(diagonal_block.astype(np.float64), space.lower[-1] if space.lower else None)
        space.basis.append(Q)
        space.diagonal.append(diagonal_block.astype(np.float64))
        space.lower.append(C)
        if enough is None:
            column_residuals = _relative_residual(
                np.linalg.norm(space.lower[-1] @ elimination.last(), axis=0), norms
            )
            space.converged = bool(column_residuals.max(initial=0.0) <= tol)
        else:
            space.converged = enough(space, not next_block.shape[1])
        if space.converged:
            break
        previous_block, Q = Q, next_block
    space.converged |= not Q.shape[1]
    return space


class _Elimination:
    """Block Cholesky of T + λI, one block row at a time: what the stopping test needs is cheap."""

    def __init__(self, start: np.ndarray, alpha: float) -> None:
        self.alpha = alpha
        self.right = start  # z_i of the forward sweep
        self.pivots: list[Operator] = []  # each maps a right-hand side to pivot⁻¹ times it
        self.rights: list[np.ndarray] = []
        self.couplings: list[np.ndarray] = []

    def push(self, diagonal: np.ndarray, coupling: np.ndarray | None) -> None:
        pivot = diagonal + self.alpha * np.eye(len(diagonal))
        if coupling is not None:
            solve_previous = self.pivots[-1]
            pivot = pivot - coupling @ solve_previous(coupling.T)
            self.right = -coupling @ solve_previous(self.right)
            self.couplings.append(coupling)
        self.pivots.append(_invert_pivot(pivot))
        self.rights.append(self.right)

    def last(self) -> np.ndarray:
        """Return y_j, the last block of the solution so far."""
        return self.pivots[-1](self.rights[-1])

    def back_substitute(self) -> list[np.ndarray]:
        y = [self.last()]
        for i in range(len(self.couplings) - 1, -1, -1):
            y.append(self.pivots[i](self.rights[i] - self.couplings[i].T @ y[-1]))
        return y[::-1]


def _invert_pivot(pivot: np.ndarray) -> Operator:
    """Return the map Z → pivot⁻¹Z; the pseudo-inverse where rounding left a pivot singular (λ = 0)."""
    try:
        inverse_root = np.linalg.inv(np.linalg.cholesky(pivot))
    except np.linalg.LinAlgError:
        pseudo_inverse = np.linalg.pinv(pivot, rcond=len(pivot) * float(np.finfo(float).eps), hermitian=True)
        return lambda Z: pseudo_inverse @ Z
    return lambda Z: inverse_root.T @ (inverse_root @ Z)


def orthonormalize_columns(W: np.ndarray, *, tolerance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Factor W = QC with orthonormal Q, dropping directions of norm ≤ max(tolerance, rounding of W).

    Works on the m×m Gram (matrix products only). A Gram resolves singular values down to √ε of
    its largest; what lies below is orthogonalised against the rest and treated again, so that
    nearly dependent columns keep their span.
    """
    eps = float(np.finfo(W.dtype).eps)
    basis_blocks: list[np.ndarray] = []
    mixing_rows: list[np.ndarray] = []
    mixing = np.eye(W.shape[1])  # W_rest = W·mixing, minus what the blocks so far carry
    remaining_columns = W
    for _ in range(4):
        if not remaining_columns.shape[1]:
            break
        s, V = np.linalg.eigh((remaining_columns.T @ remaining_columns).astype(np.float64))
        if not basis_blocks:
            tolerance = max(tolerance, 10 * eps * float(np.sqrt(max(s[-1], 0.0))))
        if s[-1] <= tolerance**2:
            break
        is_resolved = s > max(1e3 * eps * s[-1], tolerance**2)
        singular_values = np.sqrt(s[is_resolved])
        Q = remaining_columns @ (V[:, is_resolved] / singular_values).astype(W.dtype)
        basis_blocks.append(Q)
        mixing_rows.append(singular_values[:, None] * (mixing @ V[:, is_resolved]).T)
        unresolved_mix = V[:, ~is_resolved]
        remaining_columns, mixing = (
            remaining_columns @ unresolved_mix.astype(W.dtype),
            mixing @ unresolved_mix,
        )
        if remaining_columns.shape[1]:
            overlap = np.zeros((sum(b.shape[1] for b in basis_blocks), remaining_columns.shape[1]))
            for _ in range(2):
                Qs = np.hstack(basis_blocks)
                overlap_step = Qs.T @ remaining_columns
                remaining_columns = remaining_columns - Qs @ overlap_step
                overlap += overlap_step
            stacked_rows = np.vstack(mixing_rows) + overlap @ mixing.T
            mixing_rows = [stacked_rows]
    if not basis_blocks:
        return W[:, :0], np.zeros((0, W.shape[1]))
    # Second pass: the first leaves QᵀQ − I of order ε·(condition of the Gram), the second of order ε.
    Q = np.hstack(basis_blocks)
    L = np.linalg.cholesky((Q.T @ Q).astype(np.float64))
    Q = Q @ np.linalg.inv(L).T.astype(W.dtype)
    return Q, L.T @ np.vstack(mixing_rows)


def _relative_residual(residual: np.ndarray, norms: np.ndarray) -> np.ndarray:
    return np.divide(residual, norms, out=np.zeros_like(residual), where=norms > 0)

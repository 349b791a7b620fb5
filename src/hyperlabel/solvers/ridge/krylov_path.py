"""The matrix-free ridge path: every λ and every label from one Krylov space (see `solvers.ridge.routes`)."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.operators import CenteredRows, weighted_row_mean
from hyperlabel.solvers.ridge.factored import RowsKnown
from hyperlabel.solvers.ridge.krylov_space import KrylovSpace, block_lanczos

KRYLOV_BYTES = 2**30  # memory of one Krylov basis; more right-hand sides are taken in blocks


def krylov_memory(n: int, d: int, nnz: int, m: int, blocks: int, *, itemsize: int = 8) -> int:
    """Estimate the peak bytes of the Krylov route: O(nnz + (n + d)·m + min(n, d)·m·blocks).

    X by rows and by columns, the targets, the Krylov basis (one block of m columns per product), and
    while a product is under way both its sides and a few blocks for the orthogonalisation.
    """
    row_bytes = 2 * nnz * (itemsize + 4)
    return row_bytes + itemsize * m * (min(n, d) * (blocks + 5) + 2 * max(n, d))


class KrylovPath(RowsKnown):
    """The matrix-free route: block Lanczos on XcXcᵀ (n ≤ d) or XcᵀXc, centred implicitly.

    All right-hand sides share each product with X. When the basis would outgrow
    `memory_limit` bytes they are taken in blocks of columns (`reduced` then needs one block).
    """

    solver = "krylov"

    def __init__(
        self,
        X: Any,
        F: Any,
        *,
        alpha: float,
        sample_weight: np.ndarray | None = None,
        tol: float = 1e-6,
        max_iter: int = 300,
        dtype: Any = np.float64,
        memory_limit: int = KRYLOV_BYTES,
    ) -> None:
        self.rows = CenteredRows(X, sample_weight, dtype=dtype)
        self.x_mean, self.f_mean = self.rows.mean, weighted_row_mean(F, sample_weight)
        self.alpha, self.tol, self.max_iter = alpha, tol, max_iter
        n, d = X.shape
        # At λ = 0 the sample-space equation has no solution when Fc leaves the range of XcXcᵀ.
        self.side = "samples" if n <= d and alpha > 0 else "features"
        # planned for a basis of 40 blocks
        column_bytes = 40 * np.dtype(dtype).itemsize * (n if self.side == "samples" else d)
        block_width = max(1, int(memory_limit // column_bytes))
        self.blocks = [slice(i, min(i + block_width, F.shape[1])) for i in range(0, F.shape[1], block_width)]
        F = sparse.csc_array(F) if sparse.issparse(F) else F
        self.spaces = [self._build_space(F[:, block]) for block in self.blocks]
        self._last: tuple[float, Any] = (-1.0, None)
        self._solved: tuple[float, Any] = (-1.0, None)
        if not self.converged:
            n_products = max(space.n_iter for space in self.spaces)
            warnings.warn(
                f"The Krylov solver stopped after {n_products} block products with relative "
                f"residual {self.residual(alpha):.1e}, above tol = {tol:g}: raise max_iter, tol or alpha.",
                RuntimeWarning,
                stacklevel=4,
            )

    @property
    def converged(self) -> bool:
        """Whether every column reached the tolerance at the smallest λ."""
        return all(space.converged for space in self.spaces)

    @property
    def n_iter(self) -> int:
        """Block products with X and Xᵀ."""
        return sum(space.n_iter for space in self.spaces)

    def _build_space(self, F: Any) -> KrylovSpace:
        rows, Fc = self.rows, self.rows.targets(F)
        options: Any = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        if self.side == "samples":
            return block_lanczos(lambda Q: rows.matmat(rows.rmatmat(Q)), Fc, **options)
        return block_lanczos(lambda Q: rows.rmatmat(rows.matmat(Q)), rows.rmatmat(Fc), **options)

    def _small(self, alpha: float) -> list[tuple[list[np.ndarray], np.ndarray]]:
        """Small solutions and residuals of every block, kept for the λ last asked for."""
        if self._last[0] != alpha:
            self._last = (alpha, [space.small_solution(alpha) for space in self.spaces])
        return self._last[1]

    def coef(self, alpha: float) -> np.ndarray:
        """Return W (d×m); a λ below the smallest announced one meets a larger residual."""
        if self._solved[0] != alpha:
            space_solutions = zip(self.spaces, self._small(alpha), strict=True)
            self._solved = (
                alpha,
                np.hstack([self._map_to_features(s.expand(y)) for s, (y, _) in space_solutions]),
            )
        return self._solved[1]

    def fitted(self, alpha: float) -> np.ndarray:
        return self.rows.matmat(self.coef(alpha))

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀW (m×m) from the small factors alone."""
        space = self._require_one_space()
        y, _ = self._small(alpha)[0]
        if not y:
            return np.zeros((len(space.norms), len(space.norms)))
        first_block = y[0]
        if self.side == "samples":  # FcᵀXcXcᵀα = Sᵀ(E₁ᵀT y), without the cancellation of Fc − λα
            first_block = space.diagonal[0] @ y[0]
            if len(y) > 1:
                first_block = first_block + space.lower[0].T @ y[1]
        K = space.start.T @ first_block
        return (K + K.T) / 2

    def combine(self, alpha: float, mixing: np.ndarray) -> np.ndarray:
        """Return W·mixing (d×p), from one space without forming W."""
        if len(self.spaces) > 1:
            return self.coef(alpha) @ mixing
        return self._map_to_features(self.spaces[0].expand(self._small(alpha)[0][0], mixing))

    def residual(self, alpha: float) -> float:
        """Return the largest relative residual over the columns."""
        return max(float(residual.max(initial=0.0)) for _, residual in self._small(alpha))

    def _map_to_features(self, Z: np.ndarray) -> np.ndarray:
        return self.rows.rmatmat(Z) if self.side == "samples" else Z

    def _require_one_space(self) -> KrylovSpace:
        if len(self.spaces) > 1:
            raise ValueError(
                "The targets were solved in several blocks: raise memory_limit for spectral methods."
            )
        return self.spaces[0]

"""Ridge regression for many right-hand sides and many λ at once, by the route that suits the shape.

Minimise ‖Xc W − Fc‖² + λ‖W‖² with an unpenalised intercept, that is
(XcᵀXc + λI) W = B with B = XcᵀFc. Three routes, one answer (``solve_ridge`` chooses):

=========  ===============================================  ==========================
route      what is factored                                 suits
=========  ===============================================  ==========================
gram       XcᵀXc, d×d                                       d ≤ n, moments, streaming
samples    XcXcᵀ, n×n: W = Xcᵀ(XcXcᵀ + λI)⁻¹Fc              n < d, kernels
krylov     nothing: block Lanczos over all right-hand sides  sparse, wide and tall
=========  ===============================================  ==========================

One λ is a Cholesky solve; a path is one eigendecomposition (or one Krylov space); λ = 0 is the
pseudo-inverse, eigenvalues below ``rank_tolerance`` counting as 0. Every path also gives the
small matrix BᵀW = FcᵀXc(XcᵀXc + λI)⁻¹XcᵀFc, from which the spectral methods read their answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from scipy import linalg, sparse

from hyperlabel.solvers.krylov import KrylovSpace, block_lanczos
from hyperlabel.solvers.moments import CenteredMoments, Moments
from hyperlabel.solvers.operators import CenteredRows, weighted_mean

Solver = Literal["auto", "gram", "samples", "krylov"]

# Factor exactly up to this many rows or columns, whichever is fewer; iterate beyond (see choose_route).
DENSE_LIMIT = 8000
SPARSE_LIMIT = 2500
KRYLOV_BYTES = 2**30  # memory of one Krylov basis; more right-hand sides are taken in blocks


@dataclass(frozen=True)
class RidgeResult:
    """A solution with its certificate.

    Attributes
    ----------
    coef : ndarray of shape (d, m)
    intercept : ndarray of shape (m,)
    residual : float
        Relative size of what is left of the equation that was solved. Gram route:
        ‖(XcᵀXc + λI)W − B‖ / ‖B‖ in the Frobenius norm, B the part of XcᵀFc inside the range of
        XcᵀXc when λ = 0; sample route: the same with XcXcᵀ and Fc; Krylov: the largest such
        ratio over the columns.
    """

    coef: np.ndarray
    intercept: np.ndarray
    residual: float


class Path(Protocol):
    """What every route offers."""

    solver: str
    x_mean: np.ndarray
    f_mean: np.ndarray

    @property
    def n_iter(self) -> int:
        """Block products with X; 1 for a factorisation."""

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ."""

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀW (m×m), symmetric positive semi-definite."""

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """Return W·right (d×p) without keeping W."""

    def residual(self, alpha: float) -> float:
        """Return the certificate of `RidgeResult` alone."""


def solve_ridge(
    X: Any,
    F: Any,
    *,
    alphas: Sequence[float] = (),
    solver: Solver = "auto",
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 300,
    dtype: Any = np.float64,
) -> RidgePath | SamplePath | KrylovPath:
    """Solve the ridge of F on the rows X, for every λ on demand, by the best route.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        Rows; never densified.
    F : ndarray or sparse array of shape (n, m)
        Targets.
    alphas : sequence of float, default=()
        The λ that will be asked for. A single one is solved by Cholesky; the smallest one
        decides how far the Krylov space is built. Other λ may be asked for later.
    solver : {"auto", "gram", "samples", "krylov"}, default="auto"
        The route; ``path.solver`` names the one taken.
    sample_weight : ndarray of shape (n,), default=None
        Row weights.
    tol, max_iter : float and int
        Krylov route: relative residual per right-hand side, and the bound on block products.
    dtype : {float64, float32}, default=float64
        Krylov route: working precision.

    Returns
    -------
    path : RidgePath, SamplePath or KrylovPath
        With ``solve(alpha)``, ``reduced(alpha)``, ``combine(alpha, right)`` and ``solver``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.eye(3, 5); F = np.arange(3.0)[:, None]
    >>> paths = [solve_ridge(X, F, solver=s) for s in ("gram", "samples", "krylov")]
    >>> [p.solve(1.0).coef[:3, 0].round(6).tolist() for p in paths]
    [[-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]]
    >>> solve_ridge(X, F).solver
    'samples'
    """
    route = choose_route(X, len(alphas)) if solver == "auto" else solver
    if route == "gram":
        return RidgePath(Moments.from_rows(X, F, sample_weight=sample_weight), once=len(alphas) == 1)
    if route == "samples":
        return SamplePath.from_rows(X, F, sample_weight=sample_weight, once=len(alphas) == 1)
    if route == "krylov":
        smallest = min(alphas, default=0.0)
        return KrylovPath(
            X, F, alpha=smallest, sample_weight=sample_weight, tol=tol, max_iter=max_iter, dtype=dtype
        )
    raise ValueError(f"Unknown solver {solver!r}: choose 'auto', 'gram', 'samples' or 'krylov'.")


def choose_route(X: Any, n_alphas: int = 1) -> str:
    """Return the route for rows of this shape and density, and this many λ.

    A path by factorisation needs all eigenvectors, ten times the price of one Cholesky solve; a Krylov
    space serves a path at the price of its smallest λ. So paths over sparse rows iterate earlier.
    """
    n, d = X.shape
    limit = DENSE_LIMIT
    if sparse.issparse(X):
        limit = SPARSE_LIMIT if n_alphas <= 1 else SPARSE_LIMIT // 4
    if min(n, d) > limit:
        return "krylov"
    return "gram" if d <= n else "samples"


class _EigenPath:
    """Shared by the two routes that factor a symmetric matrix A and a right-hand side T."""

    A: np.ndarray
    once: bool
    n_iter = 1

    def _rhs(self) -> np.ndarray:
        raise AttributeError("A path defines its right-hand side.")

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues s and vectors Q of A, and Qᵀ(right-hand side)."""
        s, Q = linalg.eigh(self.A, driver="evd", check_finite=False)
        return np.maximum(s, 0.0), Q, Q.T @ self._rhs()

    @property
    def rank_tolerance(self) -> float:
        """Eigenvalues of A up to this count as zero: size·ε times the largest."""
        s = self._eigen[0]
        return float(s[-1] * len(s) * np.finfo(np.float64).eps) if len(s) else 0.0

    def _inverse(self, alpha: float) -> np.ndarray:
        """Return 1/(s + λ), or the pseudo-inverse 1/s over the kept eigenvalues at λ = 0."""
        s = self._eigen[0]
        if alpha > 0:
            return 1.0 / (s + alpha)
        return np.divide(1.0, s, out=np.zeros_like(s), where=s > self.rank_tolerance)

    def _solution(self, alpha: float) -> np.ndarray:
        """Return (A + λI)⁻¹(right-hand side); kept for the λ last asked for."""
        if self.__dict__.get("_last", (None,))[0] != alpha:
            cholesky = self.once and alpha > 0 and "_eigen" not in self.__dict__
            solution = self._cholesky(alpha) if cholesky else None
            if solution is None:
                _, Q, target = self._eigen
                solution = Q @ (self._inverse(alpha)[:, None] * target)
            self._last = (alpha, solution)
        return self._last[1]

    def _cholesky(self, alpha: float) -> np.ndarray | None:
        shifted = self.A.copy()
        shifted[np.diag_indices_from(shifted)] += alpha
        try:
            factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return linalg.cho_solve(factor, self._rhs(), check_finite=False)

    def residual(self, alpha: float) -> float:
        """Return ‖(A + λI)Z − T‖ / ‖T‖, T inside the range of A when λ = 0."""
        rhs, Z = self._rhs(), self._solution(alpha)
        if alpha <= 0:
            _, Q, target = self._eigen
            rhs = Q @ (target * (self._inverse(0.0) > 0)[:, None])
        scale = float(np.linalg.norm(rhs))
        gap = float(np.linalg.norm(self.A @ Z + alpha * Z - rhs))
        return gap / scale if scale else gap


class RidgePath(_EigenPath):
    """The Gram route: every λ of one set of moments from one factorisation, solved on demand.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]]); F = np.array([[0.0], [1.0], [2.0]])
    >>> path = RidgePath(Moments.from_rows(X, F))
    >>> [round(float(path.solve(alpha).coef[0, 0]), 6) for alpha in (0.0, 2.0)]
    [1.0, 0.5]
    """

    solver = "gram"

    def __init__(self, moments: Moments | CenteredMoments, *, once: bool = False) -> None:
        self.centered = moments.centered() if isinstance(moments, Moments) else moments
        self.A = self.centered.xx
        self.once = once
        self.x_mean, self.f_mean = self.centered.x_mean, self.centered.f_mean

    def _rhs(self) -> np.ndarray:
        return self.centered.xf

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ: by Cholesky if the path was made for one, else by the shared eigenvectors."""
        return self._result(self._solution(alpha), alpha)

    def solve_once(self, alpha: float) -> RidgeResult:
        """Solve for a single λ by Cholesky (falls back to the eigendecomposition)."""
        if alpha > 0 and "_eigen" not in self.__dict__:
            coef = self._cholesky(alpha)
            if coef is not None:
                self._last = (alpha, coef)
        return self.solve(alpha)

    def solve_all(self, alphas: Sequence[float]) -> Iterator[RidgeResult]:
        """Solve for each λ in turn, lazily (a coefficient matrix can be large)."""
        return (self.solve(alpha) for alpha in alphas)

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀW = Bᵀ(XcᵀXc + λI)⁻¹B (m×m)."""
        if "_eigen" not in self.__dict__ and self.once and alpha > 0:
            K = self._rhs().T @ self._solution(alpha)
        else:
            target = self._eigen[2]
            K = target.T @ (self._inverse(alpha)[:, None] * target)
        return (K + K.T) / 2

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """Return W·right."""
        if "_eigen" not in self.__dict__:
            return self._solution(alpha) @ right
        _, Q, target = self._eigen
        return Q @ (self._inverse(alpha)[:, None] * (target @ right))

    def leverages(self, alpha: float, X: Any) -> np.ndarray:
        """Return x̃ᵢᵀ(XcᵀXc + λI)⁻¹x̃ᵢ for rows X (add 1/n for the intercept; times the row's weight)."""
        _, Q, _ = self._eigen
        Z = np.asarray(X @ Q) - self.x_mean @ Q
        return (Z * Z) @ self._inverse(alpha)

    def _result(self, coef: np.ndarray, alpha: float) -> RidgeResult:
        intercept = self.f_mean - self.x_mean @ coef
        return RidgeResult(coef, intercept, self.residual(alpha))


class SamplePath(_EigenPath):
    """The sample-space route: α = (K + λI)⁻¹Fc with the centred n×n Gram (or kernel) K, W = Xcᵀα.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Centred Gram of the rows, or any centred kernel.
    Fc : ndarray of shape (n, m)
        Centred targets.
    rows : CenteredRows, default=None
        The rows behind K; without them (a kernel) only `dual` and `reduced` are available.
    """

    solver = "samples"

    def __init__(
        self,
        K: np.ndarray,
        Fc: np.ndarray,
        *,
        f_mean: np.ndarray,
        rows: CenteredRows | None = None,
        once: bool = False,
    ) -> None:
        self.A, self.Fc, self.rows, self.once = K, Fc, rows, once
        self.f_mean = f_mean
        self.x_mean = rows.mean if rows is not None else np.zeros(0)

    @classmethod
    def from_rows(
        cls, X: Any, F: Any, *, sample_weight: np.ndarray | None = None, once: bool = False
    ) -> SamplePath:
        """Form the n×n Gram of the centred rows."""
        rows = CenteredRows(X, sample_weight)
        mean = weighted_mean(F, sample_weight)
        return cls(rows.gram(), rows.targets(F), f_mean=mean, rows=rows, once=once)

    def _rhs(self) -> np.ndarray:
        return self.Fc

    def dual(self, alpha: float, right: np.ndarray | None = None) -> np.ndarray:
        """Return α (n×m), or α·right: the coefficients over the samples."""
        solution = self._solution(alpha)
        return solution if right is None else solution @ right

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ."""
        if self.rows is None:
            raise ValueError("A path over a kernel has no coefficients over features: use dual().")
        coef = self.rows.rmatmat(self.dual(alpha))
        return RidgeResult(coef, self.f_mean - self.x_mean @ coef, self.residual(alpha))

    def reduced(self, alpha: float) -> np.ndarray:
        """Return FcᵀKα (m×m); through K, since Fcᵀ(Fc − λα) cancels for large λ."""
        if "_eigen" in self.__dict__ or not (self.once and alpha > 0):
            s, _, target = self._eigen
            K = target.T @ ((s * self._inverse(alpha))[:, None] * target)
        else:
            K = self.Fc.T @ (self.A @ self._solution(alpha))
        return (K + K.T) / 2

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """Return W·right; without rows (a kernel), its coefficients α·right over the samples."""
        dual = self.dual(alpha, right)
        return dual if self.rows is None else self.rows.rmatmat(dual)


class CrossPath:
    """No constraint to solve for: W = B = XcᵀFc, the limit of λ·(ridge coefficients) for large λ."""

    solver = "none"
    n_iter = 1

    def __init__(self, B: np.ndarray, *, x_mean: np.ndarray, f_mean: np.ndarray) -> None:
        self.B, self.x_mean, self.f_mean = B, x_mean, f_mean

    def solve(self, alpha: float) -> RidgeResult:
        """Return B itself."""
        return RidgeResult(self.B, self.f_mean - self.x_mean @ self.B, 0.0)

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀB."""
        return self.B.T @ self.B

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """Return B·right."""
        return self.B @ right

    def residual(self, alpha: float) -> float:
        """Nothing is solved, nothing is left."""
        return 0.0


def krylov_memory(n: int, d: int, nnz: int, m: int, blocks: int, *, itemsize: int = 8) -> int:
    """Estimate the peak bytes of the Krylov route: O(nnz + (n + d)·m + min(n, d)·m·blocks).

    X by rows and by columns, the targets, the Krylov basis (one block of m columns per product), and
    while a product is under way both its sides and a few blocks for the orthogonalisation.

    Parameters
    ----------
    n, d, nnz : int
        Shape and nonzeros of X.
    m : int
        Right-hand sides.
    blocks : int
        Block products (20 to 40 for well-scaled text at a tolerance of 1e-4).
    itemsize : int, default=8
        Bytes of a number.
    """
    rows = 2 * nnz * (itemsize + 4)
    return rows + itemsize * m * (min(n, d) * (blocks + 5) + 2 * max(n, d))


class KrylovPath:
    """The matrix-free route: block Lanczos on XcXcᵀ (n ≤ d) or XcᵀXc, centred implicitly.

    All right-hand sides share each product with X. When the basis would outgrow
    `memory_limit` bytes they are taken in blocks of columns (`reduced` then needs one block).

    Attributes
    ----------
    spaces : list of KrylovSpace
        One per block of columns; ``n_iter`` counts their block products.
    converged : bool
        Whether every column reached `tol` at the smallest λ.
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
        self.x_mean, self.f_mean = self.rows.mean, weighted_mean(F, sample_weight)
        self.alpha, self.tol, self.max_iter = alpha, tol, max_iter
        n, d = X.shape
        # At λ = 0 the sample-space equation has no solution when Fc leaves the range of XcXcᵀ.
        self.side = "samples" if n <= d and alpha > 0 else "features"
        expected = 40 * np.dtype(dtype).itemsize * (n if self.side == "samples" else d)
        width = max(1, int(memory_limit // expected))
        self.blocks = [slice(i, min(i + width, F.shape[1])) for i in range(0, F.shape[1], width)]
        F = sparse.csc_array(F) if sparse.issparse(F) else F
        self.spaces = [self._space(F[:, block]) for block in self.blocks]
        self._last: tuple[float, Any] = (-1.0, None)
        if not self.converged:
            steps = max(space.n_iter for space in self.spaces)
            warnings.warn(
                f"The Krylov solver stopped after {steps} block products with relative "
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

    def _space(self, F: Any) -> KrylovSpace:
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

    def solve(self, alpha: float) -> RidgeResult:
        """Solve for one λ (a λ below the smallest announced one meets a larger residual)."""
        small = self._small(alpha)
        parts = [self._primal(s.expand(y)) for s, (y, _) in zip(self.spaces, small, strict=True)]
        coef = np.hstack(parts)
        return RidgeResult(coef, self.f_mean - self.x_mean @ coef, self.residual(alpha))

    def reduced(self, alpha: float) -> np.ndarray:
        """Return BᵀW (m×m) from the small factors alone."""
        space = self._single()
        y, _ = self._small(alpha)[0]
        if not y:
            return np.zeros((len(space.norms), len(space.norms)))
        first = y[0]
        if self.side == "samples":  # FcᵀXcXcᵀα = Sᵀ(E₁ᵀT y), without the cancellation of Fc − λα
            first = space.diagonal[0] @ y[0]
            if len(y) > 1:
                first = first + space.lower[0].T @ y[1]
        K = space.start.T @ first
        return (K + K.T) / 2

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """Return W·right."""
        if len(self.spaces) > 1:
            return self.solve(alpha).coef @ right
        return self._primal(self.spaces[0].expand(self._small(alpha)[0][0], right))

    def residual(self, alpha: float) -> float:
        """Return the largest relative residual over the columns."""
        return max(float(residual.max(initial=0.0)) for _, residual in self._small(alpha))

    def _primal(self, Z: np.ndarray) -> np.ndarray:
        return self.rows.rmatmat(Z) if self.side == "samples" else Z

    def _single(self) -> KrylovSpace:
        if len(self.spaces) > 1:
            raise ValueError(
                "The targets were solved in several blocks: raise memory_limit for spectral methods."
            )
        return self.spaces[0]

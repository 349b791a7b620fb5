"""Ridge regression for many right-hand sides and many λ at once, by the route that suits the shape.

Minimise ‖Xc W − Fc‖² + λ‖W‖² with an unpenalised intercept, that is
(XcᵀXc + λI) W = B with B = XcᵀFc. Five routes, one answer (``solve_ridge`` chooses):

route      what is factored                                 suits
gram       XcᵀXc, d×d                                       d ≤ n, moments, streaming
samples    XcXcᵀ, n×n: W = Xcᵀ(XcXcᵀ + λI)⁻¹Fc              n < d, kernels
rows       Xc itself, orthogonally                          λ = 0 on ill-conditioned rows
krylov     nothing: block Lanczos over all right-hand sides  sparse, wide and tall
lsqr       nothing: one right-hand side after the other     what a paper did

One λ is a Cholesky solve; a path is one tridiagonal form or eigendecomposition (or one Krylov
space); λ = 0 is the pseudo-inverse, eigenvalues below ``rank_tolerance`` counting as 0. Every path
also gives the small matrix BᵀW = FcᵀXc(XcᵀXc + λI)⁻¹XcᵀFc, from which the spectral methods read
their answers.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.evidence import (
    centered_sum_of_squares,
    degrees_of_freedom,
    krylov_alpha,
    label_sum_of_squares,
)
from hyperlabel.solvers.ridge.factored import CrossPath as CrossPath
from hyperlabel.solvers.ridge.factored import Path as Path
from hyperlabel.solvers.ridge.factored import RidgePath, SamplePath
from hyperlabel.solvers.ridge.factored import RidgeResult as RidgeResult
from hyperlabel.solvers.ridge.factored import path_of_codes as path_of_codes
from hyperlabel.solvers.ridge.from_rows import ROWS_BYTES, RowsPath
from hyperlabel.solvers.ridge.krylov_path import KrylovPath
from hyperlabel.solvers.ridge.krylov_path import krylov_memory as krylov_memory
from hyperlabel.solvers.ridge.lsqr import LsqrPath

Solver = Literal["auto", "gram", "samples", "rows", "krylov", "lsqr"]

# Factor exactly up to this many rows or columns, whichever is fewer; iterate beyond (see choose_route).
DENSE_LIMIT = 8000
SPARSE_LIMIT = 2500


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
    products: np.ndarray | None = None,
) -> RidgePath | SamplePath | RowsPath | KrylovPath | LsqrPath:
    """Solve the ridge of F on the rows X, never densified, for every λ on demand, by the best route.

    Announced `alphas` decide the factorisation, the smallest of them how far a Krylov space is built; any λ
    may be asked for later. `tol` (relative residual), `max_iter` and `dtype` are those of iterative routes,
    `products` (XXᵀ of sparse rows, where it is known) of the route "samples".
    """
    route = choose_route(X, len(alphas)) if solver == "auto" else solver
    if route in ("gram", "samples"):
        ridge_path: RidgePath | SamplePath
        if route == "gram":
            ridge_path = RidgePath(RowMoments.from_rows(X, F, sample_weight=sample_weight), alphas=alphas)
        else:
            sample_options: Any = {"sample_weight": sample_weight, "alphas": alphas, "products": products}
            ridge_path = SamplePath.from_rows(X, F, **sample_options)
        if (
            solver == "auto"
            and min(alphas, default=1.0) <= 0
            and gram_too_ill_conditioned(ridge_path, X.shape)
        ):
            return RowsPath(X, F, sample_weight=sample_weight)
        return ridge_path
    if route == "rows":
        return RowsPath(X, F, sample_weight=sample_weight)
    if route == "krylov":
        smallest_alpha = min(alphas, default=0.0)
        return KrylovPath(
            X, F, alpha=smallest_alpha, sample_weight=sample_weight, tol=tol, max_iter=max_iter, dtype=dtype
        )
    if route == "lsqr":
        return LsqrPath(X, F, sample_weight=sample_weight, tol=tol, max_iter=max_iter)
    solver_names = "'auto', 'gram', 'samples', 'rows', 'krylov' or 'lsqr'"
    raise ValueError(f"Unknown solver {solver!r}: choose {solver_names}.")


def solve_auto(
    X: Any, F: Any, *, solver: Solver = "auto", sample_weight: np.ndarray | None = None, **options: Any
) -> tuple[Any, float]:
    """Solve the ridge of F on the rows X at the λ that the evidence chooses; return its path and λ."""
    route: Any = choose_route(X) if solver == "auto" else solver
    if route not in ("gram", "samples"):
        alpha = krylov_alpha(X, F, sample_weight)
        return solve_ridge(X, F, alphas=(alpha,), solver=route, sample_weight=sample_weight, **options), alpha
    ridge_path: Any = solve_ridge(X, F, solver=route, sample_weight=sample_weight, **options)
    total_weight = float(X.shape[0] if sample_weight is None else sample_weight.sum())
    return ridge_path, ridge_path.choose(
        centered_sum_of_squares(F, sample_weight), degrees_of_freedom(total_weight, X.shape[0])
    )


def choose_alpha(
    X: Any, F: Any, *, solver: Solver = "auto", sample_weight: np.ndarray | None = None
) -> float:
    """Return the λ that the evidence chooses of F on the rows X, alone."""
    if (choose_route(X) if solver == "auto" else solver) not in ("gram", "samples"):
        return krylov_alpha(X, F, sample_weight)
    return solve_auto(X, F, solver=solver, sample_weight=sample_weight)[1]


def alpha_of_labels(sums: RowMoments, path: RidgePath | None = None) -> float:
    """Return the λ that the evidence of 0/1 labels chooses, from their sums (along a path over them)."""
    path = RidgePath(sums) if path is None else path
    return path.choose(
        label_sum_of_squares(sums.sum_targets, sums.weight), degrees_of_freedom(sums.weight, sums.n)
    )


def gram_too_ill_conditioned(path: RidgePath | SamplePath, shape: tuple[int, int]) -> bool:
    """Say whether λ = 0 must be read off the rows themselves, and they can be factored in memory."""
    fits_memory = 8 * min(shape) * shape[1] <= ROWS_BYTES
    return fits_memory and not path.resolves_zero


def choose_route(X: Any, n_alphas: int = 1) -> str:
    """Return the route for these rows and this many λ."""
    return route_of_shape(X.shape[0], X.shape[1], sparse.issparse(X), n_alphas)


def route_of_shape(n: int, d: int, is_sparse: bool, n_alphas: int = 1) -> str:
    """Return the route for n×d rows.

    A path by factorisation needs all eigenvectors, ten times the price of one Cholesky solve; a Krylov
    space serves a path at the price of its smallest λ. So paths over sparse rows iterate earlier.
    """
    size_limit = DENSE_LIMIT
    if is_sparse:
        size_limit = SPARSE_LIMIT if n_alphas <= 1 else SPARSE_LIMIT // 4
    if min(n, d) > size_limit:
        return "krylov"
    return "gram" if d <= n else "samples"

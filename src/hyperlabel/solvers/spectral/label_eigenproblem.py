"""The one problem behind every supervised projection, posed once and read in many ways.

Maximise tr(WᵀXcᵀFFᵀXcW) subject to Wᵀ(XcᵀXc + λI)W = I, F = base·right a thin label factor. All of it
follows from the ridge path of the base, R = (XcᵀXc + λI)⁻¹Xcᵀbase for every λ, and small matrices.

Notation
--------
code    meaning                                                           shape
base    sparse part of the factor                                         n×q
right   small mix with F = base·right, or the diagonal of one             q×m or q
gram    that of the centred base                                          q×q
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from hyperlabel.solvers.arrays import as_dense, mix_both
from hyperlabel.solvers.moments.row_moments import CenteredMoments, RowMoments
from hyperlabel.solvers.ridge.evidence import degrees_of_freedom, krylov_alpha
from hyperlabel.solvers.ridge.routes import CrossPath, Path, RidgePath, SamplePath, choose_route, solve_ridge
from hyperlabel.solvers.spectral.eigen import Gram, fix_signs

# Sums of all rows are kept, for rows that come and go later, up to this many features (32 MB).
MAX_MOMENT_FEATURES = 2000


@dataclass(eq=False)
class EigenProblem:
    """A ridge path of the base, from which every form and λ is read; sums over all rows if they were kept."""

    path: Path
    right: np.ndarray
    gram: np.ndarray
    moments: RowMoments | None = None
    nu: float = 0.0

    @cached_property
    def alpha(self) -> float:
        """The λ that the evidence of the factor chooses (see `solvers.ridge.evidence`)."""
        path: Any = self.path
        return path.choose(float(np.trace(mix_both(self.gram, self.right))), self.nu, self.right)

    @cached_property
    def factor_gram(self) -> Gram:
        """That of the centred factor; it does not depend on λ."""
        return Gram(mix_both(self.gram, self.right))

    def read(self, form: str, alpha: float, n_components: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and W: the exact form (13)(14), or the least-squares form (24)–(30)."""
        right = self.right
        if form == "exact":
            # A Galerkin solution errs by the square of its residual.
            power = {"krylov": 2, "lsqr": 1}.get(self.path.solver)
            noise = 10 * self.path.residual(alpha) ** power if power else 0.0
            found = self.factor_gram.exact_form(mix_both(self.path.reduced(alpha), right), noise=noise)
        else:
            found = self.factor_gram.least_squares_form()
        chosen = found.right[:, :n_components]
        whole = right @ chosen if right.ndim == 2 else right[:, None] * chosen
        return found.values[:n_components], fix_signs(self.path.combine(alpha, whole))


def build_problem(
    X: Any,
    base: Any,
    right: np.ndarray,
    gram: np.ndarray,
    alphas: Sequence[float] | None,
    *,
    solver: str = "auto",
    known: RowMoments | None = None,
    keep: Any = None,
    **options: Any,
) -> EigenProblem:
    """Pose the problem on rows (with ``solver="kernel"`` on their kernel matrix).

    `alphas` are the λ that will be asked for; None means the constraint WᵀW = I, which needs no solve, an
    empty sequence lets the evidence choose λ. `solver` is a route of `solve_ridge`, "factored" for any
    that does not iterate, or "kernel". Sums `known` over any factor spare forming XᵀX again; `keep`, the base
    with other columns behind it, asks for its sums where the problem is solved from them.
    """
    nu = degrees_of_freedom(X.shape[0], X.shape[0])
    if solver == "kernel":
        return EigenProblem(SamplePath.from_kernel(X, base, alphas=alphas or ()), right, gram, nu=nu)
    route, free = _solve_route(X, solver)
    if alphas == () and route in ("krylov", "lsqr"):
        return _problem_at_evidence(X, base, right, gram, solver, options)
    moments = _moments_to_keep(X, keep) if route == "gram" else None
    zero = free and min(alphas or (1.0,)) <= 0
    if alphas is None:
        path: Any = CrossPath.from_rows(X, base)
    elif moments is not None:
        path = _path_from_moments(moments, base.shape[1], alphas)
        if zero and not path.resolves_zero:
            path = solve_ridge(X, base, alphas=alphas)  # λ = 0 on ill-conditioned rows: from the rows
    elif known is None or zero:
        chosen: Any = "auto" if free else route
        path = solve_ridge(X, base, alphas=alphas, solver=chosen, **options)
    else:
        path = RidgePath(_moments_of_base(base, X, known), alphas=alphas)
    return EigenProblem(path, right, gram, moments, nu)


def _moments_to_keep(X: Any, keep: Any) -> RowMoments | None:
    """Return sums to be kept, where they are not too large."""
    small = keep is not None and X.shape[1] <= min(MAX_MOMENT_FEATURES, X.shape[0])
    return RowMoments.from_rows(X, keep, with_target_gram=True) if small else None


def _problem_at_evidence(
    X: Any, base: Any, right: np.ndarray, gram: np.ndarray, solver: str, options: dict[str, Any]
) -> EigenProblem:
    """Pose the problem at the λ that the evidence chooses, found without a factorisation."""
    alpha = krylov_alpha(X, base @ right if right.ndim == 2 else base.multiply(right).tocsr())
    problem = build_problem(X, base, right, gram, (alpha,), solver=solver, **options)
    problem.alpha = alpha
    return problem


def _moments_of_base(base: Any, X: Any, known: RowMoments) -> RowMoments:
    """Return sums over the base of the rows behind `known`."""
    total = np.asarray(base.sum(axis=0)).ravel()
    cross = as_dense(base.T @ X).T - np.outer(known.shift, total)
    return replace(known, cross=cross, sum_targets=total, target_gram=None)


def _solve_route(X: Any, solver: str) -> tuple[str, bool]:
    """Return the route, and whether it was left to us: λ = 0 may then turn to the rows themselves."""
    route = choose_route(X)
    if solver == "factored":
        small = "gram" if X.shape[1] <= X.shape[0] else "samples"
        return small, small == route
    return (route, True) if solver == "auto" else (solver, False)


def build_problem_from_moments(
    moments: RowMoments, right: np.ndarray, gram: np.ndarray, alphas: Sequence[float] | None
) -> EigenProblem:
    """Pose the problem on sums over the base (and other columns behind it)."""
    nu = degrees_of_freedom(moments.weight, moments.n)
    return EigenProblem(_path_from_moments(moments, len(gram), alphas), right, gram, nu=nu)


def _path_from_moments(moments: RowMoments, q: int, alphas: Sequence[float] | None) -> Any:
    sums = moments.centered()
    first = CenteredMoments(sums.weight, sums.x_mean, sums.f_mean[:q], sums.gram, sums.cross[:, :q], None)
    if alphas is None:
        return CrossPath(first.cross, x_mean=first.x_mean, f_mean=first.f_mean)
    return RidgePath(first, alphas=alphas)


def procrustes_rotation(Z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the turn O (orthogonal Procrustes) that brings the columns of Z closest to `target`.

    A projection is fixed by WWᵀ only; folds would otherwise speak different coordinates.
    """
    Z, target = Z - Z.mean(axis=0), target - target.mean(axis=0)
    U, _, Vt = linalg.svd(Z.T.astype(np.float64) @ target.astype(np.float64), full_matrices=False)
    return U @ Vt

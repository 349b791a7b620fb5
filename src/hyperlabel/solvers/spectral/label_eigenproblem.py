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
    evidence_alpha: float | None = None  # where it was chosen before the path was solved

    @cached_property
    def alpha(self) -> float:
        """The λ that the evidence of the factor chooses (see `solvers.ridge.evidence`)."""
        if self.evidence_alpha is not None:
            return self.evidence_alpha
        ridge_path: Any = self.path
        return ridge_path.choose(float(np.trace(mix_both(self.gram, self.right))), self.nu, self.right)

    @cached_property
    def factor_gram(self) -> Gram:
        """That of the centred factor; it does not depend on λ."""
        return Gram(mix_both(self.gram, self.right))

    def read(self, form: str, alpha: float, n_components: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and W: the exact form (13)(14), or the least-squares form (24)–(30)."""
        factor_mix = self.right
        if form == "exact":
            # A Galerkin solution errs by the square of its residual.
            residual_power = {"krylov": 2, "lsqr": 1}.get(self.path.solver)
            residual_noise = 10 * self.path.residual(alpha) ** residual_power if residual_power else 0.0
            reduced_eigen = self.factor_gram.exact_form(
                mix_both(self.path.reduced(alpha), factor_mix), noise=residual_noise
            )
        else:
            reduced_eigen = self.factor_gram.least_squares_form()
        leading_mix = reduced_eigen.right[:, :n_components]
        base_mix = factor_mix @ leading_mix if factor_mix.ndim == 2 else factor_mix[:, None] * leading_mix
        return reduced_eigen.values[:n_components], fix_signs(self.path.combine(alpha, base_mix))

    def distance_bound(self, alpha: float) -> float:
        """Bound how far the least-squares form is from the exact one, up to one common scale.

        Let W = RH be the least-squares form with all directions, M = Wᵀ(XcᵀXc + λI)W, and K, K̃ the inner
        products of any rows projected by the exact and the least-squares form. Then K = ZM⁻¹Zᵀ where K̃ = ZZᵀ,
        so that μ_min K ⪯ K̃ ⪯ μ_max K with the eigenvalues μ of M. With c = (μ_max + μ_min)/2 this says
        ‖K̃ − cK‖ ≤ (μ_max − μ_min)/(μ_max + μ_min) · ‖cK‖, spectral and Frobenius norm alike.
        """
        H_mix = self.factor_gram.least_squares_form().right  # H = Fc·H_mix has orthonormal columns
        M = H_mix.T @ mix_both(self.path.reduced(alpha), self.right) @ H_mix
        eigenvalues = np.clip(linalg.eigvalsh(M), 0.0, None)
        largest, smallest = eigenvalues[-1], eigenvalues[0]
        return float((largest - smallest) / (largest + smallest)) if largest > 0 else 1.0


def build_problem(
    X: Any,
    base: Any,
    factor_mix: np.ndarray,
    gram: np.ndarray,
    alphas: Sequence[float] | None,
    *,
    solver: str = "auto",
    row_moments: RowMoments | None = None,
    keep: Any = None,
    **options: Any,
) -> EigenProblem:
    """Pose the problem on rows (with ``solver="kernel"`` on their kernel matrix).

    `alphas` are the λ that will be asked for; None means the constraint WᵀW = I, which needs no solve, an
    empty sequence lets the evidence choose λ. `solver` is a route of `solve_ridge`, "factored" for any
    that does not iterate, or "kernel". Sums over any factor (`row_moments`) spare forming XᵀX again. `keep`,
    the base with other columns behind it, asks for its sums where the problem is solved from them.
    """
    nu = degrees_of_freedom(X.shape[0], X.shape[0])
    if solver == "kernel":
        return EigenProblem(SamplePath.from_kernel(X, base, alphas=alphas or ()), factor_mix, gram, nu=nu)
    route, route_is_automatic = _choose_route_and_freedom(X, solver)
    if alphas == () and route in ("krylov", "lsqr"):
        return _build_problem_at_evidence(X, base, factor_mix, gram, solver, options)
    kept_moments = _moments_to_keep(X, keep) if route == "gram" else None
    includes_zero = route_is_automatic and min(alphas or (1.0,)) <= 0
    if alphas is None:
        ridge_path: Any = CrossPath.from_rows(X, base)
    elif kept_moments is not None:
        ridge_path = _make_path_from_moments(kept_moments, base.shape[1], alphas)
        if includes_zero and not ridge_path.resolves_zero:
            ridge_path = solve_ridge(X, base, alphas=alphas)  # λ = 0 on ill-conditioned rows: from the rows
    elif row_moments is None or includes_zero:
        ridge_solver: Any = "auto" if route_is_automatic else route
        ridge_path = solve_ridge(X, base, alphas=alphas, solver=ridge_solver, **options)
    else:
        ridge_path = RidgePath(_replace_factor(base, X, row_moments), alphas=alphas)
    return EigenProblem(ridge_path, factor_mix, gram, kept_moments, nu)


def _moments_to_keep(X: Any, keep: Any) -> RowMoments | None:
    """Return sums to be kept, where they are not too large."""
    fits_memory = keep is not None and X.shape[1] <= min(MAX_MOMENT_FEATURES, X.shape[0])
    return RowMoments.from_rows(X, keep, with_target_gram=True) if fits_memory else None


def _build_problem_at_evidence(
    X: Any, base: Any, factor_mix: np.ndarray, gram: np.ndarray, solver: str, options: dict[str, Any]
) -> EigenProblem:
    """Pose the problem at the λ that the evidence chooses, without a factorisation."""
    alpha = krylov_alpha(X, base @ factor_mix if factor_mix.ndim == 2 else base.multiply(factor_mix).tocsr())
    eigen_problem = build_problem(X, base, factor_mix, gram, (alpha,), solver=solver, **options)
    return replace(eigen_problem, evidence_alpha=alpha)


def _replace_factor(base: Any, X: Any, row_moments: RowMoments) -> RowMoments:
    """Return `row_moments` with the base as their factor: XᵀX is not formed again."""
    base_sums = np.asarray(base.sum(axis=0)).ravel()
    base_cross = as_dense(base.T @ X).T - np.outer(row_moments.shift, base_sums)
    return replace(row_moments, cross=base_cross, sum_targets=base_sums, target_gram=None)


def _choose_route_and_freedom(X: Any, solver: str) -> tuple[str, bool]:
    """Return the route, and whether it was chosen here: λ = 0 may then turn to the rows themselves."""
    route = choose_route(X)
    if solver == "factored":
        factored_route = "gram" if X.shape[1] <= X.shape[0] else "samples"
        return factored_route, factored_route == route
    return (route, True) if solver == "auto" else (solver, False)


def build_problem_from_moments(
    moments: RowMoments, factor_mix: np.ndarray, gram: np.ndarray, alphas: Sequence[float] | None
) -> EigenProblem:
    """Pose the problem on sums over the base (and other columns behind it)."""
    nu = degrees_of_freedom(moments.weight, moments.n)
    return EigenProblem(_make_path_from_moments(moments, len(gram), alphas), factor_mix, gram, nu=nu)


def _make_path_from_moments(moments: RowMoments, q: int, alphas: Sequence[float] | None) -> Any:
    centered_moments = moments.centered()
    base_moments = CenteredMoments(
        centered_moments.weight,
        centered_moments.x_mean,
        centered_moments.f_mean[:q],
        centered_moments.gram,
        centered_moments.cross[:, :q],
        None,
    )
    if alphas is None:
        return CrossPath(base_moments.cross, x_mean=base_moments.x_mean, f_mean=base_moments.f_mean)
    return RidgePath(base_moments, alphas=alphas)


def procrustes_rotation(Z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the turn O (orthogonal Procrustes) that brings the columns of Z closest to `target`.

    A projection is fixed by WWᵀ only; folds would otherwise speak different coordinates.
    """
    Z, target = Z - Z.mean(axis=0), target - target.mean(axis=0)
    U, _, Vt = linalg.svd(Z.T.astype(np.float64) @ target.astype(np.float64), full_matrices=False)
    return U @ Vt

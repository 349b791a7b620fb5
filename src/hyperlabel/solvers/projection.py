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

from hyperlabel.solvers.arrays import dense, mix_both
from hyperlabel.solvers.eigen import Gram, fix_signs
from hyperlabel.solvers.evidence import degrees, krylov_alpha
from hyperlabel.solvers.moments import CenteredMoments, RowSums
from hyperlabel.solvers.ridge import CrossPath, Path, RidgePath, SamplePath, choose_route, solve_ridge

# Sums of all rows are kept, for rows that come and go later, up to this many features (32 MB).
KEEP_SUMS = 2000


@dataclass(eq=False)
class Posed:
    """A ridge path of the base, from which every form and λ is read; sums over all rows if they were kept."""

    path: Path
    right: np.ndarray
    gram: np.ndarray
    moments: RowSums | None = None
    nu: float = 0.0

    @cached_property
    def alpha(self) -> float:
        """The λ that the evidence of the factor chooses (see `solvers.evidence`)."""
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


def pose(
    X: Any,
    base: Any,
    right: np.ndarray,
    gram: np.ndarray,
    alphas: Sequence[float] | None,
    *,
    solver: str = "auto",
    known: RowSums | None = None,
    keep: Any = None,
    **options: Any,
) -> Posed:
    """Pose the problem on rows (with ``solver="kernel"`` on their kernel matrix).

    `alphas` are the λ that will be asked for; None means the constraint WᵀW = I, which needs no solve, an
    empty sequence lets the evidence choose λ. `solver` is a route of `solve_ridge`, "factored" for any
    that does not iterate, or "kernel". Sums `known` over any factor spare forming XᵀX again; `keep`, the base
    with other columns behind it, asks for its sums where the problem is solved from them.
    """
    nu = degrees(X.shape[0], X.shape[0])
    if solver == "kernel":
        return Posed(SamplePath.from_kernel(X, base, alphas=alphas or ()), right, gram, nu=nu)
    route, free = _route(X, solver)
    if alphas == () and route in ("krylov", "lsqr"):
        return _evident(X, base, right, gram, solver, options)
    moments = _kept(X, keep) if route == "gram" else None
    zero = free and min(alphas or (1.0,)) <= 0
    if alphas is None:
        path: Any = CrossPath.from_rows(X, base)
    elif moments is not None:
        path = _path_of_sums(moments, base.shape[1], alphas)
        if zero and not path.resolves_zero:
            path = solve_ridge(X, base, alphas=alphas)  # λ = 0 on ill-conditioned rows: from the rows
    elif known is None or zero:
        chosen: Any = "auto" if free else route
        path = solve_ridge(X, base, alphas=alphas, solver=chosen, **options)
    else:
        path = RidgePath(_over(base, X, known), alphas=alphas)
    return Posed(path, right, gram, moments, nu)


def _kept(X: Any, keep: Any) -> RowSums | None:
    """Return sums to be kept, where they are not too large."""
    small = keep is not None and X.shape[1] <= min(KEEP_SUMS, X.shape[0])
    return RowSums.from_rows(X, keep, with_ff=True) if small else None


def _evident(
    X: Any, base: Any, right: np.ndarray, gram: np.ndarray, solver: str, options: dict[str, Any]
) -> Posed:
    """Pose the problem at the λ that the evidence chooses, found without a factorisation."""
    alpha = krylov_alpha(X, base @ right if right.ndim == 2 else base.multiply(right).tocsr())
    posed = pose(X, base, right, gram, (alpha,), solver=solver, **options)
    posed.alpha = alpha
    return posed


def _over(base: Any, X: Any, known: RowSums) -> RowSums:
    """Return sums over the base of the rows behind `known`."""
    total = np.asarray(base.sum(axis=0)).ravel()
    xf = dense(base.T @ X).T - np.outer(known.shift, total)
    return replace(known, xf=xf, f_sum=total, ff=None)


def _route(X: Any, solver: str) -> tuple[str, bool]:
    """Return the route, and whether it was left to us: λ = 0 may then turn to the rows themselves."""
    route = choose_route(X)
    if solver == "factored":
        small = "gram" if X.shape[1] <= X.shape[0] else "samples"
        return small, small == route
    return (route, True) if solver == "auto" else (solver, False)


def pose_sums(moments: RowSums, right: np.ndarray, gram: np.ndarray, alphas: Sequence[float] | None) -> Posed:
    """Pose the problem on sums over the base (and other columns behind it)."""
    nu = degrees(moments.weight, moments.n)
    return Posed(_path_of_sums(moments, len(gram), alphas), right, gram, nu=nu)


def _path_of_sums(moments: RowSums, q: int, alphas: Sequence[float] | None) -> Any:
    sums = moments.centered()
    first = CenteredMoments(sums.weight, sums.x_mean, sums.f_mean[:q], sums.xx, sums.xf[:, :q], None)
    if alphas is None:
        return CrossPath(first.xf, x_mean=first.x_mean, f_mean=first.f_mean)
    return RidgePath(first, alphas=alphas)


def align(Z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the turn O (orthogonal Procrustes) that brings the columns of Z closest to `target`.

    A projection is fixed by WWᵀ only; folds would otherwise speak different coordinates.
    """
    Z, target = Z - Z.mean(axis=0), target - target.mean(axis=0)
    U, _, Vt = linalg.svd(Z.T.astype(np.float64) @ target.astype(np.float64), full_matrices=False)
    return U @ Vt

"""From a ridge path to a projection: plain functions between the solvers and the estimators.

Notation: R = (XcᵀXc + λI)⁻¹XcᵀF for the sparse `base` of F, `right` the small mix with F = base·right,
`gram` = base_cᵀbase_c, W the d×c projection.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hyperlabel.geometry.similarity import mix_both
from hyperlabel.solvers.eigen import ReducedEigen, exact_form, least_squares_form
from hyperlabel.solvers.folds import FoldMoments
from hyperlabel.solvers.moments import Moments, dense
from hyperlabel.solvers.ridge import Path, RidgePath, solve_ridge

FORMS = ("exact", "least_squares")
Splits = list[tuple[np.ndarray, np.ndarray]]


def read_exact(
    path: Path, gram: np.ndarray, right: np.ndarray, alpha: float, n_components: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and W of max tr(WᵀXcᵀFFᵀXcW) subject to Wᵀ(XcᵀXc + λI)W = I (13)(14)."""
    # A Galerkin solution errs in BᵀR by the square of its residual.
    noise = 10 * path.residual(alpha) ** 2 if path.solver == "krylov" else 0.0
    found = exact_form(mix_both(path.reduced(alpha), right), mix_both(gram, right), noise=noise)
    return cut(path, found, right, alpha, n_components)


def read_form(
    form: str, path: Path, gram: np.ndarray, right: np.ndarray, alpha: float, n_components: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and W of one form from the ridge path of the base."""
    if form == "exact":
        return read_exact(path, gram, right, alpha, n_components)
    return cut(path, least_squares_form(mix_both(gram, right)), right, alpha, n_components)


def cut(
    path: Path, found: ReducedEigen, right: np.ndarray, alpha: float, n_components: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Form W for the leading components only."""
    kept = found.rank if n_components is None else min(check_n_components(n_components), found.rank)
    chosen = found.right[:, :kept]
    chosen = right @ chosen if right.ndim == 2 else right[:, None] * chosen
    return found.values[:kept], path.combine(alpha, chosen)


def check_n_components(n_components: Any) -> int:
    """Refuse anything but a positive whole number."""
    if not isinstance(n_components, (int, np.integer)) or n_components < 1:
        raise ValueError(f"n_components must be None or a whole number of at least 1, got {n_components!r}.")
    return int(n_components)


def ridge_path(X: Any, base: Any, moments: Moments | None, *, alphas: Any, **options: Any) -> Path:
    """Return the ridge path of `base` on X, reusing XᵀX where it is already known."""
    if moments is None:
        return solve_ridge(X, base, alphas=alphas, **options)
    total = np.asarray(base.sum(axis=0)).ravel()
    xf = dense(base.T @ X).T - np.outer(moments.shift, total)
    return RidgePath(replace(moments, xf=xf, f_sum=total, ff=None), once=len(alphas) == 1)


def fold_sums(X: Any, Y: sparse.csr_array, splits: Splits, route: str) -> FoldMoments | None:
    """Sums of all rows and of every training fold from one pass (Gram route only)."""
    return FoldMoments(X, Y[:, :1], [train for train, _ in splits]) if route == "gram" else None


def first_columns(sums: Any, q: int) -> Any:
    """Return centred sums over the first q columns of the factor."""
    return replace(sums, f_mean=sums.f_mean[:q], xf=sums.xf[:, :q], ff=sums.ff[:q, :q])


def align(Z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the turn O (orthogonal Procrustes) that brings the columns of Z closest to `target`.

    A projection is fixed by WWᵀ only; folds would otherwise speak different coordinates.
    """
    Z, target = Z - Z.mean(axis=0), target - target.mean(axis=0)
    U, _, Vt = linalg.svd(Z.T.astype(np.float64) @ target.astype(np.float64), full_matrices=False)
    return U @ Vt

"""From a ridge path to a projection: plain functions between the solvers and the estimators.

Notation: R = (XcᵀXc + λI)⁻¹XcᵀF for the sparse `base` of F, `right` the small mix with F = base·right,
`gram` that of the centred F, W the d×c projection.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hyperlabel.geometry.similarity import mix_both
from hyperlabel.solvers.arrays import dense
from hyperlabel.solvers.eigen import Gram
from hyperlabel.solvers.folds import FoldMoments
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.ridge import Path, RidgePath, solve_ridge

FORMS = ("exact", "least_squares")
Splits = list[tuple[np.ndarray, np.ndarray]]


def read_form(
    form: str, path: Path, gram: Gram, right: np.ndarray, alpha: float, n_components: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and W of one form from the ridge path of the base.

    Exact: max tr(WᵀXcᵀFFᵀXcW) subject to Wᵀ(XcᵀXc + λI)W = I (13)(14). Least squares: (24)–(30).
    """
    reduced = path.reduced(alpha) if form == "exact" else None
    values, chosen = read_mix(form, reduced, gram, right, n_components, noise=noise_of(path, alpha))
    return values, path.combine(alpha, chosen)


def read_mix(
    form: str,
    reduced: np.ndarray | None,
    gram: Gram,
    right: np.ndarray,
    n_components: int | None,
    *,
    noise: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and the q×c matrix that turns R of the base into W."""
    if form == "exact":
        assert reduced is not None
        found = gram.exact_form(mix_both(reduced, right), noise=noise)
    else:
        found = gram.least_squares_form()
    kept = found.rank if n_components is None else min(check_n_components(n_components), found.rank)
    chosen = found.right[:, :kept]
    return found.values[:kept], right @ chosen if right.ndim == 2 else right[:, None] * chosen


def noise_of(path: Path, alpha: float) -> float:
    """Return the relative accuracy of BᵀR: a Galerkin solution errs by the square of its residual."""
    return 10 * path.residual(alpha) ** 2 if path.solver == "krylov" else 0.0


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
    return RidgePath(replace(moments, xf=xf, f_sum=total, ff=None), alphas=alphas)


def fold_sums(X: Any, Y: sparse.csr_array, splits: Splits, route: str) -> FoldMoments | None:
    """Sums of all rows and of every training fold from one pass (Gram route only)."""
    return FoldMoments(X, Y, [train for train, _ in splits]) if route == "gram" else None


def spread_rows(base: sparse.csr_array, rows: np.ndarray, n_rows: int) -> sparse.csr_array:
    """Return `base` with its rows put at the places `rows` among n_rows, the others empty."""
    places = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (n_rows, len(rows)))
    return sparse.csr_array(places @ base)


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

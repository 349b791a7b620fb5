"""The one problem behind every projection, posed once and read in many ways.

Maximise tr(WᵀXcᵀFFᵀXcW) subject to Wᵀ(XcᵀXc + λI)W = I, F = base·right a thin label factor. All of it
follows from the ridge path of the base, R = (XcᵀXc + λI)⁻¹Xcᵀbase for every λ, and small matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from hyperlabel.geometry.edges import Edges
from hyperlabel.geometry.factor import LabelFactor
from hyperlabel.geometry.similarity import FactorShape, ThinFactor, clear_constant, mix_both
from hyperlabel.solvers.arrays import dense
from hyperlabel.solvers.eigen import Gram
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.ridge import CrossPath, Path, RidgePath, SamplePath, solve_ridge


@dataclass(eq=False)
class Posed:
    """A ridge path of the base of a label factor, from which every form and λ is read."""

    path: Path
    factor: FactorShape

    @cached_property
    def gram(self) -> Gram:
        """That of the centred factor; it does not depend on λ."""
        return Gram(self.factor.centered_gram())

    def read(self, form: str, alpha: float, n_components: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and W: the exact form (13)(14), or the least-squares form (24)–(30)."""
        right = self.factor.right
        if form == "exact":
            # A Galerkin solution errs by the square of its residual.
            noise = 10 * self.path.residual(alpha) ** 2 if self.path.solver == "krylov" else 0.0
            found = self.gram.exact_form(mix_both(self.path.reduced(alpha), right), noise=noise)
        else:
            found = self.gram.least_squares_form()
        chosen = found.right[:, :n_components]
        whole = right @ chosen if right.ndim == 2 else right[:, None] * chosen
        return found.values[:n_components], self.path.combine(alpha, whole)


def pose(
    X: Any,
    factor: ThinFactor,
    alphas: Sequence[float] | None,
    *,
    solver: str = "auto",
    moments: Moments | None = None,
    **options: Any,
) -> Posed:
    """Pose the problem on rows.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        The rows; with ``solver="kernel"`` their kernel matrix.
    factor : ThinFactor
    alphas : sequence of float or None
        The λ that will be asked for; None for the constraint WᵀW = I, which needs no solve.
    solver : str, default="auto"
    moments : Moments, default=None
        Sums of these rows over any factor, if known: XᵀX is then not formed again.
    **options
        Of `solve_ridge`.
    """
    path: Path
    if alphas is None:
        path = CrossPath.from_rows(X, factor.base)
    elif solver == "kernel":
        path = SamplePath.from_kernel(X, factor.base, alphas=alphas)
    elif moments is None or (solver == "auto" and min(alphas) <= 0):  # sums may not resolve λ = 0
        path = solve_ridge(X, factor.base, alphas=alphas, solver=solver, **options)  # type: ignore[arg-type]
    else:
        total = np.asarray(factor.base.sum(axis=0)).ravel()
        xf = dense(factor.base.T @ X).T - np.outer(moments.shift, total)
        path = RidgePath(replace(moments, xf=xf, f_sum=total, ff=None), alphas=alphas)
    return Posed(path, factor)


def pose_sums(
    moments: Moments, rule: LabelFactor, edges: Edges | None, k: int, alphas: Sequence[float] | None
) -> Posed:
    """Pose the problem on sums over the base; without `edges` its last k columns are Y itself."""
    sums = moments.centered()
    if edges is None:
        edges = Edges(moments.f_sum[-k:], np.ones(k))
        q = max(sums.xf.shape[1] - k, 0) or k
        assert sums.ff is not None
        sums = replace(sums, f_mean=sums.f_mean[:q], xf=sums.xf[:, :q], ff=sums.ff[:q, :q])
    gram = np.array(sums.ff)
    gram = clear_constant(gram, np.diag(np.asarray(moments.ff))[: len(gram)])
    if alphas is None:
        path: Path = CrossPath(sums.xf, x_mean=sums.x_mean, f_mean=sums.f_mean)
    else:
        path = RidgePath(sums, alphas=alphas)
    return Posed(path, FactorShape(rule.right(edges, gram), gram, edges))


def align(Z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the turn O (orthogonal Procrustes) that brings the columns of Z closest to `target`.

    A projection is fixed by WWᵀ only; folds would otherwise speak different coordinates.
    """
    Z, target = Z - Z.mean(axis=0), target - target.mean(axis=0)
    U, _, Vt = linalg.svd(Z.T.astype(np.float64) @ target.astype(np.float64), full_matrices=False)
    return U @ Vt

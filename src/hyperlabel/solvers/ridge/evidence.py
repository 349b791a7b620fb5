"""λ of a ridge without held-out rows: the smallest whose evidence of the targets is the largest, or nearly.

Targets are a linear function of the rows plus noise, one prior and one noise for all labels, the intercept
free. With the noise profiled out, −2 log evidence is, up to constants,

    E(λ) = ν log q(λ) + log det(I + XcᵀXc/λ),   q(λ) = ‖Fc‖² − tr Bᵀ(XcᵀXc + λI)⁻¹B,   B = XcᵀFc,

ν = Σw − 1 (with Σw in its place λ would run to 0 where Xc has rank n − 1). All of it follows from sums over
rows, whichever way these are added up. λ comes from a grid of fixed numbers, four to a decade, so that
sums which differ by rounding choose the same number, not almost the same.

Around its minimum E is flat, and there less shrinkage ranks better: one λ serves labels of very different
strength, and the weak ones, which are most of the noise, ask for more of it than the ranking of the strong
ones can bear. So of all λ with E(λ) ≤ min E + ν·`SLACK` the smallest is taken (docs/defaults.md measures it).

What is defined here rather than left to rounding:

- labels that do not vary add nothing; where none varies, or no column of X does, λ is the mean diagonal of
  XcᵀXc (over all columns), or 1 where that is 0;
- columns of zeros change nothing: the grid is placed by the trace of XcᵀXc;
- exact fits take the smallest λ of the grid, 1e-8 of the trace (rounding is kept out of q by `RESOLVED`);
- weights that sum to more than 2 count rows (a row of weight 2 is two rows); smaller sums are shares of
  the rows, whose number then counts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.operators import CenteredRows, weighted_row_mean
from hyperlabel.solvers.ridge.krylov_space import KrylovSpace, block_lanczos

STEPS = 4  # λ to a decade
DECADES = (-8, 2)  # of the trace of XcᵀXc
RESOLVED = 1e-9
SLACK = 0.005  # of E per row
PROBES = 10  # random ±1 columns whose quadrature estimates the log determinant
SKETCH = 64  # random combinations that stand for more labels than this
FIRST_LOOK = 6  # block products before E is looked at; then at every third more
SETTLED = 1e-3  # relative residual at the λ chosen


def alpha_grid(trace: float) -> np.ndarray:
    """Return the λ to choose from, ascending."""
    middle = round(STEPS * np.log10(trace))
    return 10.0 ** (np.arange(middle + STEPS * DECADES[0], middle + STEPS * DECADES[1] + 1) / STEPS)


def fallback_alpha(trace: float, n_features: int) -> float:
    """Return λ where there is nothing to explain, or nothing to explain it with."""
    return trace / n_features if trace > 0 else 1.0


def label_sum_of_squares(counts: np.ndarray, weight: float) -> float:
    """Return ‖Yc‖² of 0/1 labels from how often they come."""
    return float(np.sum(np.maximum(counts * (1.0 - counts / weight), 0.0)))


def centered_sum_of_squares(F: Any, sample_weight: np.ndarray | None) -> float:
    """Return ‖Fc‖² of any targets (or rows), n×m; 0 where it cannot be told from rounding."""
    squares = (
        as_dense(F.multiply(F).sum(axis=1)).ravel() if sparse.issparse(F) else np.einsum("ij,ij->i", F, F)
    )
    weights = np.ones(len(squares)) if sample_weight is None else sample_weight
    mean, total = weighted_row_mean(F, sample_weight), float(weights @ squares)
    centred = total - float(weights.sum()) * float(mean @ mean)
    return centred if centred > 1e-14 * total else 0.0


def degrees_of_freedom(weight: float, n_rows: int) -> float:
    """Return ν."""
    return (weight if weight > 2 else float(n_rows)) - 1.0


def best_alpha(
    alphas: np.ndarray, left: np.ndarray, log_det: np.ndarray, total: float, nu: float
) -> tuple[float, float]:
    """Choose from ascending `alphas` by q(λ), log det, ‖Fc‖² and ν; return λ, and that of the smallest E."""
    E = nu * np.log(np.maximum(left, RESOLVED * total)) + log_det
    return float(alphas[np.flatnonzero(E.min() + SLACK * nu >= E)[0]]), float(alphas[E.argmin()])


def krylov_alpha(X: Any, Y: Any, sample_weight: np.ndarray | None = None) -> float:
    """Choose λ for rows too wide and too many to factor: block Lanczos from labels and random columns.

    The traces of E are quadratures: exact in the Krylov space for the labels, an estimate over `PROBES`
    random ±1 columns (always the same ones) for the log determinant, exact once the space is complete.
    More than `SKETCH` labels are mixed into so many, by random signs.
    """
    rows, rng = CenteredRows(X, sample_weight), np.random.default_rng(0)
    (n, d), k = X.shape, Y.shape[1]
    trace = centered_sum_of_squares(rows.X, sample_weight)
    if k > SKETCH:
        Y = Y @ (rng.choice([-1.0, 1.0], size=(k, SKETCH)) / np.sqrt(SKETCH))
    Fc = rows.targets(Y)
    total = float(np.sum(Fc * Fc))
    if trace <= 0 or total <= RESOLVED * n:
        return fallback_alpha(trace, d)
    on_rows = n <= d
    probes = _random_probes(rows, rng) if on_rows else rng.choice([-1.0, 1.0], size=(d, PROBES))
    look = _Look(
        alpha_grid(trace), total, degrees_of_freedom(rows.weight, n), Fc.shape[1], on_rows, min(n - 1, d)
    )
    operator: Callable[[np.ndarray], np.ndarray]
    if on_rows:
        operator, start = lambda Q: rows.matmat(rows.rmatmat(Q)), Fc
    else:
        operator, start = lambda Q: rows.rmatmat(rows.matmat(Q)), rows.rmatmat(Fc)
    block_lanczos(operator, np.hstack([start, probes]), alpha=0.0, enough=look)
    return look.alpha


class _Look:
    """E over the grid, read off a growing Krylov space; says when the choice has settled."""

    def __init__(
        self, alphas: np.ndarray, total: float, nu: float, n_targets: int, on_rows: bool, rank: int
    ) -> None:
        self.alphas, self.total, self.nu, self.m, self.on_rows = alphas, total, nu, n_targets, on_rows
        self.rank = rank  # of the rows at most: a space of this size is complete, a larger one holds rounding
        self.alpha = np.nan

    def __call__(self, space: KrylovSpace, final: bool) -> bool:
        size = sum(map(len, space.diagonal))
        if size >= self.rank:
            self.alpha = self._choose(space, size == self.rank)
            return True
        if not final and (space.n_iter < FIRST_LOOK or (space.n_iter - FIRST_LOOK) % 3):
            return False
        before, self.alpha = self.alpha, self._choose(space, final)
        if final or self.alpha != before:
            return False
        residual = space.small_solution(self.alpha)[1]
        return bool(residual[: self.m].max(initial=0.0) <= SETTLED)

    def _choose(self, space: KrylovSpace, complete: bool) -> float:
        values, vectors = np.linalg.eigh(_block_tridiagonal(space))
        values = np.maximum(values, 0.0)
        along = vectors[: len(space.start)].T @ space.start  # every column of the start in the Ritz vectors
        on_targets = np.sum(along[:, : self.m] ** 2, axis=1)
        on_probes = np.ones(len(values)) if complete else np.mean(along[:, self.m :] ** 2, axis=1)
        shrunk = (1.0 / (values + self.alphas[:, None])) @ on_targets
        left = self.alphas * shrunk if self.on_rows else self.total - shrunk
        log_det = np.log1p(values / self.alphas[:, None]) @ on_probes
        return best_alpha(self.alphas, left, log_det, self.total, self.nu)[0]


def _random_probes(rows: CenteredRows, rng: np.random.Generator) -> np.ndarray:
    """Return random ±1 columns over the rows, cleared of the one direction that centring removes.

    Left in, it would make the rank look larger or smaller than n − 1, and λ run to an end of the grid.
    """
    n = rows.shape[0]
    null = np.ones(n) if rows.root is None else rows.root.astype(np.float64)
    null /= np.linalg.norm(null)
    probes = rng.choice([-1.0, 1.0], size=(n, PROBES))
    probes -= np.outer(null, null @ probes)
    return probes * (np.sqrt(n - 1) / np.maximum(np.linalg.norm(probes, axis=0), 1e-300))


def _block_tridiagonal(space: KrylovSpace) -> np.ndarray:
    """Return the block-tridiagonal T (its lower half)."""
    sizes = [len(block) for block in space.diagonal]
    ends = np.cumsum(sizes)
    T = np.zeros((ends[-1], ends[-1]))
    for i, (block, end) in enumerate(zip(space.diagonal, ends, strict=True)):
        T[end - sizes[i] : end, end - sizes[i] : end] = block
        if i:
            T[end - sizes[i] : end, ends[i - 1] - sizes[i - 1] : ends[i - 1]] = space.lower[i - 1]
    return T

"""λ of a ridge without held-out rows: the smallest whose evidence of the targets is the largest, or nearly.

Targets are a linear function of the rows plus noise, one prior and one noise for all labels, the intercept
without a prior. With the noise profiled out, −2 log evidence is, up to constants,

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
SKETCH = 64  # random combinations that replace more labels than this
FIRST_LOOK = 6  # block products before E is looked at; then at every third more
SETTLED = 1e-3  # relative residual at the λ chosen


def alpha_grid(trace: float) -> np.ndarray:
    """Return the λ to choose from, ascending."""
    # whole steps: traces that differ by rounding give the very same grid
    center_step = round(STEPS * np.log10(trace))
    return 10.0 ** (np.arange(center_step + STEPS * DECADES[0], center_step + STEPS * DECADES[1] + 1) / STEPS)


def fallback_alpha(trace: float, n_features: int) -> float:
    """Return λ where there is nothing to explain, or nothing to explain it with."""
    return trace / n_features if trace > 0 else 1.0


def label_sum_of_squares(counts: np.ndarray, weight: float) -> float:
    """Return ‖Yc‖² of 0/1 labels from how often they come."""
    return float(np.sum(np.maximum(counts * (1.0 - counts / weight), 0.0)))


def centered_sum_of_squares(F: Any, sample_weight: np.ndarray | None) -> float:
    """Return ‖Fc‖² of any targets (or rows), n×m; 0 where it is no more than rounding."""
    row_squares = (
        as_dense(F.multiply(F).sum(axis=1)).ravel() if sparse.issparse(F) else np.einsum("ij,ij->i", F, F)
    )
    row_weights = np.ones(len(row_squares)) if sample_weight is None else sample_weight
    mean_row, weighted_squares = weighted_row_mean(F, sample_weight), float(row_weights @ row_squares)
    centered_squares = weighted_squares - float(row_weights.sum()) * float(mean_row @ mean_row)
    return centered_squares if centered_squares > 1e-14 * weighted_squares else 0.0


def degrees_of_freedom(weight: float, n_rows: int) -> float:
    """Return ν."""
    return (weight if weight > 2 else float(n_rows)) - 1.0


def best_alpha(
    alphas: np.ndarray, residual_squares: np.ndarray, log_det: np.ndarray, total: float, nu: float
) -> tuple[float, float]:
    """Choose from ascending `alphas` by q(λ), log det, ‖Fc‖² and ν; return λ, and that of the smallest E."""
    E = nu * np.log(np.maximum(residual_squares, RESOLVED * total)) + log_det
    return float(alphas[np.flatnonzero(E.min() + SLACK * nu >= E)[0]]), float(alphas[E.argmin()])


def krylov_alpha(X: Any, Y: Any, sample_weight: np.ndarray | None = None) -> float:
    """Choose λ for rows too wide and too many to factor: block Lanczos from labels and random columns.

    The traces of E are quadratures: exact in the Krylov space for the labels, an estimate over `PROBES`
    random ±1 columns (always the same ones) for the log determinant, exact once the space is complete.
    More than `SKETCH` labels are mixed into so many, by random signs.
    """
    centered_rows, rng = CenteredRows(X, sample_weight), np.random.default_rng(0)
    (n, d), k = X.shape, Y.shape[1]
    gram_trace = centered_sum_of_squares(centered_rows.X, sample_weight)
    if k > SKETCH:
        Y = Y @ (rng.choice([-1.0, 1.0], size=(k, SKETCH)) / np.sqrt(SKETCH))
    Fc = centered_rows.targets(Y)
    target_squares = float(np.sum(Fc * Fc))
    if gram_trace <= 0 or target_squares <= RESOLVED * n:
        return fallback_alpha(gram_trace, d)
    on_rows = n <= d
    random_probes = _draw_probes(centered_rows, rng) if on_rows else rng.choice([-1.0, 1.0], size=(d, PROBES))
    evidence_look = _Look(
        alpha_grid(gram_trace),
        target_squares,
        degrees_of_freedom(centered_rows.weight, n),
        Fc.shape[1],
        on_rows,
        min(n - 1, d),
    )
    operator: Callable[[np.ndarray], np.ndarray]
    if on_rows:
        operator, start_block = lambda Q: centered_rows.matmat(centered_rows.rmatmat(Q)), Fc
    else:
        operator, start_block = (
            lambda Q: centered_rows.rmatmat(centered_rows.matmat(Q)),
            centered_rows.rmatmat(Fc),
        )
    block_lanczos(operator, np.hstack([start_block, random_probes]), alpha=0.0, enough=evidence_look)
    return evidence_look.alpha


class _Look:
    """E over the grid, read off a growing Krylov space; says when the choice has settled."""

    def __init__(
        self, alphas: np.ndarray, total: float, nu: float, n_targets: int, on_rows: bool, rank: int
    ) -> None:
        self.alphas, self.total, self.nu, self.m, self.on_rows = alphas, total, nu, n_targets, on_rows
        self.rank = rank  # of the rows at most: a space of this size is complete, a larger one holds rounding
        self.alpha = np.nan

    def __call__(self, space: KrylovSpace, final: bool) -> bool:
        space_size = sum(map(len, space.diagonal))
        if space_size >= self.rank:
            self.alpha = self._choose(space, space_size == self.rank)
            return True
        if not final and (space.n_iter < FIRST_LOOK or (space.n_iter - FIRST_LOOK) % 3):
            return False
        previous_alpha, self.alpha = self.alpha, self._choose(space, final)
        if final or self.alpha != previous_alpha:
            return False
        column_residuals = space.small_solution(self.alpha)[1]
        return bool(column_residuals[: self.m].max(initial=0.0) <= SETTLED)

    def _choose(self, space: KrylovSpace, complete: bool) -> float:
        ritz_values, ritz_vectors = np.linalg.eigh(_assemble_tridiagonal(space))
        ritz_values = np.maximum(ritz_values, 0.0)
        start_in_ritz = (
            ritz_vectors[: len(space.start)].T @ space.start
        )  # every column of the start in the Ritz vectors
        on_targets = np.sum(start_in_ritz[:, : self.m] ** 2, axis=1)
        on_probes = (
            np.ones(len(ritz_values)) if complete else np.mean(start_in_ritz[:, self.m :] ** 2, axis=1)
        )
        shrunk_squares = (1.0 / (ritz_values + self.alphas[:, None])) @ on_targets
        # over samples q(λ) = λ·tr Fcᵀ(XcXcᵀ + λI)⁻¹Fc: no difference that cancels
        residual_squares = self.alphas * shrunk_squares if self.on_rows else self.total - shrunk_squares
        log_det = np.log1p(ritz_values / self.alphas[:, None]) @ on_probes
        return best_alpha(self.alphas, residual_squares, log_det, self.total, self.nu)[0]


def _draw_probes(rows: CenteredRows, rng: np.random.Generator) -> np.ndarray:
    """Return random ±1 columns over the rows, cleared of the one direction that centring removes.

    Left in, it would make the rank look larger or smaller than n − 1, and λ run to an end of the grid.
    """
    n = rows.shape[0]
    null_direction = np.ones(n) if rows.root is None else rows.root.astype(np.float64)
    null_direction /= np.linalg.norm(null_direction)
    random_signs = rng.choice([-1.0, 1.0], size=(n, PROBES))
    random_signs -= np.outer(null_direction, null_direction @ random_signs)
    return random_signs * (np.sqrt(n - 1) / np.maximum(np.linalg.norm(random_signs, axis=0), 1e-300))


def _assemble_tridiagonal(space: KrylovSpace) -> np.ndarray:
    """Return the block-tridiagonal T (its lower half)."""
    block_sizes = [len(diagonal_block) for diagonal_block in space.diagonal]
    block_ends = np.cumsum(block_sizes)
    T = np.zeros((block_ends[-1], block_ends[-1]))
    for i, (diagonal_block, block_end) in enumerate(zip(space.diagonal, block_ends, strict=True)):
        T[block_end - block_sizes[i] : block_end, block_end - block_sizes[i] : block_end] = diagonal_block
        if i:
            T[
                block_end - block_sizes[i] : block_end,
                block_ends[i - 1] - block_sizes[i - 1] : block_ends[i - 1],
            ] = space.lower[i - 1]
    return T

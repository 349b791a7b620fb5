"""A ridge that follows its rows: one more row costs a few d×d products instead of a factorisation.

With μ and φ the means so far, N their weight and z = x − μ, a row (x, f) of weight w changes the centred
sums by

    XcᵀXc ← XcᵀXc + ω z zᵀ,   XcᵀFc ← XcᵀFc + ω z (f − φ)ᵀ,   ω = N w / (N + w),

so that with P = (XcᵀXc + λI)⁻¹ and v = P z the solution moves by one outer product (Sherman & Morrison 1950):

    W ← W + g (f − φ − Wᵀz)ᵀ,   g = ω v / (1 + ω zᵀv),   P ← P − g vᵀ.

P is a Cholesky factor of the sums at one moment and the rows since then as pairs (g, v). The factor belongs
to the sums (`RowMoments.rank_one_factor`) and goes when they change in any other way.
"""

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsymv

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.blas import matvec
from hyperlabel.solvers.moments.row_moments import RowMoments

FEWEST_FEATURES = 256  # below, a factorisation is as fast
MOST_ROWS = 32  # in one call
MOST_FOLLOWED = 512  # rows since the factorisation, whose pairs (g, v) are kept
TOLERANCE = 1e-9


class RankOneFactor:
    """(XcᵀXc + λI)⁻¹ of sums that gain rows one by one."""

    def __init__(self, sums: RowMoments, alpha: float) -> None:
        shifted_gram = sums.centered().gram
        shifted_gram[np.diag_indices_from(shifted_gram)] += alpha
        self.alpha, self.rows = alpha, 0
        self.factor = linalg.cho_factor(shifted_gram, lower=True, overwrite_a=True, check_finite=False)
        self.gains, self.images = np.empty((2, 16, len(shifted_gram)))

    def gain(self, z: np.ndarray, omega: float) -> np.ndarray:
        """Take in the row z of weight ω; return g."""
        v = linalg.cho_solve(self.factor, z, check_finite=False)
        # the rows since the factorisation: P z = P₀z − Σ g (vᵀz)
        v -= matvec(self.gains[: self.rows].T, matvec(self.images[: self.rows], z))
        g = v * (omega / (1.0 + omega * float((z * v).sum())))
        if self.rows == len(self.gains):
            spare_rows = np.empty_like(self.gains)
            self.gains, self.images = (
                np.vstack([self.gains, spare_rows]),
                np.vstack([self.images, spare_rows]),
            )
        self.gains[self.rows], self.images[self.rows] = g, v
        self.rows += 1
        return g


def can_update_factor(sums: RowMoments, X: Any, alpha: float) -> bool:
    """Whether these rows are few enough, and the sums large enough, for `update_with_rows` to pay."""
    return alpha > 0 and sums.n_features >= FEWEST_FEATURES and X.shape[0] <= MOST_ROWS and sums.weight > 0


def update_with_rows(
    sums: RowMoments, coef: np.ndarray, alpha: float, X: Any, F: Any, weights: np.ndarray | None, scale: float
) -> float:
    """Add rows to the sums and to `coef` (m×d, of targets scale·f) in place; return the relative residual.

    The residual is ‖(XcᵀXc + λI)Wr − XcᵀFc r‖ / ‖XcᵀFc r‖ for a random r of ±1: above `TOLERANCE` the caller
    should solve anew from the sums, which are right in any case.
    """
    rank_one_factor = sums.rank_one_factor
    if (
        rank_one_factor is None
        or rank_one_factor.alpha != alpha
        or rank_one_factor.rows + X.shape[0] > MOST_FOLLOWED
    ):
        rank_one_factor = RankOneFactor(sums, alpha)
    dense_rows, dense_targets = as_dense(X).astype(np.float64), as_dense(F).astype(np.float64)
    for i, (x, f) in enumerate(zip(dense_rows, dense_targets, strict=True)):
        w = 1.0 if weights is None else float(weights[i])
        if w > 0:
            x_mean, f_mean = sums.shift + sums.sum_x / sums.weight, sums.sum_targets / sums.weight
            z, omega = x - x_mean, sums.weight * w / (sums.weight + w)
            coef += np.outer(scale * (f - f_mean) - matvec(coef, z), rank_one_factor.gain(z, omega))
        sums.add_row(x, f, w)
    sums.rank_one_factor = rank_one_factor
    return _relative_residual(sums, coef, alpha, scale)


def _relative_residual(sums: RowMoments, coef: np.ndarray, alpha: float, scale: float) -> float:
    r = np.random.default_rng(sums.n).choice([-1.0, 1.0], len(coef))
    mixed_coef, mean_offset = r @ coef, sums.sum_x / sums.weight
    mixed_target = scale * (sums.cross @ r - mean_offset * (sums.sum_targets @ r))
    gram_product = dsymv(1.0, sums.gram.T if sums.gram.flags.c_contiguous else sums.gram, mixed_coef)
    residual_vector = (
        gram_product - mean_offset * (sums.sum_x @ mixed_coef) + alpha * mixed_coef - mixed_target
    )
    target_norm = float(np.linalg.norm(mixed_target))
    return (
        float(np.linalg.norm(residual_vector)) / target_norm
        if target_norm
        else float(np.linalg.norm(residual_vector))
    )

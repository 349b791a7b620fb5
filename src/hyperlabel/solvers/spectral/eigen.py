"""Generalised eigenproblems of low rank, at the price of m ridge solves.

Maximise tr(WᵀBBᵀW) subject to Wᵀ(XcᵀXc + λI)W = I, where B = XcᵀFc is d×m with m small.
With R = (XcᵀXc + λI)⁻¹B and K = BᵀR = VΓVᵀ (m×m), the eigenvectors are W = RVΓ^(−1/2): the
functions here return the m×c matrix `right` with W = R·right.
"""

from dataclasses import dataclass

import numpy as np

from hyperlabel.solvers.arrays import rank_tolerance


@dataclass(frozen=True)
class ReducedEigen:
    """Eigenvalues, largest first, and the mix `right` (m×rank) with W = R·right."""

    values: np.ndarray
    right: np.ndarray


class Gram:
    """FcᵀFc = VₕΣₕ²Vₕᵀ of a factor, null directions (dependent or empty labels) left out.

    Kept apart since it does not depend on λ.
    """

    def __init__(self, gram: np.ndarray) -> None:
        self.values, self.vectors = _eigenpairs_above_noise(gram, 0.0)

    def exact_form(self, reduced: np.ndarray, *, noise: float = 0.0) -> ReducedEigen:
        """Eigenvectors of the problem (12)(13) itself: right = VΓ^(−1/2) of K = BᵀR, known to `noise`."""
        V = self.vectors
        values, U = _eigenpairs_above_noise(V.T @ reduced @ V, noise)
        return ReducedEigen(values, (V @ U) / np.sqrt(values))

    def least_squares_form(self) -> ReducedEigen:
        """Regress (24)(25) on the left singular vectors of Fc (29): right = VₕΣₕ⁻¹, ordered by Σₕ.

        `values` are the Σₕ².
        """
        return ReducedEigen(self.values, self.vectors / np.sqrt(self.values))


def fix_signs(W: np.ndarray) -> np.ndarray:
    """Turn each column so that its largest entry is positive.

    "Largest" is the first entry within one part in a million of the maximum, so that rounding
    does not decide between entries of equal size.
    """
    if not W.size:
        return W
    component_rows = np.array(W.T, order="C")  # a copy: the caller's W stays as it is
    magnitudes = np.abs(component_rows)
    first_largest = (magnitudes >= (1 - 1e-6) * magnitudes.max(axis=1, keepdims=True)).argmax(axis=1)
    component_rows[component_rows[np.arange(len(component_rows)), first_largest] < 0] *= -1.0
    return component_rows.T


def _eigenpairs_above_noise(A: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of a small positive semi-definite A above rounding (and noise), largest first."""
    s, V = np.linalg.eigh((A + A.T) / 2)
    above_noise = s > max(rank_tolerance(s), noise * max(float(s.max(initial=0.0)), 0.0))
    return s[above_noise][::-1], V[:, above_noise][:, ::-1]

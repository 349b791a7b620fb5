"""The rows a ranking solver works on, and the way back to the user's features.

Everything is plain Rank-SVM on suitable rows:

* linear: the scaled features themselves;
* kernel: with K = UΛUᵀ, the rows Φ = UΛ^(1/2) have the inner products of the kernel, so weights w
  on Φ are the weights UΛ^(−1/2)w on the training rows (`lift`);
* hypergraph: with M = I + λΦᵀLΦ = GGᵀ, the penalty ½wᵀMw is ½‖Gᵀw‖², so the rows G⁻¹φ and the
  weights v = Gᵀw give the same scores under the plain penalty. Aᵢⱼ = φᵢᵀM⁻¹φⱼ is eq. (27)
  whether Φ are features or the kernel's.

The bias is the weight of a constant 1 beside Φ. L1 = 0, so it is not touched by the Laplacian.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from hyperlabel.solvers.arrays import rank_tolerance


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows (n×r, dense or CSR), what is still to be subtracted from them, and the way back."""

    rows: Any
    shift: np.ndarray
    lift: np.ndarray | None = None


def kernel_space(K: np.ndarray) -> RowSpace:
    """Factor a kernel matrix, n×n, into rows with the same inner products; K is overwritten."""
    s, U = linalg.eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    if s[0] < -1e-6 * max(s[-1], 1e-300):
        raise ValueError(
            f"The kernel matrix has the eigenvalue {s[0]:.3g}: use a positive semi-definite kernel."
        )
    above_rounding = s > rank_tolerance(s)
    singular_values = np.sqrt(s[above_rounding])
    U = U[:, above_rounding]
    return RowSpace(
        np.ascontiguousarray(U * singular_values), np.zeros(len(singular_values)), U / singular_values
    )


def whitening_factor(form: np.ndarray, weight: float) -> np.ndarray:
    """Lower-triangular G with GGᵀ = I + weight·form; `form` is not changed."""
    M = weight * form
    M[np.diag_indices_from(M)] += 1.0
    return linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)


def whiten_rows(rows: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Rows G⁻¹φ."""
    return np.ascontiguousarray(linalg.solve_triangular(G, rows.T, lower=True, check_finite=False).T)


def unwhiten_weights(V: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Weights w = G⁻ᵀv on the rows before `whiten_rows`."""
    return linalg.solve_triangular(G, V, lower=True, trans="T", check_finite=False)

"""Products of dense blocks by SciPy's BLAS, for loops that need its `syrk` or its LAPACK as well.

The wheels of NumPy and SciPy carry an OpenBLAS each, with threads of its own. Where a loop calls them in
turns, threads of one that still wait for work hold the cores that the other needs: with two threads such a
loop took twice as long as with one. A loop therefore calls either NumPy alone (`@`, `numpy.linalg`), or
SciPy alone: its LAPACK and these functions.
"""

import numpy as np
from scipy.linalg.blas import dgemm, dgemv, dsyrk


def add_gram(Z: np.ndarray, lower: np.ndarray) -> None:
    """Add ZᵀZ to the lower half of `lower` (d×d, Fortran order) in place; Z in C order."""
    dsyrk(1.0, Z.T, beta=1.0, c=lower, lower=1, overwrite_c=1)


def add_product(A: np.ndarray, Z: np.ndarray, out: np.ndarray) -> None:
    """Add AᵀZ to `out` (m×d, C order) in place; A and Z in C order."""
    if out.size and len(Z):
        dgemm(1.0, Z.T, A.T, beta=1.0, c=out.T, trans_b=1, overwrite_c=1)


def add_weighted_sum(weights: np.ndarray, Z: np.ndarray, out: np.ndarray) -> None:
    """Add weightsᵀZ to `out` in place; Z in C order."""
    dgemv(1.0, Z.T, weights, beta=1.0, y=out, overwrite_y=1)


def matvec(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return A x, for A in either order."""
    if not A.size:
        return np.zeros(len(A))
    return dgemv(1.0, A.T, x, trans=1) if A.flags.c_contiguous else dgemv(1.0, A, x)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B in C order, for A in either order."""
    if A.flags.c_contiguous:
        return dgemm(1.0, B.T, A.T).T
    return dgemm(1.0, B.T, A, trans_b=1).T

"""Solve (A + λI)Z = T for several λ from one reduction of A to tridiagonal form.

A = QTQᵀ with Q a product of reflectors that is never formed: a third of the price of the eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack


def solve_shifted(A: np.ndarray, T: np.ndarray, alphas: Sequence[float]) -> list[np.ndarray] | None:
    """Solve for every λ; None where some A + λI is not positive definite to working precision.

    Parameters
    ----------
    A : ndarray of shape (q, q)
        Symmetric, positive semi-definite.
    T : ndarray of shape (q, m)
        Right-hand sides.
    alphas : sequence of float
        The λ, each above 0.

    Returns
    -------
    solutions : list of ndarray of shape (q, m), or None

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([1.0, 2.0, 3.0]) + 0.5
    >>> first, second = solve_shifted(A, np.eye(3), [1.0, 2.0])
    >>> bool(np.allclose((A + 2 * np.eye(3)) @ second, np.eye(3)))
    True
    """
    q, m = T.shape
    if q < 2:
        return [T / (A + alpha) for alpha in alphas] if (A + min(alphas) > 0).all() else None
    size = int(lapack.dsytrd_lwork(q, lower=1)[0])
    reduced, diagonal, off, tau, _ = lapack.dsytrd(A.T, lower=1, lwork=size)
    # the reflectors leave the first coordinate alone and are stored as those of a QR factorisation
    reflectors = np.asfortranarray(reduced[1:, :-1])
    target = np.array(T, dtype=np.float64, order="F")
    target[1:] = _reflect("T", reflectors, tau, target[1:])
    solved = np.empty((q, m * len(alphas)), order="F")
    for i, alpha in enumerate(alphas):
        _, _, solved[:, m * i : m * (i + 1)], info = lapack.dptsv(diagonal + alpha, off, target)
        if info:
            return None
    solved[1:] = _reflect("N", reflectors, tau, solved[1:])
    return [solved[:, m * i : m * (i + 1)] for i in range(len(alphas))]


def _reflect(how: str, reflectors: np.ndarray, tau: np.ndarray, V: np.ndarray) -> np.ndarray:
    size = lapack.dormqr("L", how, reflectors, tau, V, -1)[1]
    return lapack.dormqr("L", how, reflectors, tau, V, int(size[0]))[0]

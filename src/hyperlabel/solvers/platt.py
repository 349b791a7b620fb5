"""Sigmoid calibration of many labels: p = σ(a·s + b) by Newton's method, label by label.

Notation
--------
=========  =======================================  ========
code       meaning                                  shape
=========  =======================================  ========
scores     s, one row for each label                k×n
slope      a ≥ 0                                    (k,)
intercept  b                                        (k,)
=========  =======================================  ========
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse

BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class PlattResult:
    """Solution and certificate.

    Parameters
    ----------
    slope, intercept : ndarray of shape (k,)
        p = σ(slope·score + intercept).
    n_iter : ndarray of shape (k,)
        Newton steps.
    gradient : ndarray of shape (k,)
        Largest component of the projected gradient of the mean loss, scores standardised: 0 at the
        optimum of this convex problem.
    converged : bool
        Whether every gradient is below the tolerance.
    """

    slope: np.ndarray
    intercept: np.ndarray
    n_iter: np.ndarray
    gradient: np.ndarray
    converged: bool


def solve_platt(
    scores: np.ndarray,
    Y: sparse.csr_array,
    *,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> PlattResult:
    r"""Fit the sigmoid of each label by regularised maximum likelihood.

    .. math:: \min_{a_j \ge 0, b_j} -\sum_i w_i [t_{ij} \log p_{ij} + (1 - t_{ij}) \log(1 - p_{ij})],
              \quad p_{ij} = \sigma(a_j s_{ij} + b_j)

    where:

    - the targets are Platt's: :math:`t = (N_+ + 1)/(N_+ + 2)` for the :math:`N_+` positives and
      :math:`1/(N_- + 2)` for the :math:`N_-` negatives, so that separable labels stay finite;
    - the slope cannot be negative: scores that run against the label say nothing (slope 0).

    Parameters
    ----------
    scores : ndarray of shape (n, k)
        Finite scores.
    Y : csr_array of shape (n, k)
        Labels as ones.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the rows.
    tol : float, default=1e-8
        On the gradient of the mean loss.
    max_iter : int, default=100
        Newton steps for each label.

    Returns
    -------
    result : PlattResult

    References
    ----------
    J. Platt, *Probabilistic outputs for support vector machines*, 1999. H.-T. Lin, C.-J. Lin, R. Weng,
    *A note on Platt's probabilistic outputs for support vector machines*, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1.0], [1.0], [0.0], [0.0]])
    >>> found = solve_platt(np.array([[2.0], [1.0], [-1.0], [-2.0]]), Y)
    >>> bool(found.slope[0] > 0), found.converged
    (True, True)
    """
    n, k = scores.shape
    weights = np.ones(n) if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    slope, intercept, gradient = np.zeros(k), np.zeros(k), np.zeros(k)
    n_iter = np.zeros(k, dtype=np.int64)
    width = max(1, BLOCK_ENTRIES // max(1, n))
    columns = Y.tocsc()
    for start in range(0, k, width):
        block = slice(start, start + width)
        s = np.ascontiguousarray(scores[:, block].T, dtype=np.float64)
        on = columns[:, block].T.toarray() > 0
        _fit_rows(
            s, on, weights, tol, max_iter, slope[block], intercept[block], n_iter[block], gradient[block]
        )
    return PlattResult(slope, intercept, n_iter, gradient, bool((gradient <= tol).all()))


@njit(cache=True, nogil=True)
def _derivatives(z, t, w, a, b):
    """Loss, gradient and Hessian at (a, b), one exponential for each row."""
    loss, ga, gb, haa, hab, hbb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(z)):
        u = a * z[i] + b
        e = np.exp(-abs(u))
        p = 1.0 / (1.0 + e) if u >= 0 else e / (1.0 + e)
        loss += w[i] * (max(u, 0.0) + np.log1p(e) - t[i] * u)
        r, h = w[i] * (p - t[i]), w[i] * p * (1.0 - p)
        ga += r * z[i]
        gb += r
        haa += h * z[i] * z[i]
        hab += h * z[i]
        hbb += h
    return loss, ga, gb, haa, hab, hbb


@njit(cache=True, nogil=True)
def _fit_rows(scores, on, weights, tol, max_iter, slope, intercept, n_iter, gradient):
    k, n = scores.shape
    z, t, w = np.empty(n), np.empty(n), weights / weights.sum()
    for j in range(k):
        mean = (w * scores[j]).sum()
        std = np.sqrt((w * (scores[j] - mean) ** 2).sum())
        if not std > 0.0:
            std = 1.0
        n_on = 0.0
        n_all = 0.0
        for i in range(n):
            n_all += weights[i]
            if on[j, i]:
                n_on += weights[i]
        high, low = (n_on + 1.0) / (n_on + 2.0), 1.0 / (n_all - n_on + 2.0)
        rate = 0.0
        for i in range(n):
            z[i] = (scores[j, i] - mean) / std
            t[i] = high if on[j, i] else low
            rate += w[i] * t[i]
        a, b, n_iter[j], gradient[j] = _newton(z, t, w, np.log(rate / (1.0 - rate)), tol, max_iter)
        slope[j] = a / std
        intercept[j] = b - a * mean / std


@njit(cache=True, nogil=True)
def _newton(z, t, w, start, tol, max_iter):
    """Damped Newton from the constant solution a = 0; a stays at 0 if the loss rises from there."""
    a, b = 0.0, start
    loss, ga, gb, haa, hab, hbb = _derivatives(z, t, w, a, b)
    step_no = 0
    while True:
        at_wall = a <= 0.0 and ga > 0.0
        worst = abs(gb) if at_wall else max(abs(ga), abs(gb))
        if worst <= tol or step_no == max_iter:
            break
        det = haa * hbb - hab * hab
        if at_wall or det <= 1e-14 * haa * hbb:
            da, db = 0.0, -gb / hbb
        else:
            da, db = -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det
        size = 1.0
        while True:
            new_a, new_b = max(0.0, a + size * da), b + size * db
            found = _derivatives(z, t, w, new_a, new_b)
            if found[0] <= loss or size < 1e-8:
                break
            size *= 0.5
        step_no += 1
        if found[0] > loss:  # the loss has no digits left to fall
            break
        a, b = new_a, new_b
        loss, ga, gb, haa, hab, hbb = found
    return a, b, step_no, worst

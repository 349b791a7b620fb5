"""Held-out quality of nested models: every number of components M in one walk.

The points of a label-space model with M components are ỹ_M = o + Σ_{m≤M} r_m p_m, so they
grow by one rank-one term per component. The walk keeps a few rows in cache, adds term after
term and updates each row's best k labels instead of sorting anew: the previous best, at
their new scores, give a bar that few other labels clear.

Notation
--------
========  ==================================  =====
code      meaning                             shape
========  ==================================  =====
R         predicted codes r(x)                n×M
P         components                          M×K
base      o − ½: positive means predicted     K
Y         true labels                         n×K
grid      the M to score, ascending           G
========  ==================================  =====

Scores are kept in single precision here: they only choose M.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numba import njit

Metric = Literal["ndcg", "precision", "f1_micro", "hamming_loss"]
ROWS = 256  # a block of scores; cache-sized parts of it are walked at a time
JUMP = 6  # from so many new components on, one matrix product beats term-by-term addition


def score_prefixes(
    R: np.ndarray,
    P: np.ndarray,
    base: np.ndarray,
    Y: Any,
    grid: Sequence[int] | np.ndarray,
    *,
    metric: Metric | Callable[[Any, np.ndarray], float] = "ndcg",
    k: int = 5,
) -> np.ndarray:
    """Score the models with M = grid[0], grid[1], … components; larger is better.

    Parameters
    ----------
    R, P, base, Y, grid
        See the module docstring; P dense, Y a ``csr_array`` of ones.
    metric : {"ndcg", "precision", "f1_micro", "hamming_loss"} or callable
        nDCG@k, P@k, micro-F1 of the labels with positive score, minus the Hamming loss, each as
        in ``hyperlabel.metrics``; or ``metric(Y, scores) -> float``.
    k : int, default=5
        Length of the ranking, at most K.

    Returns
    -------
    values : ndarray of shape (G,)

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[0.0, 1.0]]))
    >>> score_prefixes(np.array([[1.0, -1.0]]), np.eye(2), np.zeros(2), Y, [1, 2], k=1)
    array([0., 0.])
    """
    grid = np.asarray(grid, dtype=np.int64)
    R = np.ascontiguousarray(R[:, : grid[-1]], dtype=np.float32)
    P = np.ascontiguousarray(P[: grid[-1]], dtype=np.float32)
    base = base.astype(np.float32)
    if callable(metric):
        return _score_callable(R, P, base, Y, grid, metric)
    n, K = Y.shape
    k = min(k, K)
    discount = 1.0 / np.log2(np.arange(2.0, k + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discount)])
    sums = np.zeros((4, len(grid)))  # nDCG, hits@k, predicted, predicted and true
    indptr, indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int64)
    counting = metric in ("f1_micro", "hamming_loss")
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        S = np.repeat(base[None, :], rows.stop - start, axis=0)
        best = np.full((len(S), k), -1, dtype=np.int64)
        for done, first, last in _legs(grid):
            if done[1] > done[0]:
                S += R[rows, done[0] : done[1]] @ P[done[0] : done[1]]
            _walk(
                S,
                R[rows],
                P,
                done[1],
                grid[first:last],
                indptr[start : rows.stop + 1],
                indices,
                discount,
                ideal,
                best,
                counting,
                sums[:, first:last],
            )
    return _finish(metric, sums, Y, k)


def _finish(metric: str, sums: np.ndarray, Y: Any, k: int) -> np.ndarray:
    n, K = Y.shape
    if metric == "ndcg":
        return sums[0] / n
    if metric == "precision":
        return sums[1] / (n * k)
    if metric == "f1_micro":
        return 2 * sums[3] / np.maximum(sums[2] + Y.nnz, 1)
    return -(sums[2] + Y.nnz - 2 * sums[3]) / (n * K)


def _legs(grid: np.ndarray) -> list[tuple[tuple[int, int], int, int]]:
    """Split the grid where a jump is long: (components to multiply in, then grid[first:last] to walk)."""
    legs, first, at = [], 0, 0
    while first < len(grid):
        start = at
        at = int(grid[first]) if grid[first] - at >= JUMP else at
        last = first + 1
        while last < len(grid) and grid[last] - grid[last - 1] < JUMP:
            last += 1
        legs.append(((start, at), first, last))
        first, at = last, int(grid[last - 1])
    return legs


def _score_callable(
    R: np.ndarray, P: np.ndarray, base: np.ndarray, Y: Any, grid: np.ndarray, metric: Callable[..., float]
) -> np.ndarray:
    S = np.repeat(base[None, :], len(R), axis=0)
    values, at = np.empty(len(grid)), 0
    for g, M in enumerate(grid):
        S += R[:, at:M] @ P[at:M]
        values[g], at = metric(Y, S), M
    return values


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
def _add_scaled(s, r, p):
    for j in range(len(s)):
        s[j] += r * p[j]


@njit(cache=True, nogil=True)
def _count_above(s, bar):
    out = np.int32(0)  # a 32-bit counter, or the loop does not become vector instructions
    for j in range(len(s)):
        out += np.int32(s[j] > bar)
    return out


@njit(cache=True, nogil=True)
def _insert(value, j, values, best, filled):
    """Put (value, j) into the descending list; ties keep the lower index first."""
    i = min(filled, len(best) - 1)
    while i > 0 and (values[i - 1] < value or (values[i - 1] == value and best[i - 1] > j)):
        values[i] = values[i - 1]
        best[i] = best[i - 1]
        i -= 1
    values[i] = value
    best[i] = j
    return min(filled + 1, len(best))


@njit(cache=True, nogil=True)
def _update_best(s, best, values, old):
    """Bring the k best labels of one row up to date with its new scores."""
    k, K = len(best), len(s)
    filled = 0
    if best[0] >= 0:
        for i in range(k):
            old[i] = best[i]
        for i in range(k):
            filled = _insert(s[old[i]], old[i], values, best, filled)
    else:
        for i in range(k):
            filled = _insert(s[i], i, values, best, filled)
            old[i] = i
    below = np.nextafter(values[k - 1], np.float32(-np.inf))
    if _count_above(s, below) == k:  # only the old ones reach the bar: the usual case
        return
    for j in range(K):
        if s[j] > values[k - 1] or (s[j] == values[k - 1] and j < best[k - 1]):
            known = False
            for i in range(k):
                known = known or old[i] == j
            if not known:
                _insert(s[j], j, values, best, k)


@njit(cache=True, nogil=True)
def _walk(S, R, P, at, grid, indptr, indices, discount, ideal, best, counting, sums):
    n, K = S.shape
    k = best.shape[1]
    values, old = np.empty(k, np.float32), np.empty(k, np.int64)
    relevant = np.zeros((8, K), np.bool_)
    for low in range(0, n, 8):
        high = min(low + 8, n)
        for i in range(low, high):
            for q in range(indptr[i], indptr[i + 1]):
                relevant[i - low, indices[q]] = True
        done = at
        for g in range(len(grid)):
            for m in range(done, grid[g]):
                for i in range(low, high):
                    _add_scaled(S[i], R[i, m], P[m])
            done = max(done, grid[g])
            for i in range(low, high):
                s = S[i]
                if counting:
                    on = _count_above(s, np.float32(0))
                    right = 0
                    for q in range(indptr[i], indptr[i + 1]):
                        right += s[indices[q]] > 0
                    sums[2, g] += on
                    sums[3, g] += right
                    continue
                _update_best(s, best[i], values, old)
                gain, hits = 0.0, 0
                for t in range(k):
                    if relevant[i - low, best[i, t]]:
                        gain += discount[t]
                        hits += 1
                size = min(indptr[i + 1] - indptr[i], k)
                if size > 0:
                    sums[0, g] += gain / ideal[size]
                sums[1, g] += hits
        for i in range(low, high):
            for q in range(indptr[i], indptr[i + 1]):
                relevant[i - low, indices[q]] = False

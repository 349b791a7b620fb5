"""Held-out quality of nested models: every number of components M in one walk.

The points of a label-space model with M components are ỹ_M = o + Σ_{m≤M} r_m p_m, so they
grow by one rank-one term per component. The walk keeps a few rows in cache, adds term after
term and updates each row's best labels instead of sorting anew: a short list of the previous
best, at their new scores, gives a bar (its k-th score); only when a label from outside the list
reaches the bar must the list be made anew.

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
        best = np.full((len(S), min(3 * k + 1, K)), -1, dtype=np.int64)
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


# No fused multiply-add in these two loops: a score computed alone (`_sort_best`) must equal the same
# score computed in a vector. The counters have 32 bits, or the loops stay scalar.


@njit(cache=True, nogil=True)
def _add_scaled(s, r, p):
    for j in range(len(s)):
        s[j] += r * p[j]


@njit(cache=True, nogil=True)
def _add_scaled_and_count(s, r, p, bar):
    """Add r·p and count the scores that then reach the bar."""
    out = np.int32(0)
    for j in range(len(s)):
        v = s[j] + r * p[j]
        s[j] = v
        out += np.int32(v >= bar)
    return out


@njit(cache=True, nogil=True)
def _count(s, bar):
    out = np.int32(0)
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
def _sort_best(s, r, p, best, values, old):
    """Put the listed labels of one row into the order of their scores s + r·p."""
    filled = 0
    for i in range(len(best)):
        old[i] = best[i]
    for i in range(len(best)):
        j = old[i]
        filled = _insert(s[j] + r * p[j], j, values, best, filled)


@njit(cache=True, nogil=True)
def _find_best(s, best, values, old):
    """Let every label into the sorted list (`_sort_best`) that beats its last one."""
    q = len(best)
    for j in range(len(s)):
        if s[j] > values[q - 1] or (s[j] == values[q - 1] and j < best[q - 1]):
            known = False
            for i in range(q):
                known = known or old[i] == j
            if not known:
                _insert(s[j], j, values, best, q)


@njit(cache=True, nogil=True)
def _step(s, r, p, k, best, values, old):
    """Add one component to a row and bring its best labels up to date."""
    _sort_best(s, r, p, best, values, old)
    within = k
    while within < len(best) and values[within] == values[k - 1]:
        within += 1
    reached = _add_scaled_and_count(s, r, p, values[k - 1])
    if reached != within:  # someone outside the list reaches the k-th
        _find_best(s, best, values, old)


@njit(cache=True, nogil=True)
def _gain(best, k, relevant, discount, ideal, size):
    """Return nDCG@k and the hits of one row."""
    gain, hits = 0.0, 0
    for t in range(k):
        if relevant[best[t]]:
            gain += discount[t]
            hits += 1
    return (gain / ideal[min(size, k)] if size > 0 else 0.0), hits


@njit(cache=True, nogil=True)
def _walk(S, R, P, at, grid, indptr, indices, discount, ideal, best, counting, sums):
    n, K = S.shape
    k, q = len(discount), best.shape[1]
    values, old = np.empty(q, np.float32), np.empty(q, np.int64)
    relevant = np.zeros((8, K), np.bool_)
    for low in range(0, n, 8):  # eight rows of scores stay in the nearest cache
        high = min(low + 8, n)
        for i in range(low, high):
            for t in range(indptr[i], indptr[i + 1]):
                relevant[i - low, indices[t]] = True
        done = at
        for g in range(len(grid)):
            single = grid[g] == done + 1 and not counting and best[low, 0] >= 0
            for m in range(done, grid[g]):
                for i in range(low, high):
                    if single:
                        _step(S[i], R[i, m], P[m], k, best[i], values, old)
                    else:
                        _add_scaled(S[i], R[i, m], P[m])
            done = max(done, grid[g])
            for i in range(low, high):
                if counting:
                    sums[2, g] += _count(S[i], np.float32(0))
                    for t in range(indptr[i], indptr[i + 1]):
                        sums[3, g] += S[i, indices[t]] > 0
                    continue
                if not single:
                    if best[i, 0] < 0:
                        best[i] = np.arange(q)
                    _sort_best(S[i], np.float32(0), S[i], best[i], values, old)
                    _find_best(S[i], best[i], values, old)
                size = indptr[i + 1] - indptr[i]
                gain, hits = _gain(best[i], k, relevant[i - low], discount, ideal, size)
                sums[0, g] += gain
                sums[1, g] += hits
        for i in range(low, high):
            for t in range(indptr[i], indptr[i + 1]):
                relevant[i - low, indices[t]] = False

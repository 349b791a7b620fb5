"""The k nearest rows, exactly: ties in distance go to the lowest index, a row may skip itself.

Notation
--------
code        meaning                                                     shape
X           query rows, dense or ``csr_array``                          m×d
T           rows to search, same kind                                   n×d
skip        index in T a query must not find (−1: none)                 m
distance    the k smallest distances of each query, ascending           m×k
index       the rows of T they belong to                                m×k

Dense Euclidean distances come from a matrix product, ‖x‖² + ‖t‖² − 2xᵀt, whose rounding
would break ties between equal rows at random. So the product only excludes rows that cannot
be among the k nearest whatever its rounding, which float32 (twice as fast) does well enough,
and Σ(x − t)² in float64 decides among the few left. Sparse rows go through
an inverted index (features → rows): O(nnz met) per query, sums in the same order for equal
rows, hence exact ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import row_blocks
from hyperlabel.solvers.compiling import check_rows, check_shape, compiled, csr_parts

# What a float32 product of two values below 1e10 can lose where it, or one of them, is subnormal; and again
# in the bound it is compared with.
_UNDERFLOW = 8 * 1e10 * 2.0**-149


@dataclass(frozen=True)
class Nearest:
    """Neighbours of each query row, nearest first."""

    index: np.ndarray
    distance: np.ndarray

    @classmethod
    def nothing_yet(cls, n_queries: int, k: int) -> Nearest:
        """Return room for k neighbours each, all infinitely far."""
        if k < 1:  # compiled code looks at the last of them
            raise ValueError(f"At least one neighbour must be looked for, got {k}.")
        return cls(np.full((n_queries, k), -1, dtype=np.int64), np.full((n_queries, k), np.inf))


def solve_nearest(X: Any, T: Any, k: int, *, skip: np.ndarray | None = None) -> Nearest:
    """Find the k nearest rows of T to each row of X, Euclidean, but not T[skip] (−1: none)."""
    skip = np.full(X.shape[0], -1) if skip is None else np.asarray(skip)
    check_shape("skip", skip, (X.shape[0],))
    if skip.max(initial=-1) >= T.shape[0]:
        raise ValueError(f"skip must name rows of T, 0 … {T.shape[0] - 1}, or −1.")
    if X.ndim != 2 or T.ndim != 2 or X.shape[1] != T.shape[1]:  # compiled code trusts it
        raise ValueError(f"X and T must have the same columns, got shapes {X.shape} and {T.shape}.")
    found = Nearest.nothing_yet(X.shape[0], k)
    if sparse.issparse(T):
        X, T = sparse.csr_array(X), sparse.csr_array(T)
        check_rows(X)
        check_rows(T)
        parts = *csr_parts(X.sorted_indices()), *csr_parts(T.sorted_indices().tocsc())
        _scan_index(*parts, T.shape[0], skip.astype(np.int64), found.index, found.distance)
    else:
        _search_dense(X, T, skip.astype(np.int64), found)
    np.sqrt(np.maximum(found.distance, 0.0, out=found.distance), out=found.distance)
    return found


def update_nearest(distances: np.ndarray, found: Nearest, *, first: int, skip: np.ndarray) -> None:
    """Take a block of distances (m×b, to rows first … first+b−1) into account, in place.

    Blocks must come in the order of their rows, so that ties go to the lowest index.
    """
    distances = np.asarray(distances, dtype=np.float64)
    n_queries = len(found.index)
    check_shape("skip", skip, (n_queries,))
    check_shape("distances", distances[:, :0], (n_queries, 0))
    _take_block(distances, first, skip, found.index, found.distance)


def _search_dense(X: np.ndarray, T: np.ndarray, skip: np.ndarray, found: Nearest) -> None:
    same = X is T
    T = np.ascontiguousarray(T, dtype=np.float64)
    X = T if same else np.ascontiguousarray(X, dtype=np.float64)
    center = T.mean(axis=0)
    rough, norms = _center_rows(T, center, np.float32)  # centred: small norms, small rounding errors
    lost = T.shape[1] * _UNDERFLOW
    if not 1e-20 < norms.max(initial=0.0) < 1e20:  # float32 products would vanish or overflow
        rough, norms = _center_rows(T, center, np.float64)
        lost = 0.0
    for rows in row_blocks(X.shape[0], rough.itemsize * T.shape[0]):
        if same and len(X) == rows.stop - rows.start:
            x_norms, product = norms, rough @ rough.T  # a symmetric product costs half
        else:
            moved, x_norms = _center_rows(X[rows], center, rough.dtype)
            product = moved @ rough.T
        some = Nearest(found.index[rows], found.distance[rows])
        _refine_dense(X[rows], T, product, x_norms, norms, lost, skip[rows], some.index, some.distance)


def _center_rows(X: np.ndarray, center: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    moved = np.empty(X.shape, dtype=dtype)
    return moved, _center_into(X, center, moved)


@compiled
def _insert_neighbor(distance, row, best_index, best_distance):
    """Put a row into the sorted list; an equal distance comes after the ones already there."""
    place = len(best_index) - 1
    while place > 0 and best_distance[place - 1] > distance:
        best_distance[place] = best_distance[place - 1]
        best_index[place] = best_index[place - 1]
        place -= 1
    best_distance[place] = distance
    best_index[place] = row


@compiled
def _take_block(distances, first, skip, index, distance):
    k = index.shape[1]
    for i in range(distances.shape[0]):
        for j in range(distances.shape[1]):
            if distances[i, j] < distance[i, k - 1] and first + j != skip[i]:
                _insert_neighbor(distances[i, j], first + j, index[i], distance[i])


@compiled
def _center_into(X, center, moved):
    """Write X − center into `moved`; return the squared norms of its rows."""
    norms = np.empty(len(X))
    for i in range(len(X)):
        norm = 0.0
        for c in range(X.shape[1]):
            value = X[i, c] - center[c]
            moved[i, c] = value
            norm += value * value
        norms[i] = norm
    return norms


@compiled
def _squared_distance(x, t):
    """Σ(x − t)² in a fixed order of four interleaved sums, so that equal rows tie exactly."""
    d = len(x)
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    for i in range(0, d - 3, 4):
        a += (x[i] - t[i]) ** 2
        b += (x[i + 1] - t[i + 1]) ** 2
        c += (x[i + 2] - t[i + 2]) ** 2
        e += (x[i + 3] - t[i + 3]) ** 2
    for i in range(d - d % 4, d):
        a += (x[i] - t[i]) ** 2
    return (a + b) + (c + e)


@compiled
def _refine_dense(X, T, product, x_norms, norms, lost, skip, index, distance):
    """Keep rows whose lower bound is within the k-th smallest upper bound; measure those exactly."""
    n, d = T.shape
    k = index.shape[1]
    # |error of 2xᵀt| ≤ (d + 3)·u·(‖x‖² + ‖t‖²), u the unit roundoff of float32 (both factors rounded)
    unit = (d + 4) * 2.0**-24
    raised, slack, bound = norms * (1.0 + unit), 2.0 * unit * norms, np.empty(n)
    upper_index, upper = np.empty(k, np.int64), np.empty(k)
    for i in range(X.shape[0]):
        for j in range(n):
            bound[j] = raised[j] - 2.0 * product[i, j]  # of the distance less ‖x‖², up to the error in x
        if skip[i] >= 0:
            bound[skip[i]] = np.inf
        upper[:] = np.inf
        for j in range(n):
            if bound[j] < upper[k - 1]:
                _insert_neighbor(bound[j], j, upper_index, upper)
        limit = upper[k - 1] + 2.0 * unit * x_norms[i] + lost
        for j in range(n):
            if bound[j] - slack[j] <= limit:
                exact = _squared_distance(X[i], T[j])
                if exact < distance[i, k - 1]:
                    _insert_neighbor(exact, j, index[i], distance[i])


@compiled
def _scan_index(x_ptr, x_cols, x_data, f_ptr, f_rows, f_data, n, skip, index, distance):
    k = index.shape[1]
    norms = np.zeros(n)
    for c in range(len(f_ptr) - 1):
        for p in range(f_ptr[c], f_ptr[c + 1]):
            norms[f_rows[p]] += f_data[p] * f_data[p]
    dots = np.empty(n)
    for i in range(len(x_ptr) - 1):
        dots[:] = 0.0
        norm = 0.0
        for q in range(x_ptr[i], x_ptr[i + 1]):
            value, c = x_data[q], x_cols[q]
            norm += value * value
            for p in range(f_ptr[c], f_ptr[c + 1]):
                dots[f_rows[p]] += value * f_data[p]
        for j in range(n):
            square = (norm - dots[j]) + (norms[j] - dots[j])
            if square < distance[i, k - 1] and j != skip[i]:
                _insert_neighbor(square, j, index[i], distance[i])

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
from hyperlabel.solvers.compiling import check_csr_indices, check_shape, compiled, csr_parts

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
        """Return k empty neighbours for each query, all infinitely far."""
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
    neighbors = Nearest.nothing_yet(X.shape[0], k)
    if sparse.issparse(T):
        X, T = sparse.csr_array(X), sparse.csr_array(T)
        check_csr_indices(X)
        check_csr_indices(T)
        csr_arrays = *csr_parts(X.sorted_indices()), *csr_parts(T.sorted_indices().tocsc())
        _search_inverted_index(
            *csr_arrays,
            *np.zeros((2, T.shape[0])),
            skip.astype(np.int64),
            neighbors.index,
            neighbors.distance,
        )
    else:
        _search_dense(X, T, skip.astype(np.int64), neighbors)
    np.sqrt(np.maximum(neighbors.distance, 0.0, out=neighbors.distance), out=neighbors.distance)
    return neighbors


def update_nearest(distances: np.ndarray, neighbors: Nearest, *, first: int, skip: np.ndarray) -> None:
    """Take a block of distances (m×b, to rows first … first+b−1) into account, in place.

    Blocks must come in the order of their rows, so that ties go to the lowest index.
    """
    distances = np.asarray(distances, dtype=np.float64)
    n_queries = len(neighbors.index)
    check_shape("skip", skip, (n_queries,))
    check_shape("distances", distances[:, :0], (n_queries, 0))
    _merge_block(distances, first, skip, neighbors.index, neighbors.distance)


def _search_dense(X: np.ndarray, T: np.ndarray, skip: np.ndarray, neighbors: Nearest) -> None:
    is_self_search = X is T
    T = np.ascontiguousarray(T, dtype=np.float64)
    X = T if is_self_search else np.ascontiguousarray(X, dtype=np.float64)
    mean_row = T.mean(axis=0)
    centered_rows, row_norms = _center_rows(
        T, mean_row, np.float32
    )  # centred: small norms, small rounding errors
    underflow_slack = T.shape[1] * _UNDERFLOW
    if not 1e-20 < row_norms.max(initial=0.0) < 1e20:  # float32 products would vanish or overflow
        centered_rows, row_norms = _center_rows(T, mean_row, np.float64)
        underflow_slack = 0.0
    for row_block in row_blocks(X.shape[0], centered_rows.itemsize * T.shape[0]):
        if is_self_search and len(X) == row_block.stop - row_block.start:
            x_norms, query_products = (
                row_norms,
                centered_rows @ centered_rows.T,
            )  # a symmetric product costs half
        else:
            centered_queries, x_norms = _center_rows(X[row_block], mean_row, centered_rows.dtype)
            query_products = centered_queries @ centered_rows.T
        block_neighbors = Nearest(neighbors.index[row_block], neighbors.distance[row_block])
        _refine_dense(
            X[row_block],
            T,
            query_products,
            x_norms,
            row_norms,
            underflow_slack,
            skip[row_block],
            block_neighbors.index,
            block_neighbors.distance,
            np.empty(len(T)),
            np.empty_like(neighbors.index[0]),
            np.empty_like(neighbors.distance[0]),
        )


def _center_rows(X: np.ndarray, mean_row: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    centered_rows, squared_norms = np.empty(X.shape, dtype=dtype), np.empty(len(X))
    for row_block in row_blocks(len(X), 8 * X.shape[1]):
        block_rows = X[row_block] - mean_row
        with np.errstate(over="ignore"):  # the norms tell whether float32 holds these rows
            centered_rows[row_block] = block_rows
            np.einsum("ij,ij->i", block_rows, block_rows, out=squared_norms[row_block])
    return centered_rows, squared_norms


@compiled
def _insert_neighbor(distance, row, best_index, best_distance):
    """Put a row into the sorted list; an equal distance comes after the ones already there."""
    insertion_index = len(best_index) - 1
    while insertion_index > 0 and best_distance[insertion_index - 1] > distance:
        best_distance[insertion_index] = best_distance[insertion_index - 1]
        best_index[insertion_index] = best_index[insertion_index - 1]
        insertion_index -= 1
    best_distance[insertion_index] = distance
    best_index[insertion_index] = row


@compiled
def _merge_block(distances, first_row, skip, index, distance):
    k = index.shape[1]
    for i in range(distances.shape[0]):
        for j in range(distances.shape[1]):
            if distances[i, j] < distance[i, k - 1] and first_row + j != skip[i]:
                _insert_neighbor(distances[i, j], first_row + j, index[i], distance[i])


@compiled
def _squared_distance(x, t):
    """Σ(x − t)² in a fixed order of four interleaved sums, so that equal rows tie exactly."""
    d = len(x)
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    for i in range(0, d - 3, 4):
        a += (x[i] - t[i]) * (x[i] - t[i])
        b += (x[i + 1] - t[i + 1]) * (x[i + 1] - t[i + 1])
        c += (x[i + 2] - t[i + 2]) * (x[i + 2] - t[i + 2])
        e += (x[i + 3] - t[i + 3]) * (x[i + 3] - t[i + 3])
    for i in range(d - d % 4, d):
        a += (x[i] - t[i]) * (x[i] - t[i])
    return (a + b) + (c + e)


@compiled
def _refine_dense(
    X, T, query_products, x_norms, row_norms, underflow_slack, skip, index, distance, upper_bounds,
    smallest_index, smallest_bounds,
):  # fmt: skip
    """Keep rows whose lower bound is within the k-th smallest upper bound; measure those exactly."""
    n, d = T.shape
    k = index.shape[1]
    # |error of 2xᵀt| ≤ (d + 3)·u·(‖x‖² + ‖t‖²), u the unit roundoff of float32 (both factors rounded)
    relative_error = (d + 4) * 2.0**-24
    for i in range(X.shape[0]):
        for j in range(n):
            raised_norm = row_norms[j] * (1.0 + relative_error)
            upper_bounds[j] = (
                raised_norm - 2.0 * query_products[i, j]
            )  # of the distance less ‖x‖², up to the error in x
        if skip[i] >= 0:
            upper_bounds[skip[i]] = np.inf
        for t in range(k):
            smallest_bounds[t] = np.inf
        for j in range(n):
            if upper_bounds[j] < smallest_bounds[k - 1]:
                _insert_neighbor(upper_bounds[j], j, smallest_index, smallest_bounds)
        distance_limit = smallest_bounds[k - 1] + 2.0 * relative_error * x_norms[i] + underflow_slack
        for j in range(n):
            if upper_bounds[j] - 2.0 * relative_error * row_norms[j] <= distance_limit:
                exact_distance = _squared_distance(X[i], T[j])
                if exact_distance < distance[i, k - 1]:
                    _insert_neighbor(exact_distance, j, index[i], distance[i])


@compiled
def _search_inverted_index(
    x_ptr, x_cols, x_data, f_ptr, f_rows, f_data, row_norms, query_products, skip, index, distance
):
    n, k = len(row_norms), index.shape[1]
    for c in range(len(f_ptr) - 1):
        for p in range(f_ptr[c], f_ptr[c + 1]):
            row_norms[f_rows[p]] += f_data[p] * f_data[p]
    for i in range(len(x_ptr) - 1):
        for j in range(n):
            query_products[j] = 0.0
        query_norm = 0.0
        for q in range(x_ptr[i], x_ptr[i + 1]):
            value, c = x_data[q], x_cols[q]
            query_norm += value * value
            for p in range(f_ptr[c], f_ptr[c + 1]):
                query_products[f_rows[p]] += value * f_data[p]
        for j in range(n):
            # equal rows have equal norm and product: both differences vanish exactly
            squared_distance = (query_norm - query_products[j]) + (row_norms[j] - query_products[j])
            if squared_distance < distance[i, k - 1] and j != skip[i]:
                _insert_neighbor(squared_distance, j, index[i], distance[i])

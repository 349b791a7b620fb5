"""Small helpers for arrays that may be dense or sparse, and slices of rows in bounded blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

BLOCK_BYTES = 32 * 2**20
EPS = float(np.finfo(np.float64).eps)


def as_dense(product: Any) -> np.ndarray:
    """Return a product of dense and sparse factors as an ndarray."""
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def row_blocks(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Slices of rows of about `BLOCK_BYTES` each."""
    rows_per_block = max(1, BLOCK_BYTES // max(row_bytes, 1))
    for first_row in range(0, n_rows, rows_per_block):
        yield slice(first_row, min(first_row + rows_per_block, n_rows))


def mostly_zero(X: Any) -> bool:
    """Whether fewer than half of the entries differ from zero, however they are stored."""
    return 2 * np.count_nonzero(X.data if sparse.issparse(X) else X) < X.shape[0] * X.shape[1]


def rank_tolerance(values: np.ndarray) -> float:
    """Eigenvalues up to this count as zero: 10·size·ε times the largest.

    The rounding of a Gram and its eigenvalues exceeds size·ε once in a hundred times.
    """
    return 10 * len(values) * EPS * max(float(values.max(initial=0.0)), 0.0)


def first_mean(X: np.ndarray) -> np.ndarray:
    """Mean of the first rows of X: a point near the data to shift by."""
    first_block = next(row_blocks(X.shape[0], 8 * X.shape[1]), slice(0, 0))
    return X[first_block].mean(axis=0, dtype=np.float64)


def mix_columns(M: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """Return M·mixing; a vector means the diagonal of a matrix."""
    return M * mixing if mixing.ndim == 1 else M @ mixing


def mix_both(M: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """Return mixingᵀ·M·mixing."""
    return mix_columns(mix_columns(M, mixing).T, mixing)

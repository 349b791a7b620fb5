"""Ridge for many labels under a memory budget: blocks of labels, one after the other.

A Krylov basis holds one block of min(n, d)×m numbers per product with X; m labels at a time keep it within
the budget, whatever the number of labels. Nothing of a block is kept but its solution, of which
only the largest weights of each label may be kept (`keep_largest`), as napkinXC and PECOS do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from hyperlabel.solvers.evidence import krylov_alpha
from hyperlabel.solvers.ridge import RidgeResult, krylov_memory, solve_auto, solve_ridge
from hyperlabel.solvers.ridge_krylov import KRYLOV_BYTES

PRODUCTS = 30  # block products a basis is planned for
SINGLE_TOLERANCE = 1e-4  # residual asked for when X is float32, and reachable there


class SolvedBlock(NamedTuple):
    """The solution of a block of labels at λ = `alpha`, the mean row, and ‖XcW‖² per label if asked for."""

    result: RidgeResult
    centre: np.ndarray
    alpha: float
    squares: np.ndarray | None


def solve_label_blocks(
    X: Any,
    Y: Any,
    alpha: float | Literal["auto"],
    *,
    route: Any,
    sample_weight: np.ndarray | None = None,
    memory_limit: float | None = None,
    squares: bool = False,
) -> Iterator[SolvedBlock]:
    """Yield the solution of each block of labels, in order.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Rows; float32 rows are solved in float32 (Krylov route).
    Y : csr_array of shape (n, k)
        Labels.
    alpha : float or "auto"
        The ridge λ, the same for all blocks; "auto" for that of the largest evidence.
    route : {"samples", "krylov", "gram", "auto"}
        As in `solve_ridge`.
    sample_weight : ndarray of shape (n,), default=None
        Row weights.
    memory_limit : float, default=None
        Bytes that the solver may take besides X, 1 GiB by default; fewer labels at a time fit in less.
    squares : bool, default=False
        Whether ‖XcW‖² is wanted, too (Krylov route: one more product with X).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = sparse.csr_array(np.eye(4)); Y = sparse.csr_array(np.eye(4)[:, :3])
    >>> blocks = list(solve_label_blocks(X, Y, 1.0, route="krylov", memory_limit=1))
    >>> [block.result.coef.shape for block in blocks]
    [(4, 1), (4, 1), (4, 1)]
    """
    n, d = X.shape
    k = Y.shape[1]
    width, single = k, X.dtype == np.float32
    dtype, tol = np.dtype(np.float32 if single else np.float64), SINGLE_TOLERANCE if single else 1e-6
    if route == "krylov":
        one = krylov_memory(n, d, 0, 1, PRODUCTS, itemsize=dtype.itemsize)
        width = int(max(1, (KRYLOV_BYTES if memory_limit is None else memory_limit) // one))
    options: Any = {"solver": route, "sample_weight": sample_weight, "tol": tol, "dtype": dtype}
    if alpha == "auto" and route == "krylov":
        alpha = krylov_alpha(X, Y, sample_weight)
    columns = sparse.csc_array(Y)
    for first in range(0, k, width):
        block = sparse.csr_array(columns[:, first : first + width]) if width < k else Y
        path: Any
        if alpha == "auto":
            path, alpha = solve_auto(X, block, **options)
        else:
            path = solve_ridge(X, block, alphas=(alpha,), **options)
        result = path.solve(alpha)
        yield SolvedBlock(result, path.x_mean, alpha, path.fitted_squares(alpha) if squares else None)


def keep_largest(coef: np.ndarray, count: int) -> sparse.csr_array:
    """Keep the `count` weights of largest magnitude in each row.

    Examples
    --------
    >>> import numpy as np
    >>> keep_largest(np.array([[3.0, -1.0, 2.0]]), 2).toarray()
    array([[3., 0., 2.]])
    """
    if count < 1:
        raise ValueError(f"At least one weight per label must be kept, got {count}.")
    k, d = coef.shape
    if count >= d:
        return sparse.csr_array(coef)
    columns = np.sort(np.argpartition(-np.abs(coef), count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(coef, columns, axis=1)
    parts = values.ravel(), columns.ravel().astype(np.int32), np.arange(0, k * count + 1, count)
    kept = sparse.csr_array(parts, shape=coef.shape)
    kept.eliminate_zeros()
    return kept

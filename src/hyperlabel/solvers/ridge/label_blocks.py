"""Ridge for many labels under a memory budget: blocks of labels, one after the other.

Sparse rows with λ > 0 are solved by conjugate gradients (`solvers.ridge.conjugate_gradients`), six blocks of
d×m numbers. Dense rows and λ = 0 need a Krylov basis, one block of min(n, d)×m numbers per product with X.
Either way m labels at a time keep within the budget, whatever the number of labels. Nothing of a block is
kept but its solution, of which only the largest weights of each label may be kept (`keep_largest`), as
napkinXC and PECOS do.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from hyperlabel.solvers.ridge.conjugate_gradients import ConjugateRidge
from hyperlabel.solvers.ridge.evidence import krylov_alpha
from hyperlabel.solvers.ridge.krylov_path import KRYLOV_BYTES
from hyperlabel.solvers.ridge.routes import RidgeResult, krylov_memory, solve_auto, solve_ridge

PRODUCTS = 30  # block products a basis is planned for
WIDTH = 128  # labels that share a product: wider blocks leave the cache, narrower ones read X more often
SETTLED = 5e-4  # error of scores from which on the best labels of a row hardly change (docs/scaling.md)
SINGLE = 1e-4  # smallest tolerance asked of single precision


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
    tol: float = SETTLED,
) -> Iterator[SolvedBlock]:
    """Yield the solution of each block of labels, in order, within `memory_limit` bytes besides X (1 GiB).

    `tol` (Krylov route) is the estimated error of a label's scores, root mean square over the rows; for dense
    rows and λ = 0 the relative residual. From 1e-4 on, products are in single precision.
    """
    options: Any = {"solver": route, "sample_weight": sample_weight}
    if route != "krylov":
        path: Any
        if alpha == "auto":
            path, alpha = solve_auto(X, Y, **options)
        else:
            path = solve_ridge(X, Y, alphas=(alpha,), **options)
        yield SolvedBlock(
            path.solve(alpha), path.x_mean, alpha, path.fitted_squares(alpha) if squares else None
        )
        return
    if alpha == "auto":
        alpha = krylov_alpha(X, Y, sample_weight)
    options |= {"tol": tol, "dtype": np.dtype(np.float32 if tol >= SINGLE else np.float64)}
    yield from _krylov_blocks(
        X, Y, alpha, options, KRYLOV_BYTES if memory_limit is None else memory_limit, squares
    )


def _krylov_blocks(
    X: Any, Y: Any, alpha: float, options: dict[str, Any], budget: float, squares: bool
) -> Iterator[SolvedBlock]:
    conjugate, k = sparse.issparse(X) and alpha > 0, Y.shape[1]
    width = block_width(X.shape, k, budget, options["dtype"].itemsize, conjugate=conjugate)
    rows = {"sample_weight": options["sample_weight"], "dtype": options["dtype"]}
    ridge = ConjugateRidge(X, alpha, **rows) if conjugate else None
    columns = sparse.csc_array(Y)
    for first in range(0, k, width):
        block = sparse.csr_array(columns[:, first : first + width]) if width < k else Y
        fitted: np.ndarray | None
        if ridge is not None:
            (result, fitted), centre = ridge.solve(block, tol=options["tol"]), ridge.x_mean
        else:
            path: Any = solve_ridge(X, block, alphas=(alpha,), **options)
            result, centre = path.solve(alpha), path.x_mean
            fitted = path.fitted_squares(alpha) if squares else None
        result = replace(result, coef=result.coef.astype(X.dtype, copy=False))
        yield SolvedBlock(result, centre, alpha, fitted)


def block_width(shape: tuple[int, int], k: int, budget: float, itemsize: int, *, conjugate: bool) -> int:
    """Return how many of k labels are solved at a time: blocks of nearly equal width, in `budget` bytes."""
    n, d = shape
    one = 6 * itemsize * d if conjugate else krylov_memory(n, d, 0, 1, PRODUCTS, itemsize=itemsize)
    most = int(max(1, min(budget // one, WIDTH if conjugate else k)))
    return -(-k // -(-k // most))


def keep_largest(coef: np.ndarray, count: int) -> sparse.csr_array:
    """Keep the `count` weights of largest magnitude in each row."""
    if count < 1:
        raise ValueError(f"At least one weight per label must be kept, got {count}.")
    k, d = coef.shape
    count = min(count, d)
    columns = np.sort(np.argpartition(-np.abs(coef), count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(coef, columns, axis=1)
    parts = values.ravel(), columns.ravel().astype(np.int32), np.arange(0, k * count + 1, count)
    kept = sparse.csr_array(parts, shape=coef.shape)
    kept.eliminate_zeros()
    return kept

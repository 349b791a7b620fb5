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

from hyperlabel.solvers.moments.grouped_moments import GroupedMoments
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.conjugate_gradients import ConjugateRidge
from hyperlabel.solvers.ridge.evidence import krylov_alpha
from hyperlabel.solvers.ridge.grouped_path import GroupedPath, SummedGroups
from hyperlabel.solvers.ridge.krylov_path import KRYLOV_BYTES
from hyperlabel.solvers.ridge.routes import (
    RidgePath,
    RidgeResult,
    RowsPath,
    alpha_of_labels,
    gram_too_ill_conditioned,
    krylov_memory,
    solve_auto,
    solve_ridge,
)

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
    means: np.ndarray | None = None  # of the scores, where they are not the labels' shares


def solve_groups(path: GroupedPath, alpha: float | Literal["auto"], *, squares: bool = False) -> SolvedBlock:
    """Return the solution of labels that do not count on the same samples."""
    if alpha == "auto":
        alpha = path.choose()
    result = path.solve(alpha)
    means, fitted_squares = (path.mean_scores(alpha), path.fitted_squares(alpha)) if squares else (None, None)
    return SolvedBlock(result, path.x_mean, alpha, fitted_squares, means)


def solve_sums(
    moments: RowMoments | GroupedMoments,
    alpha: float | Literal["auto"],
    *,
    squares: bool = False,
    rows: Any = None,
) -> tuple[SolvedBlock, str]:
    """Return the solution of all labels from sums over rows, and its route.

    `rows` (X, Y, weights) are what λ = 0 is read off where the sums have lost too many digits.
    """
    if isinstance(moments, GroupedMoments):
        groups = SummedGroups(moments)
        return solve_groups(groups, alpha, squares=squares), groups.solver
    path: Any = RidgePath(moments, alphas=() if alpha == "auto" else (alpha,))
    if alpha == "auto":
        alpha = alpha_of_labels(moments, path)
    if rows is not None and alpha == 0 and gram_too_ill_conditioned(path, rows[0].shape):
        path = RowsPath(rows[0], rows[1], sample_weight=rows[2])
    fitted_squares = path.fitted_squares(alpha) if squares else None
    return SolvedBlock(path.solve(alpha), path.x_mean, alpha, fitted_squares), path.solver


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
        ridge_path: Any
        if alpha == "auto":
            ridge_path, alpha = solve_auto(X, Y, **options)
        else:
            ridge_path = solve_ridge(X, Y, alphas=(alpha,), **options)
        yield SolvedBlock(
            ridge_path.solve(alpha),
            ridge_path.x_mean,
            alpha,
            ridge_path.fitted_squares(alpha) if squares else None,
        )
        return
    if alpha == "auto":
        alpha = krylov_alpha(X, Y, sample_weight)
    options |= {"tol": tol, "dtype": np.dtype(np.float32 if tol >= SINGLE else np.float64)}
    yield from _solve_krylov_blocks(
        X, Y, alpha, options, KRYLOV_BYTES if memory_limit is None else memory_limit, squares
    )


def _solve_krylov_blocks(
    X: Any, Y: Any, alpha: float, options: dict[str, Any], budget: float, squares: bool
) -> Iterator[SolvedBlock]:
    by_conjugate_gradients, k = sparse.issparse(X) and alpha > 0, Y.shape[1]
    labels_per_block = block_width(
        X.shape, k, budget, options["dtype"].itemsize, conjugate=by_conjugate_gradients
    )
    row_options = {"sample_weight": options["sample_weight"], "dtype": options["dtype"]}
    conjugate_ridge = ConjugateRidge(X, alpha, **row_options) if by_conjugate_gradients else None
    label_columns = sparse.csc_array(Y)
    for first_label in range(0, k, labels_per_block):
        label_block = (
            sparse.csr_array(label_columns[:, first_label : first_label + labels_per_block])
            if labels_per_block < k
            else Y
        )
        fitted_squares: np.ndarray | None
        if conjugate_ridge is not None:
            (block_solution, fitted_squares), mean_row = (
                conjugate_ridge.solve(label_block, tol=options["tol"]),
                conjugate_ridge.x_mean,
            )
        else:
            ridge_path: Any = solve_ridge(X, label_block, alphas=(alpha,), **options)
            block_solution, mean_row = ridge_path.solve(alpha), ridge_path.x_mean
            fitted_squares = ridge_path.fitted_squares(alpha) if squares else None
        block_solution = replace(block_solution, coef=block_solution.coef.astype(X.dtype, copy=False))
        yield SolvedBlock(block_solution, mean_row, alpha, fitted_squares)


def block_width(shape: tuple[int, int], k: int, budget: float, itemsize: int, *, conjugate: bool) -> int:
    """Return how many of k labels are solved at a time: blocks of nearly equal width, in `budget` bytes."""
    n, d = shape
    label_bytes = 6 * itemsize * d if conjugate else krylov_memory(n, d, 0, 1, PRODUCTS, itemsize=itemsize)
    max_width = int(max(1, min(budget // label_bytes, WIDTH if conjugate else k)))
    return -(-k // -(-k // max_width))  # ceilings: the fewest blocks, then equal widths


def keep_largest(coef: np.ndarray, count: int) -> sparse.csr_array:
    """Keep the `count` weights of largest magnitude in each row."""
    if count < 1:
        raise ValueError(f"At least one weight per label must be kept, got {count}.")
    k, d = coef.shape
    count = min(count, d)
    top_columns = np.sort(np.argpartition(-np.abs(coef), count - 1, axis=1)[:, :count], axis=1)
    top_weights = np.take_along_axis(coef, top_columns, axis=1)
    csr_arrays = top_weights.ravel(), top_columns.ravel().astype(np.int32), np.arange(0, k * count + 1, count)
    sparse_coef = sparse.csr_array(csr_arrays, shape=coef.shape)
    sparse_coef.eliminate_zeros()
    return sparse_coef

"""What a shared ridge will cost, from shapes alone: route, seconds and bytes before anything heavy runs.

Each route is a sum of steps; how long one takes follows from a product of matrices, timed on the machine:

route    steps (d³ and n³ in thirds: Cholesky)                       bytes beyond X and Y
gram     n·d² (sparse rows: Σ nnz of a row squared), XᵀY, d³, d²k    three d×d, three d×k
samples  n²·d (sparse rows: the same along columns), n³, n²k, nnz·k  three n×n, three d×k
krylov   products with the rows for blocks of labels, nnz·k each     X again, blocks, d×k

The weights of the steps were fitted to eleven shapes, and are within 1.4× of their CPU seconds.
"""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from hyperlabel.solvers.ridge.krylov_path import KRYLOV_BYTES
from hyperlabel.solvers.ridge.label_blocks import WIDTH
from hyperlabel.solvers.ridge.routes import route_of_shape

# In units of one multiplication inside a product of dense matrices:
GATHER = 8.0  # one step through sparse rows, labels side by side
SCATTER = 230.0  # one step of a product of two sparse matrices
FILL = 1000.0  # one entry of such a product: sorted, made dense, centred
PRODUCTS = 12  # with the rows, in a typical fit at the default tolerance


@dataclass(frozen=True)
class Estimate:
    """The route of a fit, CPU seconds of one thread, and bytes beyond X and Y."""

    route: str
    seconds: float
    bytes: int


def estimate_cost(
    n_rows: int,
    n_features: int,
    n_labels: int,
    n_nonzeros: int | None = None,
) -> Estimate:
    """Estimate one fit of `BinaryRelevance` at a given λ (and, nearly, of the label-space methods).

    `n_nonzeros` are those of sparse rows (None: dense); labels are taken to be three a row. Losses other than
    the squared one are not estimated: what they take depends on the data, not on shapes alone.
    """
    n, d, k = n_rows, n_features, n_labels
    route = route_of_shape(n, d, n_nonzeros is not None)
    nnz = n * d if n_nonzeros is None else n_nonzeros
    if route == "krylov":
        n_multiplications, peak_bytes = _estimate_krylov(n, d, k, nnz, n_nonzeros is None)
    else:
        q = d if route == "gram" else n
        peak_bytes = 24.0 * (q * q + d * k)
        n_multiplications = q**3 / 3 + 4.0 * q * q * k
        if n_nonzeros is None:
            n_multiplications += n * d * q + (min(n * k, GATHER * 3 * n) * d if q == d else 2.0 * nnz * k)
        else:  # a row meets itself in the Gram of columns, a column in that of rows
            n_multiplications += (
                SCATTER * nnz * nnz / (n if q == d else d) + FILL * q * q + GATHER * nnz * k * (q == n)
            )
    return Estimate(route, n_multiplications / product_rate(), int(peak_bytes))


def _estimate_krylov(n: int, d: int, k: int, nnz: int, is_dense: bool) -> tuple[float, float]:
    small_side, block_width = min(n, d), min(k, WIDTH)
    if is_dense:  # block Lanczos in single precision
        n_multiplications = 2 * PRODUCTS * (nnz * k + 4.0 * small_side * k * k)
        peak_bytes = min(KRYLOV_BYTES, 4.0 * small_side * k * (2 * PRODUCTS + 5)) + 4 * nnz + 8 * d * k
    else:  # conjugate gradients: six blocks, and the rows once more
        n_multiplications = PRODUCTS * (GATHER * nnz + 12.0 * d) * k
        peak_bytes = min(KRYLOV_BYTES, 24.0 * d * block_width) + 12 * nnz + 8 * d * k
    return n_multiplications, peak_bytes


@cache
def product_rate() -> float:
    """Return this machine's multiplications per second and core in a product of matrices; measured once."""
    A = np.ones((384, 384))
    best_seconds = np.inf
    for _ in range(4):
        start_seconds = time.process_time()
        A @ A
        best_seconds = min(best_seconds, max(time.process_time() - start_seconds, 1e-6))
    return len(A) ** 3 / best_seconds

"""What a shared ridge will need, from shapes alone: route and bytes before anything heavy runs.

route    bytes beyond X and Y
gram     three d×d, three d×k
samples  three n×n, three d×k
krylov   X again, blocks of labels within a budget, d×k
"""

from dataclasses import dataclass

from hyperlabel.solvers.ridge.krylov_path import KRYLOV_BYTES
from hyperlabel.solvers.ridge.label_blocks import WIDTH
from hyperlabel.solvers.ridge.routes import route_of_shape

_PRODUCTS = 12  # with the rows, in a typical fit at the default tolerance


@dataclass(frozen=True)
class RidgeMemory:
    """The route of a fit, and bytes beyond X and Y."""

    route: str
    bytes: int


def estimate_memory(
    n_rows: int, n_features: int, n_labels: int, n_nonzeros: int | None = None
) -> RidgeMemory:
    """Estimate one fit of `BinaryRelevance` at a given λ; `n_nonzeros` are those of sparse rows."""
    n, d, k = n_rows, n_features, n_labels
    route = route_of_shape(n, d, n_nonzeros is not None)
    if route != "krylov":
        q = d if route == "gram" else n
        return RidgeMemory(route, 24 * (q * q + d * k))
    if n_nonzeros is None:  # block Lanczos in single precision
        basis_bytes = min(KRYLOV_BYTES, 4 * min(n, d) * k * (2 * _PRODUCTS + 5))
        return RidgeMemory(route, int(basis_bytes) + 4 * n * d + 8 * d * k)
    # conjugate gradients: six blocks, and the rows once more
    block_bytes = min(KRYLOV_BYTES, 24 * d * min(k, WIDTH))
    return RidgeMemory(route, int(block_bytes) + 12 * n_nonzeros + 8 * d * k)

"""The memory model names the route the solver takes, and grows the way the route does."""

import numpy as np
import pytest
from scipy import sparse

from hyperlabel import BinaryRelevance
from hyperlabel.solvers.ridge.memory import estimate_memory

SHAPES = [(40, 5, False), (5, 40, False), (60, 9, True), (9, 60, True), (8200, 8100, False)]
SHAPES.append((2600, 2600, True))


@pytest.mark.parametrize(("n", "d", "is_sparse"), SHAPES)
def test_the_route_named_is_the_route_taken(n, d, is_sparse):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=min(1.0, 20 / d), rng=rng, format="csr")
    found = estimate_memory(n, d, 2, X.nnz if is_sparse else None)
    if not is_sparse and n > 100:  # dense rows of this size only in theory
        assert found.route == "krylov"
        return
    Y = rng.integers(0, 2, size=(n, 2))
    model = BinaryRelevance().fit(X if is_sparse else X.toarray(), Y)
    assert found.route == model.solver_


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize(
    "base", [(20_000, 400, 100), (20_000, 400, 2), (1000, 20_000, 100), (50_000, 30_000, 300)]
)
def test_more_of_anything_never_needs_less(base, sparse_rows):
    def memory(n, d, k, each=50):
        return estimate_memory(n, d, k, n * each if sparse_rows else None)

    n, d, k = base
    once = memory(n, d, k)
    for larger in (memory(2 * n, d, k), memory(n, 2 * d, k), memory(n, d, 2 * k), memory(n, d, k, each=100)):
        if larger.route == once.route:
            assert larger.bytes >= once.bytes


def test_memory_of_dense_block_lanczos_is_its_basis_the_rows_and_the_weights():
    n, d, k = 50_000, 30_000, 1000
    assert estimate_memory(n, d, k).bytes == 2**30 + 4 * n * d + 8 * d * k  # 1 GiB, as memory_limit says


def test_memory_of_conjugate_gradients_is_six_blocks_the_rows_and_the_weights():
    n, d, k, nnz = 50_000, 30_000, 50, 10**6
    found = estimate_memory(n, d, k, nnz)
    assert found.route == "krylov"
    assert found.bytes == 6 * 4 * d * k + 12 * nnz + 8 * d * k

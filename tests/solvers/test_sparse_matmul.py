"""The compiled product of sparse rows and a dense block against scipy's."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.solvers.sparse_matmul import WIDE, ColumnsInTurn, sparse_times_dense


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, WIDE - 1, WIDE, 37])
@pytest.mark.parametrize("shape", [(0, 4), (5, 9), (300, 40)])
def test_equals_scipy(dtype, columns, shape):
    rng = np.random.default_rng(columns)
    A = sparse.random_array(shape, density=0.2, rng=rng, dtype=dtype, format="csr")
    for B in (rng.normal(size=(shape[1], columns)).astype(dtype), np.ones((columns, shape[1]), dtype).T):
        found = sparse_times_dense(A, B)
        assert found.dtype == dtype
        assert_allclose(found, A @ B, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)


def test_shapes_that_do_not_meet_are_refused_before_compiled_code():
    with pytest.raises(ValueError, match="mismatch"):
        sparse_times_dense(sparse.csr_array(np.ones((3, 2))), np.ones((3, WIDE)))


@pytest.mark.parametrize("density", [0.0, 0.3])
def test_columns_in_turn_add_up_to_the_whole_product(density):
    """Blocks of any size, none included; sums in the precision of the result."""
    rng = np.random.default_rng(0)
    A = sparse.random_array((50, 6), density=density, rng=rng, dtype=np.float32, format="csr")
    B, out = rng.normal(size=(50, 4)).astype(np.float32), np.ones((6, 4))
    columns = ColumnsInTurn(A[::-1])
    for first, last in pairwise([0, 1, 1, 20, 45, 50]):
        columns.add_product(slice(first, last), B[first:last], out)
    assert_allclose(out, 1 + (A[::-1].T.astype(np.float64) @ B), rtol=1e-5, atol=1e-6)

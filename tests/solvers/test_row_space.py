"""Rows whose inner products are a kernel."""

from contextlib import nullcontext

import numpy as np
import pytest

from hyperlabel.solvers.rank.row_space import kernel_space


def test_a_kernel_of_zeros_has_rows_without_columns():
    space = kernel_space(np.zeros((3, 3)))
    assert space.rows.shape == space.lift.shape == (3, 0)


def test_a_kernel_is_refused_where_an_eigenvalue_is_negative_beyond_rounding():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    for least, refused in ((-0.9e-6, False), (-1.1e-6, True)):
        K = (Q * [least, 0.1, 0.2, 0.5, 1.0]) @ Q.T
        with pytest.raises(ValueError, match="positive semi-definite") if refused else nullcontext():
            assert kernel_space(K).rows.shape == (5, 4)

"""Kernels as rows: their inner products are the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from hyperlabel.geometry.kernels import KernelRows

X = np.random.default_rng(0).normal(size=(30, 4))


def test_landmarks_everywhere_give_the_kernel():
    rows = KernelRows.landmarks("rbf", {"gamma": 0.2}, X, 30, 0)
    Z, new = rows.rows(X), rows.rows(X + 0.1)
    assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.2), atol=1e-9)
    assert_allclose(new @ Z.T, rbf_kernel(X + 0.1, X, gamma=0.2), atol=1e-9)


def test_some_landmarks_give_the_nystroem_products():
    rows = KernelRows.landmarks("rbf", {"gamma": 0.2}, X, 8, 0)
    K = rbf_kernel(rows.basis, gamma=0.2)
    want = rbf_kernel(X, rows.basis, gamma=0.2)
    assert_allclose(rows.rows(X) @ rows.rows(X).T, want @ np.linalg.inv(K) @ want.T, atol=1e-8)
    with pytest.raises(ValueError, match="precomputed"):
        KernelRows.landmarks("precomputed", {}, X, 5)

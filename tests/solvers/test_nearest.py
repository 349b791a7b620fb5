"""Nearest rows: against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from hyperlabel.solvers.neighbors.nearest import solve_nearest


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_nearest_rows_equal_brute_force_with_any_offset(offset):
    X = np.random.default_rng(3).normal(size=(200, 6)) + offset
    X = np.vstack([X, X[:50]])
    found = solve_nearest(X, X, 5, skip=np.arange(250))
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(found.index, np.argsort(D, axis=1, kind="stable")[:, :5])
    distance, _ = NearestNeighbors(n_neighbors=5, algorithm="kd_tree").fit(X).kneighbors()
    np.testing.assert_allclose(found.distance, distance, atol=1e-9)
    if not offset:
        walked = solve_nearest(sparse.csr_array(X), sparse.csr_array(X), 5, skip=np.arange(250))
        np.testing.assert_allclose(walked.distance, distance, atol=1e-7)

"""Margins of label sets: against the definition."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from hyperlabel.solvers.labels.vertex_decode import best_with_and_without, label_margins


def test_margins_equal_the_definition():
    rng = np.random.default_rng(0)
    V = sparse.csr_array((rng.random((9, 5)) < 0.4).astype(float))
    S = rng.normal(size=(20, 9))
    on, off = best_with_and_without(S, V)
    D = V.toarray() > 0
    for k in range(5):
        assert_allclose(on[:, k], S[:, D[:, k]].max(axis=1, initial=-np.inf))
        assert_allclose(off[:, k], S[:, ~D[:, k]].max(axis=1, initial=-np.inf))
    chosen = D[S.argmax(axis=1)]
    assert_array_equal(label_margins(on, off, chosen) > 0, chosen)

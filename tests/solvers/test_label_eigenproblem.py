"""The problem behind every projection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.solvers.spectral.label_eigenproblem import _moments_to_keep


@pytest.mark.parametrize(
    ("shape", "kept"), [((2010, 2000), True), ((2010, 2001), False), ((1990, 2000), False)]
)
def test_sums_are_kept_up_to_2000_features_that_are_no_more_than_the_rows(shape, kept):
    """Models say so when rows are to be added that they have no sums for."""
    X = sparse.random_array(shape, density=0.001, rng=np.random.default_rng(0), format="csr")
    Y = sparse.csr_array(np.eye(shape[0], 3))
    assert (_moments_to_keep(X, Y) is not None) == kept
    assert _moments_to_keep(X, None) is None

"""Label factors in blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.geometry import ExpansionFactor


def _labels(seed: int = 0, n: int = 14, k: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, k)) < 0.35).astype(float)
    Y[2] = 0.0  # an unlabelled sample
    Y[:, 3] = 0.0  # an empty label
    return Y


@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_blocks_of_rows_give_the_rows_of_the_factor(expansion):
    Y = sparse.csr_array(_labels())
    rule = ExpansionFactor(expansion)
    edges = rule.edges(rule.edge_moments(Y))
    whole = rule.on(Y, edges)
    assert_allclose(rule.on(Y[5:9], edges).toarray(), whole.toarray()[5:9])
    assert sparse.issparse(whole.tosparse())

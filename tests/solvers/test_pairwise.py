"""Rows of pairs of labels: against a loop over the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import Ridge

from hyperlabel.solvers.rank.pairwise import differing_rows, label_pairs, solve_pairwise_ridge

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(50, 4)), (rng.random((50, 4)) < 0.4).astype(float)
UNKNOWN = (rng.random((50, 4)) < 0.3).astype(float)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_rows_of_a_pair_know_both_labels_and_carry_one(has_gaps):
    missing = sparse.csr_array(UNKNOWN) if has_gaps else None
    gaps = np.where(UNKNOWN > 0, np.nan, Y) if has_gaps else Y
    known = sparse.csr_array(np.nan_to_num(gaps))
    coef, intercept = solve_pairwise_ridge(X, known, alpha=0.3, missing=missing)
    for t, (rows, side, *_, p, q) in enumerate(differing_rows(known, missing)):
        assert_array_equal(label_pairs(4)[t], [p, q])
        want = np.flatnonzero(np.abs(gaps[:, p] - gaps[:, q]) == 1)
        assert_array_equal(np.sort(rows), want)
        assert_array_equal(side, 2 * gaps[rows, p] - 1)
        twin = Ridge(alpha=0.3).fit(X[want], 2 * gaps[want, p] - 1)
        assert_allclose(coef[t], twin.coef_, atol=1e-9)
        assert_allclose(intercept[t], twin.intercept_, atol=1e-9)

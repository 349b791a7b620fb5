"""Scaled rows against their definition: no mean, no unit, and coefficients that lead back."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from hyperlabel.solvers.rank.scaling import FeatureScaling

RNG = np.random.default_rng(0)
X = RNG.normal(3.0, [1.0, 10.0, 0.1, 5.0], size=(50, 4))
X[:, 3] = 2.0  # says nothing


def test_dense_rows_lose_mean_and_unit_and_sparse_ones_keep_their_zeros():
    scaling = FeatureScaling.fit(X)
    rows = scaling.rows(X)
    assert_allclose(rows.mean(axis=0), 0.0, atol=1e-14)
    assert_allclose(rows[:, :3].std(axis=0), np.full(3, 0.5))  # of four features, each brings 1/d
    assert_array_equal(rows[:, 3], 0.0)
    assert_allclose(scaling.rows(X, center=False) - scaling.shift, rows, atol=1e-13)
    holes = sparse.csr_array(np.where(RNG.random(X.shape) < 0.5, X, 0.0))
    kept = scaling.rows(holes)
    assert kept.nnz == holes.nnz
    assert_allclose(kept.toarray(), scaling.rows(holes.toarray(), center=False))


def test_coefficients_lead_back_to_rows_as_they_were():
    scaling, W, b = FeatureScaling.fit(X), RNG.normal(size=(4, 2)), RNG.normal(size=2)
    coef, intercept = scaling.unscale(W, b)
    assert_allclose(X @ coef.T + intercept, scaling.rows(X) @ W + b)


def test_scaling_by_the_norm_makes_the_variances_sum_to_one():
    X = np.random.default_rng(0).normal(size=(30, 4)) * [1.0, 2.0, 3.0, 4.0]
    assert_allclose(FeatureScaling.fit(X, "norm").rows(X).var(axis=0).sum(), 1.0)
    assert_array_equal(FeatureScaling.fit(np.ones((3, 2)), "norm").scale, [1.0, 1.0])


def test_rows_with_few_entries_are_scaled_by_their_norm_unless_told_otherwise():
    thin = np.where(np.random.default_rng(0).random((30, 4)) < 0.2, 3.0, 0.0)
    for rows, mode in ((sparse.csr_array(thin), "norm"), (thin, "norm"), (X, "standard")):
        assert_allclose(FeatureScaling.fit(rows).scale, FeatureScaling.fit(rows, mode).scale)

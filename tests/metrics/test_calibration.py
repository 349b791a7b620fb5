"""Reliability data against scikit-learn's calibration curve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import calibration_curve

from hyperlabel.metrics import reliability


def test_agrees_with_sklearn():
    rng = np.random.default_rng(0)
    p = rng.random((400, 3))
    y = rng.random(p.shape) < p**2
    found = reliability(sparse.csr_array(y), p, n_bins=7)
    observed, predicted = calibration_curve(y.ravel(), p.ravel(), n_bins=7, strategy="quantile")
    np.testing.assert_allclose(found.predicted, predicted)
    np.testing.assert_allclose(found.observed, observed)
    assert found.weight.sum() == y.size


def test_unknown_entries_are_left_out_of_bins_and_edges():
    p = np.array([[0.1, 0.9], [0.1, 0.9], [0.5, 0.5]])
    y = np.array([[0.0, np.nan], [1.0, 1.0], [np.nan, np.nan]])
    found = reliability(y, p, n_bins=3, sample_weight=[1, 3, 2])
    known = ~np.isnan(y)  # 0.5 is unknown: neither a bin nor an edge is its
    edges = np.unique(np.quantile(p[known], np.linspace(0.0, 1.0, 4)))
    np.testing.assert_allclose(found.edges, edges)
    np.testing.assert_allclose(found.weight, [4, 3])
    np.testing.assert_allclose(found.observed, [0.75, 1.0])
    np.testing.assert_allclose(found.predicted, [0.1, 0.9])
    assert found.calibration_error == pytest.approx((4 * 0.65 + 3 * 0.1) / 7)
    assert reliability([[1], [0]], [[0.5], [0.5]]).observed == pytest.approx([0.5])
    assert reliability([[1], [0]], [[0.9], [0.2]], n_bins=2).calibration_error == pytest.approx(0.15)


def test_refusals():
    with pytest.raises(ValueError, match="not a list"):
        reliability([[1]], (np.array([[0]]), np.array([[0.5]])))

"""Projections with a linear read-out."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hyperlabel import BinaryRelevance, HypergraphSpectral
from hyperlabel.projection.readout import read_out


def make_data(seed=0, n=60, d=12, k=6, rank=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if rank is None else rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    Y = ((X[:, :3] @ rng.normal(size=(3, k)) + rng.normal(size=(n, k))) > 0.5).astype(float)
    Y[5:8] = 0.0  # unlabelled rows
    Y[:, -1] = 0.0  # an empty label
    Y[:, -2] = Y[:, 0]  # a repeated one
    return X, Y


def test_the_read_out_leaves_directions_that_no_row_reaches():
    rng = np.random.default_rng(0)
    for _ in range(20):
        Z = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 6))
        target = rng.normal(size=(30, 2))
        expected = np.linalg.lstsq(Z, target, rcond=1e-10)[0]
        assert_allclose(read_out(Z.T @ Z, Z.T @ target, 0.0), expected, atol=1e-8)


def test_the_papers_classifier_in_one_line():
    X, Y = make_data(16, n=150)
    model = make_pipeline(HypergraphSpectral(cross_fit=5, random_state=0), BinaryRelevance(LinearSVC()))
    assert model.fit(X, Y).score(X, Y) > 0.3

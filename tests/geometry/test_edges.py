"""Hyperedge weights against pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel.geometry import EdgeMoments, ExpansionFactor, edge_weights


def _labels(seed: int = 0, n: int = 14, k: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, k)) < 0.35).astype(float)
    Y[2] = 0.0  # an unlabelled sample
    Y[:, 3] = 0.0  # an empty label
    return Y


def test_compactness_is_the_mean_squared_distance_of_pairs():
    Y, X = _labels(5), np.random.default_rng(6).normal(size=(14, 3)) + 100.0
    Y[:, 4] = 0
    Y[7, 4] = 1  # a single member
    scatter = np.full(5, np.nan)
    for e in range(3):
        rows = X[Y[:, e] > 0]
        pairs = [((a - b) ** 2).sum() for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j]
        scatter[e] = np.mean(pairs)
    sums = EdgeMoments.from_rows(sparse.csr_array(Y), X)
    assert_allclose(sums.scatter(), scatter)
    parts = EdgeMoments.from_rows(sparse.csr_array(Y[:6]), X[:6], shift=sums.shift)
    parts.add(EdgeMoments.from_rows(sparse.csr_array(Y[6:]), X[6:], shift=sums.shift))
    assert_allclose(parts.scatter(), scatter)
    sparse_sums = EdgeMoments.from_rows(sparse.csr_array(Y), sparse.csr_array(X))
    assert_allclose(sparse_sums.scatter(), scatter)
    literal = edge_weights("compactness-literal", sums, nu=0.5)
    assert_allclose(literal, [*np.exp(-0.5 * scatter[:3]), 1.0, 1.0])
    relative = edge_weights("compactness", sums, nu=0.5)
    assert_allclose(relative, [*np.exp(-0.5 * scatter[:3] / scatter[:3].mean()), 1.0, 1.0])


def test_weights_that_make_no_sense_are_refused():
    sums = EdgeMoments.from_rows(sparse.csr_array(_labels()))
    names = np.array(list("abcde"))
    assert_allclose(edge_weights({"b": 3.0, 2: 0.5}, sums, label_names=names), [1, 3, 0.5, 1, 1])
    for wrong, sentence in [
        ("magic", "Unknown edge_weights"),
        ({"z": 1.0}, "which y does not have"),
        ([1.0, 2.0], "one number for each"),
        ([-1.0, 1, 1, 1, 1], "not negative"),
        (np.zeros(5), "Every hyperedge weight is 0"),
        ("compactness", "need the rows X"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            edge_weights(wrong, sums, label_names=names)
    with pytest.raises(ValueError, match="Unknown expansion"):
        ExpansionFactor("square")

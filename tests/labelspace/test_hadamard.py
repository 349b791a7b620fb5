"""Random codes and their recovery."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import Ridge

from hyperlabel import CompressedSensing
from hyperlabel.labelspace import (
    HadamardEncoder,
    ideal_scores,
)


@pytest.mark.parametrize("sensing", ["hadamard", "bernoulli", "gaussian"])
def test_sparse_sets_come_back_from_enough_codes_of_every_sensing_matrix(sensing):
    rng = np.random.default_rng(0)
    Y = np.zeros((40, 64), dtype=int)
    for row in Y:
        row[rng.choice(64, 2, replace=False)] = 1
    encoder = HadamardEncoder(48, sensing=sensing, random_state=1).fit(Y)
    assert_allclose(np.linalg.norm(encoder.components_, axis=0), 1.0)
    assert np.array_equal(encoder.inverse_transform(encoder.transform(Y)) > 0.5, Y)


@pytest.mark.parametrize("decoder", ["cosamp", "omp"])
def test_compressed_sensing_recovers_sparse_sets_from_perfect_codes(decoder):
    rng = np.random.default_rng(0)
    K, s = 500, 4
    sets = np.zeros((300, K), dtype=int)
    for row in sets:
        row[rng.choice(K, rng.integers(0, s + 1), replace=False)] = 1
    encoder = HadamardEncoder(int(np.ceil(6 * s * np.log(K))), decoder=decoder, random_state=1).fit(sets)
    assert encoder.sparsity_ == s
    assert_array_equal(ideal_scores(encoder, sets) > 0, sets)


def test_best_vertex_counts_sparsity_after_the_flip():
    dense_sets = 1 - np.eye(6, dtype=int)
    assert HadamardEncoder(4).fit(dense_sets).sparsity_ == 5
    encoder = HadamardEncoder(reference="best_vertex").fit(dense_sets)
    assert encoder.sparsity_ == 1
    assert_array_equal(ideal_scores(encoder, dense_sets) > 0, dense_sets)


def test_compressed_sensing_is_a_ridge_of_random_codes():
    X, Y = make_multilabel_classification(n_samples=80, n_features=6, n_classes=8, random_state=0)
    model = CompressedSensing(6, alpha=0.5, random_state=3).fit(X, Y)
    P = model.encoder_.components_
    assert_allclose(P @ P.T, 8 / 6 * np.eye(6), atol=1e-12)  # rows of a Hadamard matrix, columns of length 1
    codes = Ridge(alpha=0.5).fit(X, Y @ P.T).predict(X)
    assert_allclose(model.predict_codes(X), codes, atol=1e-9)
    assert_allclose(model.decision_function(X), 2 * model.encoder_.inverse_transform(codes) - 1, atol=1e-6)

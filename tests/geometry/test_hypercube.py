"""Vertices of the label cube: reference points, XOR, distinct sets, Hadamard rows, Lemma 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import linalg, sparse

from hyperlabel.geometry.hypercube import (
    distinct_vertices,
    flip_vertices,
    hadamard_order,
    hadamard_sample,
    majority_vertex,
    mean_vertex,
    round_to_vertex,
)

labels = st.integers(0, 10_000).map(
    lambda seed: (np.random.default_rng(seed).random((9, 5)) < 0.4).astype(float)
)


@settings(max_examples=25, deadline=None)
@given(Y=labels, noise=st.floats(0, 3))
def test_lemma_1(Y, noise):
    points = Y + noise * np.random.default_rng(0).normal(size=Y.shape)
    hamming = (round_to_vertex(points) != Y).mean(axis=1)
    assert (hamming <= 4 / Y.shape[1] * ((points - Y) ** 2).sum(axis=1)).all()


@settings(max_examples=25, deadline=None)
@given(Y=labels)
def test_flip_is_its_own_inverse_and_the_best_vertex_makes_sets_smaller(Y):
    A = sparse.csr_array(Y)
    vertex = majority_vertex(A)
    flipped = flip_vertices(A, vertex)
    assert_array_equal(flipped.toarray(), np.logical_xor(Y, vertex))
    assert_array_equal(flip_vertices(flipped, vertex).toarray(), Y)
    assert flipped.nnz <= A.nnz
    assert_array_equal(mean_vertex(A), Y.mean(axis=0))


@settings(max_examples=25, deadline=None)
@given(Y=labels)
def test_distinct_vertices_equal_numpy_unique(Y):
    found = distinct_vertices(sparse.csr_array(Y))
    assert_array_equal(found.Y.toarray()[found.codes], Y)
    assert len(found.counts) == len(np.unique(Y, axis=0))
    assert (np.diff(found.counts) <= 0).all()
    assert_array_equal(found.counts, np.bincount(found.codes))


def test_hadamard_rows_are_those_of_scipy():
    assert [hadamard_order(K) for K in (1, 2, 3, 6, 14, 374, 983)] == [1, 2, 4, 8, 16, 512, 1024]
    P = hadamard_sample(8, 8, np.random.default_rng(0)) * np.sqrt(8)
    columns = {tuple(c) for c in linalg.hadamard(8).T}
    assert {tuple(c) for c in P.T} == columns
    with pytest.raises(ValueError, match="Hadamard order 8"):
        hadamard_sample(9, 6, np.random.default_rng(0))

"""Landmarks against scikit-learn's Nystroem, and models on moments behind it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

import hyperlabel
from hyperlabel import BinaryRelevance, NystroemRBF
from hyperlabel.neighbors import _nystroem_rbf


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.where(rng.random((90, 7)) < 0.5, rng.normal(size=(90, 7)), 0.0)


def test_the_width_is_the_mean_squared_distance(rows):
    model = NystroemRBF(10, length_scale=3.0, random_state=0).fit(rows)
    assert_allclose(1 / model.gamma_, 3.0 * cdist(rows, rows, "sqeuclidean").mean())


def test_all_rows_as_landmarks_give_the_kernel_itself(rows):
    model = NystroemRBF(90, random_state=0).fit(rows)
    Z = model.transform(rows)
    assert Z.dtype == np.float32
    assert_allclose(Z @ Z.T, rbf_kernel(rows, gamma=model.gamma_), atol=2e-4)


def test_dot_products_are_those_of_scikit_learn_with_the_same_landmarks(rows):
    model = NystroemRBF(25, random_state=0).fit(rows)
    theirs = Nystroem(gamma=model.gamma_, n_components=25, random_state=0).fit(model.components_)
    Z, T = model.transform(rows), theirs.transform(rows)
    assert_allclose(Z @ Z.T, T @ T.T, atol=1e-3)


def test_sparse_rows_and_small_blocks_change_nothing(rows, monkeypatch):
    expected = NystroemRBF(20, random_state=0).fit(rows).transform(rows)
    monkeypatch.setattr("hyperlabel.solvers.arrays.BLOCK_BYTES", 16 * 20 * 7)
    thin = sparse.csr_array(rows)
    assert_allclose(NystroemRBF(20, random_state=0).fit(thin).transform(thin), expected, atol=1e-4)


def test_streaming_and_merging_through_the_map_equal_one_fit(rows):
    Y = np.column_stack([np.abs(rows[:, 0]) < 0.5, rows[:, 1] > 0]).astype(int)
    lift = NystroemRBF(15, random_state=0).fit(rows[:40])  # fixed after its first rows
    whole = BinaryRelevance(alpha="auto").fit(lift.transform(rows), Y)
    parts = BinaryRelevance(alpha="auto")
    for part in (slice(0, 40), slice(40, 70), slice(70, 90)):
        parts.partial_fit(lift.transform(rows[part]), Y[part])
    other = BinaryRelevance(alpha="auto").fit(lift.transform(rows[70:]), Y[70:])
    merged = BinaryRelevance(alpha="auto").fit(lift.transform(rows[:70]), Y[:70]).merge(other)
    for model in (parts, merged):
        assert model.alpha_ == whole.alpha_
        assert_allclose(model.coef_, whole.coef_, rtol=1e-4, atol=1e-5)


def test_equal_rows_have_one_direction():
    Z = NystroemRBF(5, random_state=0).fit_transform(np.ones((8, 3)))
    assert_allclose(np.abs(Z), np.ones((8, 1)), atol=1e-6)


def test_no_block_is_wider_than_promised(rows, monkeypatch):
    asked = []
    plain = _nystroem_rbf.row_blocks
    monkeypatch.setattr(_nystroem_rbf, "row_blocks", lambda n, size: asked.append(size) or plain(n, size))
    NystroemRBF(20, random_state=0).fit(rows).transform(rows)
    assert asked == [16 * 20]


def test_a_file_brings_the_same_map_back(rows, tmp_path):
    lift = NystroemRBF(12, random_state=0).fit(sparse.csr_array(rows))
    hyperlabel.save(lift, tmp_path / "map.hlm")
    again = hyperlabel.load(tmp_path / "map.hlm")
    assert_array_equal(again.transform(sparse.csr_array(rows)), lift.transform(sparse.csr_array(rows)))

"""Label blocks under a budget equal one solve; few weights keep the largest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel import BinaryRelevance
from hyperlabel.solvers.ridge import label_blocks
from hyperlabel.solvers.ridge.conjugate_gradients import ConjugateRidge
from hyperlabel.solvers.ridge.label_blocks import keep_largest


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 60), density=0.2, rng=rng, format="csr")
    return X, sparse.csr_array(rng.random((120, 7)) < 0.3).astype(int)


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
@pytest.mark.parametrize("memory_limit", [1, 2**30])
@pytest.mark.parametrize("n_labels", [2, 7])
def test_label_blocks_equal_one_solve(solver, memory_limit, n_labels, data):
    X, Y = data[0], data[1][:, :n_labels]  # with a budget of one byte, a block for each label
    whole = BinaryRelevance(alpha=1.0, solver="gram").fit(X, Y)
    got = BinaryRelevance(alpha=1.0, solver=solver, memory_limit=memory_limit, tol=1e-8).fit(X, Y)
    assert_allclose(got.decision_function(X), whole.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["gram", "krylov"])
def test_few_weights_per_label(solver, data):
    X, Y = data
    full = BinaryRelevance(solver=solver, tol=1e-9).fit(X, Y)
    few = BinaryRelevance(solver=solver, max_nonzero_coefs=9, tol=1e-9).fit(X, Y)
    assert sparse.issparse(few.coef_)
    assert np.diff(few.coef_.indptr).max() == 9
    for j in range(Y.shape[1]):
        kept = np.abs(few.coef_[[j]].data)
        left = np.setdiff1d(np.abs(full.coef_[j]), kept)
        assert kept.min() >= left.max()
    mean = np.asarray(X.mean(axis=0)).ravel()[None, :]  # the mean row keeps its score
    assert_allclose(few.decision_function(mean), full.decision_function(mean), atol=1e-6)
    assert few.predict(X).shape == Y.shape
    every = BinaryRelevance(solver=solver, max_nonzero_coefs=60, tol=1e-9).fit(X, Y)
    assert_allclose(every.decision_function(X), full.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tolerance_that_single_precision_reaches_keeps_the_type_of_the_rows(dtype, data):
    X, Y = data
    single = BinaryRelevance(solver="krylov").fit(X.astype(dtype), Y)
    whole = BinaryRelevance(solver="gram").fit(X, Y)
    assert single.coef_.dtype == dtype
    assert 0 < single.residual_ <= 1e-2
    off = single.decision_function(X) - whole.decision_function(X)  # scores are 2·(0 or 1) − 1
    assert np.sqrt((off**2).mean(axis=0)).max() <= 1.5 * 2 * single.tol


@pytest.mark.parametrize(("tol", "dtype"), [(9e-5, np.float64), (1e-4, np.float32)])
def test_sparse_rows_go_by_conjugate_gradients_in_single_precision_from_1e_4_on(
    tol, dtype, data, monkeypatch
):
    made = []
    monkeypatch.setattr(
        label_blocks, "ConjugateRidge", lambda *a, **k: made.append(k) or ConjugateRidge(*a, **k)
    )
    assert len(list(label_blocks.solve_label_blocks(*data, 0.5, route="krylov", tol=tol))) == 1
    assert [one["dtype"] for one in made] == [dtype]


def test_a_tolerance_of_nothing_is_refused(data):
    with pytest.raises(ValueError, match="tol must be"):
        BinaryRelevance(tol=0).fit(*data)


def test_no_weights_is_refused():
    with pytest.raises(ValueError, match="At least one weight"):
        keep_largest(np.eye(2), 0)


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7])
def test_the_largest_weights_of_each_row_are_kept(count):
    coef = np.random.default_rng(0).normal(size=(9, 6))
    kept = keep_largest(coef, count).toarray()
    for row, found in zip(coef, kept, strict=True):
        smallest = np.sort(np.abs(row))[::-1][:count].min()
        assert np.array_equal(found, np.where(np.abs(row) >= smallest, row, 0.0))

"""The same matrix in any storage gives the same bits: in validation, and in every estimator of the table."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import set_random_state
from tests.estimators import CLASSIFIERS, TRANSFORMERS, UNSUPERVISED

from hyperlabel import BinaryRelevance
from hyperlabel._validation import check_features, check_targets

# A failing example is reported as found: storage forms have no simpler forms to shrink to.
ONCE = (Phase.explicit, Phase.reuse, Phase.generate)
MODELS = [*CLASSIFIERS, *TRANSFORMERS, *UNSUPERVISED]


def doubled(A):
    """Every entry stored as two halves, one of them far away in its row, in reversed order."""
    A = sparse.csr_array(A)
    ends = zip(A.indptr, A.indptr[1:], strict=False)
    order = np.concatenate([np.r_[np.arange(a, b), np.arange(a, b)[::-1]] for a, b in ends])
    return sparse.csr_array((A.data[order] / 2, A.indices[order], 2 * A.indptr), shape=A.shape)


def reversed_rows(A):
    A = sparse.csr_array(A)
    order = [np.arange(a, b)[::-1] for a, b in zip(A.indptr, A.indptr[1:], strict=False)]
    order = np.concatenate(order)
    return sparse.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)


def with_zeros(A):
    dense = sparse.csr_array(A).toarray()
    n, d = dense.shape
    return sparse.csr_array((dense.ravel(), np.tile(np.arange(d), n), d * np.arange(n + 1)), shape=(n, d))


def wide_indices(A):
    A = sparse.csr_array(A)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def read_only(A):
    A = sparse.csr_array(A, copy=True) if sparse.issparse(A) else np.array(A)
    for part in (A.data, A.indices, A.indptr) if sparse.issparse(A) else (A,):
        part.setflags(write=False)
    return A


def every_second(A):
    std = np.full((2 * A.shape[0], 2 * A.shape[1]), 7.0)
    std[::2, ::2] = A
    return std[::2, ::2]


FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dia", "dok")
SPARSE = {
    **{f"{kind}_{of}": getattr(sparse, f"{kind}_{of}") for kind in FORMATS for of in ("array", "matrix")},
    "doubled": doubled,
    "doubled columns": lambda A: doubled(A.T).T,
    "doubled, int64": lambda A: wide_indices(doubled(A)),
    "doubled, read-only": lambda A: read_only(doubled(A)),
    "reversed": reversed_rows,
    "explicit zeros": with_zeros,
    "int64": wide_indices,
    "read-only": read_only,
}
DENSE = {
    "fortran": np.asfortranarray,
    "every second": every_second,
    "backwards": lambda A: np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1],
    "read-only": read_only,
    "transposed": lambda A: np.ascontiguousarray(A.T).T,
}


@cache
def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.6)
    X[3] = 0.0
    Y = (X[:, :3] + 0.4 * rng.normal(size=(40, 3)) > 0.1).astype(float)
    return X, Y


def answers(model, X):
    names = ("decision_function", "predict_proba", "predict", "transform")
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    return [part.toarray() if sparse.issparse(part) else part for part in found]


@cache
def reference(place, seed, is_sparse):
    """What the model says when everything is written the plain way."""
    X, Y = data(seed)
    X = sparse.csr_array(X) if is_sparse else X
    model = clone(MODELS[place])
    set_random_state(model, 0)
    # On a copy: the very array of the fit meets itself in a kernel, which BLAS rounds in another way.
    return answers(model.fit(X, Y), X.copy())


sparse_forms, dense_forms = st.sampled_from(sorted(SPARSE)), st.sampled_from(sorted(DENSE))
places = pytest.mark.parametrize("place", range(len(MODELS)), ids=[str(model) for model in MODELS])


@places
@settings(max_examples=5, deadline=None, phases=ONCE)
@given(fit=sparse_forms, predict=sparse_forms, y=sparse_forms)
def test_sparse_rows_in_any_storage_give_the_same_bits(place, fit, predict, y):
    X, Y = data(0)
    model = clone(MODELS[place])
    set_random_state(model, 0)
    model.fit(SPARSE[fit](sparse.csr_array(X)), SPARSE[y](sparse.csr_array(Y)))
    for found, expected in zip(
        answers(model, SPARSE[predict](sparse.csr_array(X))), reference(place, 0, True), strict=True
    ):
        assert_array_equal(found, expected)


@places
@settings(max_examples=2, deadline=None, phases=ONCE)
@given(fit=dense_forms, predict=dense_forms)
def test_dense_rows_in_any_order_give_the_same_bits(place, fit, predict):
    X, Y = data(0)
    model = clone(MODELS[place])
    set_random_state(model, 0)
    model.fit(DENSE[fit](X), np.asfortranarray(Y))
    for found, expected in zip(answers(model, DENSE[predict](X)), reference(place, 0, False), strict=True):
        assert_array_equal(found, expected)


def parts(A):
    return [A.data, A.indices, A.indptr] if sparse.issparse(A) else [A]


@given(
    form=sparse_forms,
    seed=st.integers(0, 10),
    dtype=st.sampled_from([np.float64, np.float32, np.int64]),
)
def test_the_gate_makes_rows_canonical_and_leaves_the_users_matrix_alone(form, seed, dtype):
    plain = sparse.csr_array((8 * data(seed)[0]).astype(dtype))
    X = SPARSE[form](plain)
    before = X.copy()
    found = check_features(BinaryRelevance(), X, reset=True)
    expected = plain.astype(found.dtype)
    assert isinstance(found, sparse.csr_array)
    for mine, theirs in zip(parts(found), parts(expected), strict=True):
        assert_array_equal(mine, theirs)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    if X.format == "csr":
        for mine, theirs in zip(parts(X), parts(before), strict=True):
            assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
    Y, _ = check_targets(SPARSE[form](sparse.csr_array(data(seed)[1])))
    assert Y.indices.dtype == np.int32
    assert_array_equal(Y.indices, sparse.csr_array(data(seed)[1]).indices)


def test_canonical_rows_are_not_copied():
    X = sparse.csr_array(data(0)[0])
    assert np.shares_memory(check_features(BinaryRelevance(), X, reset=True).data, X.data)


def test_true_twice_is_true():
    once = sparse.csr_array(data(0)[0] > 0)
    twice = sparse.csr_array((np.repeat(once.data, 2), np.repeat(once.indices, 2), 2 * once.indptr))
    assert (once != twice).nnz == 0
    for X in (once, twice):
        assert_array_equal(check_features(BinaryRelevance(), X, reset=True).toarray(), once.toarray())
        assert_array_equal(check_targets(X)[0].toarray(), once.toarray())


def test_rows_that_overflow_when_added_up_are_refused():
    X = sparse.csr_array((np.full(2, 1.5e308), np.zeros(2, int), np.array([0, 2])), shape=(1, 1))
    with pytest.raises(ValueError, match="infinity"):
        check_features(BinaryRelevance(), X, reset=True)


@pytest.mark.parametrize("write", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_complex_rows_are_refused(write):
    with pytest.raises(ValueError, match="[Cc]omplex"):
        BinaryRelevance().fit(write(data(0)[0] + 1j), data(0)[1])

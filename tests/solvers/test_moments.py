"""Moments against direct sums: any chunking, weights, offsets, adding and subtracting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge

from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import RidgePath


def _rows(seed, n=60, d=5, m=4, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + offset
    return X, (rng.random((n, m)) < 0.3).astype(float), rng.random(n)


def _assert_same(a, b, rtol=1e-9):
    a, b = a.centered(), b.centered()
    for name in ("weight", "x_mean", "f_mean", "gram", "cross", "target_gram"):
        if getattr(a, name) is not None:
            scale = np.abs(getattr(b, name)).max() + 1e-300
            assert_allclose(getattr(a, name) / scale, getattr(b, name) / scale, atol=rtol, err_msg=name)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), offset=st.sampled_from([0.0, 1.0, 1e4]), weighted=st.booleans())
def test_centred_sums_equal_the_textbook(seed, offset, weighted):
    X, F, w = _rows(seed, offset=offset)
    w = w if weighted else np.ones(len(X))
    got = RowMoments.from_rows(X, F, sample_weight=w if weighted else None, with_target_gram=True).centered()
    x_mean, f_mean = np.average(X, axis=0, weights=w), np.average(F, axis=0, weights=w)
    Xc, Fc = X - x_mean, F - f_mean
    assert_allclose(got.x_mean, x_mean, rtol=1e-12)
    assert_allclose(got.gram, Xc.T @ (w[:, None] * Xc), atol=1e-9)
    assert_allclose(got.cross, Xc.T @ (w[:, None] * Fc), atol=1e-9)
    assert_allclose(got.target_gram, Fc.T @ (w[:, None] * Fc), atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), thresholds=st.lists(st.integers(1, 59), max_size=4, unique=True))
def test_any_chunking_gives_the_same_sums(seed, thresholds):
    X, F, _ = _rows(seed, offset=100.0)
    parts = np.split(np.arange(len(X)), sorted(thresholds))
    whole = RowMoments.from_rows(X, F, with_target_gram=True)
    separate = [
        RowMoments.from_rows(X[p], F[p], with_target_gram=True) for p in parts
    ]  # each with its own shift
    total = separate[0]
    for part in separate[1:]:
        total = total + part
    _assert_same(total, whole)


@pytest.mark.parametrize("zeros", [False, True])
def test_a_row_added_alone_gives_the_sums_of_all(zeros):
    X, F, w = _rows(1, offset=0.0)
    X[-1, ::2] *= not zeros
    shift = np.zeros(X.shape[1]) if zeros else None
    one = RowMoments.from_rows(X[:-1], F[:-1], sample_weight=w[:-1], shift=shift, with_target_gram=True)
    one.add_row(X[-1], F[-1], w[-1])
    _assert_same(one, RowMoments.from_rows(X, F, sample_weight=w, with_target_gram=True))


def test_sparse_rows_give_the_dense_sums_and_stay_sparse():
    X, F, w = _rows(3)
    for weights in (None, w):
        A, B = sparse.csr_array(X), sparse.csr_array(F)
        sums = RowMoments.from_rows(A, B, sample_weight=weights, with_target_gram=True)
        _assert_same(sums, RowMoments.from_rows(X, F, sample_weight=weights, with_target_gram=True))
    with pytest.raises(ValueError, match="densifying"):
        RowMoments.from_rows(sparse.csr_array(X), F, shift=np.ones(5))


def test_float32_rows_are_summed_in_double():
    X, F, _ = _rows(4, n=2000, offset=50.0)
    single = X.astype(np.float32)
    _assert_same(
        RowMoments.from_rows(single, F), RowMoments.from_rows(single.astype(np.float64), F), rtol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_float32_products_keep_five_digits_and_say_so(weighted):
    X, F, w = _rows(4, n=20_000, offset=50.0)
    single, w = X.astype(np.float32), w if weighted else None
    fast = RowMoments.from_rows(single, F, sample_weight=w, single=True)
    _assert_same(fast, RowMoments.from_rows(single.astype(np.float64), F, sample_weight=w), rtol=3e-6)
    assert fast.digits_kept() < 5.6 < RowMoments.from_rows(single, F).digits_kept()
    assert (RowMoments.from_rows(X, F) + fast).digits == fast.digits
    assert RowMoments.from_rows(X, F, single=True).digits > 15  # float64 rows are never rounded


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_subtracting_a_fold_equals_never_having_seen_it(offset):
    X, F, _ = _rows(5, n=400, offset=offset)
    out, kept = slice(0, 80), slice(80, 400)
    left = RowMoments.from_rows(X, F) - RowMoments.from_rows(X[out], F[out])
    _assert_same(left, RowMoments.from_rows(X[kept], F[kept]), rtol=1e-12)
    assert left.n == 320
    assert left.digits_kept() > 14


def test_digits_kept_tells_when_too_much_was_subtracted():
    rng = np.random.default_rng(6)
    small, large = rng.normal(size=(50, 3)), 1e5 * rng.normal(size=(50, 3))
    F = np.ones((50, 1))
    left = (RowMoments.from_rows(small, F) + RowMoments.from_rows(large, F)) - RowMoments.from_rows(large, F)
    truth = RowMoments.from_rows(small, F).centered().gram
    lost = np.abs(left.centered().gram - truth).max() / np.abs(truth).max()
    assert 3 < left.digits_kept() < 7  # ten of the digits went with the large rows …
    assert lost < 10 ** -(left.digits_kept() - 1)  # … and the estimate is honest


def test_moments_that_do_not_fit_are_refused():
    X, F, _ = _rows(7)
    with pytest.raises(ValueError, match="do not fit together"):
        RowMoments.from_rows(X, F) + RowMoments.from_rows(X, F[:, :2])
    with pytest.raises(ValueError, match="rows out of"):
        RowMoments.from_rows(X[:5], F[:5]) - RowMoments.from_rows(X, F)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_path_equals_scikit_learn(alpha, weighted):
    X, F, w = _rows(8, n=200, offset=20.0)
    w = w if weighted else None
    moments = RowMoments.from_rows(X, F, sample_weight=w)
    twin = Ridge(alpha=alpha, solver="svd").fit(X, F, sample_weight=w)
    for announced in ((), (alpha,)):  # eigenvectors, Cholesky
        result = RidgePath(moments, alphas=announced).solve(alpha)
        assert_allclose(result.coef.T, twin.coef_, atol=1e-10)
        assert_allclose(result.intercept, twin.intercept_, atol=1e-9)
        assert result.residual < 1e-10


def test_lambda_zero_is_the_pseudo_inverse():
    X, F, _ = _rows(9)
    X = np.hstack([X, X[:, :2]])  # rank-deficient
    result = RidgePath(RowMoments.from_rows(X, F)).solve(0.0)
    Xc, Fc = X - X.mean(axis=0), F - F.mean(axis=0)
    assert_allclose(result.coef, np.linalg.pinv(Xc) @ Fc, atol=1e-9)
    assert result.residual < 1e-10


def test_no_rows_keep_no_digits():
    X, F, _ = _rows(2)
    assert RowMoments.from_rows(X, F, sample_weight=np.zeros(len(X)), shift=X[0]).digits_kept() == 0


def test_rows_all_alike_keep_no_digits():
    assert RowMoments.from_rows(np.full((4, 2), 0.0), np.ones((4, 1))).digits_kept() == 0.0

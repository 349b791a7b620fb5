"""Rows kept in the place of their sums: every change equals the fit from scratch, and files stay small."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

import hyperlabel
from hyperlabel import BinaryRelevance
from hyperlabel.meta.updating import can_be_updated, store_rows_if_smaller
from hyperlabel.solvers.moments.stored_rows import StoredRows

N, D, K = 60, 300, 4


def made(seed=0, n=N, d=D, as_sparse=True):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.1, rng.normal(size=(n, d)), 0.0)
    Y = (rng.random((n, K)) < 0.3).astype(int)
    Y[0], Y[-1] = 0, 1
    return (sparse.csr_array(X) if as_sparse else X), Y


def kept(X, Y, solver="gram", alpha=2.0):
    model = hyperlabel.BinaryRelevance(alpha=alpha, solver=solver, tol=1e-9).fit(X, Y)
    store_rows_if_smaller(model, X, Y)
    assert isinstance(model.moments_, StoredRows)
    return model


def by_scikit_learn(X, Y, alpha=2.0):
    """The oracle: scikit-learn's ridge on targets ±1."""
    return Ridge(alpha=alpha, solver="cholesky" if not sparse.issparse(X) else "sparse_cg", tol=1e-12).fit(
        X, 2.0 * Y - 1.0
    )


@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("solver", ["gram", "auto", "samples", "krylov"])
def test_rows_come_and_go_as_if_fitted_on_those_that_remain(solver, as_sparse):
    X, Y = made(as_sparse=as_sparse)
    new_X, new_Y = made(seed=1, n=50, as_sparse=as_sparse)  # more than are followed one by one
    model = kept(X, Y, solver)
    more = hyperlabel.update(model, (new_X, new_Y), forget=(X[5:20], Y[5:20]))
    stack = sparse.vstack if as_sparse else np.vstack
    rows = np.r_[0:5, 20:N]
    expected = by_scikit_learn(stack([X[rows], new_X]), np.vstack([Y[rows], new_Y]))
    np.testing.assert_allclose(more.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(more.intercept_, expected.intercept_, atol=1e-5)
    assert (model.moments_.n, more.moments_.n) == (N, N - 15 + 50)


def test_single_rows_are_followed_and_the_rows_with_them():
    X, Y = made(d=400)
    model = kept(X, Y)
    new_X, new_Y = made(seed=2, n=6, d=400)
    for i in range(6):
        model = hyperlabel.update(model, (new_X[[i]], new_Y[[i]]))
    assert model.moments_.cached_sums.rank_one_factor.rows == 6  # no factorisation in between
    assert model.moments_.n == N + 6
    expected = by_scikit_learn(sparse.vstack([X, new_X]), np.vstack([Y, new_Y]))
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-7)
    fresh = copy.deepcopy(model)
    assert fresh.moments_.cached_sums is None
    np.testing.assert_allclose(fresh.moments_.sums().gram, model.moments_.cached_sums.gram, atol=1e-12)


def test_a_stranger_is_not_forgotten_and_the_model_stays_as_it_was():
    X, Y = made()
    model = kept(X, Y)
    before = model.coef_.copy()
    other_labels = 1 - Y[3:4]
    for leaving in ((made(seed=9, n=1)[0], Y[:1]), (X[3:4], other_labels)):
        with pytest.raises(ValueError, match="not all in the model: row 0"):
            hyperlabel.update(model, forget=leaving)
    twice = (sparse.vstack([X[3:4], X[3:4]], format="csr"), np.vstack([Y[3:4], Y[3:4]]))
    with pytest.raises(ValueError, match="row 1 is not among them"):
        hyperlabel.update(model, forget=twice)
    assert np.array_equal(model.coef_, before)
    assert model.moments_.n == N
    rounded = X[3:4] * (1 + 1e-15)  # the same words, counted on another machine
    assert hyperlabel.update(model, forget=(rounded, Y[3:4])).moments_.n == N - 1


def test_what_is_forgotten_stands_nowhere_in_the_file(tmp_path):
    X, Y = made()
    X.data[X.indptr[7] : X.indptr[8]] = np.pi
    model = hyperlabel.update(kept(X, Y), forget=(X[7:8], Y[7:8]))
    hyperlabel.save(model, tmp_path / "m")
    assert np.float64(np.pi).tobytes() not in (tmp_path / "m").read_bytes()
    hyperlabel.save(kept(X, Y), tmp_path / "m")  # the search itself
    assert np.float64(np.pi).tobytes() in (tmp_path / "m").read_bytes()


def test_labels_come_and_go():
    X, Y = made()
    model = kept(X, Y)
    model.edit_labels(drop=[model.label_names_[0]])
    np.testing.assert_allclose(model.coef_, by_scikit_learn(X, Y[:, 1:]).coef_, atol=1e-7)
    model.edit_labels(add={"new": (X[[4, 9]], None)})
    with_new = np.column_stack([Y[:, 1:], np.isin(np.arange(N), [4, 9]).astype(int)])
    np.testing.assert_allclose(model.coef_, by_scikit_learn(X, with_new).coef_, atol=1e-7)
    model.edit_labels(add=["silent"])
    assert model.predict(X)[:, -1].sum() == 0


def test_weights_and_merging_models_of_either_kind():
    X, Y = made()
    more_X, more_Y = made(seed=3, n=20)
    weights = np.r_[np.zeros(5), np.full(15, 2.0)]
    model = kept(X, Y).partial_fit(more_X, more_Y, sample_weight=weights)
    assert model.moments_.weight == N + 30
    expected = Ridge(alpha=2.0, solver="sparse_cg", tol=1e-12).fit(
        sparse.vstack([X, more_X]), 2.0 * np.vstack([Y, more_Y]) - 1.0, np.r_[np.ones(N), weights]
    )
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    whole = by_scikit_learn(sparse.vstack([X, more_X]), np.vstack([Y, more_Y])).coef_
    summed = hyperlabel.BinaryRelevance(alpha=2.0, solver="gram").fit(more_X, more_Y)
    np.testing.assert_allclose(kept(X, Y).merge(kept(more_X, more_Y)).coef_, whole, atol=1e-6)
    np.testing.assert_allclose(kept(X, Y).merge(summed).coef_, whole, atol=1e-6)
    np.testing.assert_allclose(copy.deepcopy(summed).merge(kept(X, Y)).coef_, whole, atol=1e-6)
    with pytest.raises(ValueError, match="300 features and 4 labels here, 299"):
        kept(X, Y).moments_.add(StoredRows.from_rows(X[:, :299], Y))


def test_rows_are_kept_where_they_are_smaller_than_their_sums_and_nowhere_else():
    tall, Y = made(n=500, d=12, as_sparse=False)
    model = hyperlabel.BinaryRelevance(alpha=1.0).fit(tall, Y)
    assert not isinstance(store_rows_if_smaller(model, tall, Y).moments_, StoredRows)
    wide, Y = made(n=40, d=3000)
    model = hyperlabel.BinaryRelevance(alpha=1.0, solver="samples").fit(wide, Y)
    assert not can_be_updated(model)
    assert can_be_updated(store_rows_if_smaller(model, wide, Y))
    margins = hyperlabel.BinaryRelevance(loss="squared_hinge").fit(wide, Y)
    assert not hasattr(store_rows_if_smaller(margins, wide, Y), "moments_")


def test_a_file_holds_rows_in_place_of_sums_and_learns_on(tmp_path):
    X, Y = made(n=80, d=2000)
    model = kept(X, Y)
    hyperlabel.save(model, tmp_path / "m")
    entries = X.nnz * 12 + 2000 * K * 8
    assert (tmp_path / "m").stat().st_size < entries + 100_000  # and not 2000² numbers
    loaded = hyperlabel.load(tmp_path / "m")
    new_X, new_Y = made(seed=5, n=3, d=2000)
    changed = hyperlabel.update(loaded, (new_X, new_Y))
    expected = by_scikit_learn(sparse.vstack([X, new_X]), np.vstack([Y, new_Y]))
    np.testing.assert_allclose(changed.coef_, expected.coef_, atol=1e-6)


def test_weights_of_entries_are_refused_and_the_model_stays_as_it_was():
    X, Y = made()
    new_X, new_Y = made(seed=1, n=5)
    model = kept(X, Y)
    before = model.coef_.copy()
    weights = np.random.default_rng(0).random(new_Y.shape)
    for block in (slice(0, 1), slice(None)):
        with pytest.raises(ValueError, match="one weight for each row, not for each entry"):
            model.partial_fit(new_X[block], new_Y[block], sample_weight=weights[block])
    assert np.array_equal(model.coef_, before)
    assert model.moments_.n == N
    rows = model.partial_fit(new_X, new_Y, sample_weight=weights[:, 0])
    fresh = hyperlabel.BinaryRelevance(alpha=2.0, solver="gram").fit(
        sparse.vstack([X, new_X]), np.vstack([Y, new_Y]), sample_weight=np.r_[np.ones(N), weights[:, 0]]
    )
    np.testing.assert_allclose(rows.coef_, fresh.coef_, atol=1e-8)


def test_rows_are_not_kept_where_classes_have_weights():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 40)), (rng.random((12, 3)) < 0.4).astype(int)
    model = BinaryRelevance(alpha=1.0, class_weight="balanced").fit(X, Y)
    assert not isinstance(getattr(store_rows_if_smaller(model, X, Y), "moments_", None), StoredRows)

"""Rows learned one by one against fits on all rows, and what the factor of the sums must not outlive."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel import BinaryRelevance, load, save
from hyperlabel.solvers.moments.rank_one_update import TOLERANCE, can_update_factor, update_with_rows
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import RidgePath


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = sparse.random_array((700, 300), density=0.05, random_state=0, format="csr") * 3
    Y = (X @ rng.normal(size=(300, 5)) + 0.3 * rng.normal(size=(700, 5)) > 0.5).astype(int)
    return X, Y, rng.uniform(0.5, 2.0, 700)


@pytest.mark.parametrize("form", ["sparse", "dense", "far from zero"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_learned_one_by_one_equal_one_fit(rows, form, weighted):
    X, Y, w = rows
    if form != "sparse":
        X = X.toarray() + (1e3 if form == "far from zero" else 0.0)
    w = w if weighted else np.ones(len(w))
    model = BinaryRelevance(alpha=2.0).partial_fit(X[:600], Y[:600], sample_weight=w[:600])
    for i in range(600, 640):
        model.partial_fit(X[[i]], Y[[i]], sample_weight=w[[i]])
        assert model.moments_.rank_one_factor is not None  # the short way was taken
    model.partial_fit(X[640:660], Y[640:660], sample_weight=w[640:660])
    whole = BinaryRelevance(alpha=2.0).fit(X[:660], Y[:660], sample_weight=w[:660])
    assert_allclose(model.coef_, whole.coef_, atol=1e-9)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert model.residual_ < 1e-9
    assert model.moments_.n == 660


def test_a_label_that_was_constant_is_learned_from_its_first_row(rows):
    X, Y, _ = rows
    Y = Y.copy()
    Y[:650, 3] = 0
    Y[650, 3] = 1
    model = BinaryRelevance().partial_fit(X[:650], Y[:650]).partial_fit(X[[650]], Y[[650]])
    whole = BinaryRelevance().fit(X[:651], Y[:651])
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_a_factor_goes_with_the_sums_it_was_made_of(rows, tmp_path):
    X, Y, _ = rows
    model = BinaryRelevance().partial_fit(X[:600], Y[:600]).partial_fit(X[[600]], Y[[600]])
    assert model.moments_.copy().rank_one_factor is None
    assert pickle.loads(pickle.dumps(model)).moments_.rank_one_factor is None
    save(model, tmp_path / "model.hyper")
    again = load(tmp_path / "model.hyper")
    assert again.moments_.rank_one_factor is None
    again.partial_fit(X[[601]], Y[[601]])
    assert_allclose(again.coef_, BinaryRelevance().fit(X[:602], Y[:602]).coef_, atol=1e-9)
    model.forget(X[:100], Y[:100])
    assert model.moments_.rank_one_factor is None
    model.partial_fit(X[[601]], Y[[601]])
    whole = BinaryRelevance().fit(X[100:602], Y[100:602])
    assert_allclose(model.coef_, whole.coef_, atol=1e-9)


def test_another_alpha_is_not_followed_with_the_old_factor(rows):
    X, Y, _ = rows
    model = BinaryRelevance(alpha=1.0).partial_fit(X[:600], Y[:600]).partial_fit(X[[600]], Y[[600]])
    model.set_params(alpha=5.0).partial_fit(X[[601]], Y[[601]])
    whole = BinaryRelevance(alpha=5.0).fit(X[:602], Y[:602])
    assert_allclose(model.coef_, whole.coef_, atol=1e-9)


def test_who_holds_the_weights_keeps_them(rows):
    X, Y, _ = rows
    model = BinaryRelevance().partial_fit(X[:600], Y[:600])
    held, before = model.coef_, model.coef_.copy()
    model.partial_fit(X[[600]], Y[[600]])
    assert_allclose(held, before, rtol=0)
    assert np.abs(model.coef_ - before).max() > 0


@pytest.mark.parametrize(
    ("params", "n_rows"),
    [({"alpha": "auto"}, 1), ({"threshold": "auto"}, 1), ({"max_nonzero_coefs": 5}, 1), ({}, 40)],
)
def test_what_a_row_may_change_is_decided_anew(rows, params, n_rows):
    X, Y, _ = rows
    model = BinaryRelevance(**params).partial_fit(X[:600], Y[:600])
    model.partial_fit(X[600 : 600 + n_rows], Y[600 : 600 + n_rows])
    assert model.moments_.rank_one_factor is None
    whole = BinaryRelevance(**params).fit(X[: 600 + n_rows], Y[: 600 + n_rows])
    assert model.alpha_ == whole.alpha_
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_the_pairs_that_are_kept_stay_bounded(rows, monkeypatch):
    monkeypatch.setattr("hyperlabel.solvers.moments.rank_one_update.MOST_FOLLOWED", 8)
    X, Y, _ = rows
    model = BinaryRelevance(alpha=1.0).partial_fit(X[:600], Y[:600])
    for i in range(600, 630):
        model.partial_fit(X[[i]], Y[[i]])
        assert model.moments_.rank_one_factor.rows <= 8
    assert_allclose(model.coef_, BinaryRelevance(alpha=1.0).fit(X[:630], Y[:630]).coef_, atol=1e-9)


def test_rows_whose_short_way_lost_its_digits_are_solved_anew_and_counted_once(rows, monkeypatch):
    X, Y, _ = rows
    model = BinaryRelevance(alpha=2.0).partial_fit(X[:600], Y[:600])
    monkeypatch.setattr("hyperlabel.linear.shared_ridge.TOLERANCE", -1.0)
    model.partial_fit(X[[600]], Y[[600]])
    assert model.moments_.n == 601
    assert_allclose(model.coef_, BinaryRelevance(alpha=2.0).fit(X[:601], Y[:601]).coef_, atol=1e-9)


def test_rows_taken_in_one_by_one_leave_no_residual(rows):
    X, Y, w = rows
    sums = RowMoments.from_rows(X[:600], Y[:600])
    coef = RidgePath(sums.copy()).solve(2.0).coef.T.copy()
    for i in range(600, 605):
        assert update_with_rows(sums, coef, 2.0, X[[i]], Y[[i]], w[[i]], scale=1.0) < TOLERANCE


def test_sums_of_no_rows_are_not_followed(rows):
    X, Y, _ = rows
    sums = RowMoments.from_rows(X[:600], Y[:600])
    assert can_update_factor(sums, X[[0]], 2.0)
    assert not can_update_factor(sums - sums, X[[0]], 2.0)

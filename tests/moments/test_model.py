"""Merging, forgetting and relabelling equal a fit from scratch, without the old rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from hyperlabel import BinaryRelevance


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 9)) + 30.0
    Y = (rng.random((200, 5)) < 0.3).astype(int)
    return X, Y


def assert_equal_models(a, b):
    assert_allclose(a.coef_, b.coef_, atol=1e-8)
    assert_allclose(a.intercept_, b.intercept_, atol=1e-8)
    assert_array_equal(a._constant, b._constant)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_merge_equals_one_fit(data, container):
    X, Y = data
    left = BinaryRelevance().fit(X[:70], Y[:70])
    left.merge(BinaryRelevance().fit(container(X[70:]), Y[70:]))
    assert_equal_models(left, BinaryRelevance().fit(X, Y))


def test_forget_equals_never_having_seen(data):
    X, Y = data
    model = BinaryRelevance().fit(X, Y).forget(X[150:], Y[150:])
    assert_equal_models(model, BinaryRelevance().fit(X[:150], Y[:150]))


def test_forgetting_the_last_row_of_a_label_makes_it_unseen(data):
    X, Y = data[0], data[1].copy()
    Y[:, 2] = 0
    Y[7, 2] = 1
    model = BinaryRelevance().fit(X, Y).forget(X[[7]], Y[[7]])
    assert (model.decision_function(X).argmin(axis=1) == 2).all()


def test_sliding_window(data):
    X, Y = data
    model = BinaryRelevance().fit(X[:100], Y[:100])
    for start in (0, 50):
        model.slide(
            X[start + 100 : start + 150],
            Y[start + 100 : start + 150],
            X[start : start + 50],
            Y[start : start + 50],
        )
    assert_equal_models(model, BinaryRelevance().fit(X[100:], Y[100:]))


def test_the_guard_refuses_and_changes_nothing(data):
    X, Y = data
    model = BinaryRelevance().fit(np.vstack([X, 1e6 * X]), np.vstack([Y, Y]))
    before = model.coef_.copy(), model.moments_.n
    with pytest.raises(ValueError, match="correct digits"):
        model.forget(1e6 * X, Y)
    assert_array_equal(model.coef_, before[0])
    assert model.moments_.n == before[1]
    small = BinaryRelevance().fit(X, Y)
    with pytest.raises(ValueError, match="cannot forget all"):
        small.forget(X, Y)
    with pytest.raises(ValueError, match="not all in the model"):
        small.forget(X[:150], np.ones_like(Y[:150]))
    with pytest.raises(ValueError, match="Cannot take"):
        small.forget(np.vstack([X, X]), np.vstack([Y, Y]))


def test_labels_come_and_go(data):
    X, Y = data
    whole = BinaryRelevance().fit(X, Y)
    model = BinaryRelevance().fit(X, Y[:, :4]).edit_labels(add={"new": (X[Y[:, 4] == 1], None)})
    assert_equal_models(model, whole)
    assert list(model.label_names_) == ["label0", "label1", "label2", "label3", "new"]
    model.edit_labels(rename={"new": "newer"}, drop=["label1"])
    assert_equal_models(model, BinaryRelevance().fit(X, Y[:, [0, 2, 3, 4]]))
    assert list(model.label_names_) == ["label0", "label2", "label3", "newer"]


def test_a_label_without_rows_yet_fills_with_later_rows(data):
    X, Y = data
    early = Y[:100].copy()
    early[:, 4] = 0
    model = (
        BinaryRelevance().fit(X[:100], early[:, :4]).edit_labels(add=["late"]).partial_fit(X[100:], Y[100:])
    )
    assert_equal_models(model, BinaryRelevance().fit(X, np.vstack([early, Y[100:]])))


def test_wrong_requests_get_a_sentence(data):
    X, Y = data
    model = BinaryRelevance().fit(X, Y)
    with pytest.raises(ValueError, match="already has a label 'label0'"):
        model.edit_labels(add=["label0"])
    with pytest.raises(ValueError, match="already has a label 'label0'"):
        model.edit_labels(rename={"label1": "label0"})
    with pytest.raises(ValueError, match="no label 'other'"):
        model.edit_labels(drop=["other"])
    with pytest.raises(ValueError, match="same labels"):
        model.merge(BinaryRelevance().fit(X, Y[:, :3]))
    with pytest.raises(ValueError, match="last label"):
        BinaryRelevance().fit(X, Y[:, [0]]).edit_labels(drop=["label0"])
    with pytest.raises(ValueError, match="1-D y"):
        BinaryRelevance().fit(X, Y[:, 0]).edit_labels(add=["x"])


def test_labels_change_names_at_once_and_all_changes_are_solved_together(data, monkeypatch):
    X, Y = data
    model = BinaryRelevance().fit(X, Y)
    solved = []
    solve = BinaryRelevance._solve
    monkeypatch.setattr(BinaryRelevance, "_solve", lambda self, *rows: solved.append(solve(self, *rows)))
    swap = {"label0": "label1", "label1": "label0", "label4": "a much longer name"}
    model.edit_labels(rename=swap, drop=["label2"], add=["new", "newer"])
    assert list(model.label_names_) == ["label1", "label0", "label3", "a much longer name", "new", "newer"]
    assert len(solved) == 1
    zeros = np.zeros((200, 2), int)
    assert_equal_models(model, BinaryRelevance().fit(X, np.hstack([Y[:, [0, 1, 3, 4]], zeros])))


def test_a_refused_change_leaves_the_model_as_it_was(data):
    X, Y = data
    model = BinaryRelevance().fit(X, Y)
    coef, names = model.coef_.copy(), list(model.label_names_)
    with pytest.raises(ValueError, match="already has a label 'label3'"):
        model.edit_labels(rename={"label0": "first"}, drop=["label1"], add=["label3"])
    assert_array_equal(model.coef_, coef)
    assert list(model.label_names_) == names
    assert model.moments_.cross.shape[1] == 5


def test_scores_out_of_fold_end_with_the_rows_they_belong_to(data):
    X, Y = data
    fitted = [BinaryRelevance(cv=3, scoring="f1_micro").fit(X, Y) for _ in range(4)]
    assert hasattr(fitted[0], "oof_scores_")
    fitted[0].partial_fit(X[:9], Y[:9])
    fitted[1].merge(BinaryRelevance().fit(X, Y))
    fitted[2].forget(X[:9], Y[:9])
    fitted[3].edit_labels(drop=["label2"])
    for model in fitted:
        assert not hasattr(model, "oof_scores_")
        assert not hasattr(model, "cv_results_")

"""The k best columns against a stable sort, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from hyperlabel import PLST, BinaryRelevance, LabelForest, RankSVM
from hyperlabel._topk import top_k
from hyperlabel.metrics import propensities, psp_at_k


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(1, 6), columns=st.integers(1, 9), data=st.data())
def test_ties_go_to_the_lowest_index(seed, n, columns, data):
    scores = np.random.default_rng(seed).integers(0, 3, size=(n, columns)).astype(float)
    k = data.draw(st.integers(1, columns))
    indices, values = top_k(scores, k)
    assert_array_equal(indices, np.argsort(-scores, axis=1, kind="stable")[:, :k])
    assert_array_equal(values, np.take_along_axis(scores, indices, axis=1))


def test_k_out_of_range_is_refused():
    with pytest.raises(ValueError, match="between 1 and the number of labels"):
        top_k(np.zeros((2, 3)), 4)


@pytest.fixture(scope="module")
def marked():
    X, Y = make_multilabel_classification(n_samples=300, n_classes=12, n_labels=3, random_state=1)
    keep = np.random.default_rng(0).random(Y.shape) < np.linspace(0.2, 1.0, 12)
    return X, (Y * keep).astype(int), propensities(Y * keep)


@pytest.mark.parametrize("threshold", [0.0, "auto"])
def test_by_propensity_the_shared_ridge_is_the_ridge_on_labels_divided_by_it(marked, threshold):
    X, Y, p = marked
    indices, scores = (
        BinaryRelevance(alpha=5.0, threshold=threshold).fit(X, Y).predict_topk(X, 4, propensity=p)
    )
    expected = Ridge(alpha=5.0).fit(X, Y / p).predict(X)
    assert_array_equal(indices, np.argsort(-expected, axis=1)[:, :4])
    assert_allclose(scores, np.take_along_axis(expected, indices, axis=1), atol=1e-8)


def test_by_propensity_probabilities_are_divided_and_rare_labels_gain(marked):
    X, Y, p = marked
    model = LabelForest(20, random_state=0).fit(X, Y)
    indices, scores = model.predict_topk(X, 5, propensity=p)
    expected = model.predict_proba(X) / p
    assert_array_equal(indices, np.argsort(-expected, axis=1, kind="stable")[:, :5])
    assert_allclose(scores, np.take_along_axis(expected, indices, axis=1))
    for other in (BinaryRelevance(alpha=5.0).fit(X, Y), PLST(6).fit(X, Y)):
        plain, raised = (other.predict_topk(X, 1, propensity=q) for q in (None, p))
        gained = [psp_at_k(Y, best, propensities=p, k=1) for best in (plain, raised)]
        assert gained[1] > gained[0]


def test_a_propensity_that_cannot_be_used_is_refused_in_a_sentence(marked):
    X, Y, p = marked
    model = BinaryRelevance().fit(X, Y)
    with pytest.raises(ValueError, match="one number for each of 12 labels"):
        model.predict_topk(X, propensity=p[:3])
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
        model.predict_topk(X, propensity=p * 0)
    for scores_only in (RankSVM(C=1.0), BinaryRelevance(LinearSVC())):
        with pytest.raises(ValueError, match="wrap it in MultiLabelCalibrator"):
            scores_only.fit(X, Y).predict_topk(X, propensity=p)

"""NaN in y: each label is fitted on the rows where it is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tests.optional import optional

from hyperlabel import BinaryRelevance

pd = optional("pandas")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 5))
    Y = (X @ rng.normal(size=(5, 4)) > 0.3).astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[:, 3] = np.where(np.isnan(Y[:, 2]), np.nan, Y[:, 0] == 1)  # the same gaps as label 2
    return X, Y, rng.random(120) + 0.1


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_label_sees_its_known_rows(data, estimator, weighted):
    X, Y, w = data
    w = w if weighted else np.ones(len(X))
    model = BinaryRelevance(estimator, alpha=1.0).fit(X, Y, sample_weight=w)
    for j in range(4):
        known = ~np.isnan(Y[:, j])
        alone = BinaryRelevance(estimator, alpha=1.0).fit(X[known], Y[known][:, [j]], sample_weight=w[known])
        assert_allclose(model.decision_function(X)[:, j], alone.decision_function(X)[:, 0], atol=1e-8)


def test_frames_and_sparse_y(data):
    X, Y, _ = data
    expected = BinaryRelevance().fit(X, Y).decision_function(X)
    frame = BinaryRelevance().fit(X, pd.DataFrame(Y, columns=list("abcd")))
    assert list(frame.label_names_) == list("abcd")
    assert_allclose(frame.decision_function(X), expected)
    assert_allclose(BinaryRelevance().fit(X, sparse.csr_array(Y)).decision_function(X), expected)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_labels_nobody_knows_rank_by_the_mean_prevalence(data, loss):
    X, Y = data[0], data[1].copy()
    Y[:, 1], Y[:, 2] = np.nan, 0.0
    known = Y[:, [0, 2, 3]]
    prevalence = np.mean([np.nanmean(known[:, j]) for j in range(3)])
    model = BinaryRelevance(loss=loss, alpha=1.0).fit(X, Y)
    scores = model.decision_function(X)
    expected = np.log(prevalence / (1 - prevalence)) if loss == "logistic" else 2 * prevalence - 1
    assert_allclose(scores[:, 1], expected)
    assert (scores.argmin(axis=1) == 2).all()  # known rows, but no positive: last
    assert not model.predict(X)[:, 1].any()


def test_sums_of_labels_with_gaps_answer_from_rows_to_come(data):
    X, Y, _ = data
    whole, parts = BinaryRelevance().fit(X, Y), BinaryRelevance().partial_fit(X[:50], Y[:50])
    parts.merge(BinaryRelevance().fit(X[50:], Y[50:]))
    assert parts.alpha_ == whole.alpha_
    assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="give a number of folds"):
        BinaryRelevance(cv="loo").fit(X, Y)
    with pytest.raises(ValueError, match="no known label"):
        BinaryRelevance().fit(X, np.full_like(Y, np.nan))

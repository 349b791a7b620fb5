"""Calibrated label ranking against one scikit-learn model per pair, counted vote by vote."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from hyperlabel import CalibratedLabelRanking
from hyperlabel.solvers.rank import pairwise
from hyperlabel.solvers.rank.pairwise import label_pairs, solve_pairwise_ridge


def make(seed=0, n=150, d=6, k=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    Y = ((X - 3) @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.3).astype(float)
    Y[:3], Y[3:5] = 0, 1
    return X, Y, rng.integers(0, 3, n).astype(float)


def reference(X, Y, alpha, weights):
    coef, intercept = [], []
    for p, q in label_pairs(Y.shape[1]):
        differ = Y[:, p] != Y[:, q]
        model = Ridge(alpha=alpha).fit(
            X[differ], Y[differ, p] - Y[differ, q], sample_weight=None if weights is None else weights[differ]
        )
        coef.append(model.coef_)
        intercept.append(model.intercept_)
    return np.array(coef), np.array(intercept)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("limit", [2000, 2])
def test_every_pair_is_its_own_ridge(container, weighted, limit, monkeypatch):
    monkeypatch.setattr(pairwise, "GRAM_FEATURES", limit)
    X, Y, weights = make()
    Y[:, 4] = Y[:, 3] * (np.arange(len(Y)) % 9 > 0)  # nearly equal columns: few rows differ
    weights = weights if weighted else None
    found = solve_pairwise_ridge(container(X), sparse.csr_array(Y), alpha=0.5, sample_weight=weights)
    for ours, theirs in zip(found, reference(X, Y, 0.5, weights), strict=True):
        assert_allclose(ours, theirs, atol=1e-8)


def test_votes_are_counted_as_defined():
    X, Y, _ = make(1)
    model = CalibratedLabelRanking(alpha=2.0).fit(X, Y)
    coef, intercept = reference(X, Y, 2.0, None)
    virtual = np.column_stack([Ridge(alpha=2.0).fit(X, 2 * Y[:, j] - 1).predict(X) for j in range(5)])
    votes = (virtual > 0).astype(float)
    for (p, q), g in zip(label_pairs(5), (X @ coef.T + intercept).T, strict=True):
        votes[:, p] += g > 0
        votes[:, q] += g <= 0
    rest = (virtual <= 0).sum(axis=1, keepdims=True)
    assert_array_equal(model.predict(X), (votes > rest).astype(float))
    scores = model.decision_function(X)
    better = votes[:, :, None] > votes[:, None, :]
    assert (scores[:, :, None] > scores[:, None, :])[better].all()  # margins only break ties


def test_a_classifier_per_pair():
    X, Y, _ = make(2)
    ridge = CalibratedLabelRanking(alpha=1.0).fit(X, Y)
    each = CalibratedLabelRanking(RidgeClassifier(alpha=1.0)).fit(X, Y)
    assert_allclose(each.decision_function(X), ridge.decision_function(X), atol=1e-9)
    for estimator in (LogisticRegression(), GaussianNB()):
        found = CalibratedLabelRanking(estimator, n_jobs=2).fit(X, Y)
        assert (found.predict(X) == Y).mean() > 0.75
    with pytest.raises(TypeError, match="must be a classifier"):
        CalibratedLabelRanking(Ridge()).fit(X, Y)


def test_equal_constant_and_empty_labels_do_no_harm():
    X, Y, _ = make(3)
    Y[:, 1], Y[:, 2], Y[:, 3] = Y[:, 0], 0, 0
    for model in (CalibratedLabelRanking(), CalibratedLabelRanking(LogisticRegression())):
        scores = model.fit(X, Y).decision_function(X)
        assert_allclose(scores[:, 0], scores[:, 1], atol=1e-8)
        assert not model.predict(X)[:, 2:4].any()


def test_too_many_pairs_are_refused():
    X, Y, _ = make(4)
    with pytest.raises(ValueError, match="10 label pairs"):
        CalibratedLabelRanking(memory_limit=100).fit(X, Y)

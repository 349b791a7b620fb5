"""BinaryRelevance against scikit-learn's RidgeClassifier, per-label models and itself in pieces."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import StandardScaler

from hyperlabel import BinaryRelevance
from hyperlabel.linear.per_label import score_labels


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 12)) * (rng.random((150, 12)) < 0.5)
    Y = (X @ rng.normal(size=(12, 6)) + rng.normal(size=(150, 6)) > 1).astype(int)
    return X, Y, rng.random(150)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 50.0])
def test_scores_equal_the_ridge_classifier(data, alpha):
    X, Y, w = data
    twin = RidgeClassifier(alpha=alpha, solver="svd").fit(X, Y, sample_weight=w)
    for rows in (X, sparse.csr_array(X)):
        model = BinaryRelevance(alpha=alpha).fit(rows, Y, sample_weight=w)
        assert_allclose(model.decision_function(rows), twin.decision_function(X), atol=1e-8)
        assert model.residual_ < 1e-10


def test_each_label_gets_its_own_estimator(data):
    X, Y, w = data
    with parallel_config(backend="threading"):
        model = BinaryRelevance(LogisticRegression(), n_jobs=2).fit(X, Y, sample_weight=w)
    for j in range(Y.shape[1]):
        alone = LogisticRegression().fit(X, Y[:, j], sample_weight=w)
        assert_allclose(model.decision_function(X)[:, j], alone.decision_function(X), atol=1e-10)
        assert_allclose(model.predict_proba(X)[:, j], alone.predict_proba(X)[:, 1], atol=1e-10)


def test_partial_fit_equals_one_fit(data):
    X, Y, w = data
    whole = BinaryRelevance().fit(X, Y, sample_weight=w)
    pieces = BinaryRelevance()
    for rows in (slice(0, 20), slice(20, 90), slice(90, 150)):
        pieces.partial_fit(X[rows], Y[rows], sample_weight=w[rows])
    assert_allclose(pieces.coef_, whole.coef_, atol=1e-10)
    mixed = BinaryRelevance().partial_fit(X[:50], Y[:50]).partial_fit(sparse.csr_array(X[50:]), Y[50:])
    assert_allclose(mixed.coef_, BinaryRelevance().fit(X, Y).coef_, atol=1e-10)


def test_partial_fit_learns_what_is_constant_from_all_rows(data):
    X, Y, _ = data
    Y = Y.copy()
    Y[:50, 2] = 0
    model = BinaryRelevance().partial_fit(X[:50], Y[:50])
    assert (model.decision_function(X).argmin(axis=1) == 2).all()
    model.partial_fit(X[50:], Y[50:])
    assert_allclose(model.decision_function(X), BinaryRelevance().fit(X, Y).decision_function(X), atol=1e-9)


def test_partial_fit_of_classes(data):
    X = data[0]
    y = np.array(["b", "a", "c"])[np.arange(150) % 3]
    model = BinaryRelevance().partial_fit(X[:2], y[:2], classes=["a", "b", "c"])
    model.partial_fit(X[2:], y[2:])
    assert_array_equal(model.predict(X), BinaryRelevance().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="the class z"):
        model.partial_fit(X[:1], ["z"])
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X[:3], ["a"])


def test_partial_fit_refuses_other_labels(data):
    X, Y, _ = data
    model = BinaryRelevance().partial_fit(X, Y)
    with pytest.raises(ValueError, match="6 label columns"):
        model.partial_fit(X, Y[:, :5])


def test_bad_parameters_get_a_sentence(data):
    X, Y, w = data
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 0 or"):
        BinaryRelevance(alpha=-1).fit(X, Y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        BinaryRelevance().fit(X, Y, sample_weight=0 * w)
    with pytest.raises(ValueError, match="must be a classifier"):
        BinaryRelevance(StandardScaler()).fit(X, Y)
    with pytest.raises(ValueError, match="between 1 and the number of labels"):
        BinaryRelevance().fit(X, Y).predict_topk(X, 7)


def test_models_that_only_predict_score_a_half_to_either_side():
    class Above(ClassifierMixin, BaseEstimator):
        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    assert score_labels([Above(), None], np.array([[-1.0], [2.0]])).tolist() == [[-0.5, 0.0], [0.5, 0.0]]


def test_models_of_single_labels_offer_no_rows_one_block_after_the_other():
    assert hasattr(BinaryRelevance(), "partial_fit")
    assert not hasattr(BinaryRelevance(LogisticRegression()), "partial_fit")

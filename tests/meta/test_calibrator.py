"""MultiLabelCalibrator: probabilities that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold

from hyperlabel import BinaryRelevance, MultiLabelCalibrator, metrics
from hyperlabel.decision import Sigmoid
from hyperlabel.model_selection import out_of_fold_scores


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=1200, n_classes=5, random_state=0, allow_unlabeled=True)
    return X[:800], Y[:800], X[800:], Y[800:]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_honest(data, method):
    X, Y, X_new, Y_new = data
    model = MultiLabelCalibrator(BinaryRelevance(), method=method).fit(X, Y)
    p = model.predict_proba(X_new)
    assert p.shape == Y_new.shape
    assert ((p > 0) & (p < 1)).all()
    error = metrics.reliability(Y_new, p).calibration_error
    assert error < 0.04
    naive = np.clip((BinaryRelevance().fit(X, Y).decision_function(X_new) + 1) / 2, 0, 1)
    assert error < metrics.reliability(Y_new, naive).calibration_error
    assert metrics.brier_score(Y_new, p) < metrics.brier_score(Y_new, naive) + 1e-3
    constant = np.broadcast_to(Y.mean(axis=0), Y_new.shape)
    assert metrics.log_loss(Y_new, p) < metrics.log_loss(Y_new, constant)
    np.testing.assert_allclose(model.decision_function(X_new), logit(p))
    np.testing.assert_array_equal(model.predict(X_new), p > 0.5)


def test_sigmoid_is_fitted_on_out_of_fold_scores(data):
    X, Y, _, _ = data
    model = MultiLabelCalibrator(RidgeClassifier(), method="sigmoid", cv=KFold(3)).fit(X, Y)
    expected = Sigmoid.fit(
        out_of_fold_scores(RidgeClassifier(), X, Y, cv=KFold(3)), sparse.csr_array(Y * 1.0)
    )
    np.testing.assert_allclose(model.calibrators_.sigmoid.slope, expected.slope)
    free = MultiLabelCalibrator(BinaryRelevance(alpha=1.0), method="sigmoid", cv=KFold(3)).fit(X, Y)
    np.testing.assert_allclose(free.calibrators_.sigmoid.slope, expected.slope, rtol=1e-5)


def test_constant_labels_are_as_sure_as_the_rows_allow(data):
    X, Y, X_new, _ = data
    wide = np.column_stack([np.zeros(800, int), Y, np.ones(800, int)])
    p = MultiLabelCalibrator(BinaryRelevance()).fit(X, wide).predict_proba(X_new)
    np.testing.assert_allclose(p[:, 0], 1 / 802)
    np.testing.assert_allclose(p[:, -1], 801 / 802)
    only = MultiLabelCalibrator(BinaryRelevance()).fit(X, wide[:, [0, -1]])
    np.testing.assert_array_equal(only.predict(X_new), np.tile([0, 1], (400, 1)))


def test_classes_of_a_one_dimensional_y():
    X, y = make_classification(n_samples=300, n_classes=3, n_informative=5, random_state=0)
    model = MultiLabelCalibrator(LogisticRegression(), cv=3).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    binary = MultiLabelCalibrator(LogisticRegression(), cv=3).fit(X, y == 1)
    assert binary.predict_proba(X).shape == (300, 2)


def test_unknown_method_is_refused(data):
    with pytest.raises(ValueError, match="method must be 'auto', 'sigmoid', 'isotonic' or 'beta', got"):
        MultiLabelCalibrator(BinaryRelevance(), method="magic").fit(*data[:2])


def test_estimator_without_scores_is_refused(data):
    class Silent(RidgeClassifier):
        decision_function = property()

    with pytest.raises(ValueError, match="neither decision_function nor predict_proba"):
        MultiLabelCalibrator(Silent(), cv=2).fit(*data[:2])

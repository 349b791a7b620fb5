"""Label-space classifiers: Theorem 1, any regressor, one linear map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from hyperlabel import (
    PLST,
    CompressedSensing,
    LabelSpaceClassifier,
    PartialBinaryRelevance,
)
from hyperlabel.labelspace import (
    PrincipalEncoder,
)

X, Y = make_multilabel_classification(n_samples=240, n_features=15, n_classes=12, n_labels=3, random_state=0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), M=st.integers(1, 6), reference=st.sampled_from(["mean", "origin"]))
def test_theorem_1_bounds_the_hamming_loss(seed, M, reference):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(60, 4))
    B = (A @ rng.normal(size=(4, 6)) + rng.normal(size=(60, 6)) > rng.normal()).astype(int)
    model = PLST(M, reference=reference).fit(A[:40], B[:40])
    found = model.error_decomposition(A[40:], B[40:])
    assert found.hamming_loss <= found.bound + 1e-12
    P, o = model.encoder_.components_, model.encoder_.offset_
    h = (B[40:] - o) @ P.T
    prediction = 4 / 6 * ((model.predict_codes(A[40:]) - h) ** 2).sum(axis=1).mean()
    encoding = 4 / 6 * ((B[40:] - o - h @ P) ** 2).sum(axis=1).mean()
    assert_allclose(found.prediction_error, prediction, rtol=1e-9)
    assert_allclose(found.encoding_error, encoding, atol=1e-12)
    assert_allclose(found.bound, prediction + encoding, rtol=1e-9)


def test_decomposition_without_orthonormal_rows_reports_lemma_1_alone():
    found = CompressedSensing(9).fit(X, Y).error_decomposition(X, Y)
    assert found.prediction_error is None
    assert found.encoding_error is None
    assert found.hamming_loss <= found.bound


@pytest.mark.parametrize("regressor", [LinearRegression(), DecisionTreeRegressor(random_state=0)])
def test_any_regressor(regressor):
    model = LabelSpaceClassifier(PrincipalEncoder(5), regressor).fit(X, Y)
    H = PrincipalEncoder(5).fit_transform(Y)
    want = H.mean(axis=0) + regressor.fit(X, H).predict(X) - H.mean(axis=0)
    assert_allclose(model.predict_codes(X), want, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [PLST(3), PLST(2, reference="origin"), LabelSpaceClassifier(), PartialBinaryRelevance(4)],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_coef_is_labels_by_features_and_gives_the_scores(model, container):
    A = container(np.where(np.abs(X) > 3, X, 0.0))
    model = clone(model).fit(A, Y)
    assert model.coef_.shape == (12, 15)
    assert_allclose(A @ model.coef_.T + model.intercept_, model.decision_function(A), atol=1e-12)


def test_a_map_too_large_to_multiply_out_stays_factored(monkeypatch):
    whole = PLST(5).fit(X, Y)
    monkeypatch.setattr("hyperlabel.moments.linear_map.PRODUCT_MAX_BYTES", 0)
    model = PLST(5).fit(X, Y)
    assert model._linear_map().product is None
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-12)
    assert_allclose(model.coef_, whole.coef_, atol=1e-12)


def test_what_is_not_linear_has_no_coefficients():
    for model in (CompressedSensing(9), PLST(3, regressor=Ridge())):
        assert not hasattr(model.fit(X, Y), "coef_")
        with pytest.raises(ValueError, match="not linear in its features"):
            model._linear_map()

"""float32 rows give float32 scores and projections; what stays in float64 is listed with the reason."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from tests.estimators import CLASSIFIERS, TRANSFORMERS, UNSUPERVISED
from tests.test_common import make_data

from hyperlabel import NystroemRBF

# What does not follow the rows, and why.
ALWAYS_FLOAT32 = {NystroemRBF: "its rows have as many columns as landmarks: four bytes for each"}
ALWAYS_FLOAT64 = {
    "predict_proba": "probabilities close to 0 and 1 need the digits, and calibrators work on them"
}


@pytest.mark.parametrize("model", [*CLASSIFIERS, *TRANSFORMERS, *UNSUPERVISED], ids=str)
def test_the_type_of_rows_is_that_of_scores_and_projections(model):
    X, Y = make_data(9)
    single = X.astype(np.float32)
    for rows, expected in ((single, np.float32), (sparse.csr_array(single), np.float32), (X, np.float64)):
        fitted = clone(model).fit(rows, Y)
        if is_classifier(model):
            scores = fitted.decision_function(rows)
            assert fitted.predict_topk(rows, 2)[1].dtype == scores.dtype == expected
            assert fitted.predict(rows).dtype == Y.dtype
            for method in ALWAYS_FLOAT64:
                if hasattr(fitted, method):
                    assert getattr(fitted, method)(rows).dtype == np.float64
        else:
            expected = np.float32 if type(model) in ALWAYS_FLOAT32 else expected
            assert fitted.transform(rows).dtype == expected


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_single_scores_are_double_ones_rounded_and_decide_as_predict_does(model):
    X, Y = make_data(9)
    single = X.astype(np.float32)
    fitted = clone(model).fit(single, Y)
    scores = fitted.decision_function(single)
    assert_allclose(scores, fitted.decision_function(single.astype(np.float64)), rtol=1e-5, atol=1e-5)
    limits = getattr(fitted, "thresholds_", 0.0)
    assert_array_equal(fitted.predict(single), (scores > limits).astype(Y.dtype))

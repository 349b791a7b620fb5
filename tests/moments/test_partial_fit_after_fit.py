"""Rows that follow a `fit` are added to it, or refused in a sentence: a fit is never silently forgotten."""

from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators import CLASSIFIERS, TRANSFORMERS

from hyperlabel import MDDM, BinaryRelevance, HypergraphSpectral, ThresholdTuner, update

OTHER_ROUTES = [
    BinaryRelevance(solver="samples"),
    BinaryRelevance(solver="krylov", alpha=1.0),
    BinaryRelevance(solver="gram", alpha=1.0),
    BinaryRelevance(alpha=1.0, cv=3),
    HypergraphSpectral(solver="samples"),
    HypergraphSpectral(solver="krylov"),
]
pytestmark = pytest.mark.filterwarnings("ignore:The number of unique classes")  # trees on label sets
ESTIMATORS = [*CLASSIFIERS, *TRANSFORMERS, *OTHER_ROUTES]


def draw_rows(width, seed=0, n_rows=90):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, width)) + 1.0
    Y = (X[:, :6] + rng.normal(size=(n_rows, 6)) > np.linspace(0.5, 1.6, 6)).astype(int)
    return X, Y


def outputs(model, X):
    """Scores; of a projection the inner products of the rows, which know neither signs nor rotations."""
    if hasattr(model, "transform"):
        Z = model.transform(X)
        return Z @ Z.T
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("width", [8, 200], ids=["narrow", "wide"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_partial_fit_after_fit_equals_a_fit_on_all_rows_or_refuses(model, container, width):
    X, Y = draw_rows(width)
    X = container(X)
    model = clone(model).fit(X[:80], Y[:80])
    before = outputs(model, X)
    if not hasattr(model, "partial_fit"):
        with pytest.raises(AttributeError):
            model.partial_fit(X[80:], Y[80:])
        return
    if not hasattr(model, "moments_"):
        with pytest.raises(ValueError, match="keeps no"):
            model.partial_fit(X[80:], Y[80:])
        assert_allclose(outputs(model, X), before)
        return
    want = outputs(clone(model).fit(X, Y), X)
    assert_allclose(outputs(model.partial_fit(X[80:], Y[80:]), X), want, atol=1e-8 * np.abs(want).max())


@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_a_second_fit_starts_anew_even_after_rows_were_refused(model):
    X, Y = draw_rows(200)
    model = clone(model).fit(X[:40], Y[:40])
    if hasattr(model, "partial_fit"):
        with suppress(ValueError):
            model.partial_fit(X[40:41], Y[40:41])
    want = outputs(clone(model).fit(X[40:], Y[40:]), X)
    assert_allclose(outputs(model.fit(X[40:], Y[40:]), X), want)


def test_one_row_after_a_fit_of_wide_text_does_not_replace_the_model():
    rng = np.random.default_rng(3)
    X = sparse.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    Y = (X @ rng.normal(size=(3000, 5)) > 0.5).astype(int)
    model = BinaryRelevance().fit(X[:300], Y[:300])
    assert not hasattr(model, "moments_")
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="keeps no moments.*solver='gram'"):
        model.partial_fit(X[300:301], Y[300:301])
    assert_allclose(model.decision_function(X), before)


@pytest.mark.parametrize("y", ["nan", "classes", "tags"])
def test_whatever_form_the_labels_of_the_fit_had(y):
    X, Y = draw_rows(8)
    targets = {
        "nan": np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y),
        "classes": Y[:, 0],
        "tags": [[f"tag{j}" for j in np.flatnonzero(row)] for row in Y],
    }[y]
    model = BinaryRelevance(alpha=1.0).fit(X[:80], targets[:80])
    want = BinaryRelevance(alpha=1.0).fit(X, targets).decision_function(X)
    assert_allclose(model.partial_fit(X[80:], targets[80:]).decision_function(X), want, atol=1e-8)


@pytest.mark.parametrize("model", [BinaryRelevance(), MDDM()], ids=repr)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_call_that_failed_was_no_fit(model, method):
    X, Y = draw_rows(8)
    model = clone(model)
    with pytest.raises(ValueError, match="0 and 1"):
        getattr(model, method)(X, Y + 1)
    want = outputs(clone(model).fit(X, Y), X)
    assert_allclose(outputs(model.partial_fit(X, Y), X), want, atol=1e-8)


@pytest.mark.parametrize("wrap", [ThresholdTuner, lambda core: make_pipeline(StandardScaler(), core)])
def test_update_refuses_what_partial_fit_refuses(wrap):
    X, Y = draw_rows(200)
    model = wrap(BinaryRelevance(solver="samples")).fit(X[:80], Y[:80])
    with pytest.raises(ValueError, match="solver='gram'"):
        update(model, (X[80:], Y[80:]))

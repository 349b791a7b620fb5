"""alpha='auto' and threshold='auto': λ of the labels, one threshold, on every way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from hyperlabel import (
    CPLST,
    PLST,
    BinaryRelevance,
    ClosedFormSearchCV,
    CompressedSensing,
    PartialBinaryRelevance,
    outofcore,
)
from hyperlabel.labelspace import LabelSpaceClassifier, PrincipalEncoder

BOTH = {"alpha": "auto", "threshold": "auto"}


MODELS = [
    PLST(3, **BOTH),
    PLST(3, reference="origin", **BOTH),
    CPLST(3, **BOTH),
    PartialBinaryRelevance(4, **BOTH),
    LabelSpaceClassifier(PrincipalEncoder(2), **BOTH),
    LabelSpaceClassifier(**BOTH),
]


def table(n=300, d=15, k=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.3, 4, d) + 2
    scores = (X - 2) @ rng.normal(size=(d, k)) / 4 + 2 * rng.normal(size=(n, k))
    Y = (scores > scores.std(axis=0) * norm.ppf(np.linspace(0.6, 0.95, k))).astype(int)
    return X, Y


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("shape", [(300, 15), (60, 150)], ids=["tall", "wide"])
def test_lambda_is_that_of_binary_relevance_and_the_fit_is_the_one_at_that_number(model, shape):
    X, Y = table(*shape)
    found = clone(model).fit(X, Y)
    assert found.alpha_ == BinaryRelevance(alpha="auto").fit(X, Y).alpha_
    given = clone(model).set_params(alpha=found.alpha_, threshold=0.0).fit(X, Y)
    assert_allclose(found.decision_function(X), given.decision_function(X) - found.threshold_, atol=1e-7)
    assert ((found.decision_function(X) > 0) == found.predict(X)).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("shape", [(300, 15), (60, 150)], ids=["tall", "wide"])
def test_the_threshold_solves_its_equation_on_the_training_points(model, shape):
    X, Y = table(*shape)
    found = clone(model).fit(X, Y)
    points = (
        clone(found).set_params(alpha=found.alpha_, threshold=0.0).fit(X, Y).decision_function(X) + 1
    ) / 2
    moves = points.std(axis=0) > 1e-9
    mean, std = points.mean(axis=0)[moves], points.std(axis=0)[moves]
    expected = norm.sf((found.threshold_ + 1) / 2, loc=mean, scale=std).sum()
    assert_allclose(expected, Y.mean(axis=0)[moves].sum(), rtol=1e-5)


def test_with_every_component_it_is_binary_relevance():
    X, Y = table()
    one, other = PLST(None, **BOTH).fit(X, Y), BinaryRelevance(**BOTH).fit(X, Y)
    assert one.alpha_ == other.alpha_
    assert_allclose(one.threshold_, other.threshold_, atol=1e-9)
    assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_way_to_the_same_rows_decides_the_same(model):
    X, Y = table()
    whole = clone(model).fit(X, Y)
    streamed = clone(model).partial_fit(X[:90], Y[:90]).partial_fit(X[90:], Y[90:])
    merged = clone(model).partial_fit(X[:40], Y[:40]).merge(clone(model).partial_fit(X[40:], Y[40:]))
    longer = clone(model).partial_fit(np.vstack([X, X[:30]]), np.vstack([Y, 1 - Y[:30]]))
    chunked = outofcore.fit(clone(model), [(X[i : i + 70], Y[i : i + 70]) for i in range(0, 300, 70)])
    for other in (streamed, merged, longer.forget(X[:30], 1 - Y[:30]), chunked):
        assert other.alpha_ == whole.alpha_
        assert_allclose(other.threshold_, whole.threshold_, atol=1e-8)
        assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("model", MODELS[:4], ids=str)
def test_free_search_with_auto_equals_refits_on_the_folds(model):
    X, Y = table()
    folds = KFold(3)
    search = ClosedFormSearchCV(clone(model), {"n_components": [2, 3]}, scoring="f1_micro", cv=folds).fit(
        X, Y
    )
    best = clone(model).set_params(**search.best_params_)
    refits = cross_val_predict(best, X, Y, cv=folds, method="decision_function")
    assert_allclose(search.oof_scores_, refits, atol=1e-8)


def test_codes_without_a_linear_decoder_take_lambda_and_keep_the_threshold_at_zero():
    X, Y = table()
    model = CompressedSensing(8, alpha="auto", random_state=0).fit(X, Y)
    assert model.alpha_ == BinaryRelevance(alpha="auto").fit(X, Y).alpha_
    given = CompressedSensing(8, alpha=model.alpha_, random_state=0).fit(X, Y)
    assert_allclose(model.decision_function(X), given.decision_function(X), atol=1e-9)
    assert model.threshold_ == 0.0


def test_a_regressor_of_one_s_own_keeps_the_threshold_at_zero_unless_a_number_is_given():
    X, Y = table()
    for regressor in (KNeighborsRegressor(), Ridge()):
        free = PLST(3, regressor=regressor, **BOTH).fit(X, Y)
        moved = PLST(3, regressor=regressor, threshold=0.3).fit(X, Y)
        assert (free.threshold_, moved.threshold_) == (0.0, 0.3)
        assert_allclose(moved.decision_function(X), free.decision_function(X) - 0.3)


def test_the_threshold_counts_the_labels_that_the_model_can_move():
    X, Y = table()
    model = PartialBinaryRelevance(2).fit(X, Y)
    frequent = np.argsort(-Y.sum(axis=0), kind="stable")[:2]
    predicted, carried = model.predict(X).sum(axis=0), Y.sum(axis=0)
    assert 0.8 < predicted[frequent].sum() / carried[frequent].sum() < 1.25
    assert predicted.sum() == predicted[frequent].sum()

"""Strategies: each equals its function, constant labels stay decided, folds see the others only."""

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.decision import Sigmoid, best_k, expected_f1_sets, proportional_thresholds
from hyperlabel.decision.strategies import (
    STRATEGIES,
    Global,
    OutOfFold,
    PerLabel,
    Strategy,
    cross_decide,
    register_strategy,
)
from hyperlabel.decision.thresholds import global_threshold, per_label_thresholds


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(120, 5))
    Y = sparse.csr_array((scores + rng.normal(size=scores.shape) > 0.6).astype(float))
    return OutOfFold(scores, Y, X=rng.normal(size=(120, 3)))


def test_strategies_take_their_own_parameters(data):
    params = {"scoring": "f1_micro", "shrinkage": 3.0, "k": 2, "precision": 0.7, "unknown": 1}
    assert STRATEGIES["per_label"].of(params) == PerLabel("f1_micro", 3.0)
    assert STRATEGIES["proportional"].of(params) == STRATEGIES["proportional"]()
    assert STRATEGIES["precision_at_least"].of(params).precision == 0.7


def test_thresholds_are_those_of_the_functions(data):
    scores, Y = data.scores, data.Y
    expected = {
        "per_label": per_label_thresholds(scores, Y).thresholds,
        "global": global_threshold(scores, Y, scoring="f1_macro").thresholds,
        "proportional": proportional_thresholds(scores, Y),
    }
    for name, thresholds in expected.items():
        strategy = STRATEGIES[name]()
        fitted = strategy.fit(data)
        np.testing.assert_array_equal(fitted["thresholds_"], thresholds)
        np.testing.assert_array_equal(strategy.decide(fitted, scores), scores > thresholds)


def test_rules_of_rows_are_those_of_the_functions(data):
    scores, Y = data.scores, data.Y
    k = STRATEGIES["top_k"]().fit(data)["k_"]
    assert k == best_k(scores, Y, scoring="f1_macro")[0]
    np.testing.assert_array_equal(STRATEGIES["top_k"]().decide({"k_": k}, scores).sum(axis=1), k)
    expected = expected_f1_sets(Sigmoid.fit(scores, Y).probabilities(scores))
    strategy = STRATEGIES["expected_f1"]()
    np.testing.assert_array_equal(strategy.decide(strategy.fit(data), scores), expected)


@pytest.mark.parametrize("name", STRATEGIES)
def test_constant_labels_stay_decided_and_change_no_other(data, name):
    strategy = STRATEGIES[name]()
    sets = strategy.decide(strategy.fit(data), data.scores, data.X)
    Y = sparse.csr_array(np.hstack([data.Y.toarray(), np.zeros((120, 1)), np.ones((120, 1))]))
    extremes = np.tile([data.scores.min() - 1, data.scores.max() + 1], (120, 1))
    more = OutOfFold(np.hstack([data.scores, extremes]), Y, X=data.X, constant=np.array([0] * 5 + [-1, 1]))
    fitted = strategy.fit(more)
    found = strategy.decide(fitted, more.scores, more.X, more.constant)
    assert not found[:, 5].any()
    assert found[:, 6].all()
    if name == "top_k":  # the label always on is one of the k
        assert fitted["k_"] == strategy.fit(data)["k_"]
    else:
        np.testing.assert_array_equal(found[:, :5], sets)


def test_each_fold_is_decided_by_a_rule_of_the_others(data):
    folds = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    sets = cross_decide(Global("f1_micro"), data, folds)
    for train, test in folds:
        threshold = global_threshold(data.scores[train], data.Y[train]).thresholds
        np.testing.assert_array_equal(sets[test], data.scores[test] > threshold)


def test_a_strategy_joins_by_one_class(data):
    from sklearn.datasets import make_multilabel_classification

    from hyperlabel import ThresholdTuner

    class Never(Strategy):
        name = "never"

        @classmethod
        def of(cls, params):
            return cls()

        def fit(self, data):
            return {"never_": True}

        def decide(self, fitted, scores, X=None, constant=None):
            return np.zeros(scores.shape, dtype=bool)

    register_strategy(Never)
    try:
        with pytest.raises(ValueError, match="There is a strategy 'never' already"):
            register_strategy(Never)
        X, Y = make_multilabel_classification(n_samples=60, random_state=0)
        assert ThresholdTuner(strategy="never").fit(X, Y).predict(X).sum() == 0
    finally:
        del STRATEGIES["never"]

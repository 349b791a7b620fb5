"""Weights and groups through every wrapper by metadata routing, against the same fit without it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlabel import (
    OPLS,
    AutoMultiLabel,
    BinaryRelevance,
    CalibratedLabelRanking,
    ClosedFormSearchCV,
    MultiLabelCalibrator,
    RankSVM,
    ThresholdTuner,
)
from hyperlabel.decision import per_label_thresholds
from hyperlabel.metrics import get_scorer
from hyperlabel.model_selection import cross_val_scores, out_of_fold_scores

X, Y = make_multilabel_classification(120, 8, n_classes=4, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(1, 4, 120).astype(float)
GROUPS = np.arange(120) // 6
BOTH = {"sample_weight": WEIGHTS, "groups": GROUPS}
OTHER = {"sample_weight": WEIGHTS[::-1], "groups": np.random.default_rng(1).permutation(GROUPS)}


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def requesting(model, **requests):
    """Ask for metadata where routing is on; elsewhere everything is passed on as it is."""
    with config_context(enable_metadata_routing=True):
        return model.set_fit_request(**requests)


def ridge():
    return requesting(BinaryRelevance(), sample_weight=True, groups=True)


def logistic():
    inner = requesting(LogisticRegression(), sample_weight=True)
    return requesting(BinaryRelevance(inner), sample_weight=True, groups=True)


WRAPPERS = [
    ThresholdTuner(),
    ThresholdTuner(ridge(), cv=GroupKFold(3)),
    ThresholdTuner(logistic(), cv=GroupKFold(3)),
    ThresholdTuner(ridge(), cv="split"),
    MultiLabelCalibrator(),
    MultiLabelCalibrator(ridge(), method="isotonic", cv=GroupKFold(3)),
    MultiLabelCalibrator(ThresholdTuner(ridge()), cv=GroupKFold(3)),
]


def outcome(model):
    rule = model.thresholds_ if hasattr(model, "thresholds_") else model.predict_proba(X)
    return np.vstack([model.decision_function(X), rule])


def measure(model, Z):
    """What depends on the metadata: out-of-fold scores where there are some."""
    if hasattr(model, "oof_scores_"):
        return model.oof_scores_
    return (
        outcome(model)
        if isinstance(model, ThresholdTuner | MultiLabelCalibrator)
        else model.decision_function(Z)
    )


@pytest.mark.parametrize("model", WRAPPERS, ids=str)
def test_a_wrapper_routes_weights_and_groups_as_it_passes_them_on(model):
    direct = clone(model).fit(X, Y, **BOTH)
    with config_context(enable_metadata_routing=True):
        routed = clone(model).fit(X, Y, **BOTH)
    assert_array_equal(outcome(routed), outcome(direct))
    for name in BOTH:
        other = clone(model).fit(X, Y, **{**BOTH, name: OTHER[name]})
        assert not np.allclose(outcome(direct), outcome(other))


@pytest.mark.parametrize(
    ("model", "metadata"),
    [
        (BinaryRelevance(cv=3), BOTH),
        (BinaryRelevance(requesting(LogisticRegression(), sample_weight=True)), {"sample_weight": WEIGHTS}),
        (
            CalibratedLabelRanking(requesting(LogisticRegression(), sample_weight=True)),
            {"sample_weight": WEIGHTS},
        ),
        (RankSVM(1.0, random_state=0), {"sample_weight": WEIGHTS}),
        (ClosedFormSearchCV(BinaryRelevance(), {"alpha": [1.0, 10.0]}, cv=3), {"groups": GROUPS}),
        (AutoMultiLabel(methods=["ridge"], cv=3), {"groups": GROUPS}),
        (ThresholdTuner(ridge(), cv=GroupKFold(3)), BOTH),
        (MultiLabelCalibrator(ridge(), cv=GroupKFold(3)), BOTH),
    ],
    ids=str,
)
def test_the_last_step_of_a_pipeline_gets_what_it_requests(model, metadata, routing):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    last = clone(model)
    if not isinstance(
        last, ThresholdTuner | MultiLabelCalibrator
    ):  # these route, and request nothing themselves
        last.set_fit_request(**dict.fromkeys(metadata, True))
    routed = make_pipeline(scaler, last).fit(X, Y, **metadata)
    Z = StandardScaler().fit_transform(X)
    with config_context(enable_metadata_routing=False):
        direct = clone(model).fit(Z, Y, **metadata)
        plain = clone(model).fit(Z, Y, **{name: OTHER[name] for name in metadata})
    assert_array_equal(routed.decision_function(X), direct.decision_function(Z))
    measured = [measure(m, Z) for m in (routed[-1], direct, plain)]
    assert_array_equal(measured[0], measured[1])
    assert not np.allclose(measured[1], measured[2])


def test_a_tuner_passes_weights_through_a_pipeline_inside(routing):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    last_step = BinaryRelevance(threshold=0.0).set_fit_request(sample_weight=True, groups=False)
    routed = ThresholdTuner(make_pipeline(scaler, last_step), cv=GroupKFold(3)).fit(X, Y, **BOTH)
    with config_context(enable_metadata_routing=False):
        inner = make_pipeline(StandardScaler(), BinaryRelevance(threshold=0.0))
        step_weights = {"binaryrelevance__sample_weight": WEIGHTS}
        scores = out_of_fold_scores(inner, X, Y, cv=GroupKFold(3), groups=GROUPS, params=step_weights)
        scores_without = out_of_fold_scores(inner, X, Y, cv=GroupKFold(3), groups=GROUPS)
    expected = per_label_thresholds(scores, sparse.csr_array(Y), sample_weight=WEIGHTS).thresholds
    assert not np.allclose(scores, scores_without)
    assert_allclose(routed.thresholds_, expected)


def test_a_cross_fitted_projection_in_a_pipeline_gets_groups(routing):
    projection = OPLS(2, cross_fit=3).set_fit_request(groups=True)
    last_step = BinaryRelevance().set_fit_request(groups=False)
    routed = make_pipeline(projection, last_step).fit(X, Y, groups=GROUPS)
    with config_context(enable_metadata_routing=False):
        direct = make_pipeline(OPLS(2, cross_fit=3), BinaryRelevance()).fit(X, Y, opls__groups=GROUPS)
        without = make_pipeline(OPLS(2, cross_fit=3), BinaryRelevance()).fit(X, Y)
    assert_array_equal(routed.decision_function(X), direct.decision_function(X))
    assert not np.allclose(direct.decision_function(X), without.decision_function(X))


@pytest.mark.parametrize("validate", [cross_validate, cross_val_scores])
def test_cross_validation_routes_to_fit_folds_and_score(validate, routing):
    model = ThresholdTuner(ridge())
    scorer = get_scorer("f1_micro").set_score_request(sample_weight=True)
    routed = validate(model, X, Y, cv=GroupKFold(3), scoring=scorer, params=dict(BOTH))
    by_hand = []
    for train, test in GroupKFold(3).split(X, Y, GROUPS):
        fitted = clone(model).fit(X[train], Y[train], sample_weight=WEIGHTS[train], groups=GROUPS[train])
        predicted = fitted.predict(X[test])
        by_hand.append(f1_score(Y[test], predicted, average="micro", sample_weight=WEIGHTS[test]))
    assert_allclose(routed["test_score"], by_hand)


def test_a_grid_search_routes_to_fit_folds_and_score(routing):
    model = ThresholdTuner(requesting(BinaryRelevance(threshold=0.0), sample_weight=True, groups=True))
    scorer = get_scorer("f1_micro").set_score_request(sample_weight=True)
    grid = {"estimator__alpha": [0.1, 100.0]}
    search = GridSearchCV(model, grid, cv=GroupKFold(3), scoring=scorer, error_score="raise")
    search.fit(X, Y, **BOTH)
    for i, params in enumerate(search.cv_results_["params"]):
        one = clone(model).set_params(**params)
        scores = cross_validate(one, X, Y, cv=GroupKFold(3), scoring=scorer, params=dict(BOTH))
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(scores["test_score"].mean())


def test_what_nobody_requested_is_refused_in_one_sentence(routing):
    with pytest.raises(ValueError, match=r"\[sample_weight\] are passed but are not explicitly set"):
        ThresholdTuner(BinaryRelevance(LogisticRegression()), cv=KFold(3)).fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match="unexpected argument"):
        ThresholdTuner().fit(X, Y, price=WEIGHTS)

"""Groups, weights and metadata reach every fold, however deep it lies, or are refused with a sentence."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlabel import (
    PLST,
    AutoMultiLabel,
    BinaryRelevance,
    ClosedFormSearchCV,
    HypergraphSpectral,
    MultiLabelCalibrator,
    ThresholdTuner,
)
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, cross_val_scores, out_of_fold_scores


@pytest.fixture(scope="module")
def data():
    """Every group is one point, copied: whoever has seen a copy knows the answer."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 30))
    Y = (rng.random((40, 4)) < 0.4).astype(int)
    groups = np.repeat(np.arange(40), 4)
    order = rng.permutation(160)
    return points[groups[order]], Y[groups[order]], groups[order]


def grouped_ridge(X, Y, groups):
    """Out-of-fold scores of the ridge on five grouped folds, by refits."""
    scores = np.empty(Y.shape)
    for train, test in IterativeStratifiedGroupKFold(5).split(X, Y, groups):
        scores[test] = BinaryRelevance(threshold=0.0).fit(X[train], Y[train]).decision_function(X[test])
    return scores


@pytest.mark.parametrize("wrap", [ThresholdTuner, MultiLabelCalibrator])
def test_groups_reach_the_folds_of_the_estimator_itself(data, wrap):
    X, Y, groups = data
    model = wrap(BinaryRelevance(threshold=0.0, cv=5)).fit(X, Y, groups=groups)
    np.testing.assert_allclose(model.estimator_.oof_scores_, grouped_ridge(X, Y, groups), atol=1e-8)


def test_groups_pass_through_wrappers_in_wrappers(data):
    X, Y, groups = data
    outer = ThresholdTuner(MultiLabelCalibrator(BinaryRelevance(cv=5), method="sigmoid", cv=3)).fit(
        X, Y, groups=groups
    )
    inner = outer.estimator_.estimator_
    np.testing.assert_allclose(inner.coef_, BinaryRelevance(threshold=0.0).fit(X, Y).coef_)
    want = MultiLabelCalibrator(BinaryRelevance(cv=5), method="sigmoid", cv=3).fit(X, Y, groups=groups)
    np.testing.assert_allclose(outer.decision_function(X), want.decision_function(X))
    leaking = MultiLabelCalibrator(BinaryRelevance(cv=5), method="sigmoid", cv=3).fit(X, Y)
    assert np.array_equal(outer.estimator_.calibrators_.kind, ["sigmoid"] * Y.shape[1])
    slope = outer.estimator_.calibrators_.sigmoid.slope
    np.testing.assert_array_equal(slope, want.calibrators_.sigmoid.slope)
    assert np.abs(slope - leaking.calibrators_.sigmoid.slope).max() > 1e-3


@pytest.mark.parametrize(
    "model",
    [
        BinaryRelevance(alpha=[0.1, 1000.0], cv=4),
        BinaryRelevance(LogisticRegression(), cv=3),
        ClosedFormSearchCV(BinaryRelevance(threshold=0.0), {"alpha": [0.1, 1000.0]}, cv=4),
        AutoMultiLabel(methods=["ridge"], cv=3),
    ],
    ids=["ridge", "per label", "search", "auto"],
)
def test_a_tuner_uses_the_grouped_scores_of_whoever_brings_them(data, model):
    X, Y, groups = data
    alone = type(model)(**model.get_params(deep=False)).fit(X, Y, groups=groups)
    tuned = ThresholdTuner(model).fit(X, Y, groups=groups)
    np.testing.assert_allclose(tuned.estimator_.oof_scores_, alone.oof_scores_, atol=1e-12)
    leaking = ThresholdTuner(model).fit(X, Y)
    assert leaking.cv_score_ > tuned.cv_score_ + 0.05


class SeesGroups(ClassifierMixin, BaseEstimator):
    """Remembers nothing, but refuses to be fitted without the groups of exactly its rows."""

    def fit(self, X, y, groups=None):
        if groups is None or not np.array_equal(np.asarray(groups), X[:, 0].astype(int)):
            raise AssertionError("the groups did not come along")
        self.classes_ = np.arange(y.shape[1])
        return self

    def decision_function(self, X):
        return np.zeros((len(X), len(self.classes_)))


@pytest.fixture(scope="module")
def marked(data):
    X, Y, groups = data
    return np.column_stack([groups, X]), Y, groups


def test_groups_are_cut_to_the_fold_for_what_chooses_inside_it(marked):
    X, Y, groups = marked
    out_of_fold_scores(SeesGroups(), X, Y, cv=3, groups=groups)
    ThresholdTuner(SeesGroups(), cv=GroupKFold(3)).fit(X, Y, groups=list(groups))
    with pytest.raises(AssertionError, match="did not come along"):
        out_of_fold_scores(SeesGroups(), X, Y, cv=3)


def test_groups_go_to_the_last_step_of_a_pipeline(marked):
    X, Y, groups = marked
    model = make_pipeline("passthrough", SeesGroups())
    out_of_fold_scores(model, X, Y, cv=3, groups=groups)
    ThresholdTuner(model, cv=3).fit(X, Y, groups=groups)
    cross_val_scores(model, X, Y, cv=3, groups=groups, scoring=lambda model, X, y: 0.0)


def test_groups_reach_the_cross_fitting_inside_a_pipeline(data):
    X, Y, groups = data
    model = make_pipeline(HypergraphSpectral(alpha=10.0, cross_fit=4), BinaryRelevance(threshold=0.0))
    fitted = ThresholdTuner(model, cv=3).fit(X, Y, groups=groups).estimator_
    Z = clone(model[0]).fit_transform(X, Y, groups=groups)
    np.testing.assert_allclose(fitted[-1].coef_, BinaryRelevance(threshold=0.0).fit(Z, Y).coef_, atol=1e-8)
    leaking = clone(model).fit(X, Y)
    assert np.abs(leaking[-1].coef_ - fitted[-1].coef_).max() > 1e-3


def test_groups_reach_the_choice_of_a_label_dimension(data):
    X, Y, groups = data
    tuned = ThresholdTuner(PLST(n_components_grid="all", cv=3), cv=3).fit(X, Y, groups=groups)
    want = PLST(n_components_grid="all", cv=3).fit(X, Y, groups=groups)
    got = tuned.estimator_.dimension_path_["fold_scores"]
    np.testing.assert_allclose(got, want.dimension_path_["fold_scores"])
    assert (
        np.abs(got - PLST(n_components_grid="all", cv=3).fit(X, Y).dimension_path_["fold_scores"]).max()
        > 0.01
    )


def test_groups_reach_a_search_of_scikit_learn(data):
    X, Y, groups = data
    search = GridSearchCV(RidgeClassifier(), {"alpha": [0.1, 10.0]}, cv=GroupKFold(3))
    tuned = ThresholdTuner(search, cv=3).fit(X, Y, groups=groups)
    want = GridSearchCV(RidgeClassifier(), {"alpha": [0.1, 10.0]}, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(
        tuned.estimator_.cv_results_["mean_test_score"], want.cv_results_["mean_test_score"]
    )


def test_groups_reach_the_folds_inside_a_cross_validation(data):
    X, Y, groups = data
    seen = []

    def chosen(model, X_test, y_test):
        seen.append(model.oof_scores_)
        return 0.0

    halves = list(KFold(2).split(X))
    cross_val_scores(BinaryRelevance(threshold=0.0, cv=5), X, Y, cv=halves, groups=groups, scoring=chosen)
    for (train, _), scores in zip(halves, seen, strict=True):
        np.testing.assert_allclose(scores, grouped_ridge(X[train], Y[train], groups[train]), atol=1e-8)


def test_a_search_fits_its_last_model_with_the_groups(data):
    X, Y, groups = data
    search = ClosedFormSearchCV(BinaryRelevance(threshold=0.0, cv=5), {"alpha": ["auto"]}).fit(
        X, Y, groups=groups
    )
    np.testing.assert_allclose(search.estimator_.oof_scores_, grouped_ridge(X, Y, groups), atol=1e-8)


def test_leaving_one_row_out_cannot_keep_groups_together(data):
    X, Y, groups = data
    for model in (
        BinaryRelevance(threshold=0.0, cv="loo"),
        ThresholdTuner(BinaryRelevance(threshold=0.0), cv="loo"),
    ):
        with pytest.raises(ValueError, match="leaves out single rows and would part the groups"):
            model.fit(X, Y, groups=groups)
        model.fit(X, Y)


def test_routed_groups_reach_folds_given_by_number(data):
    X, Y, groups = data
    direct = ThresholdTuner(RidgeClassifier(), cv=4).fit(X, Y, groups=groups)
    with config_context(enable_metadata_routing=True):
        routed = ThresholdTuner(RidgeClassifier(), cv=4).fit(X, Y, groups=groups)
        asks = BinaryRelevance(threshold=0.0, cv=5).set_fit_request(groups=True, sample_weight=True)
        own = ThresholdTuner(asks).fit(X, Y, groups=groups)
        with pytest.raises(ValueError, match="groups"):
            ThresholdTuner(BinaryRelevance(threshold=0.0, cv=5)).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(routed.thresholds_, direct.thresholds_)
    np.testing.assert_allclose(own.estimator_.oof_scores_, grouped_ridge(X, Y, groups), atol=1e-8)


class Remembers(ClassifierMixin, BaseEstimator):
    """A constant score: the sum of the metadata it was given for its rows."""

    def fit(self, X, y, price=None):
        self.classes_ = np.unique(y)
        self.seen_ = float(np.sum(price))
        return self

    def decision_function(self, X):
        return np.full(len(X), self.seen_)


def test_metadata_of_per_label_models_is_cut_to_each_fold(data):
    X, Y, _ = data
    price = np.random.default_rng(1).random(len(X))
    model = BinaryRelevance(Remembers(), cv=KFold(4)).fit(X, Y, price=price)
    for train, test in KFold(4).split(X):
        np.testing.assert_allclose(model.oof_scores_[test], price[train].sum())


def test_unknown_labels_are_left_out_of_the_folds_of_per_label_models(data):
    X, Y, _ = data
    Y = Y.astype(float)
    Y[3, 0] = Y[50:70, 1] = np.nan
    scores = BinaryRelevance(LogisticRegression(), cv=KFold(3)).fit(X, Y).oof_scores_
    assert np.isfinite(scores).all()
    for train, test in KFold(3).split(X):
        for j in range(Y.shape[1]):
            known = train[~np.isnan(Y[train, j])]
            label_model = LogisticRegression().fit(X[known], Y[known, j])
            np.testing.assert_allclose(scores[test, j], label_model.decision_function(X[test]), atol=1e-8)


def test_weights_are_refused_by_those_who_cannot_use_them(data):
    X, Y, _ = data
    weights = np.ones(len(X))
    for model in (
        ClosedFormSearchCV(BinaryRelevance(threshold=0.0), {"alpha": [1.0]}),
        AutoMultiLabel(methods=["ridge"]),
    ):
        with pytest.raises(TypeError, match="sample_weight"):
            ThresholdTuner(model).fit(X, Y, sample_weight=weights)


def test_a_scaled_ridge_is_tuned_on_grouped_folds(data):
    X, Y, groups = data
    model = make_pipeline(StandardScaler(), BinaryRelevance(alpha=[0.1, 1000.0], cv=4))
    scores = out_of_fold_scores(model, X, Y, cv=3, groups=groups)
    for train, test in IterativeStratifiedGroupKFold(3).split(X, Y, groups):
        fresh = make_pipeline(StandardScaler(), BinaryRelevance(alpha=[0.1, 1000.0], cv=4))
        fresh.fit(X[train], Y[train], binaryrelevance__groups=groups[train])
        np.testing.assert_allclose(scores[test], fresh.decision_function(X[test]), atol=1e-10)

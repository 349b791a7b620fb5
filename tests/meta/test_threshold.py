"""ThresholdTuner: every strategy, honest scores from wherever they come, metadata, real data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn import config_context
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from hyperlabel import (
    PLST,
    BinaryRelevance,
    ClosedFormSearchCV,
    MultiLabelCalibrator,
    ThresholdTuner,
    load,
    metrics,
    save,
    update,
)
from hyperlabel.decision import LabelSetSize, global_threshold, guarantee_precision, per_label_thresholds
from hyperlabel.decision.strategies import STRATEGIES
from hyperlabel.meta.wrapper_base import held_out_rows
from hyperlabel.model_selection import IterativeStratifiedKFold, TimeOrderedSplit, out_of_fold_scores

GUARANTEES = [name for name, strategy in STRATEGIES.items() if strategy.guarantees]


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(
        n_samples=300, n_classes=6, n_labels=2, length=15, random_state=0, allow_unlabeled=True
    )
    return X[:200], Y[:200], X[200:], Y[200:]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_the_scores_and_gives_label_sets(data, strategy):
    X, Y, X_new, Y_new = data
    plain = BinaryRelevance(alpha=100.0).fit(X, Y)
    tuned = ThresholdTuner(BinaryRelevance(alpha=100.0), strategy=strategy).fit(X, sparse.csr_array(Y))
    np.testing.assert_allclose(tuned.decision_function(X_new), plain.decision_function(X_new))
    np.testing.assert_array_equal(tuned.predict_topk(X_new, 2)[0], plain.predict_topk(X_new, 2)[0])
    found = tuned.predict(X_new)
    assert sparse.issparse(found)
    assert hasattr(tuned, "cv_score_") == (strategy not in GUARANTEES)
    if strategy not in GUARANTEES:
        held_out = metrics.f1_score(Y_new, found, average="macro")
        assert abs(tuned.cv_score_ - held_out) < 3 * tuned.cv_score_std_
        before = metrics.f1_score(Y_new, plain.predict(X_new), average="micro")
        assert metrics.f1_score(Y_new, found, average="micro") > before - 0.03
    if hasattr(tuned, "thresholds_"):
        np.testing.assert_array_equal(found.toarray(), tuned.decision_function(X_new) > tuned.thresholds_)


def test_free_scores_are_taken_and_equal_a_cross_validation(data):
    X, Y, _, _ = data
    free = ThresholdTuner(BinaryRelevance(threshold=0.0), cv=KFold(4)).fit(X, Y)
    slow = per_label_thresholds(
        out_of_fold_scores(BinaryRelevance(threshold=0.0), X, Y, cv=KFold(4)), sparse.csr_array(Y * 1.0)
    )
    np.testing.assert_allclose(free.thresholds_, slow.thresholds, rtol=1e-6)
    assert not hasattr(free.estimator_, "oof_scores_")  # asked for by the tuner: not kept
    own = ThresholdTuner(BinaryRelevance(threshold=0.0, cv=KFold(4))).fit(X, Y)
    np.testing.assert_allclose(own.thresholds_, slow.thresholds, rtol=1e-6)
    assert own.estimator_.oof_scores_.shape == Y.shape  # asked for by the user: kept


def test_without_an_estimator_the_shared_ridge_is_wrapped(data):
    X, Y, X_new, _ = data
    bare, named = ThresholdTuner().fit(X, Y), ThresholdTuner(BinaryRelevance(threshold=0.0)).fit(X, Y)
    assert bare.get_params()["estimator"] is None
    np.testing.assert_array_equal(bare.predict(X_new), named.predict(X_new))
    np.testing.assert_array_equal(
        MultiLabelCalibrator().fit(X, Y).predict_proba(X_new),
        MultiLabelCalibrator(BinaryRelevance(threshold=0.0)).fit(X, Y).predict_proba(X_new),
    )
    with pytest.raises(NotFittedError, match="BinaryRelevance instance is not fitted yet"):
        ThresholdTuner(cv="prefit").fit(X, Y)


@pytest.mark.parametrize(("strategy", "scoring"), [("per_label", "f1_macro"), ("global", "hamming_loss")])
def test_the_score_is_that_of_thresholds_from_the_other_folds(data, strategy, scoring):
    X, Y, _, _ = data
    tuned = ThresholdTuner(strategy=strategy, scoring=scoring).fit(X, Y)
    scores, truth = out_of_fold_scores(BinaryRelevance(threshold=0.0), X, Y, cv=10), sparse.csr_array(Y * 1.0)
    rule = per_label_thresholds if strategy == "per_label" else global_threshold
    sets, by_fold = np.zeros(Y.shape, dtype=int), []

    def value(rows):
        if scoring == "hamming_loss":
            return -metrics.hamming_loss(Y[rows], sets[rows])
        return metrics.f1_score(Y[rows], sets[rows], average="macro")

    for train, test in IterativeStratifiedKFold(5).split(X, Y):
        sets[test] = scores[test] > rule(scores[train], truth[train], scoring=scoring).thresholds
        by_fold.append(value(test))
    assert tuned.cv_score_ == pytest.approx(value(slice(None)))
    assert tuned.cv_score_std_ == pytest.approx(np.std(by_fold, ddof=1))


def test_the_score_of_rare_labels_without_signal_is_honest():
    """Thresholds fitted to noise look far better on the scores they were fitted on than on new rows."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(1200, 5)), (rng.random((1200, 40)) < 0.02).astype(int)
    tuned = ThresholdTuner(shrinkage=0.0).fit(X[:600], Y[:600])
    held_out = metrics.f1_score(Y[600:], tuned.predict(X[600:]))
    scores = out_of_fold_scores(BinaryRelevance(threshold=0.0), X[:600], Y[:600], cv=10)
    chosen_on = metrics.f1_score(Y[:600], (scores > tuned.thresholds_).astype(int))
    assert chosen_on > 1.2 * held_out
    assert abs(tuned.cv_score_ - held_out) < 2 * tuned.cv_score_std_


def test_the_score_keeps_groups_together_and_needs_two(data):
    X, Y, _, _ = data
    pairs = ThresholdTuner(BinaryRelevance(threshold=0.0), cv="prefit")
    pairs.set_params(estimator=BinaryRelevance(threshold=0.0).fit(X, Y))
    few = pairs.fit(X, Y, groups=np.arange(200) % 2)
    assert 0 < few.cv_score_ < 1
    assert np.isnan(pairs.fit(X, Y, groups=np.zeros(200)).cv_score_)


def test_free_folds_are_ten_or_as_many_as_there_are_groups(data):
    X, Y, _, _ = data
    groups = np.arange(len(X)) % 7
    for given, folds in (({}, 10), ({"groups": groups}, 7)):
        ten = ThresholdTuner(BinaryRelevance(threshold=0.0, cv=folds)).fit(X, Y, **given)
        np.testing.assert_array_equal(ThresholdTuner().fit(X, Y, **given).thresholds_, ten.thresholds_)


def test_other_scores_come_from_cross_validation(data):
    X, Y, X_new, _ = data
    for model in (RidgeClassifier(), KNeighborsClassifier(5)):
        tuned = ThresholdTuner(model, strategy="global", scoring="f1_micro", cv=3, n_jobs=1).fit(X, Y)
        scores = out_of_fold_scores(model, X, Y, cv=3)
        expected = global_threshold(scores, sparse.csr_array(Y * 1.0), scoring="f1_micro")
        np.testing.assert_allclose(tuned.thresholds_, expected.thresholds)
        assert tuned.predict(X_new).shape == (100, 6)
    assert hasattr(tuned, "predict_proba")
    assert not hasattr(ThresholdTuner(RidgeClassifier()), "predict_proba")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_scores_become_probabilities_where_the_estimator_has_none(data, tmp_path, strategy):
    X, Y, X_new, Y_new = data
    tuned = ThresholdTuner(PLST(), strategy=strategy, cv=3).fit(X, Y)
    p = tuned.predict_proba(X_new)
    assert ((p > 0) & (p < 1)).all()
    assert metrics.reliability(Y_new, p).calibration_error < 0.15
    scores = tuned.decision_function(X_new)
    for j in range(6):  # a curve never turns the order around
        assert (np.diff(p[scores[:, j].argsort(), j]) >= 0).all()
    save(tuned, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X_new), p)


def test_probabilities_of_a_list_for_each_label_become_one_array(data):
    X, Y, X_new, _ = data
    tuned = ThresholdTuner(KNeighborsClassifier(5), cv=3).fit(X, Y)
    expected = np.column_stack([part[:, 1] for part in tuned.estimator_.predict_proba(X_new)])
    np.testing.assert_array_equal(tuned.predict_proba(X_new), expected)


def test_prefit_tunes_on_the_rows_given(data):
    X, Y, X_new, Y_new = data
    model = RidgeClassifier().fit(X, Y)
    tuned = ThresholdTuner(model, cv="prefit", shrinkage=0.0).fit(X_new, Y_new)
    assert tuned.estimator_ is model
    expected = per_label_thresholds(
        model.decision_function(X_new), sparse.csr_array(Y_new * 1.0), shrinkage=0.0
    )
    np.testing.assert_array_equal(tuned.thresholds_, expected.thresholds)


def test_text_goes_through_a_pipeline():
    texts = ["sun and sea", "sun", "rain on sea", "rain"] * 10
    Y = np.array([[1, 1], [1, 0], [0, 1], [0, 0]] * 10)
    tuned = ThresholdTuner(make_pipeline(CountVectorizer(), BinaryRelevance(threshold=0.0)), cv=4).fit(
        texts, Y
    )
    np.testing.assert_array_equal(tuned.predict(["sea", "sun sun"]), [[0, 1], [1, 0]])


def test_rows_never_tested_are_left_out_of_the_tuning(data):
    X, Y, _, _ = data
    cv = TimeOrderedSplit(n_splits=4)
    scores = out_of_fold_scores(RidgeClassifier(), X, Y, cv=cv, groups=np.arange(200))
    seen = ~np.isnan(scores).any(axis=1)
    assert 0 < seen.sum() < 200
    tuned = ThresholdTuner(RidgeClassifier(), cv=cv).fit(X, Y, groups=np.arange(200))
    expected = per_label_thresholds(scores[seen], sparse.csr_array(Y[seen] * 1.0))
    np.testing.assert_allclose(tuned.thresholds_, expected.thresholds)


def test_weights_reach_the_fit_and_the_thresholds(data):
    X, Y, _, _ = data
    w = np.where(np.arange(200) < 100, 1.0, 1e-9)
    for model in (BinaryRelevance(threshold=0.0), RidgeClassifier()):
        tuned = ThresholdTuner(model, cv=KFold(5), strategy="global", scoring="f1_micro")
        tuned.fit(X, Y, sample_weight=w)
        scores = out_of_fold_scores(model, X, Y, cv=KFold(5), params={"sample_weight": w})
        expected = global_threshold(scores, sparse.csr_array(Y * 1.0), scoring="f1_micro", sample_weight=w)
        np.testing.assert_allclose(tuned.thresholds_, expected.thresholds, rtol=1e-6)


def test_folds_borrowed_for_the_tuning_are_not_left_on_the_model(data):
    X, Y, _, _ = data
    borrowed = ThresholdTuner(BinaryRelevance(threshold=0.0), cv=4).fit(X, Y).estimator_
    assert borrowed.cv is None
    assert not hasattr(borrowed, "oof_scores_")
    own = ThresholdTuner(BinaryRelevance(threshold=0.0, cv=3)).fit(X, Y).estimator_
    assert own.cv == 3
    np.testing.assert_array_equal(own.oof_scores_, BinaryRelevance(threshold=0.0, cv=3).fit(X, Y).oof_scores_)


def test_metadata_routing(data):
    X, Y, _, _ = data
    w, groups = np.random.default_rng(0).random(200), np.arange(200) // 7
    direct = ThresholdTuner(RidgeClassifier(), cv=GroupKFold(4)).fit(X, Y, sample_weight=w, groups=groups)
    with config_context(enable_metadata_routing=True):
        model = RidgeClassifier().set_fit_request(sample_weight=True)
        routed = ThresholdTuner(model, cv=GroupKFold(4)).fit(X, Y, sample_weight=w, groups=groups)
        with pytest.raises(TypeError, match="unexpected argument"):
            ThresholdTuner(model).fit(X, Y, price=groups)
    np.testing.assert_array_equal(routed.thresholds_, direct.thresholds_)


def test_constant_labels_are_left_out_of_the_shared_threshold(data):
    X, Y, X_new, _ = data
    wide = np.column_stack([np.zeros(200, int), Y, np.ones(200, int)])
    for strategy in STRATEGIES:
        inner = ThresholdTuner(BinaryRelevance(threshold=0.0), strategy=strategy, cv=KFold(4)).fit(X, Y)
        outer = ThresholdTuner(BinaryRelevance(threshold=0.0), strategy=strategy, cv=KFold(4)).fit(X, wide)
        found = outer.predict(X_new)
        assert not found[:, 0].any()
        assert found[:, -1].all()
        if hasattr(inner, "thresholds_"):
            np.testing.assert_allclose(outer.thresholds_[1:-1], inner.thresholds_, rtol=1e-6)
            np.testing.assert_array_equal(outer.thresholds_[[0, -1]], [np.inf, -np.inf])
        elif strategy != "top_k":
            np.testing.assert_array_equal(found[:, 1:-1], inner.predict(X_new))


def test_label_set_size_is_the_rule_on_out_of_fold_scores(data):
    X, Y, X_new, _ = data
    tuned = ThresholdTuner(RidgeClassifier(), strategy="label_set_size", cv=KFold(5)).fit(X, Y)
    scores = out_of_fold_scores(RidgeClassifier(), X, Y, cv=KFold(5))
    rule = LabelSetSize().fit(X, scores, Y)
    expected = rule.decide(X_new, RidgeClassifier().fit(X, Y).decision_function(X_new))
    np.testing.assert_array_equal(tuned.predict(X_new), expected)


@pytest.fixture(scope="module")
def many():
    """Rows enough for guarantees: six labels of which two are easy, with groups of two rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    Y = (X[:, :6] + rng.normal(size=(3000, 6)) * [0.2, 0.3, 0.6, 1.0, 2.0, 9.0] > 1.0).astype(int)
    return X, Y


def test_a_guaranteed_precision_is_kept_on_new_rows(many):
    X, Y = many
    tuned = ThresholdTuner(
        BinaryRelevance(threshold=0.0), strategy="precision_at_least", precision=0.8, cv="split"
    )
    guaranteed = violated = 0
    for seed in range(10):
        train, new = np.split(np.random.default_rng(seed).permutation(3000), [2000])
        found = tuned.fit(X[train], Y[train]).predict(X[new])
        for j, line in enumerate(tuned.guarantees_):
            right, predicted = int((found[:, j] * Y[new, j]).sum()), int(found[:, j].sum())
            if not line["guaranteed"]:
                assert predicted == 0
                continue
            guaranteed += 1
            assert line["bound"] >= 0.8
            violated += stats.binomtest(right, predicted, 0.8, alternative="less").pvalue < 0.05
    assert guaranteed >= 20
    assert stats.binomtest(violated, guaranteed, 0.15, alternative="greater").pvalue > 0.01


def test_a_third_of_the_rows_is_held_out_and_the_model_never_sees_it(many):
    X, Y = many
    tuned = ThresholdTuner(
        BinaryRelevance(threshold=0.0), strategy="precision_at_least", precision=0.8, cv="split"
    )
    tuned.fit(X, Y)
    assert tuned.guarantees_.basis == "split"
    train, held_out = held_out_rows(3000)
    assert len(held_out) == 1000
    np.testing.assert_array_equal(np.sort(np.r_[train, held_out]), np.arange(3000))
    fitted = BinaryRelevance(threshold=0.0).fit(X[train], Y[train])
    np.testing.assert_allclose(tuned.decision_function(X), fitted.decision_function(X))


def test_a_guarantee_on_given_rows_is_the_rule_on_their_scores(many):
    X, Y = many
    model = RidgeClassifier().fit(X[:1000], Y[:1000])
    tuned = ThresholdTuner(model, strategy="precision_at_least", precision=0.8, cv="prefit")
    tuned.fit(X[1000:], sparse.csr_array(Y[1000:]))
    rule = guarantee_precision(model.decision_function(X[1000:]), sparse.csr_array(Y[1000:] * 1.0), 0.8)
    np.testing.assert_array_equal(tuned.thresholds_, rule.thresholds)
    assert tuned.coverage_ == pytest.approx(rule.right.sum() / rule.positives.sum())
    crossed = ThresholdTuner(RidgeClassifier(), strategy="precision_at_least", precision=0.8).fit(X, Y)
    assert crossed.guarantees_.basis == "cross-fitted"


@pytest.mark.parametrize("strategy", ["precision_at_least", "recall_at_least"])
def test_overall_guarantees_hold_on_new_rows(many, strategy):
    X, Y = many
    tuned = ThresholdTuner(
        BinaryRelevance(threshold=0.0),
        strategy=strategy,
        precision=0.8,
        recall=0.8,
        error_control="overall",
        cv="split",
    ).fit(X[:2000], Y[:2000])
    (line,) = tuned.guarantees_
    assert line["guaranteed"]
    assert line["label"] == "all labels"
    found = tuned.predict(X[2000:])
    if strategy == "precision_at_least":
        assert (found * Y[2000:]).sum() / found.sum() > 0.78
    else:
        labels = Y[2000:].sum(axis=1)
        assert (
            1 - ((labels - (found * Y[2000:]).sum(axis=1)) / np.maximum(labels, 1)).mean() > 0.74
        )  # in expectation


def test_groups_stay_whole_where_rows_are_held_out_and_count_once(many):
    X, Y = many
    groups = np.arange(len(X)) // 3
    train, held_out = held_out_rows(len(X), groups)
    assert not set(groups[train]) & set(groups[held_out])
    tuned = ThresholdTuner(
        BinaryRelevance(threshold=0.0), strategy="precision_at_least", precision=0.8, cv="split"
    )
    tuned.fit(X, Y, groups=groups)
    rows = [line["positives"] for line in tuned.guarantees_]
    assert max(rows) <= len(set(groups[held_out]))


def test_the_share_of_broken_guarantees_costs_more_rows_than_each_by_itself(many):
    X, Y = many
    each, share = (
        ThresholdTuner(
            BinaryRelevance(threshold=0.0),
            strategy="precision_at_least",
            precision=0.8,
            error_control=error_control,
        )
        for error_control in ("per_label", "fdr")
    )
    thresholds = each.fit(X, Y).thresholds_, share.fit(X, Y).thresholds_
    assert (thresholds[1] >= thresholds[0]).all()
    assert (thresholds[1] > thresholds[0]).any()


def test_guarantees_stay_in_the_model_file_and_through_an_update(many, tmp_path):
    X, Y = many
    tuned = ThresholdTuner(
        BinaryRelevance(threshold=0.0), strategy="precision_at_least", precision=0.8, cv="split"
    )
    tuned.fit(X[:2000], Y[:2000])
    save(tuned, tmp_path / "model.hyper", X=X[:5])
    again = load(tmp_path / "model.hyper")
    assert next(iter(again.guarantees_)) == next(iter(tuned.guarantees_))
    changed = update(again, (X[2000:], Y[2000:]))
    assert changed.guarantees_.basis == "updated"
    np.testing.assert_array_equal(changed.thresholds_, tuned.thresholds_)


def test_labels_constant_in_training_have_a_line_in_the_guarantees(many):
    X, Y = many
    wide = np.column_stack([np.zeros(len(X), int), Y, np.ones(len(X), int)])
    tuned = ThresholdTuner(BinaryRelevance(threshold=0.0), strategy="precision_at_least", precision=0.8).fit(
        X, wide
    )
    lines = list(tuned.guarantees_)
    assert len(lines) == 8
    assert lines[0]["guarantee"] == "no guarantee: about 11 more positive rows needed"
    assert lines[-1]["guaranteed"]
    nothing = ThresholdTuner(BinaryRelevance(threshold=0.0), strategy="precision_at_least").fit(
        X, wide[:, [0, -1]]
    )
    assert [line["guaranteed"] for line in nothing.guarantees_] == [False, True]


def test_one_dimensional_y_is_left_to_the_estimator(data):
    X, Y, X_new, _ = data
    for y in (Y[:, 0], np.array(["a", "b", "c"])[Y[:, 0] + Y[:, 1]]):
        tuned = ThresholdTuner(LogisticRegression()).fit(X, y)
        np.testing.assert_array_equal(tuned.predict(X_new), LogisticRegression().fit(X, y).predict(X_new))


def test_strategies_can_be_searched(data):
    X, Y, _, _ = data
    grid = {"strategy": ["per_label", "global"], "estimator__alpha": [1.0, 100.0]}
    search = GridSearchCV(
        ThresholdTuner(BinaryRelevance(threshold=0.0)), grid, cv=2, scoring=metrics.get_scorer("f1_macro")
    )
    assert 0 < search.fit(X, Y).best_score_ < 1


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"strategy": "magic"}, "strategy must be 'per_label', 'global'"),
        ({"scoring": "roc_auc"}, "can maximise"),
        ({"strategy": "top_k", "k": 7}, "k must be between 1 and the number of labels"),
        ({"strategy": "precision_at_least", "precision": 2}, "precision must lie between 0 and 1, got 2"),
        ({"strategy": "precision_at_least", "confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"strategy": "recall_at_least", "recall": 1.5}, "recall must lie between 0 and 1"),
        ({"strategy": "recall_at_least", "error_control": "fdr"}, "is about precision"),
        ({"strategy": "precision_at_least", "precision": 0.999}, "needs at least 2302 rows to test"),
        (
            {"strategy": "precision_at_least", "error_control": "total"},
            "error_control must be 'per_label', 'fdr'",
        ),
    ],
)
def test_bad_parameters_are_one_sentence(data, params, sentence):
    with pytest.raises(ValueError, match=sentence):
        ThresholdTuner(BinaryRelevance(threshold=0.0), **params).fit(*data[:2])


@pytest.mark.real_data
def test_medical_thresholds_lift_macro_f1(load_real):
    train, test = load_real("medical", "train"), load_real("medical", "test")
    plain = BinaryRelevance(threshold=0.0).fit(train.X, train.Y)
    tuned = ThresholdTuner(BinaryRelevance(threshold=0.0)).fit(train.X, train.Y)
    before = metrics.f1_score(test.Y, plain.predict(test.X))
    assert metrics.f1_score(test.Y, tuned.predict(test.X)) > before + 0.03


def test_scores_of_a_free_search_are_taken_as_they_are(data):
    X, Y, X_new, _ = data
    search = ClosedFormSearchCV(PLST(), {"alpha": [1.0, 100.0], "n_components": [2, 4]}, cv=3)
    tuned = ThresholdTuner(search).fit(X, Y)
    expected = per_label_thresholds(search.fit(X, Y).oof_scores_, sparse.csr_array(Y * 1.0))
    np.testing.assert_allclose(tuned.thresholds_, expected.thresholds)
    np.testing.assert_allclose(tuned.decision_function(X_new), search.decision_function(X_new))


@pytest.mark.parametrize("cv", [None, 3])
def test_the_wrapped_estimator_keeps_the_cv_of_the_user(cv):
    X, y = make_multilabel_classification(n_samples=60, random_state=0)
    for wrapper in (ThresholdTuner, MultiLabelCalibrator):
        fitted = wrapper(BinaryRelevance(threshold=0.0, cv=cv)).fit(X, y).estimator_
        assert fitted.cv == cv
        assert hasattr(fitted, "oof_scores_") == (cv is not None)


@pytest.mark.parametrize("estimator", [None, BinaryRelevance()], ids=str)
def test_thresholds_stay_where_they_were_tuned_when_rows_come_and_go(estimator):
    """A threshold that the ridge placed itself would move with its rows, and the tuned ones with it."""
    X, Y = make_multilabel_classification(n_samples=400, n_classes=6, n_labels=3, random_state=0)
    model = ThresholdTuner(estimator).fit(X[:200], Y[:200])
    more = update(model, (X[200:], np.ones((200, 6), int)))  # rows that carry everything
    assert model.estimator_.threshold_ == more.estimator_.threshold_ == 0.0


def test_a_jaccard_index_is_tuned_as_the_f1_it_grows_with(data):
    X, Y, _, _ = data
    by_jaccard = ThresholdTuner(scoring="jaccard_micro").fit(X, Y)
    np.testing.assert_array_equal(
        by_jaccard.thresholds_, ThresholdTuner(scoring="f1_micro").fit(X, Y).thresholds_
    )
    f1 = ThresholdTuner(scoring="f1_micro").fit(X, Y).cv_score_
    assert by_jaccard.cv_score_ == pytest.approx(f1 / (2 - f1))
    with pytest.raises(ValueError, match="must name a measure of label sets"):
        ThresholdTuner(strategy="proportional", scoring="roc_auc_macro").fit(X, Y)


def test_a_parameter_of_an_estimator_that_nobody_named_is_refused_with_the_call_to_write():
    with pytest.raises(ValueError, match=r"estimator__alpha .* write ThresholdTuner\(BinaryRelevance\(\)\)"):
        ThresholdTuner().set_params(estimator__alpha=1.0)
    tuner = ThresholdTuner().set_params(estimator=BinaryRelevance(), estimator__alpha=3.0)
    assert tuner.estimator.alpha == 3.0

"""Wrappers with labels nobody knows: tuned on what is known, or refused in one sentence."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlabel import PLST, AutoMultiLabel, BinaryRelevance, MultiLabelCalibrator, ThresholdTuner, metrics
from hyperlabel._validation import check_targets
from hyperlabel.decision import per_label_thresholds
from hyperlabel.model_selection import out_of_fold_scores
from hyperlabel.model_selection.folds import make_folds


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=300, n_classes=5, random_state=0)
    known = np.random.default_rng(0).random(Y.shape) < 0.7
    return X[:200], np.where(known[:200], Y[:200], np.nan), X[200:], Y[200:]


WRAPPERS = {
    "thresholds": ThresholdTuner(),
    "global": ThresholdTuner(strategy="global", scoring="f1_micro"),
    "pipeline": ThresholdTuner(make_pipeline(StandardScaler(), BinaryRelevance(alpha=10.0))),
    "each label": ThresholdTuner(BinaryRelevance(LogisticRegression())),
    "calibrator": MultiLabelCalibrator(),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_learn_from_what_is_known(data, name):
    X, y, X_new, Y_new = data
    model = WRAPPERS[name].fit(X, y)
    from_sparse = (
        WRAPPERS[name].__class__(**WRAPPERS[name].get_params(deep=False)).fit(X, sparse.csr_array(y))
    )
    np.testing.assert_array_equal(from_sparse.decision_function(X_new), model.decision_function(X_new))
    blind = clone(WRAPPERS[name]).fit(X, np.nan_to_num(y))
    found, zeros = (metrics.f1_score(Y_new, m.predict(X_new), average="micro") for m in (model, blind))
    assert found > 0.6
    assert found > zeros - 0.02


def test_thresholds_are_those_of_out_of_fold_scores_on_known_entries(data):
    X, y, _, _ = data
    tuned = ThresholdTuner(BinaryRelevance(alpha=10.0)).fit(X, y)
    scores = out_of_fold_scores(BinaryRelevance(alpha=10.0), X, y, cv=10)
    expected = per_label_thresholds(scores, sparse.csr_array(y))
    np.testing.assert_allclose(tuned.thresholds_, expected.thresholds, rtol=1e-6)


def test_a_row_without_a_known_label_changes_no_bit(data):
    X, y, X_new, _ = data
    more = np.insert(X, 5, 99.0, axis=0), np.insert(y, 5, np.nan, axis=0)
    base = BinaryRelevance(alpha=10.0)
    plain, with_row = ThresholdTuner(base).fit(X, y), ThresholdTuner(base).fit(*more)
    np.testing.assert_allclose(with_row.thresholds_, plain.thresholds_, rtol=1e-10)
    assert with_row.cv_score_ == pytest.approx(plain.cv_score_)
    np.testing.assert_array_equal(with_row.predict(X_new), plain.predict(X_new))


def test_a_fitted_estimator_is_tuned_on_rows_with_gaps(data):
    X, y, X_new, Y_new = data
    prefit = PLST(alpha=10.0).fit(X, np.nan_to_num(y).astype(int))
    tuned = ThresholdTuner(prefit, cv="prefit").fit(X_new, np.where(X_new[:, :5] > 2, Y_new, np.nan))
    assert np.isfinite(tuned.thresholds_).all()


def test_estimators_that_need_every_label_are_refused_in_one_sentence(data):
    X, y, _, _ = data
    for wrapper in (ThresholdTuner(PLST()), MultiLabelCalibrator(PLST())):
        with pytest.raises(ValueError, match=f"{type(wrapper).__name__} needs every label known"):
            wrapper.fit(X, y)
    with pytest.raises(ValueError, match="'precision_at_least' counts rows"):
        ThresholdTuner(strategy="precision_at_least").fit(X, y)


def test_auto_skips_methods_that_need_every_label(data):
    X, y, X_new, Y_new = data
    model = AutoMultiLabel(methods=["ridge", "plst", "logistic"]).fit(X, y)
    assert metrics.f1_score(Y_new, model.predict(X_new)) > 0.6
    skipped = {row["method"]: row["skipped"] for row in model.leaderboard_ if "skipped" in row}
    assert skipped.keys() == {"plst"}
    assert "needs every label known" in skipped["plst"]


def test_a_weight_of_0_makes_an_entry_unknown(data):
    X, y, X_new, _ = data
    base = BinaryRelevance(alpha=10.0)
    by_gaps = ThresholdTuner(base, cv=3).fit(X, y)
    weights = (~np.isnan(y)).astype(float)
    by_weights = ThresholdTuner(base, cv=list(_folds(y))).fit(X, np.nan_to_num(y), sample_weight=weights)
    np.testing.assert_allclose(
        by_weights.decision_function(X_new), by_gaps.decision_function(X_new), rtol=1e-6
    )
    np.testing.assert_allclose(by_weights.thresholds_, by_gaps.thresholds_, rtol=1e-6)


def _folds(y):
    """The folds that labels with gaps are dealt to."""
    return make_folds(3, check_targets(y, missing=True)[0])

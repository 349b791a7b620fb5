"""Retraining equals fitting from scratch, through Pipelines and tuned thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import hyperlabel as hl
from hyperlabel.datasets import make_multilabel
from hyperlabel.meta.updating import can_be_updated, name_labels

DATA = make_multilabel(160, 6, 4, random_state=1)
X, Y = DATA.X, DATA.Y.toarray()


def tuned(rows):
    model = make_pipeline(
        MaxAbsScaler().fit(X), hl.ThresholdTuner(hl.BinaryRelevance(alpha=2.0, solver="gram"))
    )
    return name_labels(model.fit(X[rows], Y[rows]), list("abcd"))


def test_merge_and_forget_equal_a_fit_from_scratch():
    model = make_pipeline(MaxAbsScaler(), hl.BinaryRelevance()).fit(X, Y)
    part = make_pipeline(MaxAbsScaler(), hl.BinaryRelevance()).fit(X, Y)
    part[-1].fit(part[:-1].transform(X[:100]), Y[:100])
    before = part[-1].coef_.copy()
    more = hl.update(part, (X[80:], Y[80:]), forget=(X[80:100], Y[80:100]))
    assert np.allclose(more.decision_function(X), model.decision_function(X))
    assert np.array_equal(part[-1].coef_, before)  # the old model is left alone
    less = hl.update(model, forget=(X[100:], Y[100:]))
    assert np.allclose(less.decision_function(X), part.decision_function(X))


def test_labels_come_and_go_and_thresholds_are_kept():
    model = tuned(slice(0, 120))
    thresholds = model[-1].thresholds_
    changed = hl.update(
        model,
        (X[120:], np.column_stack([Y[120:][:, [0, 2, 3]], (X[120:, 0] > X[:, 0].mean()).astype(int)])),
        rename_labels={"a": "first"},
        drop_labels=["b"],
        add_labels=["new"],
    )
    last = changed[-1]
    assert list(last.label_names_) == ["first", "c", "d", "new"]
    assert np.array_equal(last.thresholds_[:3], thresholds[[0, 2, 3]])
    assert changed.predict(X).shape == (160, 4)
    # the new label is predicted about as often among the new rows as it occurs there
    wanted = int((X[120:, 0] > X[:, 0].mean()).sum())
    assert abs(int(changed.predict(X[120:])[:, 3].sum()) - wanted) <= 1
    silent = hl.update(model, add_labels=["later"])
    assert silent[-1].thresholds_[4] == np.inf
    assert not silent.predict(X)[:, 4].any()


def test_probabilities_go_with_their_labels():
    model = tuned(slice(0, 160))
    before = model.predict_proba(X)
    changed = hl.update(model, rename_labels={"d": "b2"}, drop_labels=["b"], add_labels=["new"])
    assert np.allclose(changed.predict_proba(X)[:, :3], before[:, [0, 2, 3]], atol=1e-9)
    assert changed.predict_proba(X).shape == (160, 4)


def test_row_after_row_keeps_the_factor_of_the_sums(monkeypatch):
    monkeypatch.setattr("hyperlabel.solvers.moments.rank_one_update.FEWEST_FEATURES", 1)
    model = start = hl.BinaryRelevance(alpha=2.0).fit(X[:100], Y[:100])
    for i in range(100, 105):
        model = hl.update(model, (X[i : i + 1], Y[i : i + 1]))
        assert model.moments_.rank_one_factor.rows == i - 99
    whole = hl.BinaryRelevance(alpha=2.0).fit(X[:105], Y[:105])
    assert np.allclose(model.coef_, whole.coef_, atol=1e-9)
    again = hl.update(start, (X[100:105], Y[100:105]))  # the first model is as it was
    assert np.allclose(again.coef_, whole.coef_, atol=1e-9)


def test_refusals():
    assert can_be_updated(tuned(slice(0, 50)))
    other = hl.MLkNN().fit(X, Y)
    assert not can_be_updated(other)
    with pytest.raises(ValueError, match="MLkNN does not rest on sums"):
        hl.update(other, (X, Y))
    ranked = hl.ThresholdTuner(hl.BinaryRelevance(), strategy="top_k").fit(X, Y)
    with pytest.raises(ValueError, match="strategy='top_k' around BinaryRelevance must be fitted anew"):
        hl.update(ranked, (X, Y))
    auto = hl.AutoMultiLabel(methods=["ridge"], cv=2).fit(X, Y)
    with pytest.raises(ValueError, match="AutoMultiLabel cannot be updated"):
        hl.update(auto, (X, Y))


@pytest.mark.parametrize("wrap", [hl.ThresholdTuner, hl.MultiLabelCalibrator])
@pytest.mark.parametrize("search", [False, True])
def test_what_is_learned_from_scores_does_not_move_with_a_threshold_inside(wrap, search):
    ridge = hl.BinaryRelevance(threshold="auto")
    if search:
        ridge = hl.ClosedFormSearchCV(hl.BinaryRelevance(), {"alpha": ["auto"]})
    model = wrap(make_pipeline(MaxAbsScaler(), ridge)).fit(X, Y)
    last = model.estimator_[-1]
    assert (last.estimator_ if search else last).threshold_ == 0.0


def test_rows_for_a_tuned_pipeline_go_through_its_transformers():
    model = hl.ThresholdTuner(make_pipeline(MaxAbsScaler(), hl.BinaryRelevance())).fit(X[:120], Y[:120])
    plain = make_pipeline(MaxAbsScaler().fit(X[:120]), hl.BinaryRelevance(threshold=0.0))
    plain[-1].fit(plain[:-1].transform(X), Y)
    more = hl.update(model, (X[120:], Y[120:]))
    assert np.allclose(more.decision_function(X), plain.decision_function(X))
    less = hl.update(more, forget=(X[120:], Y[120:]))
    assert np.allclose(less.decision_function(X), model.decision_function(X))


def with_guarantee(n, *, noisy):
    """A tuner that guarantees a precision, and labels of which `noisy` are independent of the rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 6))
    labels = (rows[:, :4] + 0.1 * rng.normal(size=(n, 4)) > 0).astype(int)
    labels[:, noisy] = rng.random((n, len(noisy))) < 0.3
    tuner = hl.ThresholdTuner(
        hl.BinaryRelevance(alpha=1.0, solver="gram"), strategy="precision_at_least", precision=0.8
    )
    tuner.fit(rows[: n // 2], labels[: n // 2])
    return tuner, rows, labels


@pytest.mark.parametrize("noisy", [[1], [0, 3]])
def test_an_update_gives_no_threshold_to_a_label_whose_precision_cannot_be_guaranteed(noisy):
    model, rows, labels = with_guarantee(600, noisy=noisy)
    guaranteed = np.setdiff1d(np.arange(4), noisy)
    assert np.isinf(model.thresholds_[noisy]).all()
    assert np.isfinite(model.thresholds_[guaranteed]).all()
    updated = hl.update(model, (rows[300:], labels[300:]))
    np.testing.assert_array_equal(updated.thresholds_, model.thresholds_)
    np.testing.assert_array_equal(updated.guarantees_.thresholds, model.thresholds_)
    assert not np.asarray(updated.predict(rows))[:, noisy].any()
    less = hl.update(updated, forget=(rows[300:], labels[300:]))
    np.testing.assert_array_equal(less.thresholds_, model.thresholds_)


def test_a_new_label_beside_guaranteed_ones_is_not_predicted_until_the_next_fit():
    model, rows, labels = with_guarantee(600, noisy=[])
    model = name_labels(model, list("abcd"))
    more = np.column_stack([labels, labels[:, 0]])
    updated = hl.update(model, (rows[300:], more[300:]), add_labels=["new"])
    assert np.isinf(updated.thresholds_[4])
    assert not np.asarray(updated.predict(rows))[:, 4].any()

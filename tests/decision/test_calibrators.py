"""Curves of many labels: each label's own form, shared slopes, labels that come and go."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from hyperlabel import (
    AutoMultiLabel,
    BinaryRelevance,
    ClosedFormSearchCV,
    MultiLabelCalibrator,
    metrics,
    update,
)
from hyperlabel.decision import Sigmoid
from hyperlabel.decision.calibrators import Calibrators, _fit_beta, _held_out_gain, _Histogram


def draw(n, truth, seed=0):
    """One label for each true curve, scores uniform on (-3, 3)."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-3, 3, size=(n, len(truth)))
    p = np.column_stack([curve(column) for curve, column in zip(truth, scores.T, strict=True)])
    return scores, sparse.csr_array((rng.random(p.shape) < p) * 1.0), p


def test_each_label_takes_the_curve_that_predicts_held_out_rows_best():
    curves = [
        lambda s: expit(2 * s - 1),
        lambda s: np.where(s < 1, 0.1, 0.6),  # steps
        lambda s: expit(np.where(s > 0, 4 * s, 0.5 * s)),  # steeper above than below
    ]
    scores, Y, p = draw(9000, curves)
    found = Calibrators.fit(scores, Y)
    assert found.kind[0] == "sigmoid"
    assert found.kind[1] == "isotonic"
    assert found.kind[2] != "sigmoid"
    assert np.abs(found.probabilities(scores) - p).mean() < 0.015
    plain = Sigmoid.fit(scores, Y).probabilities(scores)
    assert np.abs(plain - p)[:, 1:].mean() > 3 * np.abs(found.probabilities(scores) - p)[:, 1:].mean()


@pytest.mark.parametrize("method", ["sigmoid", "beta", "isotonic"])
def test_one_form_for_all_labels_on_request_rises_and_keeps_the_base_rate(method):
    scores, Y, _ = draw(3000, [lambda s: expit(1.5 * s - 2)] * 3)
    found = Calibrators.fit(scores, Y, method=method)
    assert set(found.kind) == {method}
    grid = np.repeat(np.linspace(-3, 3, 50)[:, None], 3, axis=1)
    assert (np.diff(found.probabilities(grid), axis=0) >= -1e-12).all()
    np.testing.assert_allclose(found.probabilities(scores).mean(axis=0), Y.mean(axis=0), atol=2e-3)


def test_slopes_of_rare_labels_are_drawn_to_the_slope_of_all():
    scores, Y, _ = draw(1500, [lambda s: expit(1.5 * s)] * 5 + [lambda s: expit(1.5 * s - 8)] * 40, seed=1)
    alone, shared = Sigmoid.fit(scores, Y), Calibrators.fit(scores, Y).sigmoid
    rare = np.arange(5, 45)
    assert np.abs(shared.slope - 1.5)[rare].mean() < np.abs(alone.slope - 1.5)[rare].mean()
    new, Y_new, _ = draw(20000, [lambda s: expit(1.5 * s)] * 5 + [lambda s: expit(1.5 * s - 8)] * 40, seed=2)
    loss = [metrics.log_loss(Y_new, model.probabilities(new)) for model in (alone, shared)]
    assert loss[1] < loss[0]


def test_weights_are_repetitions_of_rows_up_to_the_choice_of_folds():
    scores, Y, _ = draw(400, [lambda s: expit(s)] * 2)
    twice = Calibrators.fit(np.r_[scores, scores], sparse.vstack([Y, Y], format="csr"), method="sigmoid")
    weighted = Calibrators.fit(scores, Y, np.full(400, 2.0), method="sigmoid")
    np.testing.assert_allclose(weighted.sigmoid.slope, twice.sigmoid.slope, rtol=1e-3)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    Y = (X[:, :4] + rng.normal(size=(3000, 4)) > [0.5, 1.0, 1.5, 2.5]).astype(int)
    return X[:1000], Y[:1000], X[1000:], Y[1000:]


@pytest.mark.parametrize(
    "model",
    [
        BinaryRelevance(cv=5),
        ClosedFormSearchCV(BinaryRelevance(), {"alpha": [1.0, 10.0]}, cv=3),
        AutoMultiLabel(methods=("ridge",), cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_with_free_scores_have_honest_probabilities(rows, model):
    X, Y, X_new, Y_new = rows
    assert not hasattr(model, "predict_proba")
    scores = model.fit(X, Y).decision_function(X_new)
    p = model.predict_proba(X_new)
    uncalibrated = metrics.reliability(Y_new, np.clip((scores + 1) / 2, 0, 1)).calibration_error
    assert metrics.reliability(Y_new, p).calibration_error < uncalibrated / 2
    assert (p.argsort(axis=0, kind="stable")[-1] == scores.argsort(axis=0, kind="stable")[-1]).all()
    np.testing.assert_array_equal(model.predict_proba(X_new), p)
    again = MultiLabelCalibrator(model, cv="prefit").fit(X_new, Y_new)
    assert np.abs(again.predict_proba(X_new) - p).mean() < 0.03
    assert not hasattr(model.fit(X, Y[:, 0]), "predict_proba")  # one class a row: scores decide


def test_probabilities_are_kept_when_rows_and_labels_come_and_go(rows):
    X, Y, X_new, Y_new = rows
    model = BinaryRelevance(cv=5).fit(X, Y)
    before = model.predict_proba(X_new)
    lazy = BinaryRelevance(cv=5).fit(X, Y)
    for start in (model, lazy):
        more = update(start, (X_new[:1000], Y_new[:1000]))
        error = metrics.reliability(Y_new[1000:], more.predict_proba(X_new[1000:])).calibration_error
        assert error < 0.03
        less = update(more, forget=(X_new[:1000], Y_new[:1000]))
        np.testing.assert_allclose(less.predict_proba(X_new), before, atol=1e-6)
    first, *_ = model.label_names_
    edited = update(model, drop_labels=[first], add_labels=["new"])
    # λ and the threshold are chosen anew; the curves know by how much the threshold moved the scores
    assert edited.threshold_ != model.threshold_
    np.testing.assert_allclose(edited.predict_proba(X_new)[:, :3], before[:, 1:], atol=0.005)
    assert edited.predict_proba(X_new).shape[1] == 4


def test_steps_stay_as_far_from_certainty_as_their_rows_can_tell():
    from hyperlabel.decision.calibrators import _fit_isotonic

    np.testing.assert_allclose(_fit_isotonic(np.array([3.0, 5.0]), np.array([0.0, 5.0])), [0.1, 0.9])


def test_the_gain_of_steps_is_that_of_the_other_folds_on_held_out_rows():
    """Bins of one row count like others; those that no row of the other folds is in are interpolated."""
    x = np.array([[-2.0, -0.5, 0.5, 2.0]])
    rows = np.array([[[3.0, 1.0, 0.0, 4.0]], [[2.0, 2.0, 1.0, 1.0]]])
    on = np.array([[[0.0, 1.0, 0.0, 3.0]], [[1.0, 0.0, 1.0, 1.0]]])
    total = square = 0.0
    for held, other in ((0, 1), (1, 0)):
        kept = rows[other, 0] > 0
        steps = IsotonicRegression().fit_transform(
            x[0, kept], on[other, 0, kept] / rows[other, 0, kept], sample_weight=rows[other, 0, kept]
        )
        edge = 1 / (rows[other].sum() + 2)
        p = np.interp(x[0], x[0, kept], np.clip(steps, edge, 1 - edge))
        for share, base, count in (
            (p, expit(x[0]), on[held, 0]),
            (1 - p, expit(-x[0]), rows[held, 0] - on[held, 0]),
        ):
            total += count @ np.log(share / base)
            square += count @ np.log(share / base) ** 2
    found, error = _held_out_gain("isotonic", _Histogram(x, np.ones(1), rows, on), x, np.array([0]))
    assert found == pytest.approx(total)
    assert error == pytest.approx(np.sqrt(square))


@pytest.mark.parametrize("far", [31.0, 60.0])
def test_a_score_however_far_weighs_like_a_logit_of_30(far):
    """Certainties beyond rounding are no evidence about the curve between them."""
    rows, on = np.full((1, 4), 10.0), np.array([[1.0, 3.0, 8.0, 9.0]])
    for side in (-1.0, 1.0):
        logit = np.array([[-2.0, -1.0, 1.0, 2.0]])
        edge = 0 if side < 0 else 3
        logit[0, edge] = side * 30.0
        at_the_edge = _fit_beta(logit, rows, on)
        logit[0, edge] = side * far
        np.testing.assert_array_equal(_fit_beta(logit, rows, on), at_the_edge)
        logit[0, edge] = side * 29.0
        assert (_fit_beta(logit, rows, on) != at_the_edge).any()

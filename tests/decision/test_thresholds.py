"""Thresholds against brute force: every threshold of small problems tried, ties and weights included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from hyperlabel import metrics as hm
from hyperlabel.decision import (
    best_k,
    decide,
    expected_f1_sets,
    global_threshold,
    per_label_thresholds,
    proportional_thresholds,
)
from hyperlabel.decision.threshold_candidates import find_candidates


def problem(seed, n=25, k=4, ties=True):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, (n, k)).astype(float) if ties else rng.normal(size=(n, k))
    Y = (rng.random((n, k)) < 0.3).astype(float)
    Y[:, 0] = 0
    Y[0, 0] = 1
    return scores, sparse.csr_array(Y)


def every_threshold(column):
    values = np.unique(column)
    return np.concatenate([[values[0] - 1], (values[1:] + values[:-1]) / 2, [values[-1] + 1]])


def signed(name, Y, P, sample_weight=None):
    """The measures in plain numpy, a loss with a minus sign (ours validate too slowly here)."""
    Y, P = np.asarray(Y.todense()) > 0, np.asarray(P) > 0
    w = np.ones((len(Y), 1)) if sample_weight is None else sample_weight[:, None]
    if name == "hamming_loss":
        return -np.sum(w * (Y != P)) / (w.sum() * Y.shape[1])
    axis = {"f1_micro": (0, 1), "f1_macro": 0, "f1_samples": 1}[name]
    weight = np.ones_like(w) if name == "f1_samples" else w
    right, whole = (weight * (Y & P)).sum(axis=axis), (weight * (1 * Y + P)).sum(axis=axis)
    f1 = np.where(whole > 0, 2 * right / np.maximum(whole, 1e-300), float(name == "f1_samples"))
    return float(np.average(f1, weights=w[:, 0]) if name == "f1_samples" else np.mean(f1))


def test_plain_measures_are_ours():
    scores, Y = problem(5)
    w = np.random.default_rng(5).random(len(scores))
    values = hm.evaluate(Y, scores > 4, sample_weight=w)
    for name in ("f1_micro", "f1_macro", "f1_samples"):
        assert signed(name, Y, scores > 4, w) == pytest.approx(values[name])
    assert -signed("hamming_loss", Y, scores > 4, w) == pytest.approx(values["hamming_loss"])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), ties=st.booleans(), weighted=st.booleans())
def test_per_label_thresholds_are_the_best(seed, ties, weighted):
    scores, Y = problem(seed, ties=ties)
    w = np.random.default_rng(seed).integers(1, 4, len(scores)).astype(float) if weighted else None
    for name in ("f1_macro", "hamming_loss"):
        found = per_label_thresholds(scores, Y, scoring=name, shrinkage=0.0, sample_weight=w)
        best = [
            max(
                signed(name, Y[:, [j]], scores[:, [j]] > c, sample_weight=w)
                for c in every_threshold(scores[:, j])
            )
            for j in range(Y.shape[1])
        ]
        assert found.value == pytest.approx(np.mean(best))
        assert signed(name, Y, decide(scores, found.thresholds), sample_weight=w) == pytest.approx(
            np.mean(best)
        )


@pytest.mark.parametrize("seed", range(4))
def test_micro_f1_over_all_combinations_of_thresholds(seed):
    scores, Y = problem(seed, n=12, k=3)
    options = itertools.product(*(every_threshold(scores[:, j]) for j in range(3)))
    best = max(signed("f1_micro", Y, scores > np.array(thresholds)) for thresholds in options)
    found = per_label_thresholds(scores, Y, scoring="f1_micro", shrinkage=0.0)
    assert found.value == pytest.approx(best)
    assert hm.f1_score(Y, decide(scores, found.thresholds), average="micro") == pytest.approx(best)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), ties=st.booleans(), weighted=st.booleans())
def test_global_threshold_is_the_best(seed, ties, weighted):
    scores, Y = problem(seed, ties=ties)
    w = np.random.default_rng(seed).integers(1, 4, len(scores)).astype(float) if weighted else None
    for name in ("f1_micro", "hamming_loss", "f1_macro", "f1_samples"):
        found = global_threshold(scores, Y, scoring=name, sample_weight=w)
        best = max(signed(name, Y, scores > c, sample_weight=w) for c in every_threshold(scores))
        reached = signed(name, Y, decide(scores, found.thresholds), sample_weight=w)
        assert found.value == pytest.approx(reached), name
        # with at most 256 positives the quantiles are the positive scores themselves; only the threshold that
        # predicts nothing is not among them
        empty = signed(name, Y, np.zeros(Y.shape), sample_weight=w)
        assert reached == pytest.approx(best) or best == pytest.approx(empty), name


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), weighted=st.booleans())
@example(seed=215, weighted=False)  # three and four labels are equally good, but for rounding
def test_best_k(seed, weighted):
    scores, Y = problem(seed)
    w = np.random.default_rng(seed).integers(1, 4, len(scores)).astype(float) if weighted else None
    order = np.argsort(-scores, axis=1, kind="stable")
    for name in ("f1_micro", "hamming_loss", "f1_macro", "f1_samples"):
        values = []
        for k in range(1, Y.shape[1] + 1):
            P = np.zeros(Y.shape)
            np.put_along_axis(P, order[:, :k], 1, axis=1)
            values.append(signed(name, Y, P, sample_weight=w))
        k, value = best_k(scores, Y, scoring=name, max_k=Y.shape[1], sample_weight=w)
        assert value == pytest.approx(max(values)), name
        assert k == int(np.argmax(np.round(values, 12))) + 1


def test_proportional_thresholds_predict_as_often_as_true():
    scores, Y = problem(1, n=60, ties=False)
    counts = Y.sum(axis=0)
    np.testing.assert_array_equal(decide(scores, proportional_thresholds(scores, Y)).sum(axis=0), counts)
    w = np.random.default_rng(0).integers(1, 3, 60).astype(float)
    weighted = proportional_thresholds(scores, Y, sample_weight=w)
    reached, wanted = w @ decide(scores, weighted), Y.T @ w
    assert (reached <= wanted + 1e-6).all()
    assert (reached > wanted - 2).all()  # one more row, of weight 1 or 2, would be too much
    all_on = proportional_thresholds(scores, sparse.csr_array(np.ones(Y.shape)))
    none = proportional_thresholds(scores, sparse.csr_array(Y.shape))
    assert decide(scores, all_on).all()
    assert not decide(scores, none).any()


def test_few_positives_shrink_to_the_shared_threshold():
    rng = np.random.default_rng(0)
    Y = np.column_stack([rng.random(400) < 0.5, np.arange(400) < 2]).astype(float)
    scores = np.column_stack([Y[:, 0] + rng.normal(size=400), rng.normal(size=400)])
    alone = per_label_thresholds(scores, sparse.csr_array(Y), shrinkage=0.0)
    drawn = per_label_thresholds(scores, sparse.csr_array(Y), shrinkage=10.0)
    P = Y.sum(axis=0)
    np.testing.assert_allclose(drawn.thresholds, (P * alone.thresholds + 10 * alone.shared) / (P + 10))
    assert abs(drawn.thresholds[1] - drawn.shared) < 0.2 * abs(alone.thresholds[1] - drawn.shared)


def test_weights_are_repetitions():
    scores, Y = problem(3)
    w = np.random.default_rng(3).integers(1, 4, len(scores))
    rows = np.repeat(np.arange(len(scores)), w)
    for fit in (per_label_thresholds, global_threshold):
        weighted = fit(scores, Y, sample_weight=w.astype(float))
        np.testing.assert_allclose(weighted.value, fit(scores[rows], Y[rows]).value)
        np.testing.assert_array_equal(
            decide(scores, weighted.thresholds), decide(scores, fit(scores[rows], Y[rows]).thresholds)
        )


def test_labels_without_positives_and_neighbouring_floats():
    scores = np.array([[1.0, 3.0], [np.nextafter(1.0, 0), 2.0], [0.0, 1.0]])
    Y = sparse.csr_array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    found = per_label_thresholds(scores, Y, shrinkage=0.0)
    np.testing.assert_array_equal(decide(scores, found.thresholds), Y.toarray() > 0)
    empty = sparse.csr_array(Y.shape)
    for name in ("f1_macro", "f1_micro", "hamming_loss"):
        assert not decide(scores, per_label_thresholds(scores, empty, scoring=name).thresholds).any()
        assert not decide(scores, global_threshold(scores, empty, scoring=name).thresholds).any()
    assert len(find_candidates(scores, empty).threshold) == 0


def test_expected_f1_is_the_best_prefix():
    rng = np.random.default_rng(0)
    p = rng.random((50, 5)) * rng.random((50, 1))
    for row, found in zip(p, expected_f1_sets(p), strict=True):
        order = np.argsort(-row)
        values = [np.prod(1 - row)]
        values += [2 * row[order[:k]].sum() / (k + row.sum()) for k in range(1, 6)]
        expected = np.zeros(5, dtype=bool)
        expected[order[: int(np.argmax(values))]] = True
        np.testing.assert_array_equal(found, expected)


def test_refusals():
    scores, Y = problem(0)
    with pytest.raises(ValueError, match="'per_label' can maximise f1_macro"):
        per_label_thresholds(scores, Y, scoring="f1_samples")


def test_a_label_that_no_row_has_is_threshold_one_step_above_its_best_score():
    scores = np.array([[0.1], [0.9], [0.5], [0.3]])
    assert proportional_thresholds(scores, sparse.csr_array((4, 1))) == pytest.approx(0.9 + 0.8 / 4)
    assert proportional_thresholds(scores, sparse.csr_array(np.ones((4, 1)))) == pytest.approx(
        0.1 - 0.8 / 4 / 2
    )


def test_no_shared_thresholds_are_counted_unless_asked_for():
    assert find_candidates(*problem(0)).grid.size == 0
    assert find_candidates(*problem(0, ties=False), n_grid=3).grid.size == 3


def test_scores_that_rank_every_positive_last_still_have_a_best_threshold():
    scores, Y = np.arange(6.0)[:, None], sparse.csr_array(np.eye(6, 1))
    found = global_threshold(scores, Y, scoring="f1_micro")
    assert found.value == pytest.approx(2 / 7)  # all rows, for the one
    assert found.thresholds[0] < 0


@pytest.mark.parametrize(("better_by", "chosen"), [(2e-13, 1), (1e-11, 2)])
def test_more_labels_must_be_better_by_more_than_rounding(better_by, chosen):
    """F1 of one label is ½, of two ½ + `better_by`: the weights of the rows say so."""
    scores = np.tile([3.0, 2.0, 1.0], (3, 1))
    Y = sparse.csr_array(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    w = np.array([2.0, 1.0 + 6 * better_by, 1.0 - 6 * better_by])
    assert best_k(scores, Y, scoring="f1_samples", max_k=2, sample_weight=w)[0] == chosen


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("k", [1, 3])
def test_the_scores_of_the_caller_stay_as_they_are(k, order):
    """One column, or columns stored one after the other, were sorted in place."""
    scores = np.array(np.random.default_rng(0).normal(size=(30, k)), order=order)
    Y = sparse.csr_array((scores > 0.3).astype(float))
    before = scores.copy()
    for fit in (per_label_thresholds, global_threshold, proportional_thresholds):
        fit(scores, Y)
        np.testing.assert_array_equal(scores, before)

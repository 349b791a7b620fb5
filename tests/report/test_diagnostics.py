"""Calibration, replaced labels, growth and twins on data whose answers can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binomtest

from hyperlabel.apps.report.diagnostics import (
    honest_probabilities,
    learning_curve,
    reliability_points,
    replaced_labels,
    twins_of_rows,
)
from hyperlabel.apps.report.model_numbers import PageScores


def judged(scores, Y, thresholds=None):
    thresholds = np.zeros(Y.shape[1]) if thresholds is None else thresholds
    return PageScores(np.asarray(scores, float), sparse.csr_array(Y), thresholds, "as new rows")


def test_a_bin_holds_its_mean_its_share_and_the_exact_interval():
    p = np.array([0.05, 0.05, 0.11, 0.61, 0.65, 0.69, 1.0])
    truth = np.array([0, 0, 1, 1, 1, 0, 1])
    points = reliability_points(truth, p)
    assert [point[4] for point in points] == [2, 1, 3, 1]
    assert [point[0] for point in points] == pytest.approx([0.05, 0.11, 0.65, 1.0])
    for (_, share, low, high, n), hits in zip(points, (0, 1, 2, 1), strict=True):
        interval = binomtest(hits, n).proportion_ci(0.95, "exact")
        assert (share, low, high) == pytest.approx((hits / n, interval.low, interval.high), abs=1e-4)


def test_probabilities_of_noise_are_not_surer_than_noise():
    """In sample, calibration finds structure in noise; the page's curve must not."""
    rng = np.random.default_rng(0)
    scores, Y = rng.normal(size=(300, 3)), (rng.random((300, 3)) < 0.3).astype(int)
    p = honest_probabilities(judged(scores, Y))
    assert p.shape == (300, 3)
    assert np.abs(p.mean(axis=0) - Y.mean(axis=0)).max() < 0.05
    assert abs(np.corrcoef(p.ravel(), Y.ravel())[0, 1]) < 0.15


def test_a_label_given_in_place_of_another_is_counted_once_a_row():
    Y = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0], [1, 0, 0]])
    predicted = np.array([[0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0], [1, 1, 0]])
    found = replaced_labels(judged(2.0 * predicted - 1.0, Y))
    assert found["missed"] == [3, 0, 0]
    # row 2 gets no label that it lacks; on row 4 nothing is missed
    assert found["instead"] == [[[1, 2], [2, 1]], [], []]


def test_growth_is_that_of_nested_samples_and_groups_stay_whole():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(50), 4)
    Y, asked = (rng.random((200, 2)) < 0.5).astype(int), []

    def score_rows(rows):
        asked.append(set(rows.tolist()))
        wrong = rng.random((len(rows), 2)) < 30 / len(rows)  # fewer mistakes with more rows
        return judged(np.where(wrong, -1, 1) * (2.0 * Y[rows] - 1), Y[rows])

    points = learning_curve(score_rows, 200, groups)
    assert [n for n, _ in points] == [48, 100, 200]
    assert asked[0] < asked[1] < asked[2]
    assert all(len({groups[i] for i in rows}) * 4 == len(rows) for rows in asked)
    assert points[0][1] < points[1][1] < points[2][1]
    assert learning_curve(score_rows, 39) == []


def test_twins_are_the_others_of_a_group():
    assert twins_of_rows(np.array([0, 1, 0, 2, 0, 1])) == {
        0: [2, 4], 2: [0, 4], 4: [0, 2], 1: [5], 5: [1],
    }  # fmt: skip
    assert twins_of_rows(None) == {}

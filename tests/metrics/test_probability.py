"""Log loss and Brier score against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from hyperlabel import metrics as hm
from hyperlabel._topk import top_k


@pytest.fixture
def proba():
    rng = np.random.default_rng(0)
    y = (rng.random((50, 6)) < 0.3).astype(int)
    y[0] = 0
    p = rng.random((50, 6)).round(1)  # exact zeros and ones too
    return y, p


def test_label_wise_against_sklearn_binary(proba):
    y, p = proba
    w = np.random.default_rng(1).random(50)
    logs = [sk.log_loss(y[:, j], p[:, j], sample_weight=w) for j in range(6)]
    briers = [sk.brier_score_loss(y[:, j], p[:, j], sample_weight=w) for j in range(6)]
    truth = sparse.csr_array(y)
    np.testing.assert_allclose(hm.log_loss(truth, p, average=None, sample_weight=w), logs)
    np.testing.assert_allclose(hm.brier_score(truth, p, average=None, sample_weight=w), briers)
    assert hm.log_loss(y, p, sample_weight=w) == pytest.approx(np.mean(logs))


def test_log_loss_difference_from_sklearn_by_hand():
    y, p = np.array([[1, 0]]), np.array([[0.8, 0.2]])
    assert hm.log_loss(y, p) == pytest.approx(-np.log(0.8))  # both entries cost -log 0.8
    y, p = np.array([[1, 0]]), np.array([[0.8, 0.9]])
    assert hm.log_loss(y, p) == pytest.approx((-np.log(0.8) - np.log(0.1)) / 2)
    with pytest.warns(UserWarning, match="sum to one"):
        theirs = sk.log_loss(y, p)  # its (1 - y) terms are gone
    assert theirs == pytest.approx(-np.log(0.8), rel=1e-6) or theirs == pytest.approx(-np.log(0.8 / 1.7))


@pytest.mark.parametrize("measure", [hm.log_loss, hm.brier_score])
def test_lists_are_zero_elsewhere(proba, measure):
    y, p = proba
    indices, values = top_k(p, 3)
    completed = np.zeros_like(p)
    np.put_along_axis(completed, indices, values, axis=1)
    lists = measure(sparse.csr_array(y), (indices, values), average=None)
    np.testing.assert_allclose(lists, measure(y, completed, average=None))


@pytest.mark.parametrize("measure", [hm.log_loss, hm.brier_score])
def test_unknown_entries_are_left_out(proba, measure):
    y, p = proba
    known = np.random.default_rng(2).random(y.shape) < 0.6
    known[:, 5] = False
    truth = np.where(known, y, np.nan)
    expected = [measure(y[known[:, j], j], p[known[:, j], j]) for j in range(5)] + [np.nan]
    np.testing.assert_allclose(measure(truth, p, average=None), expected)
    np.testing.assert_allclose(measure(truth, top_k(p, 6), average=None), expected)
    assert measure(truth, p) == pytest.approx(np.nanmean(expected))


def test_probabilities_only():
    with pytest.raises(ValueError, match="probabilities between 0 and 1"):
        hm.brier_score([[1, 0]], [[1.5, 0.0]])
    with pytest.raises(ValueError, match="average must be"):
        hm.log_loss([[1, 0]], [[0.5, 0.0]], average="micro")

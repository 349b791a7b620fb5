"""Ranking measures against scikit-learn, brute force and hand-worked cases."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from hyperlabel import metrics as hm
from hyperlabel._topk import top_k

RANKING = ["ranking_loss", "coverage_error", "label_ranking_average_precision", "one_error", "roc_auc_score"]


def brute_ranking_loss(y, s, known=None):
    losses = []
    for i in range(len(y)):
        keep = slice(None) if known is None else known[i]
        yi, si = y[i][keep] > 0, s[i][keep]
        if 0 < yi.sum() < len(yi):
            on, off = si[yi][:, None], si[~yi][None, :]
            losses.append(np.mean((on < off) + 0.5 * (on == off)))
    return np.mean(losses)


def brute_auc(y, s):
    return np.array([sk.roc_auc_score(y[:, j], s[:, j]) for j in range(y.shape[1])])


def data(seed=0, n=40, K=8, ties=True):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 4, (n, K)).astype(float) if ties else rng.normal(size=(n, K))
    y = (rng.random((n, K)) < 0.35).astype(int)
    y[0], y[1] = 0, 1
    return y, s


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), ties=st.booleans(), sparse_y=st.booleans())
def test_against_definitions(seed, ties, sparse_y):
    y, s = data(seed, ties=ties)
    truth = sparse.csr_array(y) if sparse_y else y
    assert hm.ranking_loss(truth, s) == pytest.approx(brute_ranking_loss(y, s))
    assert hm.coverage_error(truth, s) == pytest.approx(sk.coverage_error(y, s))
    lrap = hm.label_ranking_average_precision(truth, s)
    assert lrap == pytest.approx(sk.label_ranking_average_precision_score(y, s))
    np.testing.assert_allclose(hm.roc_auc_score(truth, s, average=None), brute_auc(y, s), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_short_ways_equal_those_of_all_measures_together(dtype, missing):
    """Ranking loss by bisection and P@k by a mark, beside sorted rows: ties and ±inf too."""
    rng = np.random.default_rng(5)
    for n_labels in (1, 2, 3, 7, 8, 9, 33):
        scores = rng.integers(0, 4, (60, n_labels)).astype(dtype)
        scores[rng.random(scores.shape) < 0.2] = np.inf
        scores[rng.random(scores.shape) < 0.2] = -np.inf
        truth = (rng.random(scores.shape) < 0.4).astype(float)
        truth[:, 0] = 1  # `evaluate` leaves rows without labels out of P@k
        truth[rng.random(truth.shape) < missing] = np.nan
        truth = truth[np.nansum(truth, axis=1) > 0]
        scores = scores[: len(truth)]
        together = hm.evaluate(truth, y_score=scores, ks=(1,))
        np.testing.assert_equal(hm.ranking_loss(truth, scores), together["ranking_loss"])
        assert hm.precision_at_k(truth, scores, k=1) == together["precision_at_1"]


def test_weights_repeat_rows():
    y, s = data(3)
    w = np.random.default_rng(4).integers(0, 3, len(y))
    y2, s2 = np.repeat(y, w, axis=0), np.repeat(s, w, axis=0)
    for name in RANKING:
        measure = getattr(hm, name)
        assert measure(y, s, sample_weight=w) == pytest.approx(measure(y2, s2)), name
        lists = top_k(s, 3), top_k(s2, 3)
        assert measure(y, lists[0], sample_weight=w) == pytest.approx(measure(y2, lists[1])), name


def test_ranking_loss_differences_from_sklearn_by_hand():
    # row 1: one tie, one error of 2 pairs → ¾; row 2: no labels, left out
    y, s = np.array([[1, 0, 0], [0, 0, 0]]), np.array([[0.5, 0.5, 0.9], [1, 2, 3]])
    assert hm.ranking_loss(y, s) == 0.75
    assert sk.label_ranking_loss(y, s) == 0.5  # (1 + 0) / 2
    without_ties, scores = data(5, ties=False)
    rows = slice(2, None)
    pairs = (without_ties[rows].sum(axis=1) > 0) & (without_ties[rows].sum(axis=1) < 8)
    y, s = without_ties[rows][pairs], scores[rows][pairs]
    assert hm.ranking_loss(y, s) == pytest.approx(sk.label_ranking_loss(y, s))
    assert np.isnan(hm.ranking_loss([[0, 0]], [[1, 2]]))


def test_auc_leaves_out_and_counts_one_class_labels():
    y = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1]])
    s = np.array([[0.9, 0.1, 0.0], [0.4, 0.2, 0.0], [0.4, 0.3, 0.0]])
    np.testing.assert_array_equal(hm.roc_auc_score(y, s, average=None), [0.75, np.nan, np.nan])
    assert hm.roc_auc_score(y, s) == 0.75
    assert hm.evaluate(y, y_score=s)["n_labels_one_class"] == 2
    with pytest.warns(sk._ranking.UndefinedMetricWarning):
        assert np.isnan(sk.roc_auc_score(y, s, average="macro"))


@pytest.mark.parametrize("name", RANKING)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_lists_equal_scores_with_the_rest_tied_below(name, k):
    y, s = data(6)
    indices, values = top_k(s, k)
    completed = np.full(s.shape, -1.0)
    np.put_along_axis(completed, indices, values, axis=1)
    measure = getattr(hm, name)
    assert measure(sparse.csr_matrix(y), (indices, values)) == pytest.approx(measure(y, completed))
    padded = np.pad(indices, ((0, 0), (0, 2)), constant_values=-1), np.pad(values, ((0, 0), (0, 2)))
    assert measure(y, padded) == pytest.approx(measure(y, completed))


def test_unknown_labels_are_left_out_of_their_row():
    rng = np.random.default_rng(7)
    y, s = data(7, n=60)
    known = rng.random(y.shape) < 0.7
    truth = np.where(known, y, np.nan)
    s[rng.random(s.shape) < 0.1] = -np.inf  # a known label may be scored -inf
    assert hm.ranking_loss(truth, s) == pytest.approx(brute_ranking_loss(y, s, known))
    finite = np.where(np.isfinite(s), s, -9.0)
    by_row = [sk.coverage_error(y[[i]][:, known[i]], finite[[i]][:, known[i]]) for i in range(60)]
    assert hm.coverage_error(truth, s) == pytest.approx(np.mean(by_row))
    auc = [sk.roc_auc_score(y[known[:, j], j], finite[known[:, j], j]) for j in range(8)]
    np.testing.assert_allclose(hm.roc_auc_score(truth, s, average=None), auc)
    full_lists = top_k(finite, 8)
    for name in RANKING:
        assert getattr(hm, name)(truth, full_lists) == pytest.approx(getattr(hm, name)(truth, finite)), name
    firsts = [y[i, known[i]][finite[i, known[i]].argmax()] for i in range(60) if y[i, known[i]].any()]
    assert hm.one_error(truth, s) == pytest.approx(1 - np.mean(firsts))


def test_at_k_by_hand():
    y = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    s = np.array([[0.9, 0.8, 0.1, 0.0], [0.2, 0.2, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0]])
    # ties of row 2 go to the lowest index: order 0, 1, 2
    assert hm.precision_at_k(y, s, k=1) == pytest.approx((1 + 0 + 0) / 3)
    assert hm.precision_at_k(y, s, k=2) == pytest.approx((1 + 1 + 0) / 6)
    assert hm.precision_at_k(y, s, k=3) == pytest.approx((2 + 1 + 0) / 9)
    assert hm.one_error(y, s) == 0.5  # the row without labels is left out
    g2 = 1 / np.log2(3)
    assert hm.ndcg_at_k(y, s, k=2) == pytest.approx((1 / (1 + g2) + g2 + 0) / 3)
    p = np.array([0.5, 0.25, 0.25, 1.0])
    # gained: 2 + 4; best with two labels: (2 + 4) + 4
    assert hm.psp_at_k(y, s, propensities=p, k=2) == pytest.approx(6 / 10)
    assert hm.psp_at_k(y, s, propensities=p, k=1) == pytest.approx(2 / 8)


def test_ndcg_against_sklearn_without_ties():
    y, s = data(8, ties=False)
    for k in (1, 3, 8):
        assert hm.ndcg_at_k(sparse.csr_array(y), s, k=k) == pytest.approx(sk.ndcg_score(y, s, k=k))
    tied = np.array([[1, 0]]), np.array([[0.5, 0.5]])
    assert hm.ndcg_at_k(*tied, k=1) == 1.0
    assert sk.ndcg_score(*tied, k=1) == 0.5  # the named difference


def test_propensities_by_hand():
    y = np.array([[1, 0]] * 20)
    C = (np.log(20) - 1) * 2.5**0.55
    expected = [1 / (1 + C * np.exp(-0.55 * np.log(20 + 1.5))), 1 / (1 + C * np.exp(-0.55 * np.log(1.5)))]
    np.testing.assert_allclose(hm.propensities(y), expected)
    C = (np.log(20) - 1) * 1.4**0.5
    np.testing.assert_allclose(hm.propensities(y, A=0.5, B=0.4)[1], 1 / (1 + C * 0.4**-0.5))


@pytest.mark.parametrize("name", ["precision_at_k", "ndcg_at_k", "psp_at_k"])
def test_at_k_lists_equal_scores(name):
    y, s = data(9)
    extra = {"propensities": hm.propensities(y)} if name == "psp_at_k" else {}
    measure = getattr(hm, name)
    for k in (1, 4):
        assert measure(y, top_k(s, 5), k=k, **extra) == pytest.approx(measure(y, s, k=k, **extra))
    with pytest.raises(ValueError, match="k must be between 1 and"):
        measure(y, top_k(s, 3), k=4, **extra)
    with pytest.raises(ValueError, match="k must be between 1 and"):
        measure(y, s, k=9, **extra)


def test_lists_over_many_labels_stay_lists():
    rng = np.random.default_rng(10)
    n, K = 300, 300_000
    y = sparse.random_array((n, K), density=3e-5, rng=rng, format="csr")
    y.data[:] = 1
    indices = rng.permuted(np.tile(np.arange(100), (n, 1)), axis=1)[:, :10] * 2999
    lists = indices, np.sort(rng.random((n, 10)), axis=1)[:, ::-1]
    tracemalloc.start()
    values = hm.evaluate(y, y_proba=lists, propensities=np.full(K, 0.5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * n * K  # a byte an entry would be 90 MB
    assert {"psp_at_5", "roc_auc_macro", "brier_score", "ranking_loss"} <= set(values)


def test_dense_scores_over_many_labels_need_a_bounded_block():
    n, K = 40, 100_000
    y = sparse.random_array((n, K), density=1e-4, rng=np.random.default_rng(1), format="csr")
    y.data[:] = 1
    s = np.random.default_rng(2).random((n, K), dtype=np.float32)
    tracemalloc.start()
    for name in ("ranking_loss", "precision_at_k", "roc_auc_score"):
        getattr(hm, name)(y, s)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # a bounded block and its sort, whatever n; one float64 copy would be 32 MB


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        ([[0.1, np.nan]], "y_score contains NaN"),
        ([[0.1, 0.2, 0.3]], "y_score has shape"),
        (([[0]], [[0.1]], 1), "pair"),
        (([[0, 0]], [[0.2, 0.1]]), "twice"),
        (([[0, -2]], [[0.2, 0.1]]), "or be -1 for padding"),
        (([[2]], [[0.2]]), "between 0 and 1"),
        (([[0.5]], [[0.2]]), "integers"),
        (([[0]], [[0.2, 0.1]]), "both be of shape"),
        (([[0]], [[np.nan]]), "NaN"),
        ([["a", "b"]], "numbers"),
    ],
)
def test_bad_scores_are_one_sentence(score, sentence):
    with pytest.raises(ValueError, match=sentence):
        hm.ranking_loss([[1, 0]], score)
    with pytest.raises(ValueError, match=sentence):
        hm.precision_at_k([[1, 0]], score, k=1)

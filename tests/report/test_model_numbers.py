from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.apps.report.model_numbers import (
    EDGES,
    PageScores,
    calibration_errors,
    f1_interval,
    label_map,
    row_review_order,
    summary_metrics,
    threshold_table,
)
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.decision.strategies import PerLabel


@pytest.mark.parametrize("n_positive", [0, 1, 40, 700, 1000])
@pytest.mark.parametrize("ties", [False, True])
def test_counts_at_every_threshold_are_exact(n_positive, ties):
    rng = np.random.default_rng(n_positive)
    scores = rng.normal(size=1000)
    scores = scores.round(1) if ties else scores
    carries = np.arange(1000) < n_positive
    table = threshold_table(scores, carries, 0.21)
    assert len(table.edges) <= EDGES
    assert table.edges[table.chosen] == 0.21
    for t in range(-1, len(table.edges) + 1):
        threshold = -np.inf if t < 0 else np.inf if t == len(table.edges) else table.edges[t]
        over = scores > threshold
        assert (table.buckets > t).tolist() == over.tolist()
        assert table.with_label[t + 1 :].sum() == (over & carries).sum()
        assert table.without[t + 1 :].sum() == (over & ~carries).sum()


def test_the_best_threshold_is_among_those_offered():
    from hyperlabel.decision import per_label_thresholds

    rng = np.random.default_rng(0)
    Y = sparse.csr_array((rng.random((400, 1)) < 0.2).astype(int))
    scores = Y.toarray() + rng.normal(size=(400, 1))
    table = threshold_table(scores[:, 0], Y.toarray()[:, 0] > 0, np.inf)
    hits = table.with_label[::-1].cumsum()[::-1]
    claimed = hits + table.without[::-1].cumsum()[::-1]
    best = (2 * hits / (claimed + Y.sum())).max()
    assert best == pytest.approx(per_label_thresholds(scores, Y, scoring="f1_macro").value)
    assert table.chosen == len(table.edges)


def _judged(n=600, k=5, **kind):
    rng = np.random.default_rng(1)
    Y = sparse.csr_array((rng.random((n, k)) < np.linspace(0.05, 0.4, k)).astype(np.int64))
    return PageScores(Y.toarray() + rng.normal(size=(n, k)), Y, np.full(k, 0.7), "out of fold", **kind)


def test_the_large_figure_is_not_flattered_by_its_own_thresholds():
    """On noise, thresholds tuned and judged on the same rows look better than they are."""
    from dataclasses import replace

    from hyperlabel.decision import decide, per_label_thresholds
    from hyperlabel.metrics import f1_score

    noise = np.random.default_rng(3).normal(size=(200, 20))
    Y = sparse.csr_array((np.random.default_rng(4).random((200, 20)) < 0.05).astype(np.int64))
    thresholds = per_label_thresholds(noise, Y, scoring="f1_macro").thresholds
    flattered = f1_score(Y, decide(noise, thresholds).astype(int), average="macro")
    judged = PageScores(
        noise,
        Y,
        thresholds,
        "out of fold",
        strategy=PerLabel(),
    )
    honest = summary_metrics(judged)["measures"]["f1_macro"]
    assert honest[0] < flattered - 0.005
    plain = summary_metrics(replace(judged, strategy=None))["measures"]["f1_macro"]
    assert plain[0] == pytest.approx(flattered)
    assert plain[1] < plain[0] < plain[2]


def test_intervals_narrow_with_rows_and_probabilities_are_honest():
    few, many = _judged(200), _judged(5000)
    width = [np.diff(summary_metrics(j)["measures"]["f1_micro"][1:])[0] for j in (few, many)]
    assert width[1] < 0.5 * width[0]
    p = Calibrators.fit(many.scores, many.Y).probabilities(many.scores)
    assert max(calibration_errors(many, p)) < 0.05
    order = row_review_order(many, p)
    doubt = np.abs(p - many.Y.toarray()).max(axis=1)
    assert sorted(order.tolist()) == list(range(5000))
    assert (np.diff(doubt[order]) <= 1e-12).all()


def _tuned(scores, Y, strategy=None):
    strategy = strategy or PerLabel()
    thresholds = strategy.find_thresholds(scores, Y)
    return PageScores(scores, Y, thresholds, "out of fold", strategy=strategy)


def _noise(n, k, rate, strength, seed):
    rng = np.random.default_rng(seed)
    Y = sparse.csr_array((rng.random((n, k)) < rate).astype(np.int64))
    return strength * Y.toarray() + rng.normal(size=(n, k)), Y


@pytest.mark.parametrize(
    ("n", "k", "rate", "strength"),
    [(200, 30, 0.05, 1.0), (10, 6, 0.5, 0.0), (400, 12, 0.02, 2.0), (60, 8, 0.3, 30.0), (12, 5, 0.0, 1.0)],
)
def test_every_figure_lies_inside_its_interval_and_no_interval_is_a_point(n, k, rate, strength):
    """Value and interval came from different thresholds, and ten rows without a hit gave 0.00–0.00."""
    from dataclasses import replace

    for seed in range(4):
        judged = _tuned(*_noise(n, k, rate, strength, seed))
        for one in (judged, replace(judged, strategy=None)):
            found = summary_metrics(one)
            f1 = 2 * found["hits"] / np.maximum(found["predicted"] + np.asarray(one.Y.sum(axis=0)).ravel(), 1)
            assert (found["f1_low"] <= f1 + 1e-12).all()
            assert (f1 <= found["f1_high"] + 1e-12).all()
            assert (found["f1_high"] - found["f1_low"]).min() > 1 / n
            for value, low, high in found["measures"].values():
                assert low <= value <= high
                assert high - low > 0
            assert found["measures"]["f1_macro"][0] == pytest.approx(
                f1[np.asarray(one.Y.sum(axis=0)).ravel() > 0].mean() if one.Y.nnz else 0.0
            )


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["emotions", "medical"])
def test_every_figure_of_real_labels_lies_inside_its_interval(load_real, name):
    from hyperlabel import BinaryRelevance

    data = load_real(name)
    scores = BinaryRelevance(cv=5).fit(data.X, data.Y).oof_scores_
    judged = _tuned(scores, sparse.csr_array(data.Y))
    found, rows = summary_metrics(judged), np.asarray(data.Y.sum(axis=0)).ravel()
    f1 = 2 * found["hits"] / np.maximum(found["predicted"] + rows, 1)
    assert ((found["f1_low"] <= f1 + 1e-12) & (f1 <= found["f1_high"] + 1e-12)).all()
    assert (found["f1_high"] > found["f1_low"]).all()


@pytest.mark.parametrize(("n", "rate"), [(60, 0.1), (300, 0.03), (300, 0.3)])
def test_label_intervals_cover_the_true_f1(n, rate):
    """Scores are normal, so the F1 of a threshold is known: 95 of 100 intervals at least must hold it."""
    from scipy.stats import binom, norm

    covered, total, thresholds = 0, 0, []

    class Noted(PerLabel):
        def find_thresholds(self, scores, Y, sample_weight=None):
            thresholds.append(super().find_thresholds(scores, Y, sample_weight))
            return thresholds[-1]

    for seed in range(4):
        scores, Y = _noise(n, 120, rate, 1.5, seed)
        for judged in (PageScores(scores, Y, np.full(120, 1.2), "as new rows"), _tuned(scores, Y, Noted())):
            thresholds.clear()
            found = summary_metrics(judged)
            used = np.array(thresholds) if thresholds else judged.thresholds[None]
            recall, false_rate = norm.sf(used - 1.5).mean(axis=0), norm.sf(used).mean(axis=0)
            truth = 2 * rate * recall / (rate + rate * recall + (1 - rate) * false_rate)
            covered += ((found["f1_low"] <= truth) & (truth <= found["f1_high"])).sum()
            total += 120
    assert covered >= binom.ppf(0.001, total, 0.95)


def test_an_exact_interval_by_hand():
    """No hit among ten rows: J is at most 1 − 0.025^(1/10)."""
    low, high = f1_interval(
        np.array([0.0, 10.0, 0.0]), np.array([0.0, 10.0, 0.0]), np.array([10.0, 10.0, 0.0])
    )
    share = 1 - 0.025 ** (1 / 10)
    np.testing.assert_allclose(high, [2 * share / (1 + share), 1.0, 1.0])
    np.testing.assert_allclose(low, [0.0, 2 * (1 - share) / (2 - share), 0.0])


@pytest.mark.parametrize("k", [1, 2, 4, 100, 1000])
def test_the_map_puts_labels_of_the_same_rows_together_without_overlaps(k):
    rng = np.random.default_rng(0)
    group = np.arange(k) % max(1, k // 10)
    home = rng.integers(0, group.max() + 1, size=3000)
    Y = sparse.csr_array(((home[:, None] == group) & (rng.random((3000, k)) < 0.4)).astype(np.int64))
    found = label_map(Y)
    places = np.column_stack([found["x"], found["y"]])
    r = np.array(found["r"])
    gap = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)) - r[:, None] - r[None]
    np.fill_diagonal(gap, 1.0)
    assert gap.min() > -0.2 * r.max()
    assert (gap < 0).sum() / 2 <= 0.02 * k
    assert len(set(found["cluster"])) <= 8
    if k >= 100:
        near = np.argsort(gap, axis=1)[:, :3]
        assert (group[near] == group[:, None]).mean() > 0.6

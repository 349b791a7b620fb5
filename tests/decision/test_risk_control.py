"""Guarantees: exact bounds, fixed sequences that stop, levels kept on synthetic truth, groups, bad input."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse, stats

from hyperlabel.decision import (
    Sigmoid,
    guarantee_precision,
    guarantee_recall,
)
from hyperlabel.decision.guarantee_table import rows_needed
from hyperlabel.decision.risk_control import _test_fixed_sequence, choosing_and_testing, group_shuffle_split
from hyperlabel.decision.risk_control_overall import (
    _missed_labels,
    guarantee_overall_precision,
    guarantee_overall_recall,
)

RATE, SHIFT = 0.1, 2.5


def draw(n, k, seed, shift=SHIFT):
    """Scores N(shift·y, 1): the precision of every threshold is known."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, k)) < RATE
    return rng.normal(size=(n, k)) + shift * Y, sparse.csr_array(Y * 1.0)


def true_precision(threshold, shift=SHIFT):
    right, wrong = RATE * stats.norm.sf(threshold - shift), (1 - RATE) * stats.norm.sf(threshold)
    return right / (right + wrong)


def test_a_guarantee_is_broken_at_most_as_often_as_the_level_allows():
    scores, Y = draw(3000, 300, 0)
    found = guarantee_precision(scores, Y, 0.8, confidence=0.8)
    guaranteed = ~np.isnan(found.bound)
    assert guaranteed.mean() > 0.9
    violated = int((true_precision(found.thresholds[guaranteed]) < 0.8).sum())
    assert stats.binomtest(violated, 300, 0.2, alternative="greater").pvalue > 0.01
    assert violated > 0.02 * 300  # a test that never fails would guarantee too little


def test_the_bound_is_clopper_pearsons_on_the_rows_that_did_not_choose_the_threshold():
    scores, Y = draw(2000, 3, 1)
    found = guarantee_precision(scores, Y, 0.8)
    _, tested = group_shuffle_split(2000, None, 0.25, one_each=True)
    for j, line in enumerate(found):
        above = scores[tested, j] > found.thresholds[j]
        right = int(Y.toarray()[tested, j][above].sum())
        assert (line["rows"], line["right"]) == (above.sum(), right)
        interval = stats.binomtest(right, int(above.sum()), alternative="greater").proportion_ci(0.9, "exact")
        assert line["bound"] == pytest.approx(interval.low)
        assert line["bound"] >= 0.8


def test_violated_guarantees_among_the_guaranteed_are_few_by_default():
    scores, Y = draw(4000, 200, 2)
    scores[:, 100:] = np.random.default_rng(3).normal(size=(4000, 100))  # labels nobody can guarantee
    each, share = (
        guarantee_precision(scores, Y, 0.8, error_control=error_control)
        for error_control in ("per_label", "fdr")
    )
    assert (share.thresholds >= each.thresholds).all()
    guaranteed = ~np.isnan(share.bound)
    assert guaranteed[:100].mean() > 0.8
    assert not guaranteed[100:].any()
    assert (true_precision(share.thresholds[guaranteed]) < 0.8).mean() <= 0.1


def test_what_cannot_be_guaranteed_says_how_many_more_positives_it_takes():
    scores, Y = draw(900, 60, 4)
    lines = [line for line in guarantee_precision(scores, Y, 0.9) if not line["guaranteed"]]
    assert len(lines) > 20
    finite = [line["more_positives"] for line in lines if np.isfinite(line["more_positives"])]
    assert len(finite) > 10
    assert 30 < np.median(finite) < 1000  # with 500 positives 84 % of such labels are guaranteed
    empty = next(iter(guarantee_precision(scores[:, :1], sparse.csr_array((900, 1)), 0.9)))
    assert empty["guarantee"] == f"no guarantee: about {int(np.ceil(21.85 / 0.75))} more positive rows needed"
    noise = np.random.default_rng(0).normal(size=(900, 1))
    assert next(iter(guarantee_precision(noise, Y[:, :1], 0.9)))["guarantee"].endswith(
        "more rows alone will not do"
    )


@pytest.mark.parametrize(("precision", "rows"), [(0.8, 11), (0.9, 22)])
def test_the_fewest_rows_that_can_bear_a_guarantee(precision, rows):
    assert rows_needed(precision, 0.9) == rows
    assert stats.binom.cdf(0, rows, 1 - precision) <= 0.1 < stats.binom.cdf(0, rows - 1, 1 - precision)


def test_one_row_stands_for_a_group_of_equal_rows():
    scores, Y = draw(600, 100, 5)
    options = {"confidence": 0.8, "error_control": "per_label"}
    once = guarantee_precision(scores, Y, 0.8, **options)
    rows = np.repeat(np.arange(600), 5)
    grouped = guarantee_precision(scores[rows], Y[rows], 0.8, groups=rows, **options)
    fooled = guarantee_precision(scores[rows], Y[rows], 0.8, **options)

    def violated(found):
        guaranteed = ~np.isnan(found.bound)
        return (true_precision(found.thresholds[guaranteed]) < 0.8).sum()

    assert grouped.found.max() <= 600
    assert violated(grouped) <= 30  # 100 labels at level .2
    assert violated(fooled) > violated(grouped)
    assert np.isnan(grouped.bound).sum() == pytest.approx(np.isnan(once.bound).sum(), abs=25)


def test_missed_labels_are_as_many_as_allowed_in_expectation():
    missed = []
    for seed in range(40):
        scores, Y = draw(300, 20, seed)
        found = guarantee_recall(scores, Y, 0.8)
        missed.append(stats.norm.cdf(found.thresholds - SHIFT))
    assert np.mean(missed) <= 0.2 + 3 * np.std(missed) / np.sqrt(np.size(missed))
    assert np.mean(missed) > 0.15  # and no row more is found than needed
    few = guarantee_recall(np.zeros((3, 1)), sparse.csr_array(np.ones((3, 1))), 0.8)
    assert few.thresholds[0] == np.inf
    assert few.more[0] == 1  # four rows would do: (0 + 1)/(4 + 1)


def test_ties_are_found_together_and_groups_count_once():
    scores = np.array([0.0, 0, 0, 0, 1, 1, 1, 1, 1, 1])[:, None]
    Y = sparse.csr_array(np.ones((10, 1)))
    assert guarantee_recall(scores, Y, 0.6).thresholds[0] < 0  # three may be missed, but four are tied
    assert 0 <= guarantee_recall(scores, Y, 0.5).thresholds[0] < 1
    groups = np.array([0, 0, 0, 0, 1, 2, 3, 4, 5, 6])
    assert guarantee_recall(scores, Y, 0.7, groups=groups).positives[0] == pytest.approx(7)
    assert 0 <= guarantee_recall(scores, Y, 0.7, groups=groups).thresholds[0] < 1


def test_overall_precision_is_guaranteed_for_everything_predicted():
    big, Y_big = draw(20000, 12, 99)
    violated = guaranteed = 0
    for seed in range(30):
        scores, Y = draw(800, 12, seed)
        found = guarantee_overall_precision(scores, Y, 0.8, confidence=0.8)
        sets = found.decide(big)
        assert sets.sum(axis=1).max() <= found.most
        if not np.isnan(found.bound[0]):
            guaranteed += 1
            violated += Y_big.multiply(sets).sum() / sets.sum() < 0.8
    assert guaranteed > 20
    assert stats.binomtest(violated, 30, 0.2, alternative="greater").pvalue > 0.01


def test_overall_recall_counts_rows_and_groups():
    big, Y_big = draw(20000, 12, 99)
    labels = Y_big.sum(axis=1)
    found = []
    for seed in range(30):
        scores, Y = draw(400, 12, seed)
        sets = guarantee_overall_recall(scores, Y, 0.8).decide(big)
        found.append(1 - ((labels - Y_big.multiply(sets).sum(axis=1)) / np.maximum(labels, 1)).mean())
    assert 0.79 < np.mean(found) < 0.83
    rows = np.repeat(np.arange(400), 2)
    doubled = guarantee_overall_recall(scores[rows], Y[rows], 0.8, groups=rows)
    assert doubled.bound[0] == pytest.approx(0.8, abs=0.01)


def test_a_row_keeps_the_surest_labels_when_too_many_pass():
    scores, Y = draw(2000, 12, 1)
    found = guarantee_overall_precision(scores, Y, 0.8)
    flood = np.tile(np.linspace(50, 60, 12), (2, 1))
    sets = found.decide(flood)
    assert (sets.sum(axis=1) == found.most).all()


def test_bad_input_is_one_sentence():
    scores, Y = draw(100, 2, 0)
    for precision in (0.0, 1.0, 1.2):
        with pytest.raises(ValueError, match="precision must lie between 0 and 1"):
            guarantee_precision(scores, Y, precision)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, got 1"):
        guarantee_overall_precision(scores, Y, 0.9, confidence=1)
    with pytest.raises(ValueError, match="needs at least 230 rows to test"):
        guarantee_precision(scores, Y, 0.99)
    with pytest.raises(ValueError, match="needs at least 230 rows to test"):
        guarantee_overall_precision(scores, Y, 0.99)


def test_a_precision_that_too_few_rows_can_test_names_the_highest_that_they_can():
    scores, Y = draw(100, 2, 0)
    with pytest.raises(ValueError, match="75 of 100 are left") as refusal:
        guarantee_precision(scores, Y, 0.99)
    highest = float(re.search(r"can test a precision of ([\d.]+) at most", str(refusal.value))[1])
    assert highest == 0.969
    assert rows_needed(highest, 0.9) <= 75 < rows_needed(highest + 0.001, 0.9)
    guarantee_precision(scores, Y, highest)


def test_what_an_overall_precision_asks_for_grows_with_the_logarithm_of_the_chance_of_error():
    scores, Y = draw(300, 6, 0, shift=0.5)
    found = [guarantee_overall_precision(scores, Y, 0.85, confidence=c) for c in (0.8, 0.96, 0.992)]
    once, twice, thrice = (one.positives[0] + one.more[0] for one in found)
    assert found[0].more[0] > 1
    assert twice == pytest.approx(2 * once, abs=2)
    assert thrice == pytest.approx(3 * once, abs=3)


def test_the_shared_level_is_that_of_the_most_labels_that_pass_it():
    from hyperlabel.decision.risk_control import _shared_level

    assert _shared_level(np.array([0.9, 0.01, 0.03]), 0.05) == pytest.approx(0.05 * 2 / 3)
    assert _shared_level(np.array([0.9, 0.8]), 0.05) == 0.0


def test_the_line_of_an_overall_precision_counts_what_is_predicted_on_the_rows_that_tested_it():
    scores, Y = draw(2000, 12, 1)
    found = guarantee_overall_precision(scores, Y, 0.8)
    testing = choosing_and_testing(2000, None, 0.8, 0.9, one_each=False)[1]
    sets = found.decide(scores[testing])
    assert (sets.sum(axis=1) == found.most).any()
    assert found.found[0] == sets.sum()
    assert found.right[0] == Y[testing].multiply(sets).sum()


def test_the_loosest_threshold_of_a_walk_lies_below_every_row_that_chose_it():
    values = np.tile(np.arange(20.0), 2)
    sequence = _test_fixed_sequence(
        values, np.ones(40, dtype=bool), np.arange(20), np.arange(20, 40), 0.5, 0.1
    )
    assert sequence.threshold[-1] < 0.0
    assert sequence.found[-1] == sequence.right[-1] == 20


def test_what_a_group_loses_is_the_mean_over_its_rows():
    """Every row has all three labels, so that all groups lose everything at the loosest threshold: one
    each.
    """
    groups = np.repeat(np.arange(5), [1, 2, 3, 1, 3])
    scores = np.random.default_rng(0).normal(size=(10, 3))
    flat = Sigmoid(np.ones(3), np.zeros(3))
    _, lost, n = _missed_labels(scores, sparse.csr_array(np.ones((10, 3))), np.arange(10), groups, flat)
    assert n == 5
    assert lost[-1] == pytest.approx(5.0)


def test_a_new_label_needs_the_rows_that_the_smallest_guarantee_takes():
    scores, Y = draw(400, 2, 0)
    recall, precision = guarantee_recall(scores, Y, 0.9), guarantee_precision(scores, Y, 0.8)
    for found in (recall, precision):
        again = found.relabelled(["a", "b"], ["b", "c"])
        assert again.thresholds.tolist() == [found.thresholds[1], np.inf]
        assert again.more[1] == (9 if found is recall else np.ceil(np.log(0.1) / np.log(0.8)))
    for n, more in ((8, 1), (9, 0)):  # (0 + 1)/(9 + 1) may be missed
        assert guarantee_recall(np.ones((n, 1)), sparse.csr_array(np.ones((n, 1))), 0.9).more[0] == more

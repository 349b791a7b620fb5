"""What the library says about chances, on data whose truth is known: each bound holds, and could have failed.

Beside every claim stands the same simulation without what the claim rests on, which must break the bound.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from hyperlabel import BinaryRelevance, MultiLabelCalibrator, ThresholdTuner
from hyperlabel.decision import guarantee_precision
from hyperlabel.metrics import evaluate
from hyperlabel.tabular.permutation_test import ColumnGroup, compare_sections

RATE, TARGET, DELTA = 0.1, 0.8, 0.1


def draw_scores(rng, n, shifts):
    """Scores N(shift·y, 1) of labels with one rate: the precision of every threshold is known."""
    Y = rng.random((n, len(shifts))) < RATE
    return rng.normal(size=Y.shape) + shifts * Y, Y


def is_violated(thresholds, shifts):
    right, wrong = RATE * stats.norm.sf(thresholds - shifts), (1 - RATE) * stats.norm.sf(thresholds)
    return right < TARGET * (right + wrong)


def violated_shares(shifts, trials, n, copies=1, grouped=True, dependence=None, **options):
    """Return the share of violated guarantees among those made, 0 where none is, of each trial."""
    rng, shares, n_made = np.random.default_rng(0), [], 0
    for _ in range(trials):
        scores, Y = draw_scores(rng, n, shifts)
        if dependence is not None:
            scores, Y = dependence(scores, Y, rng)
        rows = np.repeat(np.arange(len(scores)), copies)
        groups = rows if copies > 1 and grouped else None
        found = guarantee_precision(
            scores[rows], sparse.csr_array(Y[rows] * 1.0), TARGET, groups=groups, **options
        )
        made = ~np.isnan(found.bound)
        violated = made & is_violated(np.where(made, found.thresholds, 0.0), shifts)
        shares.append(violated.sum() / max(made.sum(), 1))
        n_made += made.sum()
    return np.array(shares), n_made


def exceeds(shares, bound):
    """Say whether a mean is above a bound by more than four standard errors."""
    return shares.mean() - bound > 4 * shares.std() / np.sqrt(len(shares))


def copy_labels(scores, Y, rng):
    """Every label ten times."""
    return tuple(np.repeat(part[:, ::10], 10, axis=1) for part in (scores, Y))


# -- guarantees -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [1.5, 1.8, 2.5])
def test_of_the_guarantees_made_few_are_violated_however_weak_the_signal(shift):
    shares, _ = violated_shares(np.full(40, shift), 60, 1500)
    assert not exceeds(shares, DELTA)


def test_without_a_shared_level_most_guarantees_made_on_weak_signal_are_violated():
    shares, n_made = violated_shares(np.full(40, 1.5), 60, 1500, error_control="per_label")
    assert n_made > 60
    assert exceeds(shares, DELTA)
    assert shares.mean() > 0.3


def test_hopeless_labels_take_nothing_from_the_others():
    """They are seen on the rows that choose the thresholds, and not tested."""
    alone, n_alone = violated_shares(np.full(2, 3.0), 40, 1000)
    shares, n_made = violated_shares(np.r_[np.full(58, 0.5), 3.0, 3.0], 40, 1000)
    assert n_made >= 0.85 * n_alone > 60
    assert not exceeds(shares, DELTA)
    assert not exceeds(alone, DELTA)


def test_strong_labels_beside_weak_ones_are_guaranteed():
    shifts = np.tile([0.0, 1.2, 1.5, 1.8, 3.0], 8)
    shares, n_made = violated_shares(shifts, 40, 3000)
    assert n_made / 40 >= 8
    assert not exceeds(shares, DELTA)


@pytest.mark.parametrize("kind", ["copied", "exclusive", "correlated"])
def test_labels_that_depend_on_each_other_keep_the_share_of_violated_guarantees(kind):
    shifts = np.full(40, 2.0)

    def depend(scores, Y, rng):
        if kind == "copied":
            return copy_labels(scores, Y, rng)
        noise = scores - shifts * Y
        if kind == "exclusive":
            Y = rng.integers(10, size=(len(Y), 4)).repeat(10, axis=1) == np.arange(40) % 10
        else:
            common = rng.normal(size=(len(Y), 2))
            Y = np.sqrt(0.5) * common[:, :1] + np.sqrt(0.5) * rng.normal(size=Y.shape) > stats.norm.isf(RATE)
            noise = np.sqrt(0.5) * common[:, 1:] + np.sqrt(0.5) * noise
        return noise + shifts * Y, Y

    shares, n_made = violated_shares(shifts, 60, 2000, dependence=depend)
    assert n_made > 60
    assert not exceeds(shares, DELTA)


def test_copied_rows_of_a_group_count_once():
    """Every row four times: with groups the bound holds, without them luck counts fourfold."""
    shifts = np.full(40, 1.8)
    shares, _ = violated_shares(shifts, 40, 700, copies=4)
    assert not exceeds(shares, DELTA)
    fooled, n_made = violated_shares(shifts, 40, 700, copies=4, grouped=False)
    assert n_made > 40
    assert exceeds(fooled, DELTA)


# -- alarms -----------------------------------------------------------------------------------------------


def alarms(trials, copies, grouped, shift=0.0):
    """Return how often two draws of one source (or of two) are taken for different."""
    rng, n_alarms = np.random.default_rng(0), 0
    for trial in range(trials):
        rows = np.repeat(np.arange(90), copies)
        values = rng.normal(size=(90, 5))
        values[50:] += shift
        flags = (rng.random((90, 12)) < 0.2) * 1.0
        sections = [
            ColumnGroup("numbers", list("abcde"), values[rows]),
            ColumnGroup("labels", [f"l{j}" for j in range(12)], flags[rows]),
        ]
        found = compare_sections(sections, 50 * copies, groups=rows if grouped else None, seed=trial)
        n_alarms += found.alarm
    return n_alarms


def test_false_alarms_are_as_rare_as_the_level_says_for_rows_and_groups():
    for copies, grouped in ((1, False), (3, True)):
        n_alarms = alarms(150, copies, grouped)
        assert stats.binomtest(n_alarms, 150, 0.05, alternative="greater").pvalue > 0.001
        assert n_alarms  # a test that never alarms sees nothing
    assert alarms(30, 3, grouped=False) > 15
    assert alarms(30, 1, grouped=False, shift=1.0) > 25


# -- probabilities and scores -----------------------------------------------------------------------------


def draw_logistic(rng, n, noise_labels=0):
    """Rows and labels of a logistic model, and the probabilities the labels were drawn with."""
    X = rng.normal(size=(n, 8))
    weights = np.random.default_rng(1).normal(size=(8, 6))
    P = np.hstack([1 / (1 + np.exp(1.0 - X @ weights)), np.full((n, noise_labels), 0.3)])
    return X, (rng.random(P.shape) < P).astype(int), P


def test_calibrated_probabilities_are_near_those_the_labels_were_drawn_with():
    rng = np.random.default_rng(0)
    calibrated_errors, clipped_errors, gaps = [], [], []
    for _ in range(8):
        X, Y, _ = draw_logistic(rng, 500)
        X_new, Y_new, P_new = draw_logistic(rng, 5000)
        model = MultiLabelCalibrator(BinaryRelevance()).fit(X, Y)
        P = model.predict_proba(X_new)
        calibrated_errors.append(np.abs(P - P_new).mean())
        clipped = np.clip((model.estimator_.decision_function(X_new) + 1) / 2, 0, 1)
        clipped_errors.append(np.abs(clipped - P_new).mean())
        decile = np.ceil(10 * stats.rankdata(P) / P.size).reshape(P.shape)
        gaps.append(max(abs(P[decile == d].mean() - Y_new[decile == d].mean()) for d in range(1, 11)))
    assert np.mean(calibrated_errors) < 0.05
    assert np.mean(calibrated_errors) < 0.7 * np.mean(clipped_errors)
    assert np.mean(gaps) < 0.05


@pytest.mark.parametrize("strategy", ["per_label", "global", "expected_f1"])
def test_cv_score_is_the_score_of_new_rows(strategy):
    """Over 24 data sets the mean difference is that of chance; the score of the training rows is not."""
    rng = np.random.default_rng(0)
    cv_gaps, training_gaps = [], []
    for _ in range(24):
        X, Y, _ = draw_logistic(rng, 250, noise_labels=4)
        X_new, Y_new, _ = draw_logistic(rng, 4000, noise_labels=4)
        model = ThresholdTuner(BinaryRelevance(), strategy=strategy, scoring="f1_micro").fit(X, Y)
        on_new = evaluate(Y_new, model.predict(X_new))["f1_micro"]
        cv_gaps.append(model.cv_score_ - on_new)
        training_gaps.append(evaluate(Y, model.predict(X))["f1_micro"] - on_new)
    assert abs(np.mean(cv_gaps)) < 0.01 + 3 * np.std(cv_gaps) / np.sqrt(24)
    assert np.mean(training_gaps) > 0.01 + 3 * np.std(cv_gaps) / np.sqrt(24)


def test_cv_score_of_copied_rows_is_that_of_new_rows_with_their_groups_alone():
    rng = np.random.default_rng(0)
    grouped_gaps, fooled_gaps = [], []
    for _ in range(10):
        X, Y, _ = draw_logistic(rng, 100, noise_labels=4)
        X_new, Y_new, _ = draw_logistic(rng, 3000, noise_labels=4)
        rows = np.repeat(np.arange(100), 5)
        X = np.hstack([X, rng.normal(size=(100, 60))])
        X_new = np.hstack([X_new, rng.normal(size=(3000, 60))])
        for gaps, groups in ((grouped_gaps, rows), (fooled_gaps, None)):
            model = ThresholdTuner(BinaryRelevance(alpha=1.0), scoring="f1_micro").fit(
                X[rows], Y[rows], groups=groups
            )
            gaps.append(model.cv_score_ - evaluate(Y_new, model.predict(X_new))["f1_micro"])
    assert abs(np.mean(grouped_gaps)) < 0.03 + 3 * np.std(grouped_gaps) / np.sqrt(10)
    assert np.mean(fooled_gaps) > 0.1

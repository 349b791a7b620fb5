from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.optional import optional

from hyperlabel.apps.comparison import (
    bayesian_correlated_t,
    corrected_resampled_t,
    friedman,
    holm,
    indistinguishable_groups,
    wilcoxon_holm,
)
from hyperlabel.metrics.statistics import split_std

scikit_posthocs = optional("scikit_posthocs")


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 5)) + np.array([0.0, 0.2, 1.5, 0.1, -1.0])
    table[3] = table[3].round(0)  # ties
    return table


def test_the_corrected_t_is_scipys_paired_t_with_a_wider_scale():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.7, 0.02, 10), rng.normal(0.68, 0.02, 10)
    plain = stats.ttest_rel(a, b)
    share = 1 / 9
    ours = corrected_resampled_t(a, b, test_share=share)
    assert ours.statistic == pytest.approx(plain.statistic * np.sqrt(0.1 / (0.1 + share)), rel=1e-12)
    assert ours.p_value == pytest.approx(2 * stats.t.sf(abs(ours.statistic), 9), rel=1e-12)
    tiny = corrected_resampled_t(a, b, test_share=1e-12)  # no overlap: scipy's own test and interval
    interval = plain.confidence_interval()
    assert (tiny.p_value, tiny.low, tiny.high) == pytest.approx(
        (plain.pvalue, interval.low, interval.high), rel=1e-9
    )


def test_the_bayesian_t_integrates_its_posterior():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.7, 0.02, 10), rng.normal(0.69, 0.02, 10)
    ours = bayesian_correlated_t(a, b, test_share=1 / 9, rope=0.005)
    # Monte Carlo over the same posterior, drawn as normal / chi, not through Student's t.
    d, rho = a - b, 0.1
    variance = d.var(ddof=1) * 9 / rng.chisquare(9, 400_000)
    draws = d.mean() + np.sqrt(variance * (1 / 10 + rho / (1 - rho))) * rng.normal(size=400_000)
    assert ours.worse == pytest.approx((draws < -0.005).mean(), abs=3e-3)
    assert ours.better == pytest.approx((draws > 0.005).mean(), abs=3e-3)
    assert ours.worse + ours.equivalent + ours.better == pytest.approx(1)


def test_equal_scores_are_no_evidence():
    same = np.full(5, 0.5)
    t = corrected_resampled_t(same, same, test_share=0.25)
    assert (t.mean, t.p_value, t.low, t.high) == (0.0, 1.0, 0.0, 0.0)
    b = bayesian_correlated_t(same, same, test_share=0.25)
    assert (b.worse, b.equivalent, b.better) == (0.0, 1.0, 0.0)
    shifted = corrected_resampled_t(same, same - 0.25, test_share=0.25)
    assert shifted.p_value == 0.0
    assert np.isinf(shifted.statistic)
    assert friedman(np.ones((4, 3))).p_value == 1.0
    assert wilcoxon_holm(np.ones((4, 2)))[0, 1] == 1.0


def test_friedman_equals_scipy_and_ranks_best_first(scores):
    ours = friedman(scores)
    chi2, p = stats.friedmanchisquare(*scores.T)
    assert (ours.statistic, ours.p_value) == pytest.approx((chi2, p))
    assert ours.ranks.argmin() == 2
    assert ours.ranks == pytest.approx(stats.rankdata(-scores, axis=1).mean(axis=0))
    n, k = scores.shape
    f = (n - 1) * chi2 / (n * (k - 1) - chi2)
    assert ours.f_p_value == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


def test_wilcoxon_holm_equals_scikit_posthocs(scores):
    theirs = scikit_posthocs.posthoc_wilcoxon(list(scores.T), p_adjust="holm").to_numpy()
    assert wilcoxon_holm(scores) == pytest.approx(theirs, rel=1e-12)


def test_holm_equals_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(3).uniform(size=20) ** 2
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12)


def test_groups_are_the_maximal_runs_without_a_significant_pair():
    rng = np.random.default_rng(4)
    for _ in range(30):
        k = 6
        ranks = rng.permutation(k).astype(float)
        p = rng.uniform(0, 0.15, (k, k))
        p = np.triu(p, 1) + np.triu(p, 1).T + np.eye(k)
        order = np.argsort(ranks)
        runs = [
            set(range(i, j))
            for i in range(k)
            for j in range(i + 2, k + 1)
            if all(p[order[a], order[b]] >= 0.05 for a in range(i, j) for b in range(a + 1, j))
        ]
        maximal = [run for run in runs if not any(run < other for other in runs)]
        groups = indistinguishable_groups(ranks, p)
        assert [set(g) for g in groups] == [{int(order[i]) for i in run} for run in sorted(maximal, key=min)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: corrected_resampled_t([1, 2], [1], test_share=0.1), "same length"),
        (lambda: corrected_resampled_t([1], [1], test_share=0.1), "at least two splits"),
        (lambda: corrected_resampled_t([1, np.nan], [1, 2], test_share=0.1), "must be finite"),
        (lambda: corrected_resampled_t([1, 2], [1, 3], test_share=0), "must be positive"),
        (lambda: bayesian_correlated_t([1, 2], [1, 3], test_share=0.1, rope=-1), "rope must be"),
        (lambda: friedman([[1, 2], [2, 1]]), "three methods"),
        (lambda: wilcoxon_holm([1, 2]), "a row per data set"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_spread_of_one_value_is_unknown():
    assert np.isnan(split_std([1.0]))
    assert split_std([1.0, 3.0]) == pytest.approx(np.sqrt(2))

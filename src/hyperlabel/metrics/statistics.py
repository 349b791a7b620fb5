"""Is one method better than another? Tests that fit how the scores were made.

Scores from overlapping training sets (repeated cross-validation on one data set) are correlated, so
the plain t-test is far too sure of itself: use `corrected_resampled_t` (Nadeau & Bengio) or
`bayesian_correlated_t` (Benavoli et al.). Across several independent data sets use `friedman`, then
`wilcoxon_holm`, and draw the result as groups (`indistinguishable_groups`).

References
----------
C. Nadeau, Y. Bengio, *Inference for the Generalization Error*, Machine Learning 52, 2003.
A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, *Time for a Change: a Tutorial for Comparing Multiple
Classifiers Through Bayesian Analysis*, JMLR 18, 2017.
J. Demšar, *Statistical Comparisons of Classifiers over Multiple Data Sets*, JMLR 7, 2006.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class PairedT:
    """Mean difference of paired scores, its corrected 95 % interval and p-value."""

    mean: float
    low: float
    high: float
    p_value: float
    statistic: float
    n_splits: int


@dataclass(frozen=True)
class BayesianT:
    """Posterior of a mean difference: probabilities of worse, as good as (inside the rope), better."""

    worse: float
    equivalent: float
    better: float


@dataclass(frozen=True)
class Friedman:
    """Friedman's test: average ranks (1 is best), χ² and the F form of Iman and Davenport."""

    ranks: np.ndarray
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
    n_datasets: int


def _paired_difference(a: Any, b: Any, test_share: float) -> tuple[np.ndarray, float, float, float]:
    """Return the differences, their mean, its standard error when training sets overlap (Nadeau & Bengio,
    §5), and half the 95 % interval.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError("Paired scores must be two lists of the same length, one score per split.")
    if len(a) < 2:
        raise ValueError("A comparison needs at least two splits.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("Scores to compare must be finite: leave out splits where one is undefined.")
    if not test_share > 0:
        raise ValueError(
            f"test_share, the ratio of test to training rows, must be positive; got {test_share}."
        )
    d = a - b
    standard_error = float(np.sqrt((1.0 / len(d) + test_share) * d.var(ddof=1)))
    return d, float(d.mean()), standard_error, float(stats.t.ppf(0.975, len(d) - 1)) * standard_error


def corrected_resampled_t(a: Any, b: Any, *, test_share: float) -> PairedT:
    r"""Compare two methods on the splits of one data set, allowing for their overlap.

    .. math:: t = \frac{\bar d}{\sqrt{(1/J + n_2/n_1)\, s_d^2}}, \qquad J - 1 \text{ degrees of freedom},

    where:

    - :math:`d_j` is the difference of the two scores on split j of J, :math:`s_d^2` its variance;
    - :math:`n_2/n_1` is `test_share`, the ratio of test to training rows: without it the variance
      is underestimated, because the training sets share most of their rows.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Scores of the two methods on the same splits.
    test_share : float
        Rows tested on divided by rows trained on: 1/(k−1) for k folds.

    Returns
    -------
    result : PairedT

    Examples
    --------
    >>> from hyperlabel.apps.comparison import corrected_resampled_t
    >>> t = corrected_resampled_t([0.8, 0.7, 0.9], [0.7, 0.65, 0.8], test_share=1 / 2)
    >>> round(t.mean, 3), t.low < 0 < t.high
    (0.083, True)
    """
    d, mean, standard_error, half = _paired_difference(a, b, test_share)
    if standard_error == 0.0:  # the same difference on every split: nothing to divide by
        t = 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
        return PairedT(mean, mean, mean, 1.0 if mean == 0.0 else 0.0, t, len(d))
    t = mean / standard_error
    return PairedT(mean, mean - half, mean + half, float(2 * stats.t.sf(abs(t), len(d) - 1)), t, len(d))


def bayesian_correlated_t(a: Any, b: Any, *, test_share: float, rope: float = 0.01) -> BayesianT:
    r"""Posterior of the mean difference of two methods on one data set.

    The posterior is Student's t with J − 1 degrees of freedom, located at the mean difference, with
    the scale of `corrected_resampled_t` (correlation :math:`\rho = n_2/(n_1+n_2)`, so that
    :math:`\rho/(1-\rho) = n_2/n_1`). Its mass below −rope, inside ±rope and above rope answers
    "worse, as good as, better?" directly.

    Parameters
    ----------
    a, b, test_share
        As in :func:`corrected_resampled_t`; greater scores are better.
    rope : float, default=0.01
        Differences up to this size do not matter in practice.

    Returns
    -------
    result : BayesianT

    Examples
    --------
    >>> from hyperlabel.apps.comparison import bayesian_correlated_t
    >>> b = bayesian_correlated_t([0.8, 0.7, 0.9], [0.7, 0.65, 0.8], test_share=1 / 2)
    >>> round(b.worse + b.equivalent + b.better, 6)
    1.0
    """
    if rope < 0:
        raise ValueError(f"rope must be at least 0, got {rope}.")
    d, mean, standard_error, _ = _paired_difference(a, b, test_share)
    if standard_error == 0.0:
        worse, better = float(mean < -rope), float(mean > rope)
        return BayesianT(worse, 1.0 - worse - better, better)
    worse = float(stats.t.cdf((-rope - mean) / standard_error, len(d) - 1))
    better = float(stats.t.sf((rope - mean) / standard_error, len(d) - 1))
    return BayesianT(worse, max(0.0, 1.0 - worse - better), better)


def _check_scores(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 2 or not np.isfinite(scores).all():
        raise ValueError("Scores must be a finite table with a row per data set and a column per method.")
    return scores


def average_ranks(scores: Any) -> np.ndarray:
    """Average rank of each method over the data sets; 1 is best, ties share their mean rank."""
    return stats.rankdata(-_check_scores(scores), axis=1).mean(axis=0)


def friedman(scores: Any) -> Friedman:
    """Test whether any of the methods differ over several data sets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; greater is better.

    Returns
    -------
    result : Friedman

    Examples
    --------
    >>> from hyperlabel.apps.comparison import friedman
    >>> result = friedman([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.7, 0.8], [0.5, 0.4, 0.3]])
    >>> result.ranks.tolist()
    [1.0, 2.25, 2.75]
    """
    scores = _check_scores(scores)
    n, k = scores.shape
    if n < 2 or k < 3:
        raise ValueError("Friedman's test needs at least two data sets and three methods.")
    mean_ranks = average_ranks(scores)
    if (scores == scores[:, :1]).all():  # every method tied everywhere: scipy divides 0 by 0
        return Friedman(mean_ranks, 0.0, 1.0, 0.0, 1.0, n)
    chi2, p = stats.friedmanchisquare(*scores.T)
    f_denominator = n * (k - 1) - chi2
    f = np.inf if f_denominator <= 1e-12 * n else (n - 1) * chi2 / f_denominator
    f_p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return Friedman(mean_ranks, float(chi2), float(p), float(f), f_p, n)


def holm(p_values: Any) -> np.ndarray:
    """Adjust p-values for their number by Holm's step-down rule.

    Examples
    --------
    >>> from hyperlabel.apps.comparison import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    stepped_p = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted_p = np.empty_like(p)
    adjusted_p[order] = np.minimum(stepped_p, 1.0)
    return adjusted_p


def wilcoxon_holm(scores: Any) -> np.ndarray:
    """Compare all pairs of methods over several data sets by signed ranks, adjusted by Holm.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        As in :func:`friedman`.

    Returns
    -------
    p : ndarray of shape (n_methods, n_methods)
        Adjusted p-values, 1 on the diagonal. Methods equal on every data set get 1.

    Examples
    --------
    >>> from hyperlabel.apps.comparison import wilcoxon_holm
    >>> wilcoxon_holm([[0.9, 0.5], [0.8, 0.4], [0.7, 0.2]]).round(2).tolist()
    [[1.0, 0.25], [0.25, 1.0]]
    """
    scores = _check_scores(scores)
    k = scores.shape[1]
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    raw_p = [
        1.0 if (scores[:, i] == scores[:, j]).all() else stats.wilcoxon(scores[:, i], scores[:, j]).pvalue
        for i, j in pairs
    ]
    p = np.ones((k, k))
    for (i, j), value in zip(pairs, holm(raw_p), strict=True):
        p[i, j] = p[j, i] = value
    return p


def indistinguishable_groups(ranks: Any, p_values: Any, *, alpha: float = 0.05) -> list[list[int]]:
    """Group methods that are not significantly different: the bars of a critical-difference diagram.

    A group is a longest run of two or more methods in rank order in which every pair has p ≥ alpha.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        Average ranks.
    p_values : array-like of shape (n_methods, n_methods)
        Adjusted p-values of all pairs.
    alpha : float, default=0.05
        Level of the tests.

    Returns
    -------
    groups : list of list of int
        Indices of methods, best rank first.

    Examples
    --------
    >>> from hyperlabel.apps.comparison import indistinguishable_groups
    >>> p = [[1.0, 0.5, 0.01], [0.5, 1.0, 0.2], [0.01, 0.2, 1.0]]
    >>> indistinguishable_groups([1.0, 2.0, 3.0], p)
    [[0, 1], [1, 2]]
    """
    rank_order = np.argsort(ranks, kind="stable")
    not_significant = np.asarray(p_values)[np.ix_(rank_order, rank_order)] >= alpha
    groups: list[list[int]] = []
    last_stop = 0
    for start in range(len(rank_order)):
        stop = start + 1
        while stop < len(rank_order) and not_significant[start:stop, stop].all():
            stop += 1
        if stop - start > 1 and stop > last_stop:
            groups.append([int(i) for i in rank_order[start:stop]])
            last_stop = stop
    return groups


def split_std(values: Sequence[float]) -> float:
    """Return the standard deviation over splits; not a standard error, since the splits overlap."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

"""Thresholds with a guarantee: precision by learn-then-test, missed labels by conformal risk control.

A precision p is guaranteed for a label when the exact binomial test rejects "its precision is below p" at the
threshold chosen, at level δ = 1 − confidence. Thresholds are tried from strict to loose and the testing
stops at the first that fails, so one level pays for all of them; the thresholds, their order and the first
one come from rows outside the calibration part. Then P(label guaranteed and its precision < p) ≤ δ whenever
the calibration rows are independent of the model and of each other; with cross-fitted scores that is
measured, not proven.

That says nothing about the guarantees that are made: where hardly any label can be guaranteed, most of those
that are may be luck. So labels share δ by default: k of them are tested, those that seem precise enough on
the rows that choose the thresholds. R are guaranteed at the level δ·R/k, for the largest R possible, and the
expected share of violated guarantees among those made is at most δ (Benjamini–Hochberg; proven for labels
that are independent or positively dependent).

Notation
--------
code       meaning                                              shape
level      δ, or δ·R / k when R labels share it                 —
threshold  thresholds of a label, strict to loose               (m,)
found      calibration rows above each (`n_predicted`)          (m,)
right      positives among them (`n_true_positives`)            (m,)

References
----------
A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, *Learn then test*, 2021. A. Angelopoulos, S. Bates,
A. Fisch, L. Lei, T. Schuster, *Conformal risk control*, ICLR 2024. Y. Benjamini, Y. Hochberg, *Controlling
the false discovery rate*, JRSS B 1995. Y. Benjamini, D. Yekutieli, *The control of the false discovery rate
in multiple testing under dependency*, Annals of Statistics 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import bdtr, betaincinv, rel_entr

from hyperlabel._validation import number_groups
from hyperlabel.decision.guarantee_table import Guarantees, rows_needed
from hyperlabel.solvers.arrays import row_blocks

CHOOSING_SHARE = 0.25  # of the units, to choose the thresholds and where to start
STEP = 1.06  # the rows above grow by this factor from threshold to threshold
ERROR_CONTROLS = ("per_label", "fdr", "overall")


@dataclass(frozen=True, eq=False)
class _FixedSequence:
    """The thresholds of one label, what they find, and the largest p-value from `start` down to each."""

    threshold: np.ndarray
    found: np.ndarray
    right: np.ndarray
    start: int
    evidence: float  # of the rows that chose the thresholds, that the first tested one keeps the guarantee
    p_value: np.ndarray  # from start on
    more: float
    positives: int

    def line(self, level: float) -> tuple[float, ...]:
        """Return the line of the table (see `Guarantees.of_lines`) at the loosest threshold that passes
        the level.
        """
        n_passed = int(np.searchsorted(self.p_value, level, side="right"))  # p_value rises
        if n_passed == 0:
            return np.inf, np.nan, 0, 0, self.positives, self.more
        loosest_index = self.start + n_passed - 1
        n_predicted, n_true_positives = self.found[loosest_index], self.right[loosest_index]
        bound = betaincinv(n_true_positives, n_predicted - n_true_positives + 1, level)  # Clopper–Pearson
        return self.threshold[loosest_index], bound, n_predicted, n_true_positives, self.positives, 0


def check_guarantee(precision: float, confidence: float | None, name: str = "precision") -> None:
    """Refuse a precision, recall or confidence outside (0, 1), in one sentence."""
    if not 0 < precision < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {precision}: no rows can prove more.")
    if confidence is not None and not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")


def group_shuffle_split(
    n: int, groups: np.ndarray | None, share: float, *, one_each: bool, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows of `share` of the units (rows, or groups) and those of the rest, in random order.

    With `one_each` one random row stands for each group.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n)
    if groups is None:
        n_drawn = int(np.ceil(share * n))
        return rows[:n_drawn], rows[n_drawn:]
    unit_of_row = number_groups(groups, n)
    is_drawn = rng.permutation(unit_of_row.max() + 1) < np.ceil(share * (unit_of_row.max() + 1))
    if one_each:
        rows = rows[np.sort(np.unique(unit_of_row[rows], return_index=True)[1])]
    return rows[is_drawn[unit_of_row[rows]]], rows[~is_drawn[unit_of_row[rows]]]


def choosing_and_testing(
    n: int, groups: np.ndarray | None, precision: float, confidence: float, *, one_each: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that choose the thresholds and those that test them, if there are enough."""
    choosing_rows, testing_rows = group_shuffle_split(n, groups, CHOOSING_SHARE, one_each=one_each)
    min_rows = rows_needed(precision, confidence)
    if len(testing_rows) < min_rows:
        highest = np.floor(1000 * (1 - confidence) ** (1 / max(1, len(testing_rows)))) / 1000
        raise ValueError(
            f"A precision of {precision:g} with confidence {confidence:g} needs at least {min_rows} rows to "
            f"test (groups count once); {len(testing_rows)} of {n} are left beside those that choose the "
            f"thresholds. These can test a precision of {highest:g} at most."
        )
    return choosing_rows, testing_rows


def guarantee_precision(
    scores: np.ndarray,
    Y: sparse.csr_array,
    precision: float,
    *,
    confidence: float = 0.9,
    error_control: str = "fdr",
    groups: np.ndarray | None = None,
    names: list[str] | None = None,
) -> Guarantees:
    r"""Fit for each label the lowest threshold whose precision can be guaranteed.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
        Finite scores of rows the model has not seen.
    Y : csr_array of shape (n, k)
        True labels.
    precision : float
        In (0, 1).
    confidence : float, default=0.9
        1 − δ.
    error_control : {"fdr", "per_label"}, default="fdr"
        ``"fdr"``: the expected share of violated guarantees among the guaranteed labels is at most δ
        (Benjamini–Hochberg: proven where labels are independent or positively dependent). ``"per_label"``:
        each label by itself, P(guaranteed and violated) ≤ δ; of the guarantees made, any share may be
        violated.
    groups : ndarray of shape (n,), default=None
        Rows of one group are not independent: one random row stands for each, so the guarantee is about a
        random row of a new group.
    names : list of str, default=None
        Of the labels.

    Returns
    -------
    guarantees : Guarantees

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import guarantee_precision
    >>> y = np.random.default_rng(0).random((2000, 1)) < 0.3
    >>> scores = y + np.random.default_rng(1).normal(scale=0.4, size=y.shape)
    >>> kept = guarantee_precision(scores, sparse.csr_array(y * 1.0), 0.9)
    >>> bool(kept.bound[0] >= 0.9), next(iter(kept))["guarantee"]
    (True, 'precision at least 0.9')
    """
    check_guarantee(precision, confidence)
    n, k = scores.shape
    choosing_rows, testing_rows = choosing_and_testing(n, groups, precision, confidence, one_each=True)
    level = 1 - confidence
    sequences = []
    columns = Y.tocsc()
    is_on = np.zeros(n, dtype=bool)
    for block in row_blocks(k, 8 * n):
        score_block = np.ascontiguousarray(scores[:, block].T)
        for j, values in enumerate(score_block, start=block.start):
            positive_rows = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
            is_on[positive_rows] = True
            sequences.append(
                _test_fixed_sequence(values, is_on, choosing_rows, testing_rows, precision, level)
            )
            is_on[positive_rows] = False
    if error_control == "fdr":
        is_tested = np.array([sequence.evidence > 0 for sequence in sequences], dtype=bool)
        p_values = np.array([sequence.p_value[0] for sequence in sequences])[is_tested]
        label_levels = np.where(is_tested, _shared_level(p_values, level), 0.0)
    else:
        label_levels = np.full(k, level)
    table_lines = [sequence.line(level) for sequence, level in zip(sequences, label_levels, strict=True)]
    return Guarantees.of_lines("precision", precision, confidence, error_control, table_lines, names)


def _shared_level(p_values: np.ndarray, level: float) -> float:
    """Return level·R/k for the largest R such that R labels pass it."""
    levels = level * np.arange(1, len(p_values) + 1) / len(p_values)
    passed_index = np.flatnonzero(np.sort(p_values) <= levels)
    return float(levels[passed_index[-1]]) if len(passed_index) else 0.0


def _test_fixed_sequence(
    values: np.ndarray,
    is_on: np.ndarray,
    choosing: np.ndarray,
    testing: np.ndarray,
    precision: float,
    level: float,
) -> _FixedSequence:
    """Choose the thresholds of a label on some rows and test them on the others."""
    chosen_scores, chosen_on = values[choosing], is_on[choosing]
    tested_scores, tested_on = values[testing], is_on[testing]
    positives, n_on = int(tested_on.sum()), int(chosen_on.sum())
    # beyond positives/p rows no threshold can be precise enough; half as many again allow for luck
    n_ranked = min(len(chosen_scores), int(1.5 * n_on / precision) + 10)
    score_order = np.argpartition(-chosen_scores, n_ranked - 1)[:n_ranked]
    score_order = score_order[np.argsort(-chosen_scores[score_order], kind="stable")]
    ranked, n_hits = chosen_scores[score_order], np.cumsum(chosen_on[score_order])
    n_above = np.unique(np.round(STEP ** np.arange(0, np.log(n_ranked) / np.log(STEP) + 1)).astype(np.int64))
    n_above = n_above[n_above < n_ranked]
    n_above = n_above[ranked[n_above - 1] > ranked[n_above]]  # no threshold separates ties
    threshold = np.append((ranked[n_above - 1] + ranked[n_above]) / 2, np.nextafter(ranked[-1], -np.inf))
    n_above = np.append(n_above, n_ranked)
    n_hits = n_hits[n_above - 1]

    scores_above = np.sort(tested_scores[tested_scores > threshold[-1]])
    positives_above = np.sort(tested_scores[tested_on & (tested_scores > threshold[-1])])
    n_predicted = len(scores_above) - np.searchsorted(scores_above, threshold, side="right")
    n_true_positives = len(positives_above) - np.searchsorted(positives_above, threshold, side="right")
    evidence = _evidence_per_row((n_hits + n_on / len(chosen_scores)) / (n_above + 1), precision) * n_above
    start_index = int(np.argmax(evidence))
    p_value = np.where(n_predicted > 0, bdtr(n_predicted - n_true_positives, n_predicted, 1 - precision), 1.0)
    p_value = np.maximum.accumulate(p_value[start_index:])
    more_positives = _more_positives(
        n_predicted + n_above,
        n_true_positives + n_hits,
        positives + n_on,
        len(values),
        precision,
        level,
        len(testing),
    )
    return _FixedSequence(
        threshold,
        n_predicted,
        n_true_positives,
        start_index,
        float(evidence[start_index]),
        p_value,
        more_positives,
        positives,
    )


def _evidence_per_row(estimate: np.ndarray, precision: float) -> np.ndarray:
    """Return the evidence of one row that a threshold keeps the guarantee, negative where it does not
    look so.
    """
    estimate = np.clip(estimate, 0.0, 1.0)
    relative_entropy = rel_entr(1 - estimate, 1 - precision) + rel_entr(estimate, precision)
    return np.where(estimate > precision, relative_entropy, -relative_entropy)


def _more_positives(
    n_predicted: np.ndarray,
    n_true_positives: np.ndarray,
    positives: int,
    n: int,
    precision: float,
    level: float,
    n_tested: int,
) -> float:
    """Estimate how many positive rows are missing for a guarantee, by Chernoff's bound at the best
    threshold.
    """
    tested_share = n_tested / n
    if positives == 0:
        return float(np.ceil(np.log(level) / np.log(precision) / tested_share))
    gain = _evidence_per_row((n_true_positives + positives / n) / (n_predicted + 1), precision)
    is_useful = (gain > 0) & (n_true_positives > 0)
    if not is_useful.any():
        return np.inf
    tested_rows = np.log(1 / level) / gain[is_useful]  # predicted, among the tested
    positives_needed = (
        tested_rows
        * (n_true_positives / n_predicted)[is_useful]
        / (n_true_positives / positives)[is_useful]
        / tested_share
    )
    return float(max(1.0, np.ceil(positives_needed.min() - positives)))


def guarantee_recall(
    scores: np.ndarray,
    Y: sparse.csr_array,
    recall: float,
    *,
    groups: np.ndarray | None = None,
    names: list[str] | None = None,
) -> Guarantees:
    """Fit for each label the highest threshold that misses at most 1 − recall of its rows, in expectation.

    Conformal risk control: with n rows (groups) that carry the label, the threshold is the highest for which
    (missed + 1)/(n + 1) ≤ 1 − recall.

    Parameters
    ----------
    scores, Y, names
        As in :func:`guarantee_precision`.
    recall : float
        In (0, 1).
    groups : ndarray of shape (n,), default=None
        Each group counts once: a positive row weighs one over the positive rows of its group.

    Returns
    -------
    guarantees : Guarantees

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import guarantee_recall
    >>> scores = np.arange(10.0)[:, None]
    >>> guarantee_recall(scores, sparse.csr_array(np.ones((10, 1))), 0.8).thresholds
    array([0.5])
    """
    check_guarantee(recall, None, "recall")
    unit_of_row = None if groups is None else number_groups(groups, len(scores))
    table_lines = []
    columns = Y.tocsc()
    for j in range(scores.shape[1]):
        positive_rows = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        row_weight = np.ones(len(positive_rows))
        if unit_of_row is not None and len(positive_rows):
            row_weight = 1 / np.bincount(unit_of_row[positive_rows])[unit_of_row[positive_rows]]
        n_units, score_order = row_weight.sum(), np.argsort(scores[positive_rows, j], kind="stable")
        missed = np.cumsum(row_weight[score_order])
        threshold, n_lost, bound, more_positives = strictest_threshold(
            scores[positive_rows, j][score_order], missed, n_units, recall
        )
        n_predicted, n_true_positives = 0, 0.0
        if more_positives == 0:
            n_predicted = (scores[:, j] > threshold).sum()
            n_true_positives = n_units - (missed[n_lost - 1] if n_lost else 0.0)
        table_lines.append((threshold, bound, n_predicted, n_true_positives, n_units, more_positives))
    return Guarantees.of_lines("recall", recall, None, "per_label", table_lines, names)


def strictest_threshold(
    ranked: np.ndarray, missed: np.ndarray, n: float, recall: float
) -> tuple[float, int, float, float]:
    """Return the highest threshold with (missed + 1)/(n + 1) ≤ 1 − recall: conformal risk control.

    `ranked` are the positive scores, lowest first, and `missed` what n units lose with each. Beside the
    threshold come the positives below it, the recall it bears out, and the units wanting where there is no
    such threshold.
    """
    allowed_misses = (1 - recall) * (n + 1) - 1
    if allowed_misses < -1e-9:  # (0 + 1)/(n + 1) is too much already
        return np.inf, 0, np.nan, float(np.ceil(1 / (1 - recall) - 1 - n - 1e-9))
    first_kept = int(
        np.searchsorted(missed, allowed_misses + 1e-9, side="right")
    )  # the first that must be predicted
    threshold, n_lost = np.inf, len(ranked)
    if first_kept < len(ranked):
        n_lost = int(np.searchsorted(ranked, ranked[first_kept]))  # ties are predicted together
        lower_score = ranked[n_lost - 1] if n_lost else ranked[first_kept] - 1.0
        middle = (lower_score + ranked[first_kept]) / 2
        threshold = middle if middle < ranked[first_kept] else lower_score
    return threshold, n_lost, 1 - ((missed[n_lost - 1] if n_lost else 0.0) + 1) / (n + 1), 0.0

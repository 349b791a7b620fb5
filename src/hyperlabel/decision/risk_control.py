"""Thresholds with a guarantee: precision by learn-then-test, missed labels by conformal risk control.

A precision p is guaranteed for a label when the exact binomial test rejects "its precision is below p" at the
threshold chosen, at level δ = 1 − confidence. Thresholds are tried from strict to loose and the testing
stops at the first that fails, so one level pays for all of them; the thresholds, their order and the first
one come from rows outside the calibration part. Then P(label guaranteed and its precision < p) ≤ δ whenever
the calibration rows are independent of the model and of each other; with cross-fitted scores that is
measured, not proven.

Notation
--------
code       meaning                                              shape
level      δ, or δ·R / (k·H_k) when R labels share it           —
threshold        thresholds of a label, strict to loose                     (m,)
found      calibration rows above each threshold                      (m,)
right      positives among them                                 (m,)

References
----------
A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, *Learn then test*, 2021. A. Angelopoulos, S. Bates,
A. Fisch, L. Lei, T. Schuster, *Conformal risk control*, ICLR 2024. Y. Benjamini, D. Yekutieli, *The control
of the false discovery rate in multiple testing under dependency*, Annals of Statistics 2001.
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
STEP = 1.06  # rows found grow by this from cut to cut
ERROR_CONTROLS = ("per_label", "fdr", "overall")


@dataclass(frozen=True, eq=False)
class _FixedSequence:
    """The thresholds of one label, what they find, and the largest p-value from `start` down to each."""

    threshold: np.ndarray
    found: np.ndarray
    right: np.ndarray
    start: int
    p_value: np.ndarray  # from start on
    more: float
    positives: int

    def line(self, level: float) -> tuple[float, ...]:
        """Return the line of the table (see `Guarantees.of_lines`) at the loosest threshold that passes
        the level.
        """
        passed = int(np.searchsorted(self.p_value, level, side="right"))  # p_value rises
        if passed == 0:
            return np.inf, np.nan, 0, 0, self.positives, self.more
        at = self.start + passed - 1
        found, right = self.found[at], self.right[at]
        bound = betaincinv(right, found - right + 1, level)  # Clopper–Pearson
        return self.threshold[at], bound, found, right, self.positives, 0


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
        size = int(np.ceil(share * n))
        return rows[:size], rows[size:]
    unit = number_groups(groups, n)
    drawn = rng.permutation(unit.max() + 1) < np.ceil(share * (unit.max() + 1))
    if one_each:
        rows = rows[np.sort(np.unique(unit[rows], return_index=True)[1])]
    return rows[drawn[unit[rows]]], rows[~drawn[unit[rows]]]


def choosing_and_testing(
    n: int, groups: np.ndarray | None, precision: float, confidence: float, *, one_each: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that choose the thresholds and those that test them, if there are enough."""
    choosing, testing = group_shuffle_split(n, groups, CHOOSING_SHARE, one_each=one_each)
    least = rows_needed(precision, confidence)
    if len(testing) < least:
        raise ValueError(
            f"A precision of {precision:g} with confidence {confidence:g} needs at least {least} rows to "
            f"test (groups count once); {len(testing)} of {n} are left beside those that choose the "
            "thresholds."
        )
    return choosing, testing


def guarantee_precision(
    scores: np.ndarray,
    Y: sparse.csr_array,
    precision: float,
    *,
    confidence: float = 0.9,
    error_control: str = "per_label",
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
    error_control : {"per_label", "fdr"}, default="per_label"
        ``"per_label"``: each label by itself, P(guaranteed and violated) ≤ δ. ``"fdr"``: the expected share
        of violated guarantees among the guaranteed labels is at most δ, however labels depend on each other
        (Benjamini–Yekutieli).
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
    choosing, testing = choosing_and_testing(n, groups, precision, confidence, one_each=True)
    level = 1 - confidence
    if error_control == "fdr":  # what each of the k labels has if all of them pass
        level /= (1 / np.arange(1, k + 1)).sum()
    sequences = []
    columns = Y.tocsc()
    is_on = np.zeros(n, dtype=bool)
    for block in row_blocks(k, 8 * n):
        part = np.ascontiguousarray(scores[:, block].T)
        for j, values in enumerate(part, start=block.start):
            positive = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
            is_on[positive] = True
            sequences.append(_test_fixed_sequence(values, is_on, choosing, testing, precision, level))
            is_on[positive] = False
    if error_control == "fdr":
        level = _shared_level(np.array([sequence.p_value[0] for sequence in sequences]), level)
    lines = [sequence.line(level) for sequence in sequences]
    return Guarantees.of_lines("precision", precision, confidence, error_control, lines, names)


def _shared_level(p_values: np.ndarray, level: float) -> float:
    """Return level·R/k for the largest R such that R labels pass it."""
    levels = level * np.arange(1, len(p_values) + 1) / len(p_values)
    passed = np.flatnonzero(np.sort(p_values) <= levels)
    return float(levels[passed[-1]]) if len(passed) else 0.0


def _test_fixed_sequence(
    values: np.ndarray,
    is_on: np.ndarray,
    choosing: np.ndarray,
    testing: np.ndarray,
    precision: float,
    level: float,
) -> _FixedSequence:
    """Choose the thresholds of a label on some rows and test them on the others."""
    chosen, chosen_on = values[choosing], is_on[choosing]
    tested, tested_on = values[testing], is_on[testing]
    positives, n_on = int(tested_on.sum()), int(chosen_on.sum())
    # beyond positives/p rows no threshold can be precise enough; some room for luck
    top = min(len(chosen), int(1.5 * n_on / precision) + 10)
    order = np.argpartition(-chosen, top - 1)[:top]
    order = order[np.argsort(-chosen[order], kind="stable")]
    ranked, hits = chosen[order], np.cumsum(chosen_on[order])
    place = np.unique(np.round(STEP ** np.arange(0, np.log(top) / np.log(STEP) + 1)).astype(np.int64))
    place = place[place < top]
    place = place[ranked[place - 1] > ranked[place]]  # ties cannot be cut apart
    threshold = np.append((ranked[place - 1] + ranked[place]) / 2, np.nextafter(ranked[-1], -np.inf))
    place = np.append(place, top)
    hits = hits[place - 1]

    above = np.sort(tested[tested > threshold[-1]])
    above_on = np.sort(tested[tested_on & (tested > threshold[-1])])
    found = len(above) - np.searchsorted(above, threshold, side="right")
    right = len(above_on) - np.searchsorted(above_on, threshold, side="right")
    start = int(np.argmax(_evidence_per_row((hits + n_on / len(chosen)) / (place + 1), precision) * place))
    p_value = np.where(found > 0, bdtr(found - right, found, 1 - precision), 1.0)
    p_value = np.maximum.accumulate(p_value[start:])
    more = _more_positives(
        found + place, right + hits, positives + n_on, len(values), precision, level, len(testing)
    )
    return _FixedSequence(threshold, found, right, start, p_value, more, positives)


def _evidence_per_row(estimate: np.ndarray, precision: float) -> np.ndarray:
    """Return the evidence of one row that a threshold keeps the guarantee, negative where it does not
    look so.
    """
    estimate = np.clip(estimate, 0.0, 1.0)
    gain = rel_entr(1 - estimate, 1 - precision) + rel_entr(estimate, precision)
    return np.where(estimate > precision, gain, -gain)


def _more_positives(
    found: np.ndarray,
    right: np.ndarray,
    positives: int,
    n: int,
    precision: float,
    level: float,
    n_tested: int,
) -> float:
    """Estimate how many positive rows are missing for a guarantee, by Chernoff's bound at the best
    threshold.
    """
    share = n_tested / n
    if positives == 0:
        return float(np.ceil(np.log(level) / np.log(precision) / share))
    gain = _evidence_per_row((right + positives / n) / (found + 1), precision)
    useful = (gain > 0) & (right > 0)
    if not useful.any():
        return np.inf
    rows = np.log(1 / level) / gain[useful]  # found among the tested
    wanted = rows * (right / found)[useful] / (right / positives)[useful] / share
    return float(max(1.0, np.ceil(wanted.min() - positives)))


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
    unit = None if groups is None else number_groups(groups, len(scores))
    lines = []
    columns = Y.tocsc()
    for j in range(scores.shape[1]):
        rows = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        weight = np.ones(len(rows))
        if unit is not None and len(rows):
            weight = 1 / np.bincount(unit[rows])[unit[rows]]
        size, order = weight.sum(), np.argsort(scores[rows, j], kind="stable")
        missed = np.cumsum(weight[order])
        threshold, n_lost, bound, more = strictest_threshold(scores[rows, j][order], missed, size, recall)
        found, right = 0, 0.0
        if more == 0:
            found = (scores[:, j] > threshold).sum()
            right = size - (missed[n_lost - 1] if n_lost else 0.0)
        lines.append((threshold, bound, found, right, size, more))
    return Guarantees.of_lines("recall", recall, None, "per_label", lines, names)


def strictest_threshold(
    ranked: np.ndarray, missed: np.ndarray, n: float, recall: float
) -> tuple[float, int, float, float]:
    """Return the highest threshold with (missed + 1)/(n + 1) ≤ 1 − recall: conformal risk control.

    `ranked` are the positive scores, lowest first, and `missed` what n units lose with each. Beside the
    threshold come the positives below it, the recall it bears out, and the units wanting where there is no
    such threshold.
    """
    allowed = (1 - recall) * (n + 1) - 1
    if allowed < -1e-9:  # (0 + 1)/(n + 1) is too much already
        return np.inf, 0, np.nan, float(np.ceil(1 / (1 - recall) - 1 - n - 1e-9))
    stop = int(np.searchsorted(missed, allowed + 1e-9, side="right"))  # the first that must be found
    threshold, n_lost = np.inf, len(ranked)
    if stop < len(ranked):
        n_lost = int(np.searchsorted(ranked, ranked[stop]))  # ties are found together
        lower = ranked[n_lost - 1] if n_lost else ranked[stop] - 1.0
        middle = (lower + ranked[stop]) / 2
        threshold = middle if middle < ranked[stop] else lower
    return threshold, n_lost, 1 - ((missed[n_lost - 1] if n_lost else 0.0) + 1) / (n + 1), 0.0

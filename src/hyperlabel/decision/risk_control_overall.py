"""One guarantee for all labels together: the precision of everything predicted, or the labels missed.

A family of label sets with one parameter t, label j where a_j·score + b_j > t, is fixed on some rows (the
sigmoids make labels comparable). On the others, precision p is guaranteed where the mean of
Z = wrong − (1 − p)·predicted over the rows (groups) is below 0 by a betting test: with the stake λ chosen on
the first rows, ∏(1 − λZ) has mean at most 1 while the guarantee is violated, so it exceeds 1/δ with
probability at most δ. Z is bounded because a row keeps at most `most` labels. Missed labels fall with t, so
conformal risk control applies to them as it stands.

References
----------
I. Waudby-Smith, A. Ramdas, *Estimating means of bounded random variables by betting*, JRSS B 2024.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.decision.calibration_curves import Sigmoid
from hyperlabel.decision.guarantee_table import Guarantees
from hyperlabel.decision.risk_control import (
    CHOOSING_SHARE,
    check_guarantee,
    choosing_and_testing,
    group_shuffle_split,
    strictest_threshold,
)
from hyperlabel.solvers.arrays import row_blocks

N_THRESHOLDS = 120
N_STAKES = 24
LEAST_LOGIT = -4.0  # entries below are never worth predicting at a guaranteed precision


@dataclass(frozen=True, eq=False)
class _Entries:
    """Entries of some rows that may be predicted, surest first: unit, logit, truth, place within its row."""

    unit: np.ndarray
    logit: np.ndarray
    is_on: np.ndarray
    place: np.ndarray
    size: np.ndarray  # rows of each unit

    def above(self, threshold: float) -> slice:
        """Return the entries above the threshold."""
        return slice(0, int(np.searchsorted(-self.logit, -threshold)))

    def most(self, threshold: float) -> int:
        """Return the largest number of entries above the threshold in a row."""
        return int(self.place[self.above(threshold)].max())

    def sums(self, threshold: float, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted and wrong entries of each unit, per row."""
        above, n = self.above(threshold), len(self.size)
        weight = (self.place[above] <= most) / self.size[self.unit[above]]
        predicted = np.bincount(self.unit[above], weight, minlength=n)
        return predicted, np.bincount(self.unit[above], weight * ~self.is_on[above], minlength=n)


def guarantee_overall_precision(
    scores: np.ndarray,
    Y: sparse.csr_array,
    precision: float,
    *,
    confidence: float = 0.9,
    groups: np.ndarray | None = None,
) -> Guarantees:
    """Fit the loosest label sets of the family whose overall precision can be guaranteed.

    One line for all labels; each group counts once, by the mean of its rows.
    """
    check_guarantee(precision, confidence)
    choosing, testing = choosing_and_testing(len(scores), groups, precision, confidence, one_each=False)
    sigmoid = Sigmoid.fit(scores[choosing], Y[choosing])
    first = _candidate_entries(scores, Y, choosing, groups, sigmoid, LEAST_LOGIT)
    # beyond positives/p entries nothing can be precise enough; some room for luck
    thresholds = _threshold_grid(first.logit[: int(1.5 * Y[choosing].nnz / precision) + 10])
    second = _candidate_entries(
        scores, Y, testing, groups, sigmoid, thresholds[-1] if thresholds else LEAST_LOGIT
    )
    plan = []
    for threshold in thresholds:
        most = first.most(threshold)
        predicted, wrong = first.sums(threshold, most)
        plan.append((threshold, most, *_best_stake(wrong - (1 - precision) * predicted, precision, most)))
    start = int(np.argmax([growth for *_, growth in plan])) if plan else 0
    enough, positives = np.log(1 / (1 - confidence)), int(Y[testing].nnz)
    passed = list(
        takewhile(lambda step: _betting_wealth(second, *step[:3], precision) >= enough, plan[start:])
    )
    if not passed:
        growth = max((g for *_, g in plan), default=0.0) * (1 - CHOOSING_SHARE) / CHOOSING_SHARE
        more = max(1.0, np.ceil(positives * (enough / growth - 1))) if growth > 0 else np.inf
        never, nothing = np.full(Y.shape[1], np.inf), (np.nan, 0, 0, positives, more)
        return _one_guarantee(
            "precision", precision, confidence, never, *nothing, slope=sigmoid.slope, most=0
        )
    threshold, most, stake, _ = passed[-1]
    low, high = precision, 1.0
    for _ in range(30):  # the largest precision that the same bets would have borne out
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if _betting_wealth(second, threshold, most, stake, middle) >= enough
            else (low, middle)
        )
    above = second.above(threshold)
    kept = second.place[above] <= most
    line = low, kept.sum(), second.is_on[above][kept].sum(), positives, 0
    label_thresholds = overall_thresholds(sigmoid, threshold)
    return _one_guarantee(
        "precision", precision, confidence, label_thresholds, *line, slope=sigmoid.slope, most=most
    )


def _candidate_entries(
    scores: np.ndarray,
    Y: sparse.csr_array,
    rows: np.ndarray,
    groups: np.ndarray | None,
    sigmoid: Sigmoid,
    least: float,
) -> _Entries:
    """Collect the entries of `rows` with a logit above `least`, a block of rows at a time."""
    unit = _number_units(rows, groups)
    parts: list[tuple[np.ndarray, ...]] = []
    k = scores.shape[1]
    for block in row_blocks(len(rows), 32 * k):
        logit = scores[rows[block]] * sigmoid.slope + sigmoid.intercept
        row, label = np.nonzero((logit > least) & (sigmoid.slope > 0))
        value = logit[row, label]
        order = np.lexsort((-value, row))
        row, label, value = row[order], label[order], value[order]
        place = np.arange(len(row)) - np.searchsorted(row, row) + 1
        is_on = np.asarray(Y[rows[block]].toarray()[row, label] > 0)
        parts.append((unit[block][row], value, is_on, place))
    unit_of, logit, is_on, place = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(-logit, kind="stable")
    size = np.bincount(unit).astype(np.float64)
    return _Entries(unit_of[order], logit[order], is_on[order], place[order], size)


def _number_units(rows: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Number the unit (row or group) of each row, in the order drawn."""
    if groups is None:
        return np.arange(len(rows))
    _, first, unit = np.unique(np.asarray(groups)[rows], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first, kind="stable"), kind="stable")[unit]


def _threshold_grid(logit: np.ndarray) -> list[float]:
    """Return thresholds from strict to loose that find ever more of these entries."""
    if not len(logit):
        return []
    place = np.unique(np.geomspace(1, len(logit), N_THRESHOLDS).astype(np.int64))
    return [float(np.nextafter(logit[i - 1], -np.inf)) for i in place]


def _best_stake(z: np.ndarray, precision: float, most: int) -> tuple[float, float]:
    """Return the stake under which wealth would have grown most on these units, and that growth."""
    stakes = np.linspace(0.02, 0.95, N_STAKES) / (precision * most)
    growth = [float(np.log1p(-stake * z).sum()) for stake in stakes]
    best = int(np.argmax(growth))
    return float(stakes[best]), growth[best]


def _betting_wealth(entries: _Entries, threshold: float, most: int, stake: float, precision: float) -> float:
    """Return the log of the greatest wealth on the way through the units."""
    stake = min(stake, 0.95 / (precision * most))  # nobody may lose more than all
    predicted, wrong = entries.sums(threshold, most)
    return float(np.cumsum(np.log1p(-stake * (wrong - (1 - precision) * predicted))).max(initial=0.0))


def _one_guarantee(
    kind: str, target: float, confidence: float | None, thresholds: np.ndarray, *values: float, **family: Any
) -> Guarantees:
    """Return guarantees of one line, for all labels: bound, found, right, positives, more."""
    named: Any = (*np.array(values, dtype=np.float64)[:, None], ["all labels"])
    return Guarantees(kind, target, confidence, "overall", thresholds, *named, **family)


def overall_thresholds(sigmoid: Sigmoid, threshold: float) -> np.ndarray:
    """Return the threshold of each label that one threshold of the logits means."""
    slope = sigmoid.slope
    return np.divide(threshold - sigmoid.intercept, slope, out=np.full(len(slope), np.inf), where=slope > 0)


def guarantee_overall_recall(
    scores: np.ndarray, Y: sparse.csr_array, recall: float, *, groups: np.ndarray | None = None
) -> Guarantees:
    """Fit the strictest label sets of the family that miss at most 1 − recall of a row's labels on average.

    In expectation, by conformal risk control; a row without labels misses none, and each group counts once.
    """
    check_guarantee(recall, None, "recall")
    choosing, testing = group_shuffle_split(len(scores), groups, CHOOSING_SHARE, one_each=False)
    # a label without rows to choose on has no slope: it keeps the order of its scores
    fitted = Sigmoid.fit(scores[choosing], Y[choosing])
    sigmoid = Sigmoid(np.where(fitted.slope > 0, fitted.slope, 1e-6), fitted.intercept)
    logit, missed, n = _missed_labels(scores, Y, testing, groups, sigmoid)
    threshold, n_lost, bound, more = strictest_threshold(logit, missed, n, recall)
    thresholds = overall_thresholds(sigmoid, threshold)
    if more:
        return _one_guarantee("recall", recall, None, thresholds, bound, 0, 0, len(logit), more)
    found = sum(
        int((scores[testing[block]] > thresholds).sum())
        for block in row_blocks(len(testing), 8 * len(thresholds))
    )
    return _one_guarantee(
        "recall", recall, None, thresholds, bound, found, len(logit) - n_lost, len(logit), 0.0
    )


def _missed_labels(
    scores: np.ndarray,
    Y: sparse.csr_array,
    rows: np.ndarray,
    groups: np.ndarray | None,
    sigmoid: Sigmoid,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the logits of the labels that are on, lowest first, what is lost up to each, and the units."""
    unit = _number_units(rows, groups)
    entries = Y[rows].tocoo()
    logit = scores[rows[entries.row], entries.col] * sigmoid.slope[entries.col]
    logit += sigmoid.intercept[entries.col]
    loss = 1 / np.bincount(entries.row, minlength=len(rows))[entries.row]
    loss /= np.bincount(unit)[unit[entries.row]]  # the mean over the rows of a group
    order = np.argsort(logit, kind="stable")
    return logit[order], np.cumsum(loss[order]), int(unit.max(initial=-1)) + 1

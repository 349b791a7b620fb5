"""One guarantee for all labels together: the precision of everything predicted, or the labels missed.

A family of label sets with one parameter t, label j where a_j·score + b_j > t, is fixed on some rows (the
sigmoids make labels comparable). On the others, precision p is guaranteed where the mean of
Z = wrong − (1 − p)·predicted over the rows (groups) is below 0 by a betting test: with the stake λ chosen on
the first rows, ∏(1 − λZ) has mean at most 1 while the guarantee is violated, so it exceeds 1/δ with
probability at most δ. Z is bounded because a row keeps at most `most` labels. Missed labels fall with t, so
conformal risk control applies to them directly.

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

    def sums(self, threshold: float, max_labels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted and wrong entries of each unit, per row."""
        above, n = self.above(threshold), len(self.size)
        entry_weight = (self.place[above] <= max_labels) / self.size[self.unit[above]]
        predicted = np.bincount(self.unit[above], entry_weight, minlength=n)
        return predicted, np.bincount(self.unit[above], entry_weight * ~self.is_on[above], minlength=n)


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
    choosing_rows, testing_rows = choosing_and_testing(
        len(scores), groups, precision, confidence, one_each=False
    )
    sigmoid = Sigmoid.fit(scores[choosing_rows], Y[choosing_rows])
    choosing_entries = _candidate_entries(scores, Y, choosing_rows, groups, sigmoid, LEAST_LOGIT)
    # beyond positives/p entries nothing can be precise enough; half as many again allow for luck
    thresholds = _threshold_grid(choosing_entries.logit[: int(1.5 * Y[choosing_rows].nnz / precision) + 10])
    testing_entries = _candidate_entries(
        scores, Y, testing_rows, groups, sigmoid, thresholds[-1] if thresholds else LEAST_LOGIT
    )
    bet_plan = []
    for threshold in thresholds:
        max_labels = choosing_entries.most(threshold)
        predicted, wrong = choosing_entries.sums(threshold, max_labels)
        bet_plan.append(
            (threshold, max_labels, *_best_stake(wrong - (1 - precision) * predicted, precision, max_labels))
        )
    start_index = int(np.argmax([growth for *_, growth in bet_plan])) if bet_plan else 0
    log_wealth_needed, positives = np.log(1 / (1 - confidence)), int(Y[testing_rows].nnz)
    passed_bets = list(
        takewhile(
            lambda step: _betting_wealth(testing_entries, *step[:3], precision) >= log_wealth_needed,
            bet_plan[start_index:],
        )
    )
    if not passed_bets:
        growth = max((g for *_, g in bet_plan), default=0.0) * (1 - CHOOSING_SHARE) / CHOOSING_SHARE
        more_positives = (
            max(1.0, np.ceil(positives * (log_wealth_needed / growth - 1))) if growth > 0 else np.inf
        )
        no_thresholds, no_guarantee = np.full(Y.shape[1], np.inf), (np.nan, 0, 0, positives, more_positives)
        return _one_guarantee(
            "precision", precision, confidence, no_thresholds, *no_guarantee, slope=sigmoid.slope, most=0
        )
    threshold, max_labels, stake, _ = passed_bets[-1]
    low, high = precision, 1.0
    for _ in range(30):  # the largest precision that the same bets would have borne out
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if _betting_wealth(testing_entries, threshold, max_labels, stake, middle) >= log_wealth_needed
            else (low, middle)
        )
    above = testing_entries.above(threshold)
    is_kept = testing_entries.place[above] <= max_labels
    table_line = low, is_kept.sum(), testing_entries.is_on[above][is_kept].sum(), positives, 0
    label_thresholds = overall_thresholds(sigmoid, threshold)
    return _one_guarantee(
        "precision",
        precision,
        confidence,
        label_thresholds,
        *table_line,
        slope=sigmoid.slope,
        most=max_labels,
    )


def _candidate_entries(
    scores: np.ndarray,
    Y: sparse.csr_array,
    rows: np.ndarray,
    groups: np.ndarray | None,
    sigmoid: Sigmoid,
    min_logit: float,
) -> _Entries:
    """Collect the entries of `rows` with a logit above `min_logit`, a block of rows at a time."""
    unit_of_row = _number_units(rows, groups)
    entry_blocks: list[tuple[np.ndarray, ...]] = []
    k = scores.shape[1]
    for block in row_blocks(len(rows), 32 * k):
        logit = scores[rows[block]] * sigmoid.slope + sigmoid.intercept
        row, label = np.nonzero((logit > min_logit) & (sigmoid.slope > 0))
        entry_logit = logit[row, label]
        order = np.lexsort((-entry_logit, row))
        row, label, entry_logit = row[order], label[order], entry_logit[order]
        rank_in_row = np.arange(len(row)) - np.searchsorted(row, row) + 1
        is_on = np.asarray(Y[rows[block]].toarray()[row, label] > 0)
        entry_blocks.append((unit_of_row[block][row], entry_logit, is_on, rank_in_row))
    unit_of, logit, is_on, rank_in_row = (
        np.concatenate(entry_column) for entry_column in zip(*entry_blocks, strict=True)
    )
    order = np.argsort(-logit, kind="stable")
    unit_size = np.bincount(unit_of_row).astype(np.float64)
    return _Entries(unit_of[order], logit[order], is_on[order], rank_in_row[order], unit_size)


def _number_units(rows: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Number the unit (row or group) of each row, in the order drawn."""
    if groups is None:
        return np.arange(len(rows))
    _, first_row, unit = np.unique(np.asarray(groups)[rows], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first_row, kind="stable"), kind="stable")[unit]


def _threshold_grid(logit: np.ndarray) -> list[float]:
    """Return thresholds from strict to loose that find ever more of these entries."""
    if not len(logit):
        return []
    n_above = np.unique(np.geomspace(1, len(logit), N_THRESHOLDS).astype(np.int64))
    return [float(np.nextafter(logit[i - 1], -np.inf)) for i in n_above]


def _best_stake(z: np.ndarray, precision: float, max_labels: int) -> tuple[float, float]:
    """Return the stake under which wealth would have grown most on these units, and that growth."""
    stakes = np.linspace(0.02, 0.95, N_STAKES) / (precision * max_labels)
    log_growth = [float(np.log1p(-stake * z).sum()) for stake in stakes]
    best_index = int(np.argmax(log_growth))
    return float(stakes[best_index]), log_growth[best_index]


def _betting_wealth(
    entries: _Entries, threshold: float, max_labels: int, stake: float, precision: float
) -> float:
    """Return the log of the greatest wealth on the way through the units."""
    stake = min(stake, 0.95 / (precision * max_labels))  # nobody may lose more than all
    predicted, wrong = entries.sums(threshold, max_labels)
    return float(np.cumsum(np.log1p(-stake * (wrong - (1 - precision) * predicted))).max(initial=0.0))


def _one_guarantee(
    kind: str, target: float, confidence: float | None, thresholds: np.ndarray, *values: float, **family: Any
) -> Guarantees:
    """Return guarantees of one line, for all labels: bound, found, right, positives, more."""
    table_columns: Any = (*np.array(values, dtype=np.float64)[:, None], ["all labels"])
    return Guarantees(kind, target, confidence, "overall", thresholds, *table_columns, **family)


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
    choosing_rows, testing_rows = group_shuffle_split(len(scores), groups, CHOOSING_SHARE, one_each=False)
    # a label without rows to choose on has no slope: it keeps the order of its scores
    fitted_sigmoid = Sigmoid.fit(scores[choosing_rows], Y[choosing_rows])
    sigmoid = Sigmoid(
        np.where(fitted_sigmoid.slope > 0, fitted_sigmoid.slope, 1e-6), fitted_sigmoid.intercept
    )
    logit, missed, n = _missed_labels(scores, Y, testing_rows, groups, sigmoid)
    threshold, n_lost, bound, more_units = strictest_threshold(logit, missed, n, recall)
    thresholds = overall_thresholds(sigmoid, threshold)
    if more_units:
        return _one_guarantee("recall", recall, None, thresholds, bound, 0, 0, len(logit), more_units)
    n_predicted = sum(
        int((scores[testing_rows[block]] > thresholds).sum())
        for block in row_blocks(len(testing_rows), 8 * len(thresholds))
    )
    return _one_guarantee(
        "recall", recall, None, thresholds, bound, n_predicted, len(logit) - n_lost, len(logit), 0.0
    )


def _missed_labels(
    scores: np.ndarray,
    Y: sparse.csr_array,
    rows: np.ndarray,
    groups: np.ndarray | None,
    sigmoid: Sigmoid,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the logits of the labels that are on, lowest first, what is lost up to each, and the units."""
    unit_of_row = _number_units(rows, groups)
    entries = Y[rows].tocoo()
    logit = scores[rows[entries.row], entries.col] * sigmoid.slope[entries.col]
    logit += sigmoid.intercept[entries.col]
    entry_loss = 1 / np.bincount(entries.row, minlength=len(rows))[entries.row]
    entry_loss /= np.bincount(unit_of_row)[unit_of_row[entries.row]]  # the mean over the rows of a group
    logit_order = np.argsort(logit, kind="stable")
    return logit[logit_order], np.cumsum(entry_loss[logit_order]), int(unit_of_row.max(initial=-1)) + 1

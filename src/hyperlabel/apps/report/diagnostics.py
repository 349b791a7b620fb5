"""What a page draws beside thresholds: calibration, labels given in place of others, growth, twins."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import beta

from hyperlabel.apps.report.model_numbers import PageScores, honest_sets
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.model_selection import IterativeStratifiedKFold

_BINS = 10
_LISTED = 6  # labels given in place of a label
_FEWEST_ROWS = 40  # a quarter of fewer rows teaches nothing


def honest_probabilities(judged: PageScores) -> np.ndarray:
    """Return probabilities by calibrators that had not seen the row."""
    p = np.empty(judged.scores.shape)
    splitter = IterativeStratifiedKFold(min(5, len(p)), shuffle=True, random_state=0)
    for train_rows, test_rows in splitter.split(judged.scores, judged.Y):
        calibrators = Calibrators.fit(judged.scores[train_rows], judged.targets[train_rows])
        p[test_rows] = calibrators.probabilities(judged.scores[test_rows])
    return p


def reliability_points(truth: np.ndarray, p: np.ndarray) -> list[list[float]]:
    """Return bins of the probabilities: mean, share that came true, its 95 % interval, entries.

    The bins part the interval from 0 to 1 evenly, so that rare high probabilities are seen; empty ones are
    left out. The interval is the exact one of a share (Clopper and Pearson).
    """
    bin_index = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    n = np.bincount(bin_index, minlength=_BINS)
    used = np.flatnonzero(n)
    hits = np.bincount(bin_index, weights=truth, minlength=_BINS)[used]
    said, n = np.bincount(bin_index, weights=p, minlength=_BINS)[used] / n[used], n[used]
    low = np.where(hits > 0, beta.ppf(0.025, np.maximum(hits, 1), n - hits + 1), 0.0)
    high = np.where(hits < n, beta.ppf(0.975, hits + 1, np.maximum(n - hits, 1)), 1.0)
    points = np.column_stack([said, hits / n, low, high]).round(4)
    return [[*map(float, point), int(count)] for point, count in zip(points, n, strict=True)]


def reliability_curves(judged: PageScores) -> dict[str, Any]:
    """Return the reliability diagram of all labels together, and that of each label."""
    p = honest_probabilities(judged)
    truth, known = judged.Y.toarray() > 0, judged.known
    by_label = zip(truth.T, p.T, known.T, strict=True)
    return {
        "all": reliability_points(truth[known], p[known]),
        "label": [reliability_points(t[is_known], q[is_known]) for t, q, is_known in by_label],
    }


def replaced_labels(judged: PageScores) -> dict[str, list[Any]]:
    """Return which labels rows get that lack them, where a label they carry is missed.

    `missed` is the number of rows for each label, `instead` its replacements with the number of those rows,
    the most frequent first.
    """
    label_sets = sparse.csr_array((honest_sets(judged) & judged.known).astype(np.int64))
    truth = sparse.csr_array((judged.Y > 0).astype(np.int64))
    hits = label_sets.multiply(truth)
    missed, wrong = sparse.csr_array(truth - hits), sparse.csr_array(label_sets - hits)
    counts = sparse.csr_array(missed.T @ wrong)
    instead = []
    for j in range(counts.shape[0]):
        columns, values = (
            part[counts.indptr[j] : counts.indptr[j + 1]] for part in (counts.indices, counts.data)
        )
        order = np.lexsort((columns, -values))[:_LISTED]
        instead.append([[int(columns[i]), int(values[i])] for i in order if values[i]])
    return {"missed": np.asarray(missed.sum(axis=0)).ravel().astype(int).tolist(), "instead": instead}


def learning_curve(
    score_rows: Callable[[np.ndarray], PageScores], n_rows: int, groups: Sequence[Any] | None = None
) -> list[list[float]]:
    """Return rows and macro-F1 of models of a quarter, a half and all of the rows.

    `score_rows` gives out-of-fold scores of some of the rows. Each half holds the quarter before it, and
    groups stay whole. All sizes are judged on their own rows, with thresholds those rows had not seen.
    """
    if n_rows < _FEWEST_ROWS:
        return []
    unit_of_row = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    unit_order = np.random.default_rng(0).permutation(unit_of_row.max() + 1)
    points = []
    for share in (0.25, 0.5, 1.0):
        chosen_units = unit_order[: max(1, round(share * len(unit_order)))]
        chosen_rows = np.flatnonzero(np.isin(unit_of_row, chosen_units))
        points.append([len(chosen_rows), round(_macro_f1(score_rows(chosen_rows)), 4)])
    return points


def _macro_f1(judged: PageScores) -> float:
    label_sets, truth = honest_sets(judged) & judged.known, judged.Y.toarray() > 0
    hits = (label_sets & truth).sum(axis=0)
    entries = label_sets.sum(axis=0) + truth.sum(axis=0)
    occurs = truth.any(axis=0)
    return float((2 * hits / np.maximum(entries, 1))[occurs].mean()) if occurs.any() else 0.0


def twins_of_rows(group_of_row: np.ndarray | None) -> dict[int, list[int]]:
    """Return for each row with near copies the others of its group, by row."""
    if group_of_row is None:
        return {}
    order = np.argsort(group_of_row, kind="stable")
    starts = np.flatnonzero(np.diff(group_of_row[order], prepend=-1))
    twins: dict[int, list[int]] = {}
    for rows in np.split(order, starts[1:]):
        if len(rows) > 1:
            twins |= {int(row): [int(other) for other in rows if other != row] for row in rows}
    return twins

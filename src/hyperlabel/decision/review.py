"""Which answers of a model a person should check first."""

import numpy as np

from hyperlabel.solvers.arrays import row_blocks


def review_gains(
    p: np.ndarray,
    sets: np.ndarray,
    sure: np.ndarray | None = None,
    budget: int = 0,
    positives: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return how much the check of each entry is expected to raise the overall F1.

    With F = 2·tp/(predicted + positives), as the probabilities foresee it once the `budget` is spent, taking
    a wrong label away gains F and adding a missing one 2 − F, both over (predicted + positives):

    .. math:: \text{predicted: } (1 - p)\,F, \qquad \text{not predicted: } p\,(2 - F),

    where:

    - p is the calibrated probability that the row has the label, and `sets` what the model predicts;
    - entries that are `sure` (guaranteed, say) gain nothing.

    A label is predicted where its score came out high, so it is right less often than its curve says, the
    more so the fewer `positives` m the curve rests on: there p·m/(m + 2) is taken for p.
    """
    if positives is not None:
        p = np.where(sets, p * (positives / (positives + 2)), p)
    may_check = np.ones(p.shape, dtype=bool) if sure is None else ~sure
    n_true_positives, f1_denominator = float(p[sets].sum()), float(sets.sum() + p.sum())
    n_added, n_removed = 0.0, 0.0
    for _ in range(1 if budget == 0 else 8):  # F depends on what is checked, and that on F
        expected_f1 = (
            2 * (n_true_positives + n_added) / max(f1_denominator + n_added - n_removed, np.finfo(float).tiny)
        )
        gains = np.where(may_check, np.where(sets, (1 - p) * expected_f1, p * (2 - expected_f1)), 0.0)
        if budget:
            min_gain = np.partition(gains.ravel(), -budget)[-budget] if budget < gains.size else 0.0
            is_checked = gains >= min_gain
            n_added, n_removed = float(p[is_checked & ~sets].sum()), float((1 - p)[is_checked & sets].sum())
    return gains / max(f1_denominator, np.finfo(float).tiny)


def review_order(gains: np.ndarray, groups: np.ndarray | None = None, limit: int | None = None) -> np.ndarray:
    """Return the entries (row·k + label) in the order in which to show them.

    Rows of a group follow each other, at the place of the group's best entry.
    """
    n, k = gains.shape
    max_entries = n * k if limit is None else min(limit, n * k)
    top_entries = np.zeros(0, dtype=np.int64)
    for block in row_blocks(n, 32 * k):  # the list stays short from block to block
        top_entries = np.r_[top_entries, np.arange(block.start * k, min(block.stop, n) * k)]
        top_entries = top_entries[np.argsort(-gains.ravel()[top_entries], kind="stable")[:max_entries]]
    top_entries = top_entries[gains.ravel()[top_entries] > 0]
    if groups is None:
        return top_entries
    entry_group = np.asarray(groups)[top_entries // k]
    first_rank: dict[object, int] = {}
    for entry_rank, group_name in enumerate(entry_group.tolist()):
        first_rank.setdefault(group_name, entry_rank)
    return top_entries[
        np.argsort([first_rank[group_name] for group_name in entry_group.tolist()], kind="stable")
    ]

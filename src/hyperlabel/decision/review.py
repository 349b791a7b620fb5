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
    asked = np.ones(p.shape, dtype=bool) if sure is None else ~sure
    right, size = float(p[sets].sum()), float(sets.sum() + p.sum())
    found, removed = 0.0, 0.0
    for _ in range(1 if budget == 0 else 8):  # F depends on what is checked, and that on F
        expected = 2 * (right + found) / max(size + found - removed, np.finfo(float).tiny)
        gains = np.where(asked, np.where(sets, (1 - p) * expected, p * (2 - expected)), 0.0)
        if budget:
            least = np.partition(gains.ravel(), -budget)[-budget] if budget < gains.size else 0.0
            checked = gains >= least
            found, removed = float(p[checked & ~sets].sum()), float((1 - p)[checked & sets].sum())
    return gains / max(size, np.finfo(float).tiny)


def review_order(gains: np.ndarray, groups: np.ndarray | None = None, limit: int | None = None) -> np.ndarray:
    """Return the entries (row·k + label) in the order in which to show them.

    Rows of a group follow each other, at the place of the group's best entry.
    """
    n, k = gains.shape
    size = n * k if limit is None else min(limit, n * k)
    kept = np.zeros(0, dtype=np.int64)
    for block in row_blocks(n, 32 * k):  # a short list while walking through the rows
        kept = np.r_[kept, np.arange(block.start * k, min(block.stop, n) * k)]
        kept = kept[np.argsort(-gains.ravel()[kept], kind="stable")[:size]]
    kept = kept[gains.ravel()[kept] > 0]
    if groups is None:
        return kept
    group = np.asarray(groups)[kept // k]
    first: dict[object, int] = {}
    for place, name in enumerate(group.tolist()):
        first.setdefault(name, place)
    return kept[np.argsort([first[name] for name in group.tolist()], kind="stable")]

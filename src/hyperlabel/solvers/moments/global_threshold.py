"""One threshold for all labels from sums over rows: as many labels predicted as rows carry.

A linear score of label j has mean mⱼ and standard deviation sⱼ over the training rows, both of which
follow from XᵀX and XᵀY. Taken as normal, it exceeds a threshold t in a share Φ((mⱼ − t)/sⱼ) of the rows; t
solves

    Σⱼ Φ((mⱼ − t)/sⱼ) = Σⱼ pⱼ,   pⱼ the share of rows that carry label j.

Moving every intercept by the same number leaves each row's ranking of the labels as it is.
"""

import numpy as np
from scipy.special import ndtr

STILL = 1e-12  # standard deviation of a score between 0 and 1
HALVINGS = 60  # of the bracket: down to the rounding of a float64


def solve_global_threshold(means: np.ndarray, stds: np.ndarray, shares: np.ndarray) -> float | None:
    """Return t, or None where no label varies.

    Labels whose share is 0 or 1 do not count; nor do those whose score stands still (a label space
    without them) beside others that move.
    """
    varies = (shares > 0) & (shares < 1)
    if not varies.any():
        return None
    moves = varies & (stds > STILL)
    varies = moves if moves.any() else varies
    means, stds, wanted = means[varies], stds[varies], float(shares[varies].sum())
    reach = 9.0 * stds  # Φ is 0 or 1 to rounding beyond
    low, high = float(np.min(means - reach)) - 1.0, float(np.max(means + reach)) + 1.0
    safe_stds = np.maximum(stds, 1e-300)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if ndtr((means - middle) / safe_stds).sum() > wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2

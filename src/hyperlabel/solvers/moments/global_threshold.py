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
    label_varies = (shares > 0) & (shares < 1)
    if not label_varies.any():
        return None
    score_varies = label_varies & (stds > STILL)
    label_varies = score_varies if score_varies.any() else label_varies
    means, stds, labels_per_row = means[label_varies], stds[label_varies], float(shares[label_varies].sum())
    normal_range = 9.0 * stds  # Φ is 0 or 1 to rounding beyond
    lower_end, upper_end = (
        float(np.min(means - normal_range)) - 1.0,
        float(np.max(means + normal_range)) + 1.0,
    )
    safe_stds = np.maximum(stds, 1e-300)
    for _ in range(HALVINGS):
        candidate_threshold = (lower_end + upper_end) / 2
        if ndtr((means - candidate_threshold) / safe_stds).sum() > labels_per_row:
            lower_end = candidate_threshold
        else:
            upper_end = candidate_threshold
    return (lower_end + upper_end) / 2

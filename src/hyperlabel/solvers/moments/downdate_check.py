"""Whether sums can be those of rows, after rows were subtracted that may never have been added.

Sums over rows [1 X F] are a Gram matrix, so what remains of them must be positive semidefinite: no
negative label counts, no negative sums of squares, and no label that the features explain by more than its
own sum of squares. Rows that break this were not among those summed. The converse does not hold:
a row well inside a cloud of many others leaves no trace.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from hyperlabel.solvers.moments.grouped_moments import GroupedMoments
from hyperlabel.solvers.moments.row_moments import RowMoments

_COUNT = 1e-9  # rounding of counts, in shares of all rows
_SPARE_DIGITS = 7.6  # of the sums' digits, what factoring d×d matrices may lose
_SMALL = 1e-4  # share of the largest trace below which a feature is not judged by its own scale
_EXPLAINED = 1e-6  # share of a label's count by which features may explain too much


def why_not_a_gram(
    remaining: RowMoments, original: RowMoments, labels: Sequence[str], *, zero_one: bool
) -> str | None:
    """Say why `remaining`, what subtraction leaves of `original`, cannot be sums over rows, or return None.

    `zero_one` says that F holds zeros and ones only.
    """
    count_slack = _COUNT * max(remaining.weight, 1.0)
    if remaining.sum_targets.min() < -count_slack:
        return f"{labels[int(remaining.sum_targets.argmin())]!r} would have fewer than 0 rows"
    if zero_one and remaining.sum_targets.max() > remaining.weight + count_slack:
        return f"{labels[int(remaining.sum_targets.argmax())]!r} would have more rows than there are"
    centered_moments = remaining.centered()
    largest_squares = np.maximum(np.diag(original.gram), np.diag(remaining.gram))
    feature_scale = np.sqrt(np.maximum(largest_squares, _SMALL * remaining.peak))
    feature_scale[feature_scale == 0] = 1.0
    scaled_gram = centered_moments.gram / feature_scale / feature_scale[:, None]
    gram_tolerance = 10.0 ** (_SPARE_DIGITS - remaining.digits)
    if scaled_gram.diagonal().min() < -gram_tolerance:
        return f"feature {int(scaled_gram.diagonal().argmin())} would have a negative sum of squares"
    scaled_gram[np.diag_indices_from(scaled_gram)] += gram_tolerance
    try:
        gram_factor = cholesky(scaled_gram, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return "some direction of the features would have a negative sum of squares"
    if centered_moments.target_gram is None and not zero_one:
        return None
    label_squares = (
        remaining.sum_targets * (1 - centered_moments.f_mean)
        if centered_moments.target_gram is None
        else centered_moments.target_gram.diagonal()
    )
    # ‖L⁻¹XcᵀFc‖² with LLᵀ = XcᵀXc: what the features explain of each label's sum of squares
    whitened_cross = solve_triangular(
        gram_factor, centered_moments.cross / feature_scale[:, None], lower=True, check_finite=False
    )
    excess_squares = np.einsum("ij,ij->j", whitened_cross, whitened_cross) - label_squares
    allowed_excess = _EXPLAINED * np.maximum.reduce(
        [original.sum_targets, remaining.sum_targets, np.ones(len(label_squares))]
    )
    worst_label = int((excess_squares - allowed_excess).argmax())
    if excess_squares[worst_label] > allowed_excess[worst_label]:
        return f"the rows that remain could not carry {labels[worst_label]!r} as the sums say"
    return None


def why_not_sums(remaining: object, original: object, labels: Sequence[str], *, zero_one: bool) -> str | None:
    """Return what `why_not_a_gram` says of sums, or of the first group of them that says something."""
    if isinstance(remaining, RowMoments) and isinstance(original, RowMoments):
        return why_not_a_gram(remaining, original, labels, zero_one=zero_one)
    if not isinstance(remaining, GroupedMoments):
        return None
    overall_names = [*labels, *(f"the known rows of {label}" for label in labels)]
    parts = [(remaining.overall, overall_names)]
    for index, sums in enumerate(remaining.groups):
        parts.append((sums, [labels[j] for j in remaining.labels_of(index)]))
    for sums, names in parts:
        if sums.weight < -_COUNT * max(remaining.overall.weight, 1.0):
            return f"{names[0]!r} would be known on fewer than 0 rows"
        reason = why_not_a_gram(sums, sums, names, zero_one=False) if sums.weight > 0 else None
        if reason is not None:
            return reason
    return None

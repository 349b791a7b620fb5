"""Whether sums can be those of rows: what is left when rows are taken out that were never in.

Sums over rows [1 X F] are a Gram matrix, so what remains of them must be positive semidefinite: no
negative label counts, no negative sums of squares, and no label that the features explain by more than its
own sum of squares. Rows that break this were not among those summed. The converse does not hold:
a row well inside a cloud of many others leaves no trace.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from hyperlabel.solvers.moments.row_moments import RowMoments

_COUNT = 1e-9  # rounding of counts, in shares of all rows
_SPARE_DIGITS = 7.6  # of the sums' digits, what factoring d×d matrices may lose
_SMALL = 1e-4  # share of the largest trace below which a feature is not judged by its own scale
_EXPLAINED = 1e-6  # share of a label's count by which features may explain too much


def why_not_a_gram(
    left: RowMoments, before: RowMoments, labels: Sequence[str], *, zero_one: bool
) -> str | None:
    """Say why `left`, what remains of `before`, cannot be sums over rows, or return None.

    `zero_one` says that F holds zeros and ones only.
    """
    slack = _COUNT * max(left.weight, 1.0)
    if left.sum_targets.min() < -slack:
        return f"{labels[int(left.sum_targets.argmin())]!r} would have fewer than 0 rows"
    if zero_one and left.sum_targets.max() > left.weight + slack:
        return f"{labels[int(left.sum_targets.argmax())]!r} would have more rows than there are"
    now = left.centered()
    largest = np.maximum(np.diag(before.gram), np.diag(left.gram))
    scale = np.sqrt(np.maximum(largest, _SMALL * left.peak))
    scale[scale == 0] = 1.0
    gram = now.gram / scale / scale[:, None]
    tolerance = 10.0 ** (_SPARE_DIGITS - left.digits)
    if gram.diagonal().min() < -tolerance:
        return f"feature {int(gram.diagonal().argmin())} would have a negative sum of squares"
    gram[np.diag_indices_from(gram)] += tolerance
    try:
        factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return "some direction of the features would have a negative sum of squares"
    if now.target_gram is None and not zero_one:
        return None
    own = left.sum_targets * (1 - now.f_mean) if now.target_gram is None else now.target_gram.diagonal()
    reached = solve_triangular(factor, now.cross / scale[:, None], lower=True, check_finite=False)
    excess = np.einsum("ij,ij->j", reached, reached) - own
    allowed = _EXPLAINED * np.maximum.reduce([before.sum_targets, left.sum_targets, np.ones(len(own))])
    worst = int((excess - allowed).argmax())
    if excess[worst] > allowed[worst]:
        return f"the rows that remain could not carry {labels[worst]!r} as the sums say"
    return None

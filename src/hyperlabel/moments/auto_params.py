"""What the shared ridge decides from sums over rows alone: its λ, and one threshold for all labels.

Both are functions of the moments (`solvers.ridge.evidence`, `solvers.moments.global_threshold`), so every
way to the same sums decides the same. The threshold is kept in the intercepts, all of which it moves by one
number.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from hyperlabel._params import NONE, Rule, number, one_of
from hyperlabel.solvers.moments.global_threshold import solve_global_threshold
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import RidgePath, alpha_of_labels

Auto = Literal["auto"]
ALPHA: Rule = number(0) | one_of("auto")
THRESHOLD: Rule = number() | one_of("auto") | NONE


def is_auto(value: Any) -> bool:
    """Whether a parameter says "auto"; it may also be a number or a list."""
    return isinstance(value, str) and value == "auto"


def decide_alpha(moments: RowMoments, alpha: Any, path: RidgePath | None = None) -> float:
    """Return λ for these sums of 0/1 labels: as given, or by its evidence (along a path over them)."""
    if not is_auto(alpha):
        return float(alpha)
    return alpha_of_labels(moments, path)


def decide_alphas(fold_moments: list[RowMoments], alpha: Any, paths: list[RidgePath]) -> list[float]:
    """Return λ for each of these sums, along their paths; see `decide_alpha`."""
    if not is_auto(alpha):
        return [float(alpha)] * len(paths)
    return [alpha_of_labels(moments, path) for moments, path in zip(fold_moments, paths, strict=True)]


def decide_threshold(
    threshold: Any,
    kind: str,
    means: np.ndarray,
    squares: Callable[[], np.ndarray],
    counts: np.ndarray,
    weight: Any,
) -> float:
    """Return the threshold on the scale ±1: as given, or to predict as many labels as rows carry.

    `means` are the labels' mean scores on the scale 0/1, `squares` tells the summed squared distances from
    them. Classes of a 1-D y exclude each other or are two: their threshold stays at 0.
    """
    if not is_auto(threshold):
        return float(threshold)
    if kind != "multilabel":
        return 0.0
    label_shares = np.divide(counts, weight, out=np.zeros(len(counts)), where=np.asarray(weight) > 0)
    variance = np.divide(squares(), weight, out=np.zeros(len(counts)), where=np.asarray(weight) > 0)
    slack = 1e-12  # weighted counts are sums of floats
    label_shares[label_shares <= slack] = 0.0
    label_shares[label_shares >= 1 - slack] = 1.0
    zero_one_threshold = solve_global_threshold(means, np.sqrt(variance), label_shares)
    return 0.0 if zero_one_threshold is None else 2.0 * zero_one_threshold - 1.0

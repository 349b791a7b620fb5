"""What the shared ridge decides from sums over rows alone: its λ, and one cut for all labels.

Both are functions of the moments (`solvers.evidence`, `solvers.shared_cut`), so every way to the same sums
decides the same. The cut is kept in the intercepts, all of which it moves by one number.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from hyperlabel._params import NONE, Rule, number, one_of
from hyperlabel.solvers.moments import RowSums
from hyperlabel.solvers.ridge import RidgePath, alpha_of_labels
from hyperlabel.solvers.shared_cut import shared_cut

Auto = Literal["auto"]
ALPHA: Rule = number(0) | one_of("auto")
CUT: Rule = number() | one_of("auto") | NONE


def is_auto(value: Any) -> bool:
    """Whether a parameter says "auto"; it may also be a number or a list."""
    return isinstance(value, str) and value == "auto"


def cut_beside(cut: Any, alpha: Any) -> Any:
    """Return the cut asked for: without a word on it "auto" beside λ = "auto", else 0."""
    if cut is not None:
        return cut
    return "auto" if is_auto(alpha) else 0.0


def decide_alpha(moments: RowSums, alpha: Any, path: RidgePath | None = None) -> float:
    """Return λ for these sums of 0/1 labels: as given, or by its evidence (along a path over them)."""
    if not is_auto(alpha):
        return float(alpha)
    return alpha_of_labels(moments, path)


def decide_cut(
    cut: Any,
    kind: str,
    means: np.ndarray,
    squares: Callable[[], np.ndarray],
    counts: np.ndarray,
    weight: Any,
) -> float:
    """Return the cut on the scale ±1: as given, or to predict as many labels as rows carry.

    `means` are the labels' mean scores on the scale 0/1, `squares` tells the summed squared distances from
    them. Classes of a 1-D y exclude each other or are two: their cut stays at 0.
    """
    if not is_auto(cut):
        return float(cut)
    if kind != "multilabel":
        return 0.0
    shares = np.divide(counts, weight, out=np.zeros(len(counts)), where=np.asarray(weight) > 0)
    variance = np.divide(squares(), weight, out=np.zeros(len(counts)), where=np.asarray(weight) > 0)
    slack = 1e-12  # weighted counts are sums of floats
    shares = np.where(shares <= slack, 0.0, np.where(shares >= 1 - slack, 1.0, shares))
    found = shared_cut(means, np.sqrt(variance), shares)
    return 0.0 if found is None else 2.0 * found - 1.0

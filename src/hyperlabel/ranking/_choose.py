"""C of a ranking machine from held-out rows: a path of fits, each started from its neighbour's duals.

From `FIRST` on, C grows by factors of 4 while the order of the held-out labels gains by it, or else falls. A
rough solution orders labels almost as the exact one does, so the path is solved to `ROUGH` only; the fit on
all rows that follows is certified as ever.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hyperlabel.metrics import label_ranking_average_precision
from hyperlabel.ranking._fit import RankFit
from hyperlabel.solvers.labels.stratify import solve_stratify

FIRST, SMALLEST, LARGEST = 1.0, 4.0**-4, 4.0**7
FEW = 10  # rows from which on some can be held out
FOLDS, MANY = 3, 2000  # up to so many rows each is held out once, a third at a time; then one fifth
ROUGH = 1e-2
EPOCHS = 50
GAIN = 1e-4  # of the average precision; less is no reason for another C


def choose_C(fit: RankFit) -> tuple[float, dict[float, float]]:
    """Return C and the average precision of held-out rows for every C tried."""
    n = fit.X.shape[0]
    if n < FEW:
        return FIRST, {}
    asked = fit.model.random_state
    rng = None if asked is None else np.random.default_rng(check_random_state(asked).randint(2**31))
    shares = np.full(FOLDS, 1 / FOLDS) if n <= MANY else np.array([0.8, 0.2])
    part = solve_stratify(fit.labels, shares, rng=rng).fold
    walks = [_Walk(fit, part != held) for held in (range(FOLDS) if n <= MANY else [1])]
    found, best = {FIRST: _mean_score(walks, FIRST)}, FIRST
    for factor, last in ((4.0, LARGEST), (0.25, SMALLEST)):
        while best != last:
            found[best * factor] = _mean_score(walks, best * factor)
            if found[best * factor] <= found[best] + GAIN:
                break
            best *= factor
        if best == last:
            warnings.warn(
                f"C='auto' chose {best:g}, the last it tries, and the next might do better: set C, or scale "
                "the features.",
                UserWarning,
                stacklevel=4,
            )
        if best != FIRST:
            break
    return best, found


def _mean_score(walks: list[_Walk], C: float) -> float:
    return float(np.mean([walk.score(C) for walk in walks]))


class _Walk:
    """One part of the rows held out, the machine fitted on the others for one C after the other."""

    def __init__(self, fit: RankFit, inside: np.ndarray) -> None:
        train, held = np.flatnonzero(inside), np.flatnonzero(~inside)
        rows = fit.X[train][:, train] if fit.model.kernel == "precomputed" else fit.X[train]
        weights = None if fit.weights is None else fit.weights[train]
        model = copy.copy(fit.model)
        most = EPOCHS if model.solver == "dcd" else 20 * EPOCHS
        model.tol, model.max_iter = max(model.tol, ROUGH), min(model.max_iter or most, most)
        self.fit = RankFit(model, rows, fit.Y[train], weights)
        self.rows = fit.X[held][:, train] if fit.model.kernel == "precomputed" else fit.X[held]
        self.labels, self.weights = fit.labels[held], None if fit.weights is None else fit.weights[held]
        self.last: tuple[float, Any] = 1.0, None

    def score(self, C: float) -> float:
        """Return the average precision of the held-out rows."""
        fit, (before, duals) = self.fit, self.last
        if duals is not None:
            duals *= C / before
        solved = fit.solve(fit.model, C, fit.model._laplacian_weight(), duals, sized=False)
        self.last = C, solved.result.alpha
        rows = self.rows if fit.kernel is None else fit.kernel.rows(self.rows)
        scores = np.asarray(rows @ solved.coef.T) + solved.intercept
        if fit.single:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return label_ranking_average_precision(self.labels, scores, sample_weight=self.weights)

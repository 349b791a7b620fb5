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
from hyperlabel.metrics.validation import CheckedAnswer, Truth
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
    seed = fit.model.random_state
    rng = None if seed is None else np.random.default_rng(check_random_state(seed).randint(2**31))
    fold_shares = np.full(FOLDS, 1 / FOLDS) if n <= MANY else np.array([0.8, 0.2])
    fold_of_row = solve_stratify(fit.known_labels, fold_shares, rng=rng).fold
    fold_paths = [_FoldPath(fit, fold_of_row != fold) for fold in (range(FOLDS) if n <= MANY else [1])]
    mean_scores, best = {FIRST: _mean_score(fold_paths, FIRST)}, FIRST
    for factor, last_C in ((4.0, LARGEST), (0.25, SMALLEST)):
        while best != last_C:
            mean_scores[best * factor] = _mean_score(fold_paths, best * factor)
            if mean_scores[best * factor] <= mean_scores[best] + GAIN:
                break
            best *= factor
        if best == last_C:
            warnings.warn(
                f"C='auto' chose {best:g}, the last it tries, and the next might do better: set C, or scale "
                "the features.",
                UserWarning,
                stacklevel=4,
            )
        if best != FIRST:
            break
    return best, mean_scores


def _mean_score(fold_paths: list[_FoldPath], C: float) -> float:
    """Return the mean average precision of the held-out rows: all folds solved, then all scored."""
    solutions = []
    for path in fold_paths:
        previous_C, duals = path.previous
        if duals is not None:
            duals *= C / previous_C
        seed = check_random_state(path.fit.model.random_state)
        result = path.problem.solve(path.fit.model.solver, duals, seed, C=C, **path.fit.limits)
        path.previous = C, result.alpha
        solutions.append(path.problem.read_back(result))
    fold_scores = []
    for path, (coef, intercept) in zip(fold_paths, solutions, strict=True):
        scores = np.asarray(path.test_rows @ coef[:-1].T) + intercept[:-1]
        if path.fit.single:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        if path.missing is not None:  # below all others, an unknown label moves no precision
            scores[path.missing.toarray() > 0] = -np.inf
        fold_scores.append(
            label_ranking_average_precision(path.truth, CheckedAnswer(scores), sample_weight=path.weights)
        )
    return float(np.mean(fold_scores))


class _FoldPath:
    """One part of the rows held out, the machine fitted on the others for one C after the other."""

    def __init__(self, fit: RankFit, is_train: np.ndarray) -> None:
        train, test = np.flatnonzero(is_train), np.flatnonzero(~is_train)
        is_precomputed = fit.model.kernel == "precomputed"
        model = copy.copy(fit.model)
        max_epochs = EPOCHS if model.solver == "dcd" else 20 * EPOCHS
        model.tol, model.max_iter = max(model.tol, ROUGH), min(model.max_iter or max_epochs, max_epochs)
        self.missing = None if fit.missing is None else fit.missing[test]
        known = fit.known_labels[train], None if fit.missing is None else fit.missing[train]
        X_train = fit.X[train][:, train] if is_precomputed else fit.X[train]
        train_weights = None if fit.weights is None else fit.weights[train]
        self.fit = RankFit(model, X_train, fit.Y[train], train_weights, known)
        self.problem = self.fit.pose(model._laplacian_weight())
        test_rows = fit.X[test][:, train] if is_precomputed else fit.X[test]
        self.test_rows = test_rows if self.fit.kernel is None else self.fit.kernel.rows(test_rows)
        self.truth, self.weights = (
            Truth(fit.known_labels[test]),
            None if fit.weights is None else fit.weights[test],
        )
        self.previous: tuple[float, Any] = 1.0, None

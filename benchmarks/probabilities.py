"""Calibrated probabilities against the scores themselves: calibration error on all real sets.

``python -m benchmarks.probabilities [SHUFFLES] [SET …]``. Predictions of ten folds are pooled, so that the
error of a bin rests on all rows; uncalibrated is (score + 1)/2, cut to 0 and 1. The last column is the error
that perfectly honest probabilities would show by chance with so many rows: labels are drawn from the
calibrated ones and calibrated again on nine folds for the tenth, ten times. Means over the shuffles.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import sparse
from scipy.special import logit

from benchmarks._data import real
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import load_debtags
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.metrics import log_loss, reliability
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold

SETS = (
    *("emotions", "yeast", "scene", "genbase", "medical", "yahoo-arts", "yahoo5k-computers", "imageclef07a"),
    *("mediamill-real4k", "mediamill-disc3", "corel5k", "delicious", "debtags"),
)
COLUMNS = 1000


def main(shuffles: int, names: list[str]) -> None:
    print(
        f"{'set':<18} {'uncalibrated':>12} {'calibrated':>10} {'ratio':>6} {'log loss':>15} {'by chance':>9}"
    )
    for name in names:
        data = load_debtags() if name == "debtags" else real(name)
        X = data.X
        if X.shape[1] > COLUMNS:  # the most frequent words
            X = X[:, np.sort(np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:COLUMNS])]
        start = time.perf_counter()
        runs = []
        for seed in range(shuffles):
            both = _pooled(X, data, seed)
            runs.append([float(reliability(data.Y, p).calibration_error) for p in both])
            runs[-1] += [log_loss(data.Y, np.clip(p, 1e-6, 1 - 1e-6)) for p in both]
        *errors, loss, calibrated_loss = np.mean(runs, axis=0)
        losses = (loss, calibrated_loss)
        chance = np.mean([_by_probability(both[1], seed) for seed in range(10)])
        print(
            f"{name:<18} {errors[0]:12.5f} {errors[1]:10.5f} {errors[1] / errors[0]:6.2f} "
            f"{losses[0]:.4f} → {losses[1]:.4f} {chance:9.5f}  ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )


def _by_probability(p: np.ndarray, seed: int) -> float:
    """The error of honest probabilities p, fitted once more to labels drawn from them."""
    Y = sparse.csr_array((np.random.default_rng(seed).random(p.shape) < p) * 1.0)
    scores, found = logit(np.clip(p, 1e-9, 1 - 1e-9)), np.zeros(p.shape)
    for train, test in IterativeStratifiedKFold(10, shuffle=True, random_state=seed).split(scores, Y):
        counts = Y[train].sum(axis=0)
        varies = np.flatnonzero((counts > 0) & (counts < len(train)))
        curves = Calibrators.fit(np.ascontiguousarray(scores[train][:, varies]), Y[train][:, varies])
        found[test] = np.where(counts > 0, 1 - 1 / (len(train) + 2), 1 / (len(train) + 2))
        found[np.ix_(test, varies)] = curves.probabilities(scores[test][:, varies])
    return float(reliability(Y, found).calibration_error)


def _pooled(X, data, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Test predictions of ten folds, uncalibrated and calibrated."""
    groups = None if data.groups is None else np.asarray(data.groups)
    kind = IterativeStratifiedKFold if groups is None else IterativeStratifiedGroupKFold
    plain, honest = np.zeros(data.Y.shape), np.zeros(data.Y.shape)
    for train, test in kind(10, shuffle=True, random_state=seed).split(X, data.Y, groups):
        model = BinaryRelevance(alpha=1.0, cv=5)
        model.fit(X[train], data.Y[train], groups=None if groups is None else groups[train])
        plain[test] = np.clip((model.decision_function(X[test]) + 1) / 2, 0, 1)
        honest[test] = model.predict_proba(X[test])
    return plain, honest


if __name__ == "__main__":
    given = sys.argv[1:]
    shuffles = int(given.pop(0)) if given and given[0].isdigit() else 1
    main(shuffles, given or list(SETS))

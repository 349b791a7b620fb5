"""Calibrated probabilities against the scores themselves: calibration error on all real sets.

``python -m benchmarks.probabilities [SET …]``. Predictions of ten folds are pooled, so that the error of a
bin rests on all rows; uncalibrated is (score + 1)/2, cut to 0 and 1. The last column is the error that
perfectly honest probabilities would show by chance with so many rows (labels drawn from the calibrated ones).
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks._data import real
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import load_debtags
from hyperlabel.metrics import log_loss, reliability
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold

SETS = (
    *("emotions", "yeast", "scene", "genbase", "medical", "yahoo-arts", "yahoo5k-computers", "imageclef07a"),
    *("mediamill-real4k", "mediamill-disc3", "corel5k", "delicious", "debtags"),
)
COLUMNS = 1000


def main(names: list[str]) -> None:
    print(
        f"{'set':<18} {'uncalibrated':>12} {'calibrated':>10} {'ratio':>6} {'log loss':>15} {'by chance':>9}"
    )
    for name in names:
        data = load_debtags() if name == "debtags" else real(name)
        X = data.X
        if X.shape[1] > COLUMNS:  # the most frequent words
            X = X[:, np.sort(np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:COLUMNS])]
        start = time.perf_counter()
        plain, honest = _pooled(X, data)
        errors = [float(reliability(data.Y, p).calibration_error) for p in (plain, honest)]
        losses = [log_loss(data.Y, np.clip(p, 1e-6, 1 - 1e-6)) for p in (plain, honest)]
        drawn = (np.random.default_rng(0).random(honest.shape) < honest) * 1.0
        chance = float(reliability(drawn, honest).calibration_error)
        print(
            f"{name:<18} {errors[0]:12.5f} {errors[1]:10.5f} {errors[1] / errors[0]:6.2f} "
            f"{losses[0]:.4f} → {losses[1]:.4f} {chance:9.5f}  ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )


def _pooled(X, data) -> tuple[np.ndarray, np.ndarray]:
    """Test predictions of ten folds, uncalibrated and calibrated."""
    groups = None if data.groups is None else np.asarray(data.groups)
    kind = IterativeStratifiedKFold if groups is None else IterativeStratifiedGroupKFold
    plain, honest = np.zeros(data.Y.shape), np.zeros(data.Y.shape)
    for train, test in kind(10, shuffle=True, random_state=0).split(X, data.Y, groups):
        model = BinaryRelevance(cv=5)
        model.fit(X[train], data.Y[train], groups=None if groups is None else groups[train])
        plain[test] = np.clip((model.decision_function(X[test]) + 1) / 2, 0, 1)
        honest[test] = model.predict_proba(X[test])
    return plain, honest


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))

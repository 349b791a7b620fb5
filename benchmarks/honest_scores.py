"""Does a tuner score what it says? `cv_score_` beside the score of held-out rows, on all real sets.

``python -m benchmarks.honest_scores [SPLITS] [SET …]``. A third of the rows (groups) is held out, ten times;
shown are means over the splits, for macro- and micro-F1: the cross-fitted score with its spread (`cv_score_`,
`cv_score_std_`), the score on the held-out rows, and the score on the rows the thresholds were chosen on,
which is what is usually printed.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks._data import real
from benchmarks.probabilities import COLUMNS, SETS
from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.datasets import load_debtags
from hyperlabel.decision.risk_control import group_shuffle_split
from hyperlabel.metrics import f1_score


def main(splits: int, names: list[str]) -> None:
    print(f"{'set':<18} {'measure':<9} {'cross-fitted':>15} {'held out':>9} {'chosen on':>10}  within spread")
    for name in names:
        data = load_debtags() if name == "debtags" else real(name)
        X = data.X
        if X.shape[1] > COLUMNS:  # the most frequent words
            X = X[:, np.sort(np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:COLUMNS])]
        for average in ("macro", "micro"):
            runs = np.array([_run(X, data, average, seed) for seed in range(splits)])
            score, std, held_out, chosen_on = runs.mean(axis=0)
            within = np.mean(np.abs(runs[:, 0] - runs[:, 2]) <= runs[:, 1])
            print(
                f"{name:<18} f1_{average} {score:8.3f} ± {std:.3f} {held_out:9.3f} {chosen_on:10.3f}  "
                f"{'yes' if abs(score - held_out) <= std else 'NO'} ({within:.0%} of the splits)",
                flush=True,
            )


def _run(X, data, average: str, seed: int) -> tuple[float, ...]:
    groups = None if data.groups is None else np.asarray(data.groups)
    new, known = group_shuffle_split(data.n_rows, groups, 1 / 3, one_each=False, seed=seed)
    model = ThresholdTuner(BinaryRelevance(cv=10), scoring=f"f1_{average}")  # the default, its scores kept
    model.fit(X[known], data.Y[known], groups=None if groups is None else groups[known])
    held_out = f1_score(data.Y[new], model.predict(X[new]), average=average)
    chosen = model.estimator_.oof_scores_ > model.thresholds_
    return model.cv_score_, model.cv_score_std_, held_out, f1_score(data.Y[known], chosen, average=average)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10, sys.argv[2:] or list(SETS))

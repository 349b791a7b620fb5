"""A person checks entries in three orders: what does it do to F1? ``python -m benchmarks.review [SEEDS]``.

Half of the rows fit the model; on the others the first entries of each order are replaced by the truth.
Orders: by expected gain in F1 (ours), by margin (probabilities nearest to ½), by distance of the score from
its threshold, at random. Shown are micro-F1 means over the seeds and ours minus each margin, 95 % interval.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import stats

from benchmarks._data import real
from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.datasets import load_debtags
from hyperlabel.decision.review import review_gains, review_order
from hyperlabel.decision.risk_control import group_shuffle_split

SETS = ("yeast", "debtags", "yahoo-arts", "medical", "mediamill-real4k", "corel5k")
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1)
COLUMNS = 1000


def main(seeds: int) -> None:
    for name in SETS:
        data = load_debtags() if name == "debtags" else real(name)
        X = data.X
        if X.shape[1] > COLUMNS:  # the most frequent words
            X = X[:, np.sort(np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:COLUMNS])]
        runs = np.array([_run(X, data, seed) for seed in range(seeds)])  # seed × order × share
        print(f"\n{name}: micro-F1 after a share of the entries is checked, {seeds} seeds")
        for s, share in enumerate((0.0, *SHARES)):
            means = runs[:, :, s].mean(axis=0)
            line = "  ".join(f"{value:.4f}" for value in means)
            ahead = runs[:, :1, s] - runs[:, 1:3, s]
            half = stats.t.ppf(0.975, seeds - 1) * ahead.std(axis=0, ddof=1) / np.sqrt(seeds)
            pairs = zip(ahead.mean(axis=0), half, strict=True)
            lead = ", ".join(f"{mean:+.4f} ± {width:.4f}" for mean, width in pairs if s)
            print(f"  {share:6.1%}  gain, margin, threshold distance, random: {line}  {lead}", flush=True)


def _run(X, data, seed: int) -> np.ndarray:
    groups = None if data.groups is None else np.asarray(data.groups)
    new, known = group_shuffle_split(data.n_rows, groups, 0.5, one_each=False, seed=seed)
    model = ThresholdTuner(BinaryRelevance(), scoring="f1_micro")
    model.fit(X[known], data.Y[known], groups=None if groups is None else groups[known])
    p, sets = model.predict_proba(X[new]), model.predict(X[new]).toarray() > 0
    distance = np.abs(model.decision_function(X[new]) - model.thresholds_)
    truth = data.Y[new].toarray() > 0
    rng = np.random.default_rng(seed)
    orders = (
        np.argsort(np.abs(p - 0.5).ravel(), kind="stable"),
        np.argsort(distance.ravel(), kind="stable"),
        rng.permutation(p.size),
    )
    curves = []
    for share in (0.0, *SHARES):
        budget = int(share * p.size)
        ours = review_order(review_gains(p, sets, None, budget, model.calibrators_.positives), limit=budget)
        curves.append([_f1(sets, truth, order[:budget]) for order in (ours, *orders)])
    return np.array(curves).T


def _f1(sets: np.ndarray, truth: np.ndarray, checked: np.ndarray) -> float:
    found = sets.ravel().copy()
    found[checked] = truth.ravel()[checked]
    return float(2 * (found & truth.ravel()).sum() / (found.sum() + truth.sum()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10)

"""Can one ridge reach the ranking loss of calibrated label ranking?

``python -m benchmarks.ranking_reduction``. Tai & Lin (2012, §4.2) leave open a reduction for ranking loss.
Ordering labels by E[w·y_j | x] with w = 1/(|y||ȳ|) minimises the expected loss, so one ridge on transformed
labels is the cheapest candidate. Five folds of the training rows, each method at its best λ of the grid; CPU
seconds of one fit and its predictions.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from benchmarks._data import real
from hyperlabel import CalibratedLabelRanking
from hyperlabel.metrics import ranking_loss
from hyperlabel.model_selection import IterativeStratifiedKFold
from hyperlabel.solvers.arrays import as_dense

ALPHAS = [0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5]


def pair_weights(Y):
    """Return 1/(|y||ȳ|) of each row, 0 for rows without pairs."""
    n_pairs = Y.sum(axis=1) * (Y.shape[1] - Y.sum(axis=1))
    return np.divide(1.0, n_pairs, out=np.zeros(len(Y)), where=n_pairs > 0)


def plain(alpha, X, Y, X_new):
    return Ridge(alpha=alpha).fit(X, Y).predict(X_new)


def weighted_rows(alpha, X, Y, X_new):
    weights = pair_weights(Y) / pair_weights(Y).mean()
    return Ridge(alpha=alpha).fit(X, Y, sample_weight=weights).predict(X_new)


def weighted_labels(alpha, X, Y, X_new):
    return Ridge(alpha=alpha).fit(X, Y * pair_weights(Y)[:, None]).predict(X_new)


def calibrated(alpha, X, Y, X_new):
    return CalibratedLabelRanking(alpha=alpha).fit(X, Y).decision_function(X_new)


def main() -> None:
    for name in ("emotions", "scene", "yeast"):
        data = real(name, "train")
        X, Y = StandardScaler().fit_transform(as_dense(data.X)), as_dense(data.Y).astype(float)
        folds = list(IterativeStratifiedKFold(5, shuffle=True, random_state=0).split(X, Y))
        reference = None
        for method in (plain, weighted_rows, weighted_labels, calibrated):
            start = time.process_time()
            losses = np.array(
                [
                    [ranking_loss(Y[test], method(a, X[train], Y[train], X[test])) for train, test in folds]
                    for a in ALPHAS
                ]
            )
            seconds = (time.process_time() - start) / losses.size
            best = losses.mean(axis=1).argmin()
            reference = losses[best] if reference is None else reference
            gain = reference - losses[best]
            print(
                f"{name:9s}{method.__name__:17s} λ {ALPHAS[best]:<8g}loss {losses[best].mean():.4f} "
                f"below plain by {gain.mean():+.4f} ± {gain.std(ddof=1) / 5**0.5:.4f}  CPU {seconds:.4f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()

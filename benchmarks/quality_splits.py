"""How nodes of LabelForest part rows, by columns or by means, inside the training rows of all shared sets.

Training rows are split again, 70 to 30, several times, at most 6000 of them; no test row of the published
splits is looked at. Rows are prepared as AutoMultiLabel does: dense columns to unit variance, rows of mostly
zeros as tf-idf (unit length where entries are negative). Micro-F1 has one threshold for all labels, macro-F1
one for each, tuned on the trees' own out-of-fold scores. Seconds are CPU time of the fit, compiled code
warm. The default takes means for sets with most entries zero, marked with a star; gains are of means over
columns.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_splits [name …] [--splits 3]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import Normalizer, StandardScaler

from benchmarks.quality_nested import ranked, training_rows
from benchmarks.quality_published import THRESHOLDS, threshold
from hyperlabel import LabelForest
from hyperlabel.metrics import f1_score
from hyperlabel.solvers.arrays import mostly_zero

NAMES = (
    "emotions",
    "scene",
    "yeast",
    "medical",
    "genbase",
    "corel5k",
    "yahoo-arts",
    "yahoo5k-computers",
    "debtags",
)
NAMES += ("imageclef07a", "mediamill-real4k", "mediamill-disc3", "delicious")
TREES = 99


def prepared(X: Any, train: np.ndarray) -> Any:
    if not mostly_zero(X):
        X = X.toarray() if sparse.issparse(X) else X
        return StandardScaler().fit(X[train]).transform(X)
    X = sparse.csr_array(X)
    way = TfidfTransformer() if X.data.min(initial=0.0) >= 0 else Normalizer()
    return sparse.csr_array(way.fit(X[train]).transform(X))


def measured(X: Any, Y: Any, C: Any, T: Any, splits: str) -> list[float]:
    LabelForest(2, splits=splits).fit(X[:50], Y[:50])  # compiled
    start = time.process_time()
    model = LabelForest(TREES, splits=splits, cv=3, random_state=0).fit(X, Y)
    spent = time.process_time() - start
    scores = model.decision_function(C)
    sets = {average: threshold(average, model.oof_scores_, Y, scores)[1] for average in THRESHOLDS}
    return [*ranked(T, scores), *(f1_score(T, P, average=average) for average, P in sets.items()), spent]


def row(name: str, values: np.ndarray, shown: str = ".3f") -> None:
    cells = " | ".join(f"{value:{shown}}" for value in values[:-1])
    print(f"| {name} | {cells} | {values[-1]:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | P@1 | nDCG@5 | ranking loss | micro-F1 | macro-F1 | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for name in options.names:
        X, Y = training_rows(name)
        found: dict[str, list[list[float]]] = {"columns": [], "means": []}
        for seed in range(options.splits):
            some = np.random.default_rng(seed).permutation(X.shape[0])[:6000]
            train, test = np.split(some, [7 * len(some) // 10])
            rows = prepared(X, train)
            for splits, values in found.items():
                values.append(measured(rows[train], Y[train], rows[test], Y[test], splits))
        star = "*" if mostly_zero(X) else ""
        means = {splits: np.mean(values, axis=0) * [1, 1, -1, 1, 1, 1] for splits, values in found.items()}
        for splits, values in means.items():
            row(f"{name}{star}, {splits}", values)
        gained = np.array(found["means"])[:, :5] - np.array(found["columns"])[:, :5]
        error = gained.std(axis=0, ddof=1) / np.sqrt(len(gained))
        cells = " | ".join(f"{g:+.3f} ± {e:.3f}" for g, e in zip(gained.mean(axis=0), error, strict=True))
        print(f"| gain | {cells} | {means['columns'][-1] / means['means'][-1]:.1f} times |", flush=True)


if __name__ == "__main__":
    main()

"""What a scikit-learn user gets without hyperlabel, and with it: python -m benchmarks.first_contact [set …]

On the published split of each set, rows scaled to tf-idf of unit length for every method:

- one-vs-rest LinearSVC as it comes (decision at 0);
- the same with a threshold for each label that maximises its F1 on three-fold out-of-fold scores, written by
  hand with scikit-learn's parts;
- ``ThresholdTuner()`` with its defaults.

Prints micro-F1, macro-F1, precision at 1 on the test rows, and CPU seconds of one thread for fit and predict.
The test rows of these splits have been read before; nothing here is chosen by them.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks._data import real
from hyperlabel import ThresholdTuner
from hyperlabel.metrics import f1_score, precision_at_k

FILE = Path(__file__).with_suffix(".json")
SETS = ("enron", "medical", "bibtex", "yahoo-arts")


def tuned_by_hand(scores: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return for each label the score from which on its F1 is largest."""
    thresholds = np.full(Y.shape[1], np.inf)  # a label without a positive sample is never predicted
    for j in np.flatnonzero(Y.sum(axis=0)):
        precision, recall, candidates = precision_recall_curve(Y[:, j], scores[:, j])
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        thresholds[j] = candidates[f1[:-1].argmax()]
    return thresholds


def run(name: str) -> list[tuple[Any, ...]]:
    """Return the rows of one data set."""
    train, test = real(name, "train"), real(name, "test")
    scaler = TfidfTransformer(sublinear_tf=True).fit(train.X)
    X, X_test = scaler.transform(train.X), scaler.transform(test.X)
    Y, Y_test = np.asarray(train.Y.todense()).astype(int), np.asarray(test.Y.todense()).astype(int)
    rows = []

    def note(method: str, sets: Any, scores: np.ndarray, seconds: float) -> None:
        f1 = [f1_score(Y_test, sets, average=average) for average in ("micro", "macro")]
        rows.append((name, method, *f1, precision_at_k(Y_test, scores, k=1), seconds))

    start = time.process_time()
    model = OneVsRestClassifier(LinearSVC()).fit(X, Y)
    scores = model.decision_function(X_test)
    plain_seconds = time.process_time() - start
    note("one-vs-rest LinearSVC", (scores > 0).astype(int), scores, plain_seconds)
    start = time.process_time()
    folds = KFold(3, shuffle=True, random_state=0)
    held_out = cross_val_predict(OneVsRestClassifier(LinearSVC()), X, Y, cv=folds, method="decision_function")
    sets = (scores >= tuned_by_hand(held_out, Y)).astype(int)
    note("the same, thresholds by hand", sets, scores, plain_seconds + time.process_time() - start)
    start = time.process_time()
    tuner = ThresholdTuner().fit(X, Y)
    scores = tuner.decision_function(X_test)
    sets = tuner.predict(X_test)
    note("`ThresholdTuner()`", sets, scores, time.process_time() - start)
    return rows


def main(names: list[str]) -> None:
    """Print the rows and, when all sets were run, keep them for the README."""
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    warnings.filterwarnings("ignore", message="Label .* is present in")
    run("medical")  # compiled code and imports do not count
    rows = []
    for name in names or SETS:
        rows += run(name)
        for row in rows[-3:]:
            print(*row[:2], *(f"{value:.3f}" for value in row[2:]), sep="  ")
    if not names:
        kept = [[*row[:2], *(round(float(value), 4) for value in row[2:])] for row in rows]
        note = "Written by python -m benchmarks.first_contact, read by tools/readme.py; do not edit."
        FILE.write_text(json.dumps({"note": note, "rows": kept}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

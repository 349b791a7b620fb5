"""Import and --help time; shared-solve BinaryRelevance against scikit-learn's RidgeClassifier.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.bench_foundation

RidgeClassifier solves sparse rows label by label, so nine random ninths of the labels, fitted in turn with
ours on all of them, cost one fit and give nine measurements.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier

from benchmarks._timing import data_folder, median_seconds, ratio, show
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import read_arff


def _python(*arguments: str) -> float:
    command = [sys.executable, *arguments]
    return median_seconds(lambda: subprocess.run(command, check=True, capture_output=True))


def _against_ridge_classifier(X: Any, Y: Any, dense_Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Processor seconds of ours on all labels and of RidgeClassifier, scaled up from a ninth of them."""
    BinaryRelevance(alpha=1.0).fit(X, Y)
    RidgeClassifier().fit(X, dense_Y[:, :2])
    ours, theirs = [], []
    for labels in np.array_split(np.random.default_rng(0).permutation(dense_Y.shape[1]), 9):
        start = time.process_time()
        BinaryRelevance(alpha=1.0).fit(X, Y)
        middle = time.process_time()
        RidgeClassifier().fit(X, dense_Y[:, labels])
        ours.append(middle - start)
        theirs.append((time.process_time() - middle) * dense_Y.shape[1] / len(labels))
    return np.array(ours), np.array(theirs)


def measured() -> dict[str, Any]:
    """Seconds of either side on sparse delicious, and how far the scores of seen labels are apart."""
    folder = data_folder() / "delicious"
    train = read_arff(folder / "delicious-train.arff.gz", labels=folder / "delicious.xml")
    dense_X, dense_Y = train.X.toarray(), train.Y.toarray()
    ours, theirs = _against_ridge_classifier(train.X, train.Y, dense_Y)
    tight = RidgeClassifier(solver="cholesky").fit(dense_X, dense_Y).decision_function(dense_X[:2000])
    error = np.abs(BinaryRelevance(alpha=1.0).fit(train.X, train.Y).decision_function(train.X[:2000]) - tight)
    return {"ours": ours, "theirs": theirs, "difference": error[:, dense_Y.any(axis=0)].max()}


def main() -> None:
    bare = _python("-c", "pass")
    lazy = _python("-c", "import hyperlabel")
    help_page = _python("-m", "hyperlabel", "--help")
    found = measured()
    times = ratio(found["theirs"], found["ours"])
    rows = [
        ("import hyperlabel above bare python", f"{1000 * (lazy - bare):.0f} ms", "under 60 ms"),
        ("hyperlabel --help", f"{help_page:.2f} s", "under 0.4 s"),
        ("delicious, sparse: RidgeClassifier / BinaryRelevance", times, "at least 50x"),
        ("delicious: largest score difference, seen labels", f"{found['difference']:.1e}", "at most 1e-8"),
    ]
    show("Foundation", rows)


if __name__ == "__main__":
    main()

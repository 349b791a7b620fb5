"""Import and --help time; shared-solve BinaryRelevance against scikit-learn's RidgeClassifier."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from sklearn.linear_model import RidgeClassifier

from benchmarks._timing import data_folder, median_seconds, show
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import read_arff


def _python(*arguments: str) -> float:
    command = [sys.executable, *arguments]
    return median_seconds(lambda: subprocess.run(command, check=True, capture_output=True))


def main() -> None:
    bare = _python("-c", "pass")
    lazy = _python("-c", "import hyperlabel")
    help_page = _python("-m", "hyperlabel", "--help")
    rows = [
        ("import hyperlabel above bare python", f"{1000 * (lazy - bare):.0f} ms", "under 60 ms"),
        ("hyperlabel --help", f"{help_page:.2f} s", "under 0.4 s"),
    ]
    folder = data_folder() / "delicious"
    train = read_arff(folder / "delicious-train.arff.gz", labels=folder / "delicious.xml")
    dense_X, dense_Y = train.X.toarray(), train.Y.toarray()
    ours = median_seconds(lambda: BinaryRelevance().fit(train.X, train.Y))
    theirs = median_seconds(lambda: RidgeClassifier().fit(train.X, dense_Y), repeats=1, warm=0)
    ratio = theirs / ours
    rows.append(("delicious, sparse: RidgeClassifier / BinaryRelevance", f"{ratio:.0f}x", "at least 50x"))
    tight = RidgeClassifier(solver="cholesky").fit(dense_X, dense_Y).decision_function(dense_X[:2000])
    seen = dense_Y.any(axis=0)
    error = np.abs(BinaryRelevance().fit(train.X, train.Y).decision_function(train.X[:2000]) - tight)[:, seen]
    rows.append(("delicious: largest score difference, seen labels", f"{error.max():.1e}", "at most 1e-8"))
    show("Foundation", rows)


if __name__ == "__main__":
    main()

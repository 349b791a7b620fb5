"""Print a digest of what models answer, computed in the way asked for: plain, threads, fork or joblib.

Run by test_processes.py in processes of its own, which have no threads when they fork.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import Parallel, delayed

import hyperlabel


def digest(_: int = 0) -> str:
    """Fit and ask models with and without compiled code."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = (X[:, :4] + rng.normal(size=(60, 4)) > 0).astype(int)
    found = hashlib.sha256()
    for model in (
        hyperlabel.BinaryRelevance(),
        hyperlabel.PLST(2),
        hyperlabel.MLkNN(3),
        hyperlabel.RankSVM(random_state=0),
        hyperlabel.ThresholdTuner(hyperlabel.BinaryRelevance(), cv=2),
    ):
        model.fit(X, Y)
        found.update(np.ascontiguousarray(model.decision_function(X)).tobytes())
        found.update(np.ascontiguousarray(model.predict(X)).tobytes())
    return found.hexdigest()


def digests(way: str) -> list[str]:
    if way == "threads":  # the first calls of compiled code come from all of them at once
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(digest, range(8)))
    if way == "fork":  # from a process that has already computed
        before = digest()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return [before, *pool.map(digest, range(2)), digest()]
    if way == "joblib":
        return Parallel(n_jobs=2, backend="loky")(delayed(digest)(i) for i in range(2))
    return [digest()]


if __name__ == "__main__":
    print(*sorted(set(digests(sys.argv[1]))))

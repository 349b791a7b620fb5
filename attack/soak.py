"""Fit, predict, update, save and load in one process for a while: `python -m attack.soak --minutes 20`.

Memory must stay flat: the median of the last tenth of the time within 2 % of the median of the first tenth
after everything has run a few times (imports, compiled code and pools of memory are there by then).
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import hyperlabel

WARM = 5  # rounds before memory counts
ALLOWED = 0.02


def memory() -> int:
    """Bytes of this process in memory now."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def one_round(folder: Path, rng: np.random.Generator) -> None:
    """Take models of every kind of room through their lives, on rows of their own."""
    X = rng.normal(size=(400, 30))
    Y = (X[:, :5] + rng.normal(size=(400, 5)) > 0.5).astype(int)
    thin = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    texts = [" ".join(f"w{int(10 * abs(value))}" for value in row[:8]) for row in X[:60]]
    for rows, model in (
        (X, hyperlabel.BinaryRelevance()),
        (thin, hyperlabel.PLST(2)),
        (X, hyperlabel.ProjectionClassifier(hyperlabel.HypergraphSpectral(2))),
        (X, hyperlabel.MLkNN(5)),
        (thin, hyperlabel.RankSVM(max_iter=20, tol=0.5)),
        (X, hyperlabel.ThresholdTuner(hyperlabel.BinaryRelevance(), cv=2)),
        (texts, make_pipeline(TfidfVectorizer(), hyperlabel.BinaryRelevance())),
    ):
        half = (len(texts) if rows is texts else len(X)) // 2
        if hasattr(model, "partial_fit"):  # begun by it, too: a fit keeps no moments
            model.partial_fit(rows[:half], Y[:half]).partial_fit(rows[half:], Y[half : 2 * half])
        else:
            model.fit(rows[:half], Y[:half])
        before = model.predict(rows[:half])
        path = folder / "m.hyper"
        hyperlabel.save(model, path)
        after = hyperlabel.load(path).predict(rows[:half])
        if (before != after).sum():
            raise SystemExit(f"{type(model).__name__} predicts otherwise after a save and a load.")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attack.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    options = parser.parse_args(arguments)
    rng, taken = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(WARM):
            one_round(Path(folder), rng)
        end = time.monotonic() + 60 * options.minutes
        while time.monotonic() < end or len(taken) < 10:
            one_round(Path(folder), rng)
            taken.append(memory())
    tenth = len(taken) // 10
    first, last = statistics.median(taken[:tenth]), statistics.median(taken[-tenth:])
    print(
        f"{len(taken)} rounds in {options.minutes:g} minutes: {first / 2**20:.1f} MB at first, "
        f"{last / 2**20:.1f} MB at last ({100 * (last / first - 1):+.2f} %)"
    )
    return int(last > (1 + ALLOWED) * first)


if __name__ == "__main__":
    sys.exit(main())

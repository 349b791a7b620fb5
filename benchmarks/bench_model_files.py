"""Model files: their size, and the time of save and load beside joblib's pickles of a scikit-learn ridge.

    python -m benchmarks.bench_model_files

`RidgeClassifier` holds the weights alone, so it stands beside a model without moments and beside one with
them. CPU time, median of nine, both sides in turn within one run; 1000 features × 1000 labels.
"""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from statistics import median

import joblib
import numpy as np
from sklearn.linear_model import RidgeClassifier

import hyperlabel
from benchmarks._timing import show
from hyperlabel.meta.updating import without_training_rows

N, D, K, ROUNDS = 2000, 1000, 1000, 9


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    Y = (X @ rng.normal(size=(D, K)) + 20 * rng.normal(size=(N, K)) > 20).astype(int)
    peer = RidgeClassifier(alpha=1.0).fit(X, 2 * Y - 1)
    models = {
        "without moments": without_training_rows(hyperlabel.BinaryRelevance(alpha=1.0).fit(X, Y), sums=False),
        "with moments": hyperlabel.BinaryRelevance(alpha=1.0).fit(X, Y),
    }
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder, "peer.joblib"), Path(folder, "model.hyper")
        for name, model in models.items():
            steps: dict[str, Callable[[], object]] = {
                "save": lambda model=model: hyperlabel.save(model, ours),
                "dump": lambda: joblib.dump(peer, theirs),
                "load": lambda: hyperlabel.load(ours),
                "unchecked": lambda: hyperlabel.load(ours, check=False),
                "read": lambda: joblib.load(theirs),
            }
            seconds: dict[str, list[float]] = {step: [] for step in steps}
            for _ in range(ROUNDS):
                for step, work in steps.items():
                    work()  # so that no step finds the memory that another one left
                    seconds[step].append(cpu_seconds(work))
            s = {step: median(values) for step, values in seconds.items()}
            content = ours.read_bytes()
            digest = median(cpu_seconds(lambda: zlib.crc32(content)) for _ in range(ROUNDS))  # noqa: B023
            sizes = f"{os.path.getsize(ours) / 2**20:.1f} / {os.path.getsize(theirs) / 2**20:.1f}"
            rows = [("MB", sizes, "")]
            for step, peer_step, wanted in (
                ("save", "dump", "≤ 2"),
                ("load", "read", "≤ 3"),
                ("unchecked", "read", ""),
            ):
                times = f"{1000 * s[step]:.1f} / {1000 * s[peer_step]:.1f} ms"
                rows.append((step, times, f"{s[step] / s[peer_step]:.2f}   {wanted}"))
            rows.append(("CRC-32 alone", f"{1000 * digest:.1f} ms", f"{digest / s['read']:.2f} of a load"))
            show(f"{name}, ours / joblib", rows)


if __name__ == "__main__":
    main()

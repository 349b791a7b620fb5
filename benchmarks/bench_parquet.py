"""Parquet files: `Moments.from_batches` and `FileChunks` beside reading alone and a loop by hand.

    python -m benchmarks.bench_parquet             # 6 files, .4 GB in TMPDIR, one thread
    python -m benchmarks.bench_parquet 40 --rounds 3

Files of 60 000 rows × 256 float32 and 20 labels of int8. The loop by hand reads batches of 8192 rows, stacks
their columns in double precision, and adds XᵀX (`dsyrk`) and XᵀY. Each pass has a process of its own: CPU
seconds are medians of the rounds, memory is the largest resident size above that of the imports.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measure import AddedMemory, in_process

ROWS, FEATURES, LABELS = 60_000, 256, 20
NAMES = [f"l{j}" for j in range(LABELS)]


def make(folder: Path, n_files: int) -> float:
    """Write the files; return their size in GB."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    W = rng.standard_normal((FEATURES, LABELS), dtype="f4")
    for i in range(n_files):
        X = rng.standard_normal((ROWS, FEATURES), dtype="f4")
        Y = (X @ W / 16 > 1.3).astype("i1")
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)} | {
            name: Y[:, j] for j, name in enumerate(NAMES)
        }
        pyarrow.parquet.write_table(
            pyarrow.table(columns),
            folder / f"{i:03d}.parquet",
            compression="none",
            use_dictionary=False,
            row_group_size=20_000,
        )
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e9


def read_only(folder: Path) -> None:
    from pyarrow import dataset

    for _ in dataset.dataset(folder, format="parquet").to_batches(batch_size=8192):
        pass


def sum_by_hand(folder: Path) -> None:
    from pyarrow import dataset
    from scipy.linalg.blas import dsyrk

    gram, cross = np.zeros((FEATURES, FEATURES)), np.zeros((LABELS, FEATURES))
    for batch in dataset.dataset(folder, format="parquet").to_batches(batch_size=8192):
        columns = [column.to_numpy() for column in batch.columns]
        X, Y = (np.stack(part).astype(float) for part in (columns[:FEATURES], columns[FEATURES:]))
        gram += dsyrk(1.0, X)
        cross += Y @ X.T


def from_batches(folder: Path) -> None:
    from pyarrow import dataset

    from hyperlabel import BinaryRelevance, Moments

    sums = Moments.from_batches(dataset.dataset(folder, format="parquet"), labels=NAMES)
    BinaryRelevance.from_moments(sums)


def file_chunks(folder: Path) -> None:
    from hyperlabel import BinaryRelevance, outofcore

    chunks = outofcore.FileChunks(sorted(folder.iterdir()), labels=NAMES)
    outofcore.fit(BinaryRelevance(), chunks, precision="double")


WAYS: dict[str, Callable[[Path], None]] = {
    "reading alone": read_only,
    "loop by hand": sum_by_hand,
    "from_batches": from_batches,
    "FileChunks": file_chunks,
}


def measure(way: str, folder: Path) -> None:
    """Run one way, and say what it took."""
    import pyarrow
    import pyarrow.dataset  # imports are not measured
    import scipy.linalg  # noqa: F401

    import hyperlabel.outofcore  # noqa: F401

    pyarrow.set_cpu_count(1)
    memory, cpu = AddedMemory(), time.process_time()
    WAYS[way](folder)
    print(json.dumps({"cpu": time.process_time() - cpu, "peak_gb": memory.megabytes() / 1000}))


def main() -> None:
    parser = argparse.ArgumentParser(description="Sums over Parquet files beside a loop by hand.")
    parser.add_argument("files", nargs="?", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        measure(options.way, options.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        size = make(Path(name), options.files)
        runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, results in runs.items():
                results.append(in_process(__file__, "--way", way, "--folder", name))
    by_hand = statistics.median(run["cpu"] for run in runs["loop by hand"])
    print(f"{options.files} files, {size:.2f} GB, median of {options.rounds}; load {os.getloadavg()[0]:.1f}")
    print(f"{'way':16} {'CPU s':>7} {'ratio':>7} {'peak GB':>8} {'of the files':>13}")
    for way, results in runs.items():
        cpu = statistics.median(run["cpu"] for run in results)
        peak = max(run["peak_gb"] for run in results)
        print(f"{way:16} {cpu:7.2f} {cpu / by_hand:7.2f} {peak:8.2f} {peak / size:13.2f}")


if __name__ == "__main__":
    main()

"""Reading delicious (sparse, 983 labels) and scene (dense): ours beside liac-arff and scipy."""

from __future__ import annotations

import gzip
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import arff
import numpy as np
from scipy import sparse
from scipy.io.arff import loadarff

from hyperlabel.datasets import read_arff


def _taken(work: Callable[[Path], object], path: Path) -> float:
    """Processor seconds: both sides run in one thread, and a busy machine does not disturb them."""
    start = time.process_time()
    work(path)
    return time.process_time() - start


def _liac_lists(path: Path) -> object:
    """liac-arff as it comes: a list of dictionaries of strings."""
    with gzip.open(path, "rt") as stream:
        return arff.load(stream, return_type=arff.LOD)


def _liac_arrays(path: Path) -> object:
    """liac-arff to the same result: sparse X and Y as numbers."""
    with gzip.open(path, "rt") as stream:
        found = arff.load(stream, encode_nominal=True, return_type=arff.COO)
    values, rows, columns = found["data"]
    raw = sparse.csr_array((np.array(values, dtype=float), (rows, columns)))
    return raw[:, :500], raw[:, 500:]


def _liac_dense(path: Path) -> object:
    with gzip.open(path, "rt") as stream:
        found = np.array(arff.load(stream, encode_nominal=True)["data"], dtype=float)
    return found[:, :294], found[:, 294:]


def _scipy(path: Path) -> object:
    with gzip.open(path, "rt") as stream:
        return loadarff(stream)


def main() -> None:
    folder = Path(os.environ.get("HYPERLABEL_DATA") or "../shared/data")
    if not folder.is_dir():
        print("bench_arff: no real data folder (set HYPERLABEL_DATA); nothing to time")
        return
    delicious, scene = "delicious/delicious-train.arff.gz", "scene/scene-train.arff.gz"
    print(f"{'file':26} {'peer':12} {'ours s':>8} {'peer s':>8} {'ratio':>7}")
    for file, peer, work in [
        (delicious, "liac lists", _liac_lists),
        (delicious, "liac arrays", _liac_arrays),
        (scene, "liac arrays", _liac_dense),
        (scene, "scipy", _scipy),
    ]:
        path = folder / file
        read_arff(path)
        pairs = [(_taken(read_arff, path), _taken(work, path)) for _ in range(5)]
        ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"{path.name:26} {peer:12} {ours:8.3f} {theirs:8.3f} {theirs / ours:6.1f}x")


if __name__ == "__main__":
    main()

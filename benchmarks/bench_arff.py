"""Reading ARFF: delicious and scene beside liac-arff and scipy, then every dense file beside liac-arff.

    python -m benchmarks.bench_arff

CPU time, median of nine, both in turn. liac-arff gives lists of Python numbers and words, ours arrays.
"""

from __future__ import annotations

import gzip
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

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


def _liac_rows(path: Path) -> object:
    """liac-arff as it comes: a list of rows."""
    with _open_text(path) as stream:
        return arff.load(stream)


def _open_text(path: Path) -> TextIO:
    return gzip.open(path, "rt") if path.suffix == ".gz" else open(path)


def _is_sparse(path: Path) -> bool:
    with _open_text(path) as stream:
        return any(line.startswith("{") for line in stream)


def _compare(path: Path, peer: str, work: Callable[[Path], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns of words are left out
        read_arff(path)
        pairs = [(_taken(read_arff, path), _taken(work, path)) for _ in range(9)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"{path.name:26} {peer:12} {ours:8.4f} {theirs:8.4f} {theirs / ours:6.2f}x", flush=True)


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
        _compare(path, peer, work)
    for path in sorted(folder.glob("*/*.arff*")):
        if path.parent.name != "trees" and not _is_sparse(path):  # liac-arff refuses hierarchies
            _compare(path, "liac lists", _liac_rows)


if __name__ == "__main__":
    main()

"""What alpha="auto" costs: processor time of the fit that chooses λ and threshold over the fit at that λ.

Median of nine rounds in one run. Sets: delicious and yahoo-arts (real), 100 000 × 384 × 1000 and
20 000 × 2000 × 100 (made up; float32, as embeddings are).

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.bench_auto [name …] [--rounds 9]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from benchmarks._data import real
from benchmarks._timing import ratio, rounds, show
from hyperlabel import BinaryRelevance

LIMITS = {"delicious": 2.5, "embeddings": 2.5, "wide": 4.0, "yahoo-arts": 3.0}


def rows(name: str) -> tuple[Any, sparse.csr_array]:
    if name in ("delicious", "yahoo-arts"):
        data = real(name)
        return sparse.csr_array(normalize(data.X)), sparse.csr_array(data.Y)
    n, d, k = (100_000, 384, 1000) if name == "embeddings" else (20_000, 2000, 100)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    W = rng.standard_normal((d, k), dtype=np.float32)
    noise = rng.standard_normal((n, k), dtype=np.float32) * np.sqrt(d)
    return X, sparse.csr_array((X @ W + noise > 2.5 * np.sqrt(2 * d)).astype(np.float64))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(LIMITS))
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    lines = []
    for name in given.names or LIMITS:
        X, Y = rows(name)
        alpha = BinaryRelevance(alpha="auto").fit(X, Y).alpha_
        auto, plain = BinaryRelevance(alpha="auto"), BinaryRelevance(alpha=alpha)
        times = rounds({"auto": partial(auto.fit, X, Y), "given": partial(plain.fit, X, Y)}, given.rounds)
        shape = f"{name} {X.shape[0]} × {X.shape[1]} × {Y.shape[1]}, λ = {alpha:.3g}"
        lines.append((shape, ratio(times["auto"], times["given"]), f"at most {LIMITS[name]}x"))
        show("alpha='auto' over the fit at that λ", lines[-1:])


if __name__ == "__main__":
    main()

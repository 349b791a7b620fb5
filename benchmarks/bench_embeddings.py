"""Dense embeddings: 10⁶ rows × 1000 labels, the shared solve's sweet spot (out of core, float32).

Run: python -m benchmarks.bench_embeddings [rows] [columns …]. Chunks are drawn from a small pool made
beforehand, so that the time is the fit's own; each width runs in its own process. "of the product" is the CPU
time of NumPy's XᵀX alone (half of the multiplications: it is symmetric) over that of the fit, "of a general
one" that of XᵀZ for another Z; both 2048 rows at a time, in turn with fits of a fifth of the rows, medians of
nine ratios. The peak of a quarter of the rows stands in brackets: it does not grow with them.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy import sparse

from benchmarks._timing import rounds
from benchmarks.measure import in_process, peak_gb

LABELS, CHUNK = 1_000, 20_000


def one(rows: int, n_rounds: int, columns: int) -> None:
    from hyperlabel import BinaryRelevance, outofcore

    rng = np.random.default_rng(0)
    pool = []
    for _ in range(4):
        carried = rng.integers(0, LABELS, size=CHUNK * 3)
        Y = sparse.csr_array(
            (np.ones(CHUNK * 3), carried, np.arange(0, CHUNK * 3 + 1, 3)), shape=(CHUNK, LABELS)
        )
        Y.sum_duplicates()
        Y.data[:] = 1
        pool.append((rng.standard_normal((CHUNK, columns), dtype=np.float32), Y))

    class Chunks:
        def __init__(self, n: int) -> None:
            self.n = n

        def __len__(self) -> int:
            return self.n

        def __getitem__(self, i: int) -> tuple[np.ndarray, sparse.csr_array]:
            return pool[i % len(pool)]

    def product(other: np.ndarray | None) -> None:
        for i in range(rows // CHUNK // 5):
            X = pool[i % len(pool)][0]
            for first in range(0, CHUNK, 2048):
                block = X[first : first + 2048]
                block.T @ (block if other is None else other[: len(block)])

    outofcore.fit(BinaryRelevance(alpha=1.0), Chunks(1))
    start = time.process_time()
    model = outofcore.fit(BinaryRelevance(alpha=1.0), Chunks(rows // CHUNK))
    found = {"fit": time.process_time() - start, "peak_gb": peak_gb(), "model_mb": model.coef_.nbytes / 1e6}
    start = time.process_time()
    model.predict_topk(pool[0][0], k=5)
    found["rows_s"] = CHUNK / (time.process_time() - start)
    other = rng.standard_normal((2048, columns), dtype=np.float32)
    times = rounds(
        {
            "fit": lambda: outofcore.fit(BinaryRelevance(alpha=1.0), Chunks(rows // CHUNK // 5)),
            "symmetric": lambda: product(None),
            "general": lambda: product(other),
        },
        n_rounds,
    )
    shares = {name: float(np.median(times[name] / times["fit"])) for name in ("symmetric", "general")}
    print(json.dumps(found | shares))


def main(rows: int = 1_000_000, *widths: int) -> None:
    print(f"{rows:,} rows × {LABELS} labels (3 per row), float32, one thread; CPU seconds", flush=True)
    for columns in widths or (384, 768, 1024):
        row, quarter = (in_process(__file__, "one", *size, columns) for size in ((rows, 9), (rows // 4, 1)))
        print(
            f"  {columns:>5} columns: fit {row['fit']:.1f} s ({rows / row['fit']:,.0f} rows/s, "
            f"{row['symmetric']:.0%} of the product, {row['general']:.0%} of a general one), "
            f"top-5 {row['rows_s']:,.0f} rows/s, "
            f"peak {row['peak_gb']:.2f} GB ({quarter['peak_gb']:.2f}), model {row['model_mb']:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(*(int(value) for value in sys.argv[2:]))
    else:
        main(*(int(value) for value in sys.argv[1:]))

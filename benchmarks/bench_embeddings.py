"""Dense embeddings: 10⁶ rows × 1000 labels, the shared solve's sweet spot (out of core, float32).

Run: python -m benchmarks.bench_embeddings [rows] [columns …]. Chunks are drawn from a small pool made
beforehand, so that the time is the fit's own; each width runs in its own process.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy import sparse

from benchmarks.measure import in_process, peak_gb

LABELS, CHUNK = 1_000, 20_000


def one(rows: int, columns: int) -> None:
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
        def __len__(self) -> int:
            return rows // CHUNK

        def __getitem__(self, i: int) -> tuple[np.ndarray, sparse.csr_array]:
            return pool[i % len(pool)]

    start = time.process_time()
    model = outofcore.fit(BinaryRelevance(), Chunks())
    seconds = time.process_time() - start
    start = time.process_time()
    model.predict_topk(pool[0][0], k=5)
    found = {"fit": seconds, "rows_s": CHUNK / (time.process_time() - start), "peak_gb": peak_gb()}
    print(json.dumps(found | {"model_mb": model.coef_.nbytes / 1e6}))


def main(rows: int = 1_000_000, *widths: int) -> None:
    print(f"{rows:,} rows × {LABELS} labels (3 per row), float32, one thread; CPU seconds", flush=True)
    for columns in widths or (384, 768, 1024):
        row = in_process(__file__, "one", rows, columns)
        print(
            f"  {columns:>5} columns: fit {row['fit']:.0f} s ({rows / row['fit']:,.0f} rows/s), "
            f"top-5 {row['rows_s']:,.0f} rows/s, peak {row['peak_gb']:.2f} GB, "
            f"model {row['model_mb']:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*(int(value) for value in sys.argv[1:]))

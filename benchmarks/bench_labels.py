"""Many labels: PLST on 500 000 synthetic labels within 16 GB (a memory claim, not one of quality).

Run: python -m benchmarks.bench_labels [labels] [rows]. Y stays sparse from end to end; predictions are the
five best labels of each row, formed a few rows at a time, never rows × labels.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import sparse

from benchmarks.bench_wide import size_mb
from benchmarks.measure import peak_gb

COLUMNS, COMPONENTS = 256, 32


def main(labels: int = 500_000, rows: int = 100_000) -> None:
    from hyperlabel import PLST

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    weight = np.arange(1, labels + 1) ** -0.8
    carried = rng.choice(labels, size=(rows, 5), p=weight / weight.sum())
    Y = sparse.csr_array(
        (np.ones(rows * 5, dtype=np.int8), carried.ravel(), np.arange(0, rows * 5 + 1, 5)),
        shape=(rows, labels),
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    start = time.process_time()
    model = PLST(COMPONENTS, alpha=1.0).fit(X, Y)
    fit = time.process_time() - start
    start = time.process_time()
    best, _ = model.predict_topk(X[:1_000], k=5)
    predict = time.process_time() - start
    print(f"PLST({COMPONENTS}), {rows:,} × {COLUMNS} rows, {labels:,} labels ({Y.nnz:,} ones)")
    print(f"  fit {fit:.0f} CPU s, {len(best) / predict:.0f} rows/s for the five best labels of each row")
    print(f"  peak {peak_gb():.2f} GB (at most 16), model {size_mb(model):.0f} MB")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))

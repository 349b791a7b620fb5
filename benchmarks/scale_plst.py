"""PLST on 100 000 labels × 100 000 rows in bounded memory; prints time and peak resident size.

Power-law labels, ten to a row, sparse features; M = 256; predict_topk never forms n×K.

Run: OMP_NUM_THREADS=1 python -m benchmarks.scale_plst [--labels 100000] [--rows 100000]
"""

from __future__ import annotations

import argparse
import resource
import time

from hyperlabel import PLST
from hyperlabel.datasets import make_multilabel
from hyperlabel.metrics import precision_at_k, propensities, psp_at_k


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--components", type=int, default=256)
    given = parser.parse_args()
    data = make_multilabel(
        given.rows + 1000,
        given.features,
        given.labels,
        cardinality=10,
        exponent=1.0,
        density=0.01,
        noise=0.2,
        random_state=0,
    )
    X, Y = data.X, data.Y
    n = given.rows
    print(f"X {X.shape}, {X.nnz / X.shape[0]:.1f} per row; Y {Y.shape}, {Y.nnz / Y.shape[0]:.1f} per row")
    print(f"peak so far {peak_gigabytes():.2f} GB", flush=True)
    start = time.perf_counter()
    model = PLST(given.components, alpha=1.0).fit(X[:n], Y[:n])
    seconds, peak = time.perf_counter() - start, peak_gigabytes()
    print(f"fit with M = {given.components}: {seconds:.1f} s, peak {peak:.2f} GB")
    print(f"certificates: directions {model.encoder_.residual_:.1e}, ridge {model.residual_:.1e}", flush=True)
    start = time.perf_counter()
    best = model.predict_topk(X[n:], 5)
    seconds = time.perf_counter() - start
    print(f"predict_topk of {X.shape[0] - n} rows: {seconds:.1f} s, peak {peak_gigabytes():.2f} GB")
    p1, psp1 = (
        precision_at_k(Y[n:], best, k=1),
        psp_at_k(Y[n:], best, propensities=propensities(Y[:n]), k=1),
    )
    print(f"P@1 {p1:.4f}, PSP@1 {psp1:.4f}")


if __name__ == "__main__":
    main()

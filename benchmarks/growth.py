"""Growth curves: time and memory of one fit against n, d, k and nonzeros, with log–log slopes.

Run: python -m benchmarks.growth [wide | routes]
"routes" grows dense rows in one process, for the routes that suit other shapes; "wide" grows the text of
bench_wide, solved by conjugate gradients: nnz·k steps a product.
Slope 1 is linear; seconds are CPU seconds of one thread. The shared ridge sums XᵀX in n·d² (dense) or Σ nnz²
(sparse) steps and XᵀY in nnz(Y)·d, and factors d³/3: slopes are 1 in n, up to 2–3 in d, and below 1 in
k, where the shared part dominates.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy import sparse

from benchmarks.bench_wide import make
from benchmarks.measure import AddedMemory, in_process

BASE = {"n": 40_000, "d": 256, "k": 100, "nnz": 0}
CURVES = {
    "n": [20_000, 40_000, 80_000, 160_000],
    "d": [128, 256, 512, 1024],
    "k": [50, 200, 800, 3200],
    "nnz": [8, 16, 32, 64],
}
WIDE_BASE = {"n": 20_000, "d": 20_000, "k": 200, "terms": 60}
WIDE = {
    "n": [10_000, 20_000, 40_000, 80_000],
    "d": [10_000, 20_000, 40_000, 80_000],
    "k": [100, 200, 400, 800],
    "terms": [30, 60, 120, 240],
}


ROUTES = {  # rows, columns, labels
    "samples": (1000, 4000, 50),
    "rows": (4000, 250, 50),
    "lsqr": (2000, 250, 10),
    "krylov": (3000, 1500, 50),
}


def routes() -> None:
    """Print how each route grows around its base: the best of two solves for every size."""
    from hyperlabel.solvers.ridge import solve_ridge

    rng = np.random.default_rng(0)
    for route, base in ROUTES.items():
        print(f"{route}: dense rows, base {base[0]} × {base[1]}, {base[2]} labels", flush=True)
        for place, axis in enumerate("ndk"):
            sizes, seconds = [base[place] * factor for factor in (1, 2, 4)], []
            for size in sizes:
                n, d, k = (size if i == place else value for i, value in enumerate(base))
                X, Y, took = rng.standard_normal((n, d)), (rng.random((n, k)) < 0.1) * 1.0, []
                for _ in range(2):
                    start = time.process_time()
                    solve_ridge(X, Y, alphas=(n,), solver=route, tol=1e-4).solve(n)
                    took.append(time.process_time() - start)
                seconds.append(min(took))
            slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            cells = "  ".join(f"{size}: {each:.2f} s" for size, each in zip(sizes, seconds, strict=True))
            print(f"  {axis}  {cells}   log–log slope {slope:.2f}", flush=True)


def one_wide(n: int, d: int, k: int, terms: int) -> None:
    """Fit text once in this process after a small warm-up."""
    from hyperlabel import BinaryRelevance

    X, Y = make(n, d, k, terms=terms)
    BinaryRelevance(solver="krylov").fit(X[:500], Y[:500])
    memory = AddedMemory()
    start = time.process_time()
    BinaryRelevance(solver="krylov").fit(X, Y)
    print(json.dumps({"seconds": time.process_time() - start, "mb": memory.megabytes(), "nnz": X.nnz}))


def one(n: int, d: int, k: int, nnz: int) -> None:
    """Fit once in this process after a small warm-up; nnz > 0 means sparse rows with so many nonzeros."""
    from hyperlabel import BinaryRelevance

    rng = np.random.default_rng(0)
    if nnz:
        indices = rng.integers(0, d, size=n * nnz, dtype=np.int32)
        X = sparse.csr_array((rng.random(n * nnz), indices, np.arange(0, n * nnz + 1, nnz)), shape=(n, d))
        X.sum_duplicates()
    else:
        X = rng.standard_normal((n, d))
    Y = sparse.csr_array(
        (np.ones(3 * n), rng.integers(0, k, size=3 * n, dtype=np.int32), np.arange(0, 3 * n + 1, 3)),
        shape=(n, k),
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    BinaryRelevance().fit(X[:500], Y[:500])
    memory = AddedMemory()
    start = time.process_time()
    BinaryRelevance().fit(X, Y)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "mb": memory.megabytes()}))


def main(which: str = "") -> None:
    if which == "routes":
        return routes()
    if which == "wide":
        print(f"BinaryRelevance().fit on text; base {WIDE_BASE}")
        for axis, values in WIDE.items():
            curve(axis, values, [{**WIDE_BASE, axis: value} for value in values], "wide")
        return
    print("BinaryRelevance().fit; base n=40000, d=256 dense, k=100 (3 per row); nnz curve: sparse, d=2000")
    for axis, values in CURVES.items():
        extra = {"d": 2000} if axis == "nnz" else {}
        curve(axis, values, [{**BASE, axis: value} | extra for value in values])


def curve(axis: str, values: list[int], sizes: list[dict[str, int]], *which: str) -> None:
    """Fit each size three times; print the best times and how they grow."""
    seconds, memory = [], []
    for size in sizes:
        runs = [in_process(__file__, *which, *size.values()) for _ in range(3)]
        seconds.append(min(run["seconds"] for run in runs))
        memory.append(min(run["mb"] for run in runs))
    slope = np.polyfit(np.log(values), np.log(seconds), 1)[0]
    grown = np.polyfit(np.log(values), np.log(np.maximum(memory, 0.1)), 1)[0]
    cells = "  ".join(f"{v}: {s:.2f} s {g:.0f} MB" for v, s, g in zip(values, seconds, memory, strict=True))
    print(f"  {axis:>5}  {cells}   log–log slope: time {slope:.2f}, memory {grown:.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 6:
        one_wide(*(int(value) for value in sys.argv[2:]))
    elif len(sys.argv) == 5:
        one(*(int(value) for value in sys.argv[1:]))
    else:
        main(*sys.argv[1:])

"""Growth curves: time and memory of one fit against rows, columns, labels and nonzeros, with log–log slopes.

Run: python -m benchmarks.growth [case …]   (without a case: table and sparse)
Every size is fitted three times in a process of its own, one thread: the best CPU seconds count, and the
memory that the first fit added. Slope 1 is linear. "table", "sparse", "wide" and "hinge" are
`BinaryRelevance`: sums of n·d² (dense) or Σ nnz² (sparse) steps and a factorisation of d³/3 for the first
two, conjugate gradients of nnz·k steps a product for the text of bench_wide, the squared hinge on the same
text (α = 1) for the last. The others are one route of `solve_ridge` each, on dense
rows, to 1e-4.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.bench_wide import make
from benchmarks.measure import AddedMemory, in_process

BASES = {  # rows, columns, labels, nonzeros of a row (0: dense)
    "table": (40_000, 256, 100, 0),
    "sparse": (40_000, 2000, 100, 16),
    "wide": (20_000, 20_000, 200, 60),
    "hinge": (20_000, 20_000, 200, 60),
    "samples": (1000, 4000, 50, 0),
    "rows": (4000, 250, 50, 0),
    "lsqr": (8000, 500, 20, 0),
    "krylov": (3000, 1500, 50, 0),
}
AXES = ("rows", "columns", "labels", "nonzeros")
STEPS = (0.5, 1, 2, 4)
WIDER = {("table", 2): (0.5, 2, 8, 32)}  # labels hardly count there


def data(case: str, n: int, d: int, k: int, nnz: int) -> tuple[Any, sparse.csr_array]:
    """Rows of a case with three random labels each; text has labels that its words tell."""
    if case in ("wide", "hinge"):
        return make(n, d, k, terms=nnz)
    rng = np.random.default_rng(0)
    if nnz:
        indices = rng.integers(0, d, size=n * nnz, dtype=np.int32)
        X = sparse.csr_array((rng.random(n * nnz), indices, np.arange(0, n * nnz + 1, nnz)), shape=(n, d))
        X.sum_duplicates()
    else:
        X = rng.standard_normal((n, d))
    carried = rng.integers(0, k, size=3 * n, dtype=np.int32)
    Y = sparse.csr_array((np.ones(3 * n), carried, np.arange(0, 3 * n + 1, 3)), shape=(n, k))
    Y.sum_duplicates()
    Y.data[:] = 1
    return X, Y


def fit(case: str, X: Any, Y: sparse.csr_array) -> None:
    if case in ("table", "sparse", "wide", "hinge"):
        from hyperlabel import BinaryRelevance

        route = {"wide": {"solver": "krylov"}, "hinge": {"loss": "squared_hinge"}}.get(case, {})
        BinaryRelevance(alpha=1.0, **route).fit(X, Y)
    else:
        from hyperlabel.solvers.ridge.routes import solve_ridge

        solve_ridge(X, Y.toarray(), alphas=(len(X),), solver=case, tol=1e-4).solve(len(X))


def one(case: str, *shape: int) -> None:
    """Fit three times in this process after a small warm-up; memory is that of the first."""
    X, Y = data(case, *shape)
    fit(case, X[:500], Y[:500])
    memory, seconds = AddedMemory(), []
    for turn in range(3):
        start = time.process_time()
        fit(case, X, Y)
        seconds.append(time.process_time() - start)
        if not turn:
            megabytes = memory.megabytes()
    print(json.dumps({"seconds": min(seconds), "mb": megabytes}))


def curve(case: str, place: int) -> None:
    """Print how a case grows along one of its sizes."""
    sizes, seconds, memory = [], [], []
    for step in WIDER.get((case, place), STEPS):
        shape = list(BASES[case])
        shape[place] = int(shape[place] * step)
        found = in_process(__file__, "one", case, *shape)
        sizes.append(shape[place])
        seconds.append(found["seconds"])
        memory.append(found["mb"])
    slopes = [np.polyfit(np.log(sizes), np.log(np.maximum(of, 1e-3)), 1)[0] for of in (seconds, memory)]
    cells = "  ".join(f"{v}: {s:.2f} s {m:.0f} MB" for v, s, m in zip(sizes, seconds, memory, strict=True))
    print(f"  {AXES[place]:<9}{cells}   slope: time {slopes[0]:.2f}, memory {slopes[1]:.2f}", flush=True)


def main(*cases: str) -> None:
    for case in cases or ("table", "sparse"):
        n, d, k, nnz = BASES[case]
        kind = f"{nnz} nonzeros a row" if nnz else "dense"
        print(f"{case}: around {n:,} × {d:,} rows, {kind}, {k} labels", flush=True)
        for place in range(4 if nnz else 3):
            curve(case, place)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], *(int(value) for value in sys.argv[3:]))
    else:
        main(*sys.argv[1:])

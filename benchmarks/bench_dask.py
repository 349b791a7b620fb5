"""Two Dask workers against one on the same fit, and a worker killed in the middle.

Run: python -m benchmarks.bench_dask [rows]. Workers are processes with one thread each; data are made on the
workers block by block, so nothing but sums travels. Needs two free cores to mean anything.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from hyperlabel import BinaryRelevance, distributed


def rows_and_labels(n: int, d: int = 600, k: int = 50, chunk: int = 10_000) -> tuple[da.Array, da.Array]:
    X = da.random.default_rng(0).standard_normal((n, d), chunks=(chunk, d))
    return X, (X[:, :k] > 1).astype(np.int8)


def fit_once(client: Client, n: int) -> tuple[BinaryRelevance, float]:
    X, Y = rows_and_labels(n)
    start = time.perf_counter()
    model = distributed.fit(BinaryRelevance(alpha=1.0), X, Y, client=client)
    return model, time.perf_counter() - start


def main(n: int = 200_000, repeats: int = 3) -> None:
    seconds: dict[int, list[float]] = {1: [], 2: []}
    whole = None
    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
        for workers in (1, 2):
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster) as client,
            ):
                fit_once(client, 20_000)  # imports and first pages
                for _ in range(repeats):
                    model, took = fit_once(client, n)
                    seconds[workers].append(took)
                whole = model if whole is None else whole
                if workers == 2:
                    victim = next(iter(client.run(os.getpid).values()))
                    timer = threading.Timer(
                        statistics.median(seconds[2]) / 2, os.kill, (victim, signal.SIGKILL)
                    )
                    timer.start()
                    survived, took = fit_once(client, n)
                    timer.join()
    one, two = (statistics.median(seconds[w]) for w in (1, 2))
    scale = np.abs(whole.coef_).max()
    print(f"{n:,} × 600 float64, 50 labels, blocks of 10,000 rows; load average {os.getloadavg()[0]:.1f}")
    print(f"  1 worker {one:.1f} s, 2 workers {two:.1f} s: {one / two:.2f}× faster (at least 1.6 wanted)")
    print(f"  a worker killed (SIGKILL) mid-fit: {took:.1f} s, coefficients differ by", end=" ")
    print(f"{np.abs(survived.coef_ - whole.coef_).max() / scale:.1e} relative")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))

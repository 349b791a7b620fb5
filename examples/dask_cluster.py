"""A scheduler and two workers as separate processes on loopback: fit, predict, compare with memory.

Run: python examples/dask_cluster.py
On several machines start the same commands there (``dask scheduler``; ``dask worker tcp://HOST:PORT``)
and give the scheduler's address to Client; nothing else changes.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import dask.array as da
import numpy as np
from distributed import Client

from hyperlabel import BinaryRelevance, distributed


def start(*command: str) -> subprocess.Popen:
    """Start ``dask …`` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes = [start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")]
    try:
        processes += [
            start("worker", address, "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard")
            for _ in range(2)
        ]
        with Client(address, timeout="60s") as client:
            client.wait_for_workers(2, timeout=60)
            run(client)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def run(client: Client) -> None:
    # The rows are made on the workers; real ones would be read there (dask.dataframe.read_parquet, …).
    rows = da.random.default_rng(0).normal(size=(20_000, 100), chunks=(2_500, 100))
    labels = (rows[:, :20] + rows[:, 20:40] > 1.0).astype(int)
    begin = time.perf_counter()
    model = distributed.fit(BinaryRelevance(), rows, labels, client=client)
    print(f"fitted 20,000 rows on 2 workers in {time.perf_counter() - begin:.1f} s, imports included")
    right = (distributed.predict(model, rows) == labels).mean()  # lazy: nothing computed yet
    print(f"entries right: {right.compute():.3f}")
    X, Y = client.compute((rows, labels), sync=True)
    difference = np.abs(model.coef_ - BinaryRelevance().fit(X, Y).coef_).max()
    print(f"largest difference from the fit in memory: {difference:.1e}")


if __name__ == "__main__":
    main()

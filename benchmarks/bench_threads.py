"""What a user gets who sets no number of threads: a fit with the default threads of BLAS, and with one.

    python -m benchmarks.bench_threads                    # 60 000 × 300, 100 labels
    python -m benchmarks.bench_threads 300000 300 500 --repeats 9

Each number of threads has a process of its own, since BLAS reads it once. XᵀX and XᵀY alone, by NumPy, are
measured in turns with the fit: the ratio of the two says more than seconds on a machine that others use.
Wanted: the default threads are not slower than one.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def wall_and_cpu(run: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of one call, by the clock and of all processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(n_rows: int, n_features: int, n_labels: int, repeats: int) -> dict[str, list[float]]:
    """Return the median wall and CPU seconds of the fit and of the products alone."""
    from hyperlabel import BinaryRelevance

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    Y = (rng.random((n_rows, n_labels)) < 0.05).astype(np.float64)
    runs: dict[str, Callable[[], Any]] = {
        "products": lambda: (X.T @ X, X.T @ Y),
        "fit": lambda: BinaryRelevance(alpha=1.0).fit(X, Y),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            time.sleep(0.2)  # threads that wait since the last call go to sleep
            seconds = wall_and_cpu(run)
            if turn:
                times[name].append(seconds)
    return {name: np.median(found, axis=0).tolist() for name, found in times.items()}


def in_own_process(sizes: list[str], threads: int | None) -> dict[str, list[float]]:
    """Measure with so many BLAS threads, or with those that BLAS takes by itself."""
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    if threads is not None:
        environment |= dict.fromkeys(THREADS, str(threads))
    command = [sys.executable, "-m", "benchmarks.bench_threads", *sizes, "--worker"]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def main(arguments: list[str] | None = None) -> None:
    """Print both numbers of threads side by side."""
    parser = argparse.ArgumentParser(description="A fit with the default threads of BLAS, and with one.")
    parser.add_argument("sizes", nargs="*", type=int, default=[60_000, 300, 100], help="rows columns labels")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.worker:
        print(json.dumps(measure(*asked.sizes, asked.repeats)))
        return
    sizes = [*map(str, asked.sizes), "--repeats", str(asked.repeats)]
    rows, columns, labels = asked.sizes
    print(f"{rows} × {columns}, {labels} labels; median of {asked.repeats}; load {os.getloadavg()[0]:.1f}")
    print(
        f"{'threads':>8} {'fit wall':>9} {'CPU':>6} {'XᵀX, XᵀY wall':>14} {'CPU':>6} {'fit / products':>15}"
    )
    walls = {}
    for name, threads in (("one", 1), ("default", None)):
        found = in_own_process(sizes, threads)
        (fit, fit_cpu), (products, products_cpu) = found["fit"], found["products"]
        walls[name] = fit
        print(
            f"{name:>8} {fit:9.3f} {fit_cpu:6.2f} {products:14.3f} {products_cpu:6.2f} {fit / products:15.2f}"
        )
    print(f"default / one, wall of the fit: {walls['default'] / walls['one']:.2f} (wanted: at most 1)")


if __name__ == "__main__":
    main()

"""Out-of-core fit of 10⁶ × 1000 float32 rows (4 GB, 50 labels) against NumPy reading the file and
summing XᵀX chunk by chunk, which is as fast as any fit that needs XᵀX can be.

Run: python -m benchmarks.bench_outofcore [rows] [repeats]   (needs 4.3 GB in TMPDIR)
Each side runs in its own process, threads fixed, the two alternating; median of the ratios.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import in_process, peak_gb

COLUMNS, LABELS, ROWS = 1000, 50, 16_384


def make(folder: Path, n: int) -> None:
    """Rows with an offset, labels that depend on them; written block by block."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((COLUMNS, LABELS), dtype=np.float32) / np.float32(COLUMNS**0.5)
    with open(folder / "X.npy", "wb") as x_file, open(folder / "Y.npy", "wb") as y_file:
        for file, dtype, width in ((x_file, np.float32, COLUMNS), (y_file, np.uint8, LABELS)):
            descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
            header = {"descr": descr, "fortran_order": False, "shape": (n, width)}
            np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n, ROWS):
            block = rng.standard_normal((min(ROWS, n - first), COLUMNS), dtype=np.float32)
            (block @ W > 1.5).astype(np.uint8).tofile(y_file)
            (block + np.float32(1)).tofile(x_file)


def numpy_side(folder: Path) -> None:
    with open(folder / "X.npy", "rb") as file:
        np.lib.format.read_magic(file)
        shape, _, _ = np.lib.format.read_array_header_1_0(file)
        start, cpu = time.perf_counter(), time.process_time()
        gram = np.zeros((COLUMNS, COLUMNS), dtype=np.float32)
        for first in range(0, shape[0], ROWS):
            X = np.fromfile(file, np.float32, min(ROWS, shape[0] - first) * COLUMNS).reshape(-1, COLUMNS)
            gram += X.T @ X
    seconds = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps(seconds | {"peak_gb": peak_gb()}))


def our_side(folder: Path) -> None:
    from hyperlabel import BinaryRelevance, outofcore

    start, cpu = time.perf_counter(), time.process_time()
    chunks = outofcore.RowChunks(folder / "X.npy", folder / "Y.npy", rows=ROWS)
    model = outofcore.fit(BinaryRelevance(alpha=1.0), chunks)
    seconds = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    peak = peak_gb()
    X, Y = chunks.X[slice(0, ROWS)], chunks.y[slice(0, ROWS)]
    right = float((model.predict(X) == Y).mean())
    none = float(1 - Y.mean())
    print(json.dumps(seconds | {"peak_gb": peak, "right": right, "none": none}))


def main(n: int = 1_000_000, repeats: int = 3) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, n)
        print(f"{n:,} × {COLUMNS} float32 on disk ({4e-9 * n * COLUMNS:.1f} GB), {LABELS} labels")
        print(
            "threads  NumPy XᵀX        outofcore.fit     ratio (≤ 2)  CPU ratio  entries right (predict none)"
        )
        for threads in (1, 2):
            runs = []
            for _ in range(repeats):
                reference = in_process(__file__, "numpy", folder, threads=threads)
                runs.append((reference, in_process(__file__, "ours", folder, threads=threads)))
            ratio, cpu = (statistics.median(b[key] / a[key] for a, b in runs) for key in ("seconds", "cpu"))
            cells = [
                f"{statistics.median(r[side]['seconds'] for r in runs):6.1f} s "
                f"{max(r[side]['peak_gb'] for r in runs):5.2f} GB"
                for side in (0, 1)
            ]
            ours = runs[0][1]
            right = f"{ours['right']:.4f} ({ours['none']:.4f})"
            print(f"{threads:7}  {cells[0]}  {cells[1]}  {ratio:11.2f}  {cpu:9.2f}  {right}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["numpy"]:
        numpy_side(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["ours"]:
        our_side(Path(sys.argv[2]))
    else:
        main(*(int(a) for a in sys.argv[1:3]))

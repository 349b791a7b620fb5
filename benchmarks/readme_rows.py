"""Take the README's measured rows anew: python -m benchmarks.readme_rows PYTHON-WITH-OMIKUJI [benchmark …]

What the benchmarks gave goes into readme_rows.json beside this file, with the day and the machine;
`python tools/readme.py` fills the README from it, and CI compares the two. One thread (OMP_NUM_THREADS=1);
HYPERLABEL_DATA names the benchmark files, and apt must know Debian bookworm (tools/build_debtags.py).
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

FILE = Path(__file__).with_suffix(".json")
NAMES = ("bench_foundation", "bench_closed_form_cv", "bench_text", "bench_rank", "case_documents")
NOTE = (
    "Processor seconds of one thread, both sides in turn, on a machine with other work: only their ratios "
    "mean something. Written by python -m benchmarks.readme_rows, read by tools/readme.py; do not edit."
)


def digits(value: Any) -> Any:
    """Four digits of a number or of several."""
    if np.ndim(value):
        return [digits(each) for each in value]
    return value if isinstance(value, int) else float(f"{value:.4g}")


def circumstances() -> dict[str, Any]:
    """When and where: the day, the processor, its load, the versions that decide the speed."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return {
        "date": datetime.date.today().isoformat(),
        "processor": f"{os.cpu_count()} × {model}",
        "load": round(os.getloadavg()[1], 1),
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}",
    }


def write(rows: dict[str, Any]) -> None:
    """One line a row."""
    lines = [f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in rows.items()]
    FILE.write_text(f'{{"note": {json.dumps(NOTE)},\n"rows": {{\n' + ",\n".join(lines) + "\n}}\n")


def main(python: str, *names: str) -> None:
    rows = json.loads(FILE.read_text())["rows"] if FILE.exists() else {}
    for name in names or NAMES:
        measured = importlib.import_module(f"benchmarks.{name}").measured
        found = measured(python) if name == "bench_text" else measured()
        rows[name] = circumstances() | {key: digits(value) for key, value in found.items()}
        print(name, rows[name], flush=True)
        write(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])

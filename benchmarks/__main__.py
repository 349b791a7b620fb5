"""``python -m benchmarks [section …]``: peers and growth by default, the heavy ones by name (SECTIONS)."""

from __future__ import annotations

import importlib
import sys

SECTIONS = {
    "peers": "benchmarks.peers",
    "growth": "benchmarks.growth",
    "outofcore": "benchmarks.bench_outofcore",
    "dask": "benchmarks.bench_dask",
    "wide": "benchmarks.bench_wide",
    "labels": "benchmarks.bench_labels",
    "embeddings": "benchmarks.bench_embeddings",
}


def main() -> None:
    chosen = sys.argv[1:] or ["peers", "growth"]
    for section in chosen:
        if section not in SECTIONS:
            raise SystemExit(f"There is no benchmark {section!r}: choose from {', '.join(SECTIONS)}.")
    for section in chosen:
        print(f"\n== {section}", flush=True)
        importlib.import_module(SECTIONS[section]).main()


if __name__ == "__main__":
    main()

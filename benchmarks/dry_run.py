"""What ``hyperlabel fit --dry-run`` says beside what the fit then takes: peak memory.

Run: python -m benchmarks.dry_run
Embedded data, benchmark files (HYPERLABEL_DATA) and made texts; each command in its own process, one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._timing import data_folder


def run(*arguments: str) -> tuple[str, float]:
    """Run a command; return what it printed, and peak MiB."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([sys.executable, *arguments], stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{arguments} failed")
        out.seek(0)
        return out.read().decode(), usage.ru_maxrss / 1024


def made_texts(path: Path, n_rows: int, n_words: int) -> Path:
    """Write texts of words that follow a power law, with tags their words tell of."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, n_words + 1)
    words = np.array([f"w{i}" for i in range(n_words)])
    with open(path, "w", encoding="utf-8") as file:
        file.write("text,tags\n")
        for _ in range(n_rows):
            drawn = rng.choice(n_words, 60, p=share / share.sum())
            file.write(f"{' '.join(words[drawn])},{';'.join(f't{j % 50}' for j in set(drawn[:3]))}\n")
    return path


def main() -> None:
    folder = data_folder()
    with tempfile.TemporaryDirectory() as place:
        files = {
            "debtags": ["debtags"],
            "emotions": [str(folder / "emotions" / "emotions.arff")],
            "medical": [str(folder / "medical" / "medical.arff")],
            "yahoo-arts": [str(folder / "yahoo-arts.npz")],
            "made texts": [str(made_texts(Path(place, "t.csv"), 8000, 20_000)), "--labels", "tags"],
        }
        print(f"{'file':12} {'route':8} {'planned MiB':>11} {'taken':>6} ratio")
        for name, call in files.items():
            fit = ["-m", "hyperlabel", "fit", *call, "-o", str(Path(place, "m.hyper")), "--json"]
            plan = json.loads(run(*fit, "--dry-run")[0])
            _, peak = run(*fit)
            size = plan["peak_bytes"] / 2**20
            print(f"{name:12} {plan['route']:8} {size:11.0f} {peak:6.0f} {size / peak:5.2f}", flush=True)


if __name__ == "__main__":
    main()

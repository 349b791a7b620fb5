"""One text from the command line beside the import of scikit-learn's linear models: CPU seconds, one run.

Run: python -m benchmarks.start_up
Nine runs of each, in turn, the first of each thrown away (cold caches); medians and their ratio.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 9


def cpu_seconds(command: list[str]) -> float:
    """Run a command; return the CPU seconds it took, user and system."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "t.csv"), Path(folder, "m.hyper")
        colours = ["red", "green", "blue", "black"]
        lines = [f'"{a} and {b} things {i % 97}",{a};{b}' for i, (a, b) in enumerate(_pairs(colours, 2000))]
        table.write_text("text,tags\n" + "\n".join(lines) + "\n")
        python = [sys.executable, "-m", "hyperlabel"]
        cpu_seconds([*python, "fit", str(table), "--labels", "tags", "-o", str(model)])
        calls = {
            "hyperlabel predict --text": [*python, "predict", str(model), "--text", "a red thing"],
            "import sklearn.linear_model": [sys.executable, "-c", "import sklearn.linear_model"],
        }
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(RUNS + 1):
            for name, call in calls.items():
                times[name].append(cpu_seconds(call))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:30} {value:.2f} s (from {min(times[name][1:]):.2f} to {max(times[name][1:]):.2f})")
    one, other = medians.values()
    print(f"ratio {one / other:.2f}")


def _pairs(names: list[str], count: int) -> list[tuple[str, str]]:
    return [(names[i % 4], names[(i // 4 + i) % 4]) for i in range(count)]


if __name__ == "__main__":
    main()

"""``hyperlabel serve`` with Debian's package descriptions: start, single texts, batches, and minutes of both.

    python -m benchmarks.bench_serve [--minutes 10]

One server process on loopback. Beside wall times, which other jobs on the machine lengthen, stand CPU times
of the server from /proc (Linux): the whole cost of a request, HTTP included. The texts are the words of the
embedded packages in the order of the vocabulary.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from benchmarks._timing import show
from hyperlabel.datasets import load_debtags

PORT, SINGLES, BATCHES, SIZE = 5087, 1500, 60, 32


def texts(folder: Path) -> list[str]:
    """Write packages as a table of texts and tags; return the texts."""
    data = load_debtags()
    X, Y = data.X.tocsr(), data.Y.tocsr()
    words, tags = np.asarray(data.feature_names, dtype=object), np.asarray(data.label_names, dtype=object)
    found = [" ".join(words[X.indices[X.indptr[i] : X.indptr[i + 1]]]) for i in range(len(data))]
    with open(folder / "packages.jsonl", "w", encoding="utf-8") as file:
        for i, text in enumerate(found):
            carried = tags[Y.indices[Y.indptr[i] : Y.indptr[i + 1]]].tolist()
            file.write(json.dumps({"body": text, "tags": carried}) + "\n")
    return found


def cpu(pid: int) -> float:
    """Seconds all threads of a process have run; one that ends meanwhile does not count."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            continue
    return total / 1e9


def resident(pid: int) -> float:
    """Megabytes of memory a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def ask(link: http.client.HTTPConnection, work: str, body: str, kind: str) -> None:
    link.request("POST", f"/v1/projects/packages/{work}", body, {"Content-Type": kind})
    answer = link.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()


def single(link: http.client.HTTPConnection, text: str) -> None:
    ask(link, "suggest", urlencode({"text": text}), "application/x-www-form-urlencoded")


def batch(link: http.client.HTTPConnection, several: list[str]) -> None:
    ask(link, "suggest-batch", json.dumps({"documents": [{"text": t} for t in several]}), "application/json")


def first_answer(text: str) -> http.client.HTTPConnection:
    while True:
        link = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        try:
            single(link, text)
            return link
        except OSError:
            time.sleep(0.01)


def timed(pid: int, runs: list) -> tuple[np.ndarray, np.ndarray]:
    """Wall and CPU seconds of each run."""
    wall, busy = [], []
    for run in runs:
        start, before = time.perf_counter(), cpu(pid)
        run()
        wall.append(time.perf_counter() - start)
        busy.append(cpu(pid) - before)
    return np.array(wall), np.array(busy)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=0.0)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = texts(folder)
        command = [sys.executable, "-m", "hyperlabel"]
        fit = ["fit", str(folder / "packages.jsonl"), "--labels", "tags", "--text", "body"]
        model = str(folder / "packages.hyper")
        subprocess.run([*command, *fit, "-o", model], check=True, capture_output=True)
        start = time.perf_counter()
        server = subprocess.Popen([*command, "serve", model, "--port", str(PORT)], stdout=subprocess.DEVNULL)
        try:
            link = first_answer(found[0])
            rows = [("first answer, wall", f"{time.perf_counter() - start:.2f} s", "2 s")]
            rows.append(("first answer, CPU", f"{cpu(server.pid):.2f} s", ""))
            rows += _rates(link, server.pid, found)
            rows += _memory(link, server.pid, found, minutes)
            show(f"hyperlabel serve, {os.getloadavg()[0]:.0f} jobs waiting on {os.cpu_count()} cores", rows)
        finally:
            server.terminate()
            server.wait()


def _rates(link: http.client.HTTPConnection, pid: int, found: list[str]) -> list[tuple[str, str, str]]:
    wall, busy = timed(pid, [lambda t=t: single(link, t) for t in found[:SINGLES]])
    parts = [found[i : i + SIZE] for i in range(0, SIZE * BATCHES, SIZE)]
    batch_wall, batch_busy = timed(pid, [lambda p=p: batch(link, p) for p in parts])
    n = sum(map(len, parts))
    shown = [
        (f"{name}, {part}", f"{1000 * value:.2f} ms", wanted if part == "p99" else "")
        for name, times, wanted in (("single text, wall", wall, "10 ms"), ("single text, CPU", busy, "10 ms"))
        for part, value in (("median", np.median(times)), ("p99", np.percentile(times, 99)))
    ]
    return [
        *shown,
        ("texts in batches, wall", f"{n / batch_wall.sum():.0f} /s", "500 /s"),
        ("texts in batches, per CPU second", f"{n / batch_busy.sum():.0f} /s", "500 /s"),
    ]


def _memory(
    link: http.client.HTTPConnection, pid: int, found: list[str], minutes: float
) -> list[tuple[str, str, str]]:
    rng, end, seen, asked = np.random.default_rng(0), time.monotonic() + 60 * minutes, [resident(pid)], 0
    while time.monotonic() < end:
        for i in rng.integers(len(found), size=200):
            single(link, found[i])
        for _ in range(10):
            batch(link, [found[i] for i in rng.integers(len(found), size=SIZE)])
        asked += 200 + 10 * SIZE
        seen.append(resident(pid))
    if not asked:
        return [("memory", f"{seen[0]:.0f} MB", "")]
    half = seen[len(seen) // 2]
    return [
        (f"memory after {minutes:g} minutes", f"{seen[-1]:.1f} MB", f"{half:.1f} MB at half time"),
        ("texts answered meanwhile", str(asked), ""),
    ]


if __name__ == "__main__":
    main()

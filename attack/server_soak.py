"""Hundreds of clients of one server for a while: `python -m attack.server_soak --clients 500 --minutes 10`.

Each client keeps a connection and asks one thing after the other: a text, a batch, an explanation, a page of
the API. Some leave in the middle of a request. Every whole request must be answered with 200, a connection
that was closed while idle is opened again, and the server's memory must stay flat: the median of the last
tenth of the time within 5 % of that of the second tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

from attack.kill import command
from attack.record import record

ALLOWED = 0.05
WORDS = ["piano", "violin", "garden", "tree", "soup", "oven", "train", "map", "song", "river"]


def fitted(folder: Path) -> Path:
    """A text model of some size."""
    draw = random.Random(0)
    rows = [f"{' '.join(draw.choices(WORDS, k=8))} {i},{'music' if i % 2 else 'plants'}" for i in range(300)]
    (folder / "notes.csv").write_text("text,tags\n" + "\n".join(rows) + "\n")
    path = folder / "notes.hyper"
    command("fit", str(folder / "notes.csv"), "--labels", "tags", "--text", "text", "-o", str(path))
    return path


def request(draw: random.Random) -> bytes:
    """One whole request."""
    text, kind = " ".join(draw.choices(WORDS, k=12)), draw.random()
    if kind < 0.1:
        return b"GET /v1/projects HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if kind < 0.2:
        body, name, form = (
            json.dumps({"documents": [{"text": text}] * 8}),
            "suggest-batch",
            "application/json",
        )
    elif kind < 0.3:
        body, name, form = json.dumps({"text": text}), "explain", "application/json"
    else:
        body, name, form = urlencode({"text": text}), "suggest", "application/x-www-form-urlencoded"
    head = f"POST /v1/projects/notes/{name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {form}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def answer(reader: asyncio.StreamReader) -> int:
    """Read a whole answer; return its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head.split()[1])


async def client(port: int, number: int, ends: float, counts: Counter[str], waits: list[float]) -> None:
    """Ask until the time is over; nothing whole may stay without an answer."""
    draw, connection = random.Random(number), None
    while time.monotonic() < ends:
        content = request(draw)
        start = time.monotonic()
        for _ in range(3):
            fresh = connection is None
            try:
                if connection is None:
                    connection = await asyncio.open_connection("127.0.0.1", port)
                reader, writer = connection
                if draw.random() < 0.005:  # leave in the middle
                    writer.write(content[: len(content) // 2])
                    writer.close()
                    connection, fresh = None, True
                    counts["left half-way"] += 1
                    continue
                writer.write(content)
                status = await asyncio.wait_for(answer(reader), 60)
                counts[str(status)] += 1
                waits.append(time.monotonic() - start)
                break
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                counts[f"{'lost' if fresh else 'closed while idle'}"] += 1
                if fresh:
                    counts[f"lost: {type(error).__name__}"] += 1
                connection = None
        await asyncio.sleep(draw.uniform(0.0, 2.0))
    if connection is not None:
        connection[1].close()


async def warm(port: int) -> None:
    """Ask everything a few times, so that what is loaded at first use is there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    draw = random.Random(0)
    for _ in range(100):
        writer.write(request(draw))
        await answer(reader)
    writer.close()


def memory(pid: int) -> int:
    """Bytes of a process in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


async def soak(
    port: int, pid: int, clients: int, seconds: float
) -> tuple[Counter[str], list[float], list[int]]:
    counts: Counter[str] = Counter()
    waits: list[float] = []
    sizes: list[int] = []
    ends = time.monotonic() + seconds

    async def watch() -> None:
        while time.monotonic() < ends:
            sizes.append(memory(pid))
            await asyncio.sleep(max(0.2, seconds / 300))

    await asyncio.gather(watch(), *(client(port, i, ends, counts, waits) for i in range(clients)))
    return counts, waits, sizes


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attack.server_soak", description=__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--record", action="store_true", help="keep the figures for docs/reliability.md")
    options = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * options.clients)), hard))
    with tempfile.TemporaryDirectory() as name:
        serve = [
            sys.executable,
            "-m",
            "hyperlabel",
            "serve",
            str(fitted(Path(name))),
            "--port",
            "0",
            "--quiet",
        ]
        environment = {key: value for key, value in os.environ.items() if key != "HYPERLABEL_TOKEN"}
        server = subprocess.Popen(
            serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        try:
            port = int(re.search(r":(\d+)/ ", server.stdout.readline())[1])
            asyncio.run(warm(port))
            counts, waits, sizes = asyncio.run(soak(port, server.pid, options.clients, 60 * options.minutes))
            start = time.monotonic()
        finally:
            server.terminate()
        _, said = server.communicate(timeout=10)
        stopped = time.monotonic() - start
    tenth = max(1, len(sizes) // 10)
    first, last = statistics.median(sizes[tenth : 2 * tenth]), statistics.median(sizes[-tenth:])
    waits.sort()
    others = sum(n for status, n in counts.items() if status.isdigit()) - counts["200"]
    typical, slow = waits[len(waits) // 2], waits[int(0.99 * len(waits))]
    print(
        f"{options.clients} clients, {options.minutes:g} minutes: {counts['200']} answers of 200, {others} "
        f"others, {counts['lost']} lost, {counts['closed while idle']} closed while idle, "
        f"{counts['left half-way']} left half-way; half within {typical:.3f} s, 99 of 100 within {slow:.3f} s"
        f"; memory {first / 2**20:.1f} MB, then {last / 2**20:.1f} MB ({100 * (last / first - 1):+.1f} %); "
        f"stopped in {stopped:.1f} s"
    )
    if options.record:
        figures = {"clients": options.clients, "minutes": options.minutes, "answers": counts["200"]}
        figures |= {"others": others, "lost": counts["lost"], "left": counts["left half-way"]}
        figures |= {"half": typical, "slow": slow, "first": first / 2**20, "last": last / 2**20}
        record("soak", figures | {"stopped": stopped})
    wrong = {
        key: n for key, n in counts.items() if key.startswith("lost:") or (key.isdigit() and key != "200")
    }
    if wrong or "Traceback" in said:
        print(wrong, said[-2000:], file=sys.stderr)
    return int(bool(wrong) or "Traceback" in said or last > (1 + ALLOWED) * first)


if __name__ == "__main__":
    sys.exit(main())

"""Attack for a while: `python -m attack --seconds 60`; exits with 1 and keeps the inputs that got through.

A child does the work: if it dies by a signal, the input it died on is kept and the next child goes on.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import hyperlabel
from attack.record import record
from attack.targets import SLOW, TARGETS, WEIGHTS, Target, run

HANG_SECONDS = 10.0  # of processor time
SLOW_HANG_SECONDS = 60.0  # of a command, which may fit and compile
MEMORY = 3 << 30  # beyond what the attack itself takes
PACKAGE = Path(hyperlabel.__file__).parent
CORPUS = Path(__file__).parents[1] / "tests" / "attack" / "corpus"


class Hang(BaseException):
    """A read took longer than any small file may."""


def attempt(target: Target, path: Path, raw: bytes) -> str:
    """Return "read", "refused", or the signature of a finding: what was raised, and where in hyperlabel."""
    path.write_bytes(raw)
    signal.setitimer(signal.ITIMER_PROF, SLOW_HANG_SECONDS if target.name in SLOW else HANG_SECONDS)
    try:
        return run(target, path)
    except (Exception, Hang) as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [f for f in frames if Path(f.filename).is_relative_to(PACKAGE)]
        place = f"{Path(inside[-1].filename).name}:{inside[-1].name}" if inside else ""
        return f"{type(error).__name__} in {place or 'the check'}: {str(error)[:120]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if target.name == "store":
            for beside in ("-wal", "-shm", "-journal"):
                Path(f"{path}{beside}").unlink(missing_ok=True)


def minimise(target: Target, path: Path, raw: bytes, kind: str, tries: int = 400) -> bytes:
    """Return the shortest input found that fails in the same way."""
    is_slow = target.name in SLOW or kind.startswith("Hang")
    size, tries = len(raw) // 2, 20 if is_slow else tries
    while size and tries > 0:
        start = 0
        while start < len(raw) and tries > 0:
            tries -= 1
            shorter = raw[:start] + raw[start + size :]
            if attempt(target, path, shorter).split(":")[0] == kind:
                raw = shorter
            else:
                start += size
        size //= 2
    return raw


def work(
    folder: Path, names: list[str], seconds: float, count: int, seed: int, first: bool
) -> dict[str, Any]:
    """Attack in this process; the result is also what the parent reads when all went well."""
    signal.signal(signal.SIGPROF, _hang)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    rng = random.Random(seed)
    drawn = [name for name in names for _ in range(WEIGHTS.get(name, 1))]
    counts: Counter[str] = Counter()
    found: dict[str, tuple[str, bytes]] = {}
    current = os.open(folder / "current", os.O_WRONLY | os.O_CREAT)
    for name in names:  # what is fitted or compiled first is no part of an attack
        os.pwrite(current, name.ljust(20).encode(), 0)
        attempt(TARGETS[name], folder / f"{name}{TARGETS[name].ending}", TARGETS[name].make(rng))
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))
    end, done = time.monotonic() + seconds, 0
    while done < count and time.monotonic() < end and not (first and found):
        target = TARGETS[rng.choice(drawn)]
        path = folder / f"{target.name}{target.ending}"
        raw = target.make(rng)
        # Written over, never emptied: memory that was overrun ends the process anywhere.
        os.pwrite(current, target.name.ljust(20).encode(), 0)
        outcome = attempt(target, path, raw)
        done += 1
        if outcome in ("read", "refused"):
            counts[f"{target.name} {outcome}"] += 1
            continue
        counts[f"{target.name} FINDING"] += 1
        kind = outcome.split(":")[0]
        if f"{target.name} {kind}" not in found:
            small = minimise(target, path, raw, kind)
            found[f"{target.name} {kind}"] = (attempt(target, path, small), small)
            print(f"{target.name}: {outcome}", flush=True)
    return {
        "done": done,
        "counts": dict(sorted(counts.items())),
        "found": [[key.split()[0], words, raw.hex()] for key, (words, raw) in found.items()],
    }


def _hang(*_: object) -> None:
    raise Hang("more than its seconds of processor time")


def in_child(
    folder: Path, names: list[str], seconds: float, count: int, seed: int, first: bool
) -> dict[str, Any]:
    """Attack in a process of its own, whose death by a signal is a finding."""
    child = os.fork()
    if not child:
        faulthandler.disable()  # a death is reported by the parent, as a finding
        code = 1
        try:
            (folder / "result").write_text(json.dumps(work(folder, names, seconds, count, seed, first)))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        target = TARGETS[(folder / "current").read_text().rstrip()]
        raw = (folder / f"{target.name}{target.ending}").read_bytes()
        words = f"killed by signal {os.WTERMSIG(status)} (seed {seed})"
        print(f"{target.name}: {words}", flush=True)
        return {
            "done": 0,
            "counts": {f"{target.name} FINDING": 1},
            "found": [[target.name, words, raw.hex()]],
        }
    if status:
        raise SystemExit("The attack itself failed; see above.")
    return json.loads((folder / "result").read_text())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=10**9, help="stop after so many executions")
    parser.add_argument("--seed", type=int, default=None, help="by default another one every time")
    parser.add_argument("--first", action="store_true", help="stop at the first finding")
    quick = [name for name in TARGETS if name not in SLOW]
    parser.add_argument("--targets", nargs="+", default=quick, choices=list(TARGETS))
    parser.add_argument("--keep", type=Path, default=CORPUS, help="where inputs that got through are kept")
    parser.add_argument("--record", action="store_true", help="keep the figures for docs/reliability.md")
    options = parser.parse_args(arguments)
    seed = random.randrange(10**6) if options.seed is None else options.seed
    counts: Counter[str] = Counter()
    found: list[list[str]] = []
    start, done = time.monotonic(), 0
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a million files need no disk
    with tempfile.TemporaryDirectory(dir=fast) as folder:
        tempfile.tempdir = folder
        while (left := options.seconds - (time.monotonic() - start)) > 0 and done < options.count:
            part = in_child(Path(folder), options.targets, left, options.count - done, seed, options.first)
            done, seed = done + part["done"], seed + 1
            counts.update(part["counts"])
            found += part["found"]
            if found and options.first:
                break
        tempfile.tempdir = None
    for name, words, raw in found:
        options.keep.mkdir(parents=True, exist_ok=True)
        content = bytes.fromhex(raw)
        file = options.keep / f"{name}@{hashlib.sha256(content).hexdigest()[:12]}{TARGETS[name].ending}"
        file.write_bytes(content)
        print(f"kept {file.name} ({len(content)} bytes): {words}")
    for key, number in sorted(counts.items()):
        print(f"  {key:24} {number}")
    print(f"{done} executions in {time.monotonic() - start:.0f} s, {len(found)} findings (seed {seed - 1})")
    if options.record:
        executions: Counter[str] = Counter()
        for key, number in counts.items():
            executions[key.split()[0]] += number
        record("doors", {"executions": executions, "findings": len(found), "seed": seed - 1})
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

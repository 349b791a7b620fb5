"""Shared by the benchmarks: run a step in its own process; report time and peak memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def peak_gb() -> float:
    """Largest resident memory this process ever had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


class AddedMemory:
    """Peak resident memory above what the process held at the start, from a reset high-water mark (Linux)."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self.before = _status("VmRSS")

    def megabytes(self) -> float:
        """Megabytes added at the peak since the start."""
        return max(_status("VmHWM") - self.before, 0) * 1024 / 1e6


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def in_process(
    script: str, *arguments: Any, threads: int = 1, python: str = sys.executable, timeout: float | None = None
) -> dict[str, Any]:
    """Run ``script arguments…`` in a fresh process with fixed threads; its last line is JSON."""
    env = {**os.environ, **{f"{k}_NUM_THREADS": str(threads) for k in ("OMP", "OPENBLAS", "MKL", "NUMBA")}}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [python, script, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=ROOT, timeout=timeout)
    if done.returncode:
        said = (done.stderr.strip() or "no message").splitlines()
        raise RuntimeError(f"{Path(script).name} {' '.join(map(str, arguments))}: " + "\n".join(said[-5:]))
    return json.loads(done.stdout.strip().splitlines()[-1])

"""What the attacks measured, for docs/reliability.md: a command with `--record` writes its own part."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")


def read_results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def record(part: str, figures: dict[str, Any]) -> None:
    """Write what was measured, with the day and the commit it was measured on."""
    asked = ["git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    about = {"day": time.strftime("%Y-%m-%d"), "commit": commit}
    results = read_results() | {part: about | figures}
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")

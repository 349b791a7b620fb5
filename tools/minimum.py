"""Print the declared lower bounds as exact versions, for `make test-minimum`: one requirement per line.

`python tools/minimum.py` prints the core, the optional parts and what the tests themselves need;
`python tools/minimum.py core` leaves the optional parts out.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# What the tests import; the rest of the extra "dev" checks style and builds pages.
TESTING = ("pytest", "pytest-xdist", "hypothesis")
PEERS = ("liac-arff", "polars", "duckdb", "scikit-posthocs", "onnxruntime", "httpx")


def bounds(parts: str) -> list[str]:
    """Return ``name==bound`` for every requirement of the chosen parts."""
    settings = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
    project = settings["project"]
    extras = project["optional-dependencies"]
    wanted = list(project["dependencies"])
    names = TESTING
    if parts == "all":
        for extra in extras.keys() - {"all", "docs", "dev", "bench"}:
            wanted += extras[extra]
        wanted += settings["dependency-groups"]["reproduction"]
        names = TESTING + PEERS
    wanted += [one for one in extras["dev"] if re.split(r"[<>=\[]", one)[0] in names]
    return sorted({one.replace(">=", "==") for one in wanted})


if __name__ == "__main__":
    print("\n".join(bounds(sys.argv[1] if len(sys.argv) > 1 else "all")))

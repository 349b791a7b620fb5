"""Print the packages a fit passes through and draw the architecture: python tools/call_trace.py [--check].

A walk is the list of calls into the library's modules while an estimator is fitted. A *turn* is a step
between packages that goes up right after one that went down, or down right after up: data should walk one
way. ``--check`` compares the drawing with the architecture as it stands and fails when it is stale.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from architecture import ROOT, Architecture

DRAWING = ROOT / "docs" / "architecture.svg"
# Most turns that a journey may take, by the beginning of its name.
MOST_TURNS = {
    "BinaryRelevance": 7,
    "HypergraphSpectral": 5,
    "PLST": 14,
    "ThresholdTuner": 41,
    "RankSVM": 35,  # six of them to report its steps to callbacks
    "AutoMultiLabel": 1150,
    "hyperlabel fit": 117,
}
# Functions that validate y; wrappers should need one call for each fit.
Y_VALIDATION = {("_validation.py", "check_targets"), ("_known_labels.py", "encode_like")}


@dataclass(frozen=True)
class CallTrace:
    """Calls into the package while something ran, in order."""

    architecture: Architecture
    modules: list[Path]
    functions: list[str]

    @property
    def y_validations(self) -> int:
        """Number of calls that validate y."""
        calls = zip(self.modules, self.functions, strict=True)
        return sum((path.name, function) in Y_VALIDATION for path, function in calls)

    @property
    def packages(self) -> list[str]:
        """Packages in the order they were entered; the front door is called ``door``."""
        return [
            package
            for package, _ in groupby(self.architecture.package_of(path) or "door" for path in self.modules)
        ]

    @property
    def turns(self) -> int:
        """Changes of direction from one step between packages to the next."""
        top = max(self.architecture.layer.values()) + 1
        layers = [self.architecture.layer.get(package, top) for package in self.packages]
        steps = [below - above for above, below in pairwise(layers)]
        return sum(first * second < 0 for first, second in pairwise(steps))

    def __str__(self) -> str:
        counts = f"{len(self.modules):5d} calls {len(set(self.modules)):4d} modules"
        steps = f"{len(self.packages) - 1:4d} transitions {self.turns:4d} turns"
        return f"{counts} {steps} {self.y_validations:4d} validations of y"


def trace(action: Callable[[], Any]) -> CallTrace:
    """Follow an action, run once before so that compiling and importing are no part of the walk."""
    action()
    architecture, modules, functions = Architecture(), [], []
    inside = str(Path(sys.modules["hyperlabel"].__file__ or "").parent)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Comprehensions and lambdas belong to the function around them.
        if event == "call" and code.co_filename.startswith(inside) and not code.co_name.startswith("<"):
            modules.append(architecture.package / Path(code.co_filename).relative_to(inside))
            functions.append(code.co_name)

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return CallTrace(architecture, modules, functions)


def journeys() -> dict[str, Callable[[], Any]]:
    """Return the fits to follow, on 300 rows, 30 features and 8 labels."""
    import numpy as np
    from scipy import sparse

    import hyperlabel as hl

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    Y = (X @ rng.normal(size=(30, 8)) + rng.normal(size=(300, 8)) > 4).astype(int)
    thin = sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    fits: dict[str, Callable[[], Any]] = {
        "BinaryRelevance, dense rows": lambda: hl.BinaryRelevance().fit(X, Y),
        "BinaryRelevance, sparse rows": lambda: hl.BinaryRelevance().fit(thin, Y),
        "RankSVM": lambda: hl.RankSVM(random_state=0).fit(X, Y),
        "ThresholdTuner": lambda: hl.ThresholdTuner(hl.BinaryRelevance()).fit(X, Y),
        "AutoMultiLabel": lambda: hl.AutoMultiLabel(methods=["ridge", "plst"]).fit(X, Y),
    }
    for kind in ("clique", "zhou", "star", "cca"):
        fits[f"HypergraphSpectral, {kind}"] = lambda e=kind: hl.HypergraphSpectral(expansion=e).fit(X, Y)
    fits["PLST, automatic dimension"] = lambda: hl.PLST("auto").fit(X, Y)
    fits["hyperlabel fit"] = lambda: _fit_csv(X, Y)
    return fits


def _fit_csv(X: Any, Y: Any) -> None:
    """Run `hyperlabel fit` on a CSV file with a word for each positive feature, quietly."""
    from click.testing import CliRunner

    from hyperlabel.apps.cli import main as command_line

    with TemporaryDirectory() as folder:
        table, model = Path(folder, "rows.csv"), Path(folder, "model.hyper")
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "tags"])
            for x, y in zip(X, Y, strict=True):
                words = " ".join(f"word{j}" for j in (x > 0).nonzero()[0])
                writer.writerow([words, ";".join(f"tag{j}" for j in y.nonzero()[0])])
        arguments = ["fit", str(table), "--labels", "tags", "-o", str(model)]
        CliRunner().invoke(command_line, arguments, catch_exceptions=False)
        if not model.is_file():
            raise RuntimeError("hyperlabel fit wrote no model.")


STYLE = """
  .paper { fill: #ffffff } .layer { fill: #f7f9fc; stroke: #d5dce5 } .box { fill: #eef2f7; stroke: #5b6b80 }
  text { fill: #1c2430; font: 14px sans-serif } .name { fill: #5b6b80; font-size: 12px }
  .down { stroke: #5b6b80 } marker path { fill: #5b6b80 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181e } .layer { fill: #1a2028; stroke: #2c3643 } .box { fill: #232b36; stroke: #93a4ba }
    text { fill: #e6ebf2 } .name { fill: #93a4ba } .down { stroke: #93a4ba } marker path { fill: #93a4ba }
  }
"""
WIDTH, LEFT, GAP, TALL, BOX, PER_ROW = 880, 110, 18, 30, 140, 5
LAYER_NAMES = ("apps", "drivers", "models", "evaluation", "solvers", "core")


def draw(architecture: Architecture) -> str:
    """Return the architecture as SVG: a box for each layer with its packages, imports going down.

    Pointing at a package shows what it imports.
    """
    imports: dict[str, set[str]] = {package: set() for package in architecture.packages}
    for use in architecture.uses:
        imports[use.source].add(use.target)
    boxes = [[p for p in box if p in architecture.packages] for box in architecture.boxes]
    names = [*LAYER_NAMES] if len(boxes) == 6 else [f"layer {i}" for i in range(len(boxes), 0, -1)]
    lines, top = [], GAP
    for name, box in zip(names, boxes, strict=True):
        rows = -(-len(box) // PER_ROW)
        height = rows * (TALL + 10) + 14
        lines.append(f'<rect class="layer" x="12" y="{top}" width="{WIDTH - 24}" height="{height}" rx="6"/>')
        lines.append(f'<text class="name" x="24" y="{top + height // 2 + 4}">{escape(name)}</text>')
        for i, package in enumerate(box):
            in_row = min(PER_ROW, len(box) - i // PER_ROW * PER_ROW)
            x = round(LEFT + (WIDTH - LEFT - 20) * (i % PER_ROW + 0.5) / in_row)
            lines.append(_box(package, x, top + 12 + i // PER_ROW * (TALL + 10), imports[package]))
        top += height + GAP
        if name != names[-1]:
            down = f"M{WIDTH // 2} {top - GAP}V{top - 2}"
            lines.append(f'<path class="down" marker-end="url(#tip)" d="{down}"/>')
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" '
        f'height="{top}" role="img">\n<title>The packages of hyperlabel by layer; imports go down'
        f"</title>\n<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>\n'
        f'<rect class="paper" width="{WIDTH}" height="{top}" rx="8"/>\n{body}\n</svg>\n'
    )


def _box(package: str, x: int, y: int, targets: set[str]) -> str:
    imported = f"{package} imports {', '.join(sorted(targets)) or 'no other package'}"
    return (
        f'<g><title>{escape(imported)}</title><rect class="box" x="{x - BOX // 2}" y="{y}" width="{BOX}" '
        f'height="{TALL}" rx="5"/>'
        f'<text x="{x}" y="{y + 20}" text-anchor="middle">{escape(package)}</text></g>'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell whether the drawing is up to date")
    drawing = draw(Architecture())
    if parser.parse_args().check:
        if DRAWING.is_file() and DRAWING.read_text(encoding="utf-8") == drawing:
            return 0
        print(
            f"{DRAWING.relative_to(ROOT)} is stale: run python tools/call_trace.py and commit it.",
            file=sys.stderr,
        )
        return 1
    DRAWING.write_text(drawing, encoding="utf-8")
    for name, fit in journeys().items():
        call_trace = trace(fit)
        print(f"{name:30s} {call_trace}")
        if len(call_trace.packages) < 100:
            print(f"    {' '.join(call_trace.packages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

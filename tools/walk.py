"""Print the rooms a fit passes through and draw the house: python tools/walk.py [--check].

A walk is the list of calls into the library's modules while an estimator is fitted. A *turn* is a step
between rooms that goes up right after one that went down, or down right after up: data should walk one
way. ``--check`` compares the drawing with the house as it stands and fails when it is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from house import ROOT, House

DRAWING = ROOT / "docs" / "house.svg"


@dataclass(frozen=True)
class Walk:
    """Calls into the package while something ran, in order."""

    house: House
    modules: list[Path]

    @property
    def rooms(self) -> list[str]:
        """Rooms in the order they were entered; the front door is called ``door``."""
        return [room for room, _ in groupby(self.house.room_of(path) or "door" for path in self.modules)]

    @property
    def turns(self) -> int:
        """Changes of direction from one step between rooms to the next."""
        top = max(self.house.floor.values()) + 1
        floors = [self.house.floor.get(room, top) for room in self.rooms]
        steps = [below - above for above, below in pairwise(floors)]
        return sum(first * second < 0 for first, second in pairwise(steps))

    def __str__(self) -> str:
        counts = f"{len(self.modules):5d} calls {len(set(self.modules)):4d} modules"
        return f"{counts} {len(self.rooms) - 1:4d} transitions {self.turns:4d} turns"


def walk(action: Callable[[], Any]) -> Walk:
    """Follow an action, run once before so that compiling and importing are no part of the walk."""
    action()
    house, modules = House(), []
    inside = str(Path(sys.modules["hyperlabel"].__file__ or "").parent)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Comprehensions and lambdas belong to the function around them.
        if event == "call" and code.co_filename.startswith(inside) and not code.co_name.startswith("<"):
            modules.append(house.package / Path(code.co_filename).relative_to(inside))

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Walk(house, modules)


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
        "BinaryRelevance, sparse rows": lambda: hl.BinaryRelevance().fit(thin, Y),
        "RankSVM": lambda: hl.RankSVM(random_state=0).fit(X, Y),
    }
    for kind in ("clique", "zhou", "star", "cca"):
        fits[f"HypergraphSpectral, {kind}"] = lambda e=kind: hl.HypergraphSpectral(expansion=e).fit(X, Y)
    fits["PLST, automatic dimension"] = lambda: hl.PLST("auto").fit(X, Y)
    return fits


STYLE = """
  .paper { fill: #ffffff } .room { fill: #eef2f7; stroke: #5b6b80 } .way { stroke: #5b6b80 }
  .implied { stroke: #5b6b80; opacity: .16 } text { fill: #1c2430; font: 14px sans-serif }
  .floor { fill: #5b6b80; font-size: 12px } .line { stroke: #d5dce5 } marker path { fill: #5b6b80 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181e } .room { fill: #232b36; stroke: #93a4ba } .way { stroke: #93a4ba }
    .implied { stroke: #93a4ba } text { fill: #e6ebf2 } .floor { fill: #93a4ba } .line { stroke: #2c3643 }
    marker path { fill: #93a4ba }
  }
"""
WIDTH, LEFT, STEP, TALL, BOX = 880, 70, 70, 30, 136


def draw(house: House) -> str:
    """Return the house as SVG: a row for each floor, an arrow for each import between rooms.

    An import that also follows from a chain of others is drawn faintly: all are there, and the
    strong arrows alone say who can reach whom.
    """
    place = _places(house)
    below = {
        room: {use.target for use in house.uses if use.source == room and house.floor[use.target] < floor}
        for room, floor in house.floor.items()
        if room in place
    }
    strong = {room: {t for t in below[room] if not _follows(below, room, t)} for room in place}
    faint = {room: below[room] - strong[room] for room in place}
    height = max(y for _, y in place.values()) + STEP - 10
    lines = [
        *sorted({_floor_line(house.floor[room], y) for room, (_, y) in place.items()}),
        *_arrows(place, faint, 'class="implied"'),
        *_arrows(place, strong, 'class="way" marker-end="url(#tip)"'),
        *(_box(room, *at, below[room]) for room, at in place.items()),
    ]
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img">\n<title>The rooms of hyperlabel by floor and their imports'
        f"</title>\n<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>\n'
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="8"/>\n{body}\n</svg>\n'
    )


def _places(house: House) -> dict[str, tuple[int, int]]:
    """Where the box of each room stands: middle and top."""
    floors: dict[int, list[str]] = {}
    for room in (room for layer in house.layers for room in layer if room in house.rooms):
        floors.setdefault(house.floor[room], []).append(room)
    return {
        room: (_across(column, len(floors[floor]), depth), 20 + STEP * depth)
        for depth, floor in enumerate(sorted(floors, reverse=True))
        for column, room in enumerate(floors[floor])
    }


def _follows(below: dict[str, set[str]], room: str, target: str) -> bool:
    """Tell whether a room reaches the target through another room as well."""
    seen, open_ = set(), [via for via in below[room] if via != target]
    while open_:
        via = open_.pop()
        if target in below[via]:
            return True
        open_ += [further for further in below[via] if further not in seen]
        seen.add(via)
    return False


def _across(column: int, count: int, depth: int) -> int:
    # A room alone on its floor stands left or right in turn: arrows past it stay in sight.
    share = (column + 0.5) / count if count > 1 else (0.36, 0.64)[depth % 2]
    return round(LEFT + (WIDTH - LEFT) * share)


def _floor_line(floor: int, y: int) -> str:
    name = f"floor {floor}" if floor else "ground"
    base = y + STEP - 20
    return (
        f'<text class="floor" x="12" y="{y + 20}">{name}</text>'
        f'<path class="line" d="M12 {base}H{WIDTH - 12}"/>'
    )


def _arrows(place: dict[str, tuple[int, int]], ways: dict[str, set[str]], look: str) -> list[str]:
    """Return a curve for each way; those that share a box leave and enter it side by side."""
    above: dict[str, set[str]] = {room: {other for other in ways if room in ways[other]} for room in place}

    def port(room: str, others: set[str], other: str) -> int:
        order = sorted(others, key=lambda name: place[name])
        return round(place[room][0] + (BOX - 16) * ((order.index(other) + 1) / (len(order) + 1) - 0.5))

    lines = []
    for room, targets in ways.items():
        for target in sorted(targets):
            x, to_x = port(room, targets, target), port(target, above[target], room)
            y, to_y = place[room][1] + TALL, place[target][1]
            bend = f"C{x} {y + STEP // 2} {to_x} {to_y - STEP // 2} {to_x} {to_y}"
            lines.append(f'<path {look} fill="none" d="M{x} {y}{bend}"/>')
    return lines


def _box(room: str, x: int, y: int, targets: set[str]) -> str:
    reaches = f"{room} imports {', '.join(sorted(targets)) or 'no other room'}"
    return (
        f'<g><title>{escape(reaches)}</title><rect class="room" x="{x - BOX // 2}" y="{y}" width="{BOX}" '
        f'height="{TALL}" rx="5"/><text x="{x}" y="{y + 20}" text-anchor="middle">{escape(room)}</text></g>'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell whether the drawing is up to date")
    drawing = draw(House())
    if parser.parse_args().check:
        if DRAWING.is_file() and DRAWING.read_text(encoding="utf-8") == drawing:
            return 0
        print(
            f"{DRAWING.relative_to(ROOT)} is stale: run python tools/walk.py and commit it.", file=sys.stderr
        )
        return 1
    DRAWING.write_text(drawing, encoding="utf-8")
    for name, fit in journeys().items():
        found = walk(fit)
        print(f"{name:30s} {found}\n    {' '.join(found.rooms)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a reproduction yields: our numbers beside the paper's, curves, and footnotes."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Number:
    """One entry of a table: ours (mean over splits, spread, how many), the paper's, and the cells."""

    row: str
    column: str
    ours: float
    spread: float = math.nan
    n: int = 0
    paper: float | None = None
    cells: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return math.nan if self.paper is None else self.ours - self.paper

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        found = {**asdict(self), "splits": self.n, "difference": self.difference}
        del found["n"]
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in found.items()}


@dataclass(frozen=True)
class Curve:
    """One panel of a figure: series over x, each with one row of scores per split."""

    title: str
    x: list[float]
    scores: dict[str, list[list[float]]]
    xlabel: str
    ylabel: str
    log: bool = False
    log_y: bool = False


class Cpu(NamedTuple):
    """CPU seconds of cells: measured; of the others by other splits of the same work; unknown: no split."""

    cells: int = 0
    measured: float = 0.0
    estimated: float = 0.0
    unknown: int = 0


@dataclass
class Result:
    """A reproduced table or figure.

    `notes` name every deviation in data or protocol, `missing` the parts without data, which are never
    invented; `scores` says whether the distance to the paper's numbers means something (of times it does
    not).
    """

    id: str = ""  # the item's, as its title is
    title: str = ""
    numbers: list[Number] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    digits: int = 4
    quick: bool = False
    scores: bool = True
    seconds: float = 0.0
    cpu: Cpu = field(default_factory=Cpu)
    failures: list[str] = field(default_factory=list)

    def rows(self) -> list[str]:
        """Row names, in order."""
        return list(dict.fromkeys(n.row for n in self.numbers))

    def columns(self) -> list[str]:
        """Column names, in order."""
        return list(dict.fromkeys(n.column for n in self.numbers))

    def at(self, row: str, column: str) -> Number | None:
        """Return one entry, or None."""
        return next((n for n in self.numbers if n.row == row and n.column == column), None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        keys = ("id", "title", "quick", "digits", "scores", "numbers", "notes", "missing", "failures")
        found = {key: getattr(self, key) for key in keys}
        return found | {"numbers": [n.as_dict() for n in self.numbers]}

    def markdown(self) -> str:
        """Return the table as Markdown: per column the paper's figure, ours, the difference."""
        lines = [f"## `{self.id}`: {self.title}", ""]
        if self.quick:
            lines += ["**Quick run: fewer repeats and smaller grids than the paper's protocol.**", ""]
        if self.numbers:
            printed = {
                c: any(n.paper is not None for n in self.numbers if n.column == c) for c in self.columns()
            }
            heads = [f"{c}: paper | ours | spread | difference" if p else f"{c} | spread"
                     for c, p in printed.items()]  # fmt: skip
            lines += [
                "| | " + " | ".join(heads) + " |",
                "|---" + "|---:" * " | ".join(heads).count("|") + "|---:|",
            ]
            for row in self.rows():
                entries = [self._entry(row, column, p) for column, p in printed.items()]
                lines.append(f"| {row} | " + " | ".join(entries) + " |")
            lines.append("")
        for curve in self.curves:
            lines += self._curve(curve)
        lines += [f"- {note}" for note in self.notes]
        lines += [f"- Not reproduced: {part}" for part in self.missing]
        lines += [f"- Failed: {text}" for text in self.failures]
        return "\n".join(lines) + "\n"

    def _entry(self, row: str, column: str, printed: bool) -> str:
        n = self.at(row, column) or Number(row, column, math.nan)
        paper = [math.nan if n.paper is None else n.paper] if printed else []
        shown = [show(value, self.digits) for value in (*paper, n.ours, n.spread)]
        return " | ".join([*shown, show(n.difference, self.digits, "+")] if printed else shown)

    def _curve(self, curve: Curve) -> list[str]:
        lines = [f"{curve.title} ({curve.ylabel}; mean over splits)", ""]
        lines += [
            f"| {curve.xlabel} | " + " | ".join(curve.scores) + " |",
            "|---:" * (len(curve.scores) + 1) + "|",
        ]
        for i, x in enumerate(curve.x):
            cells = []
            for rows in curve.scores.values():
                known = [r[i] for r in rows if math.isfinite(r[i])]
                cells.append(show(sum(known) / len(known) if known else math.nan, self.digits))
            lines.append(f"| {x:g} | " + " | ".join(cells) + " |")
        return [*lines, ""]


def show(value: float, digits: int, sign: str = "") -> str:
    """Return a number as tables print it: counts as such, what would round to 0 with its power of ten."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 2 and float(value).is_integer():
        return f"{value:{sign}.0f}"
    return f"{value:.2e}" if 0 < abs(value) < 1e-6 and not sign else f"{value:{sign}.{digits}f}"

"""A reproduced table or figure: our numbers beside the paper's, curves, and notes."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

_JSON_KEYS = ("id", "title", "quick", "digits", "scores", "notes", "missing", "failures", "made")


@dataclass(frozen=True)
class Number:
    """One entry of a table: our mean over `n` splits, the paper's number, and the cells behind ours.

    `std` is the standard deviation over the splits, or the standard error where the paper prints it.
    """

    row: str
    column: str
    ours: float
    std: float = math.nan
    n: int = 0
    paper: float | None = None
    cells: tuple[str, ...] = ()
    by_split: tuple[float, ...] = ()

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return math.nan if self.paper is None else self.ours - self.paper

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        entry = {**asdict(self), "splits": self.n, "difference": self.difference}
        del entry["n"]
        entry["by_split"] = [_short(value) for value in self.by_split]
        return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in entry.items()}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> "Number":
        """Return the entry that `as_dict` wrote."""
        ours, std = (math.nan if entry[key] is None else entry[key] for key in ("ours", "std"))
        by_split = (math.nan if value is None else value for value in entry["by_split"])
        names = (entry["row"], entry["column"])
        return cls(*names, ours, std, entry["splits"], entry["paper"], tuple(entry["cells"]), tuple(by_split))


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

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON, scores with as many digits as tables show."""
        scores = {
            name: [[_short(value) for value in row] for row in rows] for name, rows in self.scores.items()
        }
        return {**asdict(self), "scores": scores}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> "Curve":
        """Return the panel that `as_dict` wrote."""
        scores = {
            name: [[math.nan if value is None else value for value in row] for row in rows]
            for name, rows in entry["scores"].items()
        }
        return cls(**{**entry, "scores": scores})


def _short(value: float) -> float | None:
    """Return six significant digits; None stands for a score that is undefined."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


class Cpu(NamedTuple):
    """CPU seconds of cells: measured, and estimated by other splits of the same work.

    `unknown` counts the cells of which no split has run.
    """

    cells: int = 0
    measured: float = 0.0
    estimated: float = 0.0
    unknown: int = 0


@dataclass
class Result:
    """A reproduced table or figure.

    `notes` name every deviation in data or protocol. `missing` names what could not be computed for lack of
    data. `scores` is False where a distance from the paper's numbers means nothing, as for times.
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
    quick_cpu: Cpu = field(default_factory=Cpu)
    failures: list[str] = field(default_factory=list)
    made: str = ""  # when, and with which versions
    complete: bool = True  # every planned cell is finished

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
        fields = {key: getattr(self, key) for key in _JSON_KEYS}
        numbers = [number.as_dict() for number in self.numbers]
        return fields | {"numbers": numbers, "curves": [curve.as_dict() for curve in self.curves]}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> "Result":
        """Return the result that `as_dict` wrote, with the CPU times when they are there."""
        parts: dict[str, Any] = {
            "numbers": [Number.from_dict(number) for number in entry["numbers"]],
            "curves": [Curve.from_dict(curve) for curve in entry["curves"]],
            "cpu": Cpu(*entry.get("cpu", ())),
            "quick_cpu": Cpu(*entry.get("quick_cpu", ())),
        }
        return cls(**{key: entry[key] for key in _JSON_KEYS}, **parts)

    def markdown(self) -> str:
        """Return the table as Markdown: per column the paper's figure, ours, the difference."""
        lines = [f"## `{self.id}`: {self.title}", ""]
        if self.quick:
            lines += ["**Quick run: fewer repeats and smaller grids than the paper's protocol.**", ""]
        if self.numbers:
            lines += self._table_lines()
        for curve in self.curves:
            lines += self._curve_lines(curve)
        lines += [f"- {note}" for note in self.notes]
        lines += [f"- Not reproduced: {reason}" for reason in self.missing]
        lines += [f"- Failed: {failure}" for failure in self.failures]
        lines += [f"- Run {self.made}."] if self.made else []
        return "\n".join(lines) + "\n"

    def _table_lines(self) -> list[str]:
        printed_columns = {number.column for number in self.numbers if number.paper is not None}
        heads = " | ".join(
            f"{column}: paper | ours | spread | difference"
            if column in printed_columns
            else f"{column} | spread"
            for column in self.columns()
        )
        lines = [f"| | {heads} |", "|---" + "|---:" * heads.count("|") + "|---:|"]
        for row in self.rows():
            entries = [self._entry_text(row, column, column in printed_columns) for column in self.columns()]
            lines.append(f"| {row} | " + " | ".join(entries) + " |")
        return [*lines, ""]

    def _entry_text(self, row: str, column: str, is_printed: bool) -> str:
        number = self.at(row, column) or Number(row, column, math.nan)
        ours = [show(number.ours, self.digits), show(number.std, self.digits)]
        if not is_printed:
            return " | ".join(ours)
        paper = show(math.nan if number.paper is None else number.paper, self.digits)
        return " | ".join([paper, *ours, show(number.difference, self.digits, "+")])

    def _curve_lines(self, curve: Curve) -> list[str]:
        lines = [f"{curve.title} ({curve.ylabel}; mean over splits)", ""]
        lines += [
            f"| {curve.xlabel} | " + " | ".join(curve.scores) + " |",
            "|---:" * (len(curve.scores) + 1) + "|",
        ]
        for i, x in enumerate(curve.x):
            means = []
            for split_rows in curve.scores.values():
                finite_scores = [row[i] for row in split_rows if math.isfinite(row[i])]
                mean = sum(finite_scores) / len(finite_scores) if finite_scores else math.nan
                means.append(show(mean, self.digits))
            lines.append(f"| {x:g} | " + " | ".join(means) + " |")
        return [*lines, ""]


def show(value: float, digits: int, sign: str = "") -> str:
    """Return a number as tables print it: counts without digits, tiny numbers with their power of ten."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 2 and float(value).is_integer():
        return f"{value:{sign}.0f}"
    return f"{value:.2e}" if 0 < abs(value) < 1e-6 and not sign else f"{value:{sign}.{digits}f}"

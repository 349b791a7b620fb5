"""Cells that are not what their column holds: gathered from the whole table, then refused in one sentence."""

from dataclasses import dataclass, field
from typing import Any

from hyperlabel.datasets._lines import DataError

_SHOWN = 5  # examples of a column, and columns


@dataclass
class _ColumnFaults:
    n_cells: int = 0
    examples: dict[str, None] = field(default_factory=dict)


class BadCells:
    """The unreadable cells of a table by column; the first of them says where to look."""

    def __init__(self) -> None:
        self.columns: dict[str, _ColumnFaults] = {}
        self._first: tuple[Any, str, int, str] | None = None

    def add(self, chunk: Any, row: int, column: str, meaning: str) -> None:
        """Note a cell that is not `meaning`."""
        cell = str(chunk.column(column)[row])[:40]
        if self._first is None:
            self._first = chunk, f"the value {cell!r} of {column!r} is not {meaning}", row, column
        faults = self.columns.setdefault(column, _ColumnFaults())
        faults.n_cells += 1
        if len(faults.examples) < _SHOWN:
            faults.examples[cell] = None

    def summary(self) -> str:
        """Say how many cells of which columns are unreadable, with examples."""
        clauses = []
        for column, faults in list(self.columns.items())[:_SHOWN]:
            examples = ", ".join(map(repr, faults.examples))
            more = ", …" if faults.n_cells > len(faults.examples) else ""
            clauses.append(f"{faults.n_cells} of {column!r} ({examples}{more})")
        hidden = len(self.columns) - len(clauses)
        return ", ".join(clauses) + (f" and those of {hidden} more columns" if hidden else "")

    def error(self) -> DataError | None:
        """Return the error about all of them; None where there is none."""
        if self._first is None:
            return None
        chunk, message, row, column = self._first
        if sum(faults.n_cells for faults in self.columns.values()) > 1:
            message += f". Unreadable in all: {self.summary()}"
        advice = "correct them, or let --unreadable missing (unreadable='missing') read them as empty"
        error: DataError = chunk.fail(f"{message}: {advice}.", row, column)
        return error

    def check(self) -> None:
        """Raise the error about all of them, if there are any."""
        if (error := self.error()) is not None:
            raise error

"""What the columns of a table are, and their cells as numbers, labels, groups and times.

Nothing here depends on how the rows were cut into chunks: a cell is read by itself, or by what
`TableColumns` found over all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hyperlabel.datasets._numbers import to_number
from hyperlabel.datasets.table_sources import Cells

MAX_WORD = 10_000  # characters of a group or time: NumPy makes every entry as wide as the widest
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
_YES = {"1", "1.0", "true", "yes", "y", "t"}
_NO = {"0", "0.0", "false", "no", "n", "f"}
_YEAR = re.compile(r"[0-9]{4}(-|$)|$")
_UNREADABLE = (ValueError, TypeError, OverflowError)


class TableColumns:
    """The columns seen so far: whether each holds numbers, and in which form all times can be read."""

    def __init__(self, time: str | None) -> None:
        self.time = time
        self.is_number: dict[str, bool | None] = {}  # None: nothing but empty cells so far
        self.time_forms = [_number_times, _date_times, _text_times]

    def see(self, cells: Cells) -> None:
        """Take note of some more rows."""
        for name, column in cells.columns.items():
            if self.is_number.get(name) is None:
                self.is_number[name] = first_is_number(column)
        if self.time in cells.columns:
            column = cells.columns[self.time]
            self.time_forms = [form for form in self.time_forms if _can_read(form, column)]

    def times(self, cells: Cells) -> np.ndarray:
        """Times as numbers where all are, as dates where all are, otherwise as text."""
        assert self.time is not None
        _check_width(cells, self.time)
        return self.time_forms[0](cells.column(self.time))


def first_is_number(column: Sequence[Any]) -> bool | None:
    """Tell whether the first cell that is not empty is a number; None when all are empty."""
    for cell in column:
        try:
            value = number(cell)
        except _UNREADABLE:
            return False
        if value == value:
            return True
    return None


def convert(cells: Cells, column: str, read: Callable[[Any], float], meaning: str) -> np.ndarray:
    """Read the cells of a column one by one; an error says which is not what it must be."""
    found = np.empty(len(cells.places))
    for i, cell in enumerate(cells.column(column)):
        try:
            found[i] = read(cell)
        except _UNREADABLE:
            raise cells.fail(
                f"the value {str(cell)[:40]!r} of {column!r} is not {meaning}.", i, column
            ) from None
    return found


def number(cell: Any) -> float:
    """Read a cell as a number; NaN where it is empty."""
    if isinstance(cell, str):
        text = cell.strip()
        return float("nan") if text.lower() in _MISSING else to_number(text)
    if isinstance(cell, bytes):  # which float would read by Python's grammar
        raise TypeError(cell)
    return float("nan") if cell is None else float(cell)


def zero_one(cell: Any) -> float:
    """Read a cell as a label that is there or not."""
    word = str(cell).strip().lower()
    if word in _YES:
        return 1.0
    if word in _NO:
        return 0.0
    raise ValueError(word)


def groups(cells: Cells, column: str) -> np.ndarray:
    """Read a column of groups as text, with one spelling for a number."""
    _check_width(cells, column)
    return np.array([_spelling(cell) for cell in cells.column(column)], dtype=np.str_)


def _spelling(cell: Any) -> str:
    """Spell 1, 1.0 and "1.0" alike: two spellings would tear a group apart, and it would leak over folds."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return re.sub(r"^([+-]?[0-9]+)\.0+$", r"\1", str(cell))


def _check_width(cells: Cells, column: str) -> None:
    for i, cell in enumerate(cells.column(column)):
        if isinstance(cell, str) and len(cell) > MAX_WORD:
            raise cells.fail(
                f"a value of {column!r} is longer than {MAX_WORD} characters; is it a column of text?",
                i,
                column,
            )


def _can_read(form: Callable[[Sequence[Any]], np.ndarray], column: Sequence[Any]) -> bool:
    try:
        form(column)
    except _UNREADABLE:
        return False
    return True


def _number_times(column: Sequence[Any]) -> np.ndarray:
    return np.array([number(cell) for cell in column], dtype=np.float64)


def _date_times(column: Sequence[Any]) -> np.ndarray:
    words = _words(column)
    if not all(_YEAR.match(word) for word in words):
        raise ValueError("NumPy would read 3 as a year and 'now' as a date.")
    return np.array(words, dtype="datetime64[s]")  # an empty one is NaT


def _text_times(column: Sequence[Any]) -> np.ndarray:
    return np.array(_words(column), dtype=np.str_)


def _words(column: Sequence[Any]) -> list[str]:
    words = ("" if cell is None else str(cell).strip() for cell in column)
    return ["" if word.lower() in _MISSING else word for word in words]

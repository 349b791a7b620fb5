"""What the columns of a table are, and their cells as numbers, labels, groups and times.

Nothing depends on how rows are chunked: a cell is read by itself, or by what `TableColumns` saw in all
rows.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from hyperlabel.datasets._lines import DataError, warn_user
from hyperlabel.datasets._numbers import to_number
from hyperlabel.datasets.bad_cells import BadCells
from hyperlabel.datasets.label_cells import NO_LABEL
from hyperlabel.datasets.objects import head_of, is_object, names_inside, objects_message, shown_names
from hyperlabel.datasets.table_sources import Cells

MAX_WORD = 10_000  # characters of a group or time: NumPy makes every entry as wide as the widest
_MISSING = set(NO_LABEL)  # the same words in every column
_MARKS = {"x", "✓", "✔"}
YES = {"1", "1.0", "true", "yes", "y", "t", *_MARKS}
NO = {"0", "0.0", "false", "no", "n", "f"}
_YEAR = re.compile(r"[0-9]{4}(-|$)|$")
UNKNOWN = {*NO_LABEL, "unknown"} - {""}  # of a 0/1 column: nobody knows
_NUMBERS = 0.9  # share of the cells of a column of numbers that are; the reader then names the others
_NO_MARKS = {"", "-"}  # beside x marks
_SPACES = " \u00a0\u202f'’"  # between thousands
_GROUPING = ",." + _SPACES
_COMMA_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?").fullmatch
_POINT_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+").fullmatch
_SPACED_THOUSANDS = re.compile(rf"[-+]?[1-9][0-9]{{0,2}}([{_SPACES}][0-9]{{3}})+([.,][0-9]+)?").fullmatch
_DECIMAL_COMMA = re.compile(r"[-+]?([0-9]*|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+([eE][-+]?[0-9]+)?").fullmatch
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError)


class TableColumns:
    """The columns seen so far: whether each holds numbers, and in which form all times can be read."""

    def __init__(
        self, time: str | None, marks: Sequence[str] = (), decimal: Literal[",", "."] | None = None
    ) -> None:
        self.time, self.decimal = time, decimal
        self.decimal_marks: dict[str, set[str]] = {}  # that columns of numbers were seen to use
        self.vectors: dict[str, int] = {}  # columns of lists of numbers, and how long these are
        self.marks: dict[str, set[str]] = {name: set() for name in marks}  # what label columns say
        self.is_number: dict[str, bool | None] = {}  # None: nothing but empty cells so far
        self.time_forms = [_parse_number_times, _parse_date_times, _parse_text_times]
        self.bad_cells = BadCells()
        self.inside: dict[str, dict[str, None]] = {}  # columns of objects, and the dotted names inside

    def see(self, chunk: Cells) -> None:
        """Update the column kinds with the rows of a chunk."""
        has_commas = reads_commas(chunk, self.decimal)
        for name, column in chunk.columns.items():
            if (inner_names := names_inside(name, column)) is not None:
                self.inside[name] = self.inside.get(name, {}) | dict.fromkeys(inner_names)
            if self.is_number.get(name) is None:
                self.is_number[name] = first_is_number(
                    plain_number(cell, has_commas, self.decimal) for cell in column
                )
                if self.is_number[name] is False and (n_numbers := vector_length(column)):
                    self.vectors[name] = n_numbers
            if name in self.marks:
                self.marks[name] |= {_normalise_cell(cell) for cell in column} & {*_NO_MARKS, *YES, *NO}
        if self.time in chunk.columns:
            column = chunk.columns[self.time]
            self.time_forms = [time_form for time_form in self.time_forms if _can_read(time_form, column)]

    @property
    def names(self) -> list[str]:
        """Names to choose from: the columns, and instead of objects the dotted names inside them."""
        return [inner_name for name in self.is_number for inner_name in self.inside.get(name) or [name]]

    def unreached(self, names: Iterable[str]) -> dict[str, dict[str, None]]:
        """Return the columns of objects in which none of the names starts."""
        reached_columns = {head_of(name, self.inside) for name in names}
        return {
            column: inner_names
            for column, inner_names in self.inside.items()
            if column not in reached_columns
        }

    def has_marks_only(self, name: str) -> bool:
        """Return whether a label column marks where it holds, and is empty elsewhere."""
        return bool(self.marks[name] & _MARKS) and self.marks[name] <= {*_NO_MARKS, *_MARKS}

    def may_have_marks_only(self, name: str) -> bool:
        """Return whether a label column has empty cells and might turn out to hold marks only."""
        return "" in self.marks[name] and self.marks[name] <= {*_NO_MARKS, *_MARKS}

    def times(self, chunk: Cells) -> np.ndarray:
        """Return times as numbers where all are, as dates where all are, otherwise as text."""
        assert self.time is not None
        _check_width(chunk, self.time)
        return self.time_forms[0](chunk.column(self.time))

    def numbers(self, chunk: Cells, name: str) -> np.ndarray:
        """Read a column of numbers, which must agree on one decimal mark."""
        has_commas = reads_commas(chunk, self.decimal)
        column_numbers = self._convert(
            chunk, name, lambda cell: cell_number(plain_number(cell, has_commas, self.decimal)), "a number"
        )
        if not has_commas:
            return column_numbers
        decimal_marks = self.decimal_marks.setdefault(name, set(self.decimal or ()))
        for i, cell in enumerate(chunk.column(name)):
            decimal_mark = _decimal_mark(cell, self.decimal)
            if decimal_mark is not None and decimal_marks and decimal_mark not in decimal_marks:
                mark_name, expected_name = ("point", "comma") if decimal_mark == "." else ("comma", "point")
                raise chunk.fail(
                    f"the value {cell[:40]!r} of {name!r} has a decimal {mark_name} where a decimal "
                    f"{expected_name} is expected: write all numbers of a column alike.",
                    i,
                    name,
                )
            decimal_marks |= set(decimal_mark or ())
        return column_numbers

    def marks_as_numbers(self, chunk: Cells, name: str, blank: float | None) -> np.ndarray:
        """Read a 0/1 column: NaN where it says unknown, `blank` where it is empty (None: refused)."""
        if blank is None:
            _need_filled(chunk, name)
        marks_only = self.has_marks_only(name)
        blank_entry = 0.0 if blank is None else blank

        def read_mark(cell: Any) -> float:
            word = _normalise_cell(cell)
            if not word or (marks_only and word in _NO_MARKS):
                return blank_entry
            return float("nan") if word in UNKNOWN else zero_one(word)

        return self._convert(chunk, name, read_mark, "0 or 1")

    def _convert(
        self, chunk: Cells, name: str, read_cell: Callable[[Any], float], meaning: str
    ) -> np.ndarray:
        """Return the cells of a column as numbers; those that are not `meaning` are noted, and NaN."""
        column_numbers = np.full(len(chunk.places), np.nan)
        for i, cell in enumerate(chunk.column(name)):
            try:
                column_numbers[i] = read_cell(cell)
            except _UNREADABLE:
                self.bad_cells.add(chunk, i, name, meaning)
        return column_numbers


def _need_filled(chunk: Cells, column: str) -> None:
    is_empty = [not _normalise_cell(cell) for cell in chunk.column(column)]
    if any(is_empty):
        raise chunk.fail(
            f"the value of {column!r} is empty, not 0 or 1: say what that means with blank (--blank on the "
            "command line): 'no' or 'missing'.",
            is_empty.index(True),
            column,
        )


def reads_commas(chunk: Cells, decimal: str | None) -> bool:
    """Return whether numbers may have a decimal comma: by `decimal`, or since semicolons separate columns."""
    return decimal == "," or (decimal is None and chunk.delimiter == ";")


def has_decimal_comma(cell: Any) -> bool:
    """Return whether a cell is a number with a decimal comma."""
    return isinstance(cell, str) and "," in cell and _DECIMAL_COMMA(cell.strip()) is not None


def has_thousands(cell: Any) -> bool:
    """Return whether a cell is a number with commas between its thousands."""
    return isinstance(cell, str) and "," in cell and _COMMA_THOUSANDS(cell.strip()) is not None


def plain_number(cell: Any, has_commas: bool, decimal: str | None = None) -> Any:
    """Return a number as people write it in the plain form (1.234,5 is 1234.5), other cells as they are.

    With `has_commas` decimals may have a comma; if `decimal` says that they do, a point groups thousands.
    """
    if not isinstance(cell, str) or not any(mark in cell for mark in _GROUPING):
        return cell
    text = cell.strip()
    if _SPACED_THOUSANDS(text):
        text = re.sub(f"[{_SPACES}]", "", text)
    if has_commas and (_DECIMAL_COMMA(text) or _is_point_thousands(text, decimal)):
        return text.replace(".", "").replace(",", ".")
    if _COMMA_THOUSANDS(text) and (not has_commas or "." in text):
        return text.replace(",", "")
    return text


def _is_point_thousands(text: str, decimal: str | None) -> bool:
    """Return whether points group thousands: several of them, or one where the decimal mark is a comma."""
    return _POINT_THOUSANDS(text) is not None and (decimal == "," or text.count(".") > 1)


def _decimal_mark(cell: Any, decimal: str | None) -> str | None:
    """Return the decimal mark a number has."""
    if not isinstance(cell, str) or _is_point_thousands(cell.strip(), decimal):
        return None
    if "." in cell and "," in cell:
        return max(",.", key=cell.rfind)
    return next((mark for mark in ",." if mark in cell), None)


def count_numbers(column_values: Iterable[Any]) -> tuple[int, int]:
    """Count the cells of a column that are numbers, and those that say anything."""
    n_numbers = n_filled = 0
    for cell in column_values:
        try:
            number = cell_number(cell)
        except _UNREADABLE:
            n_filled += 1
            continue
        n_numbers += number == number
        n_filled += number == number
    return n_numbers, n_filled


def number_form(column: Sequence[Any]) -> Literal["vectors", "numbers"] | None:
    """Say whether a column holds numbers (an empty one might), or lists of numbers."""
    if vector_length(column) > 0:
        return "vectors"
    n_numbers, n_filled = count_numbers(column)
    return "numbers" if n_numbers >= _NUMBERS * n_filled else None


def warn_of_dropped(file: str, columns: Sequence[str], hint: str = "") -> None:
    """Name the columns that no feature can be made of."""
    if columns:
        more = f" and {len(columns) - 8} more" if len(columns) > 8 else ""
        warn_user(f"{file}: left out text or id columns {', '.join(map(repr, columns[:8]))}{more}{hint}.")


def warn_of_objects(file: str, inner_names: Mapping[str, Iterable[str]]) -> None:
    """Name the columns of objects that no name reaches into, and the dotted names that would."""
    for column, dotted_names in inner_names.items():
        choices = f": dotted names reach inside ({shown_names(list(dotted_names))})" if dotted_names else ""
        warn_user(f"{file}: left out the column of objects {column!r}{choices}.")


def need_no_objects(
    columns: Iterable[str], inner_names: Mapping[str, Iterable[str]], path: str | os.PathLike[str]
) -> None:
    """Refuse columns of objects where their text, labels or numbers are needed."""
    for column in columns:
        if column in inner_names:
            raise DataError(objects_message(column, list(inner_names[column])), path)


def first_is_number(column: Iterable[Any]) -> bool | None:
    """Return whether the first cell that is not empty is a number; None when all are empty."""
    for cell in column:
        try:
            cell_value = cell_number(cell)
        except _UNREADABLE:
            return False
        if cell_value == cell_value:
            return True
    return None


def vector_length(column: Sequence[Any]) -> int:
    """Return how many numbers the first cell that is not empty lists; 0 where it lists none."""
    first_cell = next((cell for cell in column if cell is not None and cell != ""), None)
    try:
        return len(parse_vector(first_cell))
    except _UNREADABLE:
        return 0


def parse_vector(cell: Any) -> list[float]:
    """Read a cell that lists numbers."""
    if isinstance(cell, str):
        if cell.strip()[:1] != "[":
            raise ValueError(cell)
        cell = json.loads(cell)
    if not isinstance(cell, list | tuple) or any(
        isinstance(vector_entry, str | bool) for vector_entry in cell
    ):
        raise TypeError(cell)
    return [float(vector_entry) for vector_entry in cell]


def parse_vectors(chunk: Cells, column: str, length: int) -> np.ndarray:
    """Read a column of lists of numbers, all of one length; NaN where a cell is empty."""
    vector_rows = np.full((len(chunk.places), length), np.nan)
    for i, cell in enumerate(chunk.column(column)):
        if cell is None or cell == "":
            continue
        try:
            cell_numbers = parse_vector(cell)
        except _UNREADABLE:
            cell_numbers = []
        if len(cell_numbers) != length:
            raise chunk.fail(f"the value of {column!r} is not a list of {length} numbers.", i, column)
        vector_rows[i] = cell_numbers
    return vector_rows


def _normalise_cell(cell: Any) -> str:
    return "" if cell is None else str(cell).strip().lower()


def cell_number(cell: Any) -> float:
    """Read a cell as a number; NaN where it is empty."""
    if isinstance(cell, str):
        text = cell.strip()
        return float("nan") if text.lower() in _MISSING else to_number(text)
    if isinstance(cell, bytes):  # which float would read by Python's grammar
        raise TypeError(cell)
    return float("nan") if cell is None else float(cell)


def zero_one(cell: Any) -> float:
    """Read a cell as a label: 1 where it holds, 0 where not."""
    word = str(cell).strip().lower()
    if word in YES:
        return 1.0
    if word in NO:
        return 0.0
    raise ValueError(word)


def parse_groups(chunk: Cells, column: str) -> np.ndarray:
    """Read a column of groups as text, with one spelling for a number."""
    _check_width(chunk, column)
    return np.array([_spell_group(cell) for cell in chunk.column(column)], dtype=np.str_)


def _spell_group(cell: Any) -> str:
    """Spell 1, 1.0 and "1.0" alike: two spellings would split a group over folds, which leaks."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return re.sub(r"^([+-]?[0-9]+)\.0+$", r"\1", str(cell))


def _check_width(chunk: Cells, column: str) -> None:
    for i, cell in enumerate(chunk.column(column)):
        if is_object(cell):
            raise chunk.fail(
                f"the value of {column!r} is an object: a dotted name reaches inside.", i, column
            )
        if isinstance(cell, str) and len(cell) > MAX_WORD:
            raise chunk.fail(
                f"a value of {column!r} is longer than {MAX_WORD} characters; is it a column of text?",
                i,
                column,
            )


def _can_read(time_form: Callable[[Sequence[Any]], np.ndarray], column: Sequence[Any]) -> bool:
    try:
        time_form(column)
    except _UNREADABLE:
        return False
    return True


def _parse_number_times(column: Sequence[Any]) -> np.ndarray:
    return np.array([cell_number(cell) for cell in column], dtype=np.float64)


def _parse_date_times(column: Sequence[Any]) -> np.ndarray:
    time_texts = _strip_cells(column)
    if not all(_YEAR.match(time_text) for time_text in time_texts):
        raise ValueError("NumPy would read 3 as a year and 'now' as a date.")
    return np.array(time_texts, dtype="datetime64[s]")  # an empty one is NaT


def _parse_text_times(column: Sequence[Any]) -> np.ndarray:
    return np.array(_strip_cells(column), dtype=np.str_)


def _strip_cells(column: Sequence[Any]) -> list[str]:
    cell_texts = ("" if cell is None else str(cell).strip() for cell in column)
    return ["" if cell_text.lower() in _MISSING else cell_text for cell_text in cell_texts]

"""Tables as chunks of columns: CSV (any separator, quoted multi-line text), JSON lines, Parquet."""

import csv
import io
import itertools
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hyperlabel.datasets._lines import DataError, LineReader, decode_bytes, file_ending
from hyperlabel.datasets._numbers import BLANKS
from hyperlabel.datasets.objects import head_of, reach

MAX_FIELD = 16 << 20  # characters of one field; an unclosed quote must not swallow the file
MAX_COLUMNS = 1_000_000
MAX_CELLS = 1 << 27  # of some rows of JSON, where every row may bring names of its own
TABLES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_FIELD_LIMIT = threading.Lock()
_SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Cells:
    """Some rows of a table: the cells of each column, and where each row starts."""

    columns: dict[str, list[Any]]
    places: list[int]
    path: Path
    unit: Literal["line", "row"] = "line"
    delimiter: str | None = None  # of a CSV file

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column, or of what a dotted name leads to inside one.

        They are empty where JSON lines name it later in the file only.
        """
        if name not in self.columns and (head := head_of(name, self.columns)) is not None:
            return [reach(cell, name[len(head) + 1 :]) for cell in self.columns[head]]
        return self.columns.get(name) or [None] * len(self.places)

    def reaching(self, names: Sequence[str]) -> "Cells":
        """Return the rows with the columns that dotted names make of what lies inside others."""
        dotted = {name: self.column(name) for name in names if name not in self.columns and "." in name}
        there = {name: cells for name, cells in dotted.items() if any(c not in (None, []) for c in cells)}
        return replace(self, columns=self.columns | there) if there else self

    def fail(self, message: str, row: int, column: str) -> DataError:
        """Make an error about one cell (the caller raises it)."""
        if self.unit == "row":
            return DataError(f"row {self.places[row]}, column {column!r}: {message}", self.path)
        number = list(self.columns).index(column) + 1 if column in self.columns else None
        return DataError(message, self.path, line=self.places[row], column=number)


def table_kind(path: str | os.PathLike[str]) -> str:
    """Tell csv, jsonl or parquet from the ending of a file."""
    return {**TABLES, ".json": "jsonl"}.get(file_ending(path), "csv")


def read_cells(path: str | os.PathLike[str], rows: int, delimiter: str | None) -> Iterator[Cells]:
    """Yield the table in chunks; at least one, perhaps without rows."""
    kind = table_kind(path)
    if kind == "parquet":
        return _read_parquet(Path(path), rows)
    return _json_lines(path, rows) if kind == "jsonl" else _read_csv(path, rows, delimiter)


def whole_table(path: str | os.PathLike[str]) -> Cells:
    """Read all rows of a table as they are."""
    parts = list(read_cells(path, 50_000, None))
    names = dict.fromkeys(name for part in parts for name in part.columns)
    columns = {name: [cell for part in parts for cell in part.column(name)] for name in names}
    return replace(parts[0], columns=columns, places=[place for part in parts for place in part.places])


def _text_lines(lines: LineReader) -> Iterator[str]:
    """Yield lines with their ends; `str.splitlines` would also cut at form feeds inside a field."""
    for _, block in lines.blocks():
        yield from io.StringIO(decode_bytes(block), newline="\n")


def _read_csv(path: str | os.PathLike[str], rows: int, delimiter: str | None) -> Iterator[Cells]:
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, not {delimiter!r}.")
    with LineReader(path) as lines:
        stream = _text_lines(lines)
        first = next(stream)
        if delimiter is None:
            outside = "".join(first.split('"')[::2])  # what stands outside quotes
            delimiter = max(_SEPARATORS, key=outside.count)
        reader = csv.reader(itertools.chain([first], stream), delimiter=delimiter, strict=True)
        numbered = _numbered_rows(reader, lines)
        names = _read_header(numbered, lines)
        given = False
        while chunk := _rows_with_long_fields(numbered, rows):
            for line, row in chunk:
                if len(row) != len(names):
                    raise lines.fail(
                        f"the row has {len(row)} fields, the header names {len(names)} columns.",
                        line,
                        min(len(row), len(names)) + 1,
                    )
            cells = zip(*(row for _, row in chunk), strict=True)
            columns = {name: list(column) for name, column in zip(names, cells, strict=True)}
            yield Cells(columns, [line for line, _ in chunk], lines.path, delimiter=delimiter)
            given = True
        if not given:
            yield Cells({name: [] for name in names}, [], lines.path, delimiter=delimiter)


def _read_header(numbered: Iterator[Any], lines: LineReader) -> list[str]:
    [(_, header)] = _rows_with_long_fields(numbered, 1)
    if len(header) > MAX_COLUMNS:
        raise lines.fail(f"the header names more than {MAX_COLUMNS} columns.", 1)
    names = [name.strip() or f"unnamed {j + 1}" for j, name in enumerate(header)]
    if (twice := _repeated_names(names)) is not None:
        column = names.index(twice, names.index(twice) + 1) + 1
        raise lines.fail(f"the column {twice!r} appears twice in the header.", 1, column)
    return names


def _rows_with_long_fields(rows: Iterator[Any], count: int) -> list[Any]:
    """Take some rows with room for long text; the limit is one for the whole process, so it is put back."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(MAX_FIELD)
        try:
            return list(itertools.islice(rows, count))
        finally:
            csv.field_size_limit(before)


def _numbered_rows(reader: Any, lines: LineReader) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the line each starts on."""
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise lines.fail(f"this is not a readable table row ({error}).", start) from error
        if row is None:
            return
        if row:
            yield start, row


def _json_lines(path: str | os.PathLike[str], rows: int) -> Iterator[Cells]:
    names: dict[str, None] = {}
    with LineReader(path) as lines:
        numbered = _read_objects(lines)
        while chunk := list(itertools.islice(numbered, rows)):
            names |= {name: None for _, row in chunk for name in row}
            if len(names) * len(chunk) > MAX_CELLS:
                raise lines.fail(
                    f"{len(names)} names in {len(chunk)} rows make more than {MAX_CELLS} cells, most of "
                    "them empty; give rows the same names.",
                    chunk[-1][0],
                )
            columns = {name: [row.get(name) for _, row in chunk] for name in names}
            yield Cells(columns, [line for line, _ in chunk], lines.path)


class _TwiceError(Exception):
    """A JSON object that uses a name twice: the reader would keep the last value only."""


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError(_repeated_names([name for name, _ in pairs]))
    return found


def _repeated_names(names: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _read_objects(lines: LineReader) -> Iterator[tuple[int, dict[str, Any]]]:
    while (text := lines.readline()) is not None:
        if not text.strip(BLANKS):
            continue
        try:
            row = json.loads(text, object_pairs_hook=_distinct_keys)
            if "\\ud" in text.lower():
                json.dumps(row, ensure_ascii=False).encode()
        except _TwiceError as error:
            raise lines.fail(
                f"the name {error.args[0][:40]!r} appears twice in one object.", lines.line
            ) from None
        except UnicodeEncodeError:
            raise lines.fail(
                "a text holds half a character (a lone surrogate): repair it.", lines.line
            ) from None
        except json.JSONDecodeError as error:
            raise lines.fail(f"this is not JSON ({error.msg}).", lines.line, error.colno) from error
        except (RecursionError, ValueError) as error:
            raise lines.fail(
                "this JSON cannot be read: too deep or too long a number.", lines.line
            ) from error
        if not isinstance(row, dict):
            raise lines.fail("each line must hold one JSON object: {…}.", lines.line, 1)
        yield lines.line, row


def _read_parquet(path: Path, rows: int) -> Iterator[Cells]:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the path.")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Reading Parquet needs pyarrow: pip install 'hyperlabel[tables]'.") from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if (twice := _repeated_names(file.schema_arrow.names)) is not None:
                raise DataError(f"the column {twice!r} appears twice; give each a name of its own.", path)
            seen = 0
            for batch in file.iter_batches(batch_size=rows):
                places = list(range(seen + 1, seen + batch.num_rows + 1))
                seen += batch.num_rows
                yield Cells(batch.to_pydict(), places, path, "row")
            if not seen:
                yield Cells({name: [] for name in file.schema_arrow.names}, [], path, "row")
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        detail = str(error).split("\n")[0]
        raise DataError(f"this is not a readable Parquet file ({detail}).", path) from error

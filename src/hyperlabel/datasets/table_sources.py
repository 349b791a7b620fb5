"""Tables as chunks of columns, parsed once; the cells of CSV and Parquet files."""

import csv
import io
import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hyperlabel.datasets._lines import DataError, LineReader, decode_bytes
from hyperlabel.datasets.formats import find_function, format_of
from hyperlabel.datasets.objects import head_of, reach

MAX_FIELD = 16 << 20  # characters of one field; an unclosed quote must not swallow the file
MAX_COLUMNS = 1_000_000
MAX_KEPT = 1 << 23  # cells of a table that are kept once parsed; more are parsed again
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
        dotted_columns = {
            name: self.column(name) for name in names if name not in self.columns and "." in name
        }
        reached_columns = {
            name: column_values
            for name, column_values in dotted_columns.items()
            if any(c not in (None, []) for c in column_values)
        }
        return replace(self, columns=self.columns | reached_columns) if reached_columns else self

    def fail(self, message: str, row: int, column: str) -> DataError:
        """Make an error about one cell (the caller raises it)."""
        if self.unit == "row":
            return DataError(f"row {self.places[row]}, column {column!r}: {message}", self.path)
        column_number = list(self.columns).index(column) + 1 if column in self.columns else None
        return DataError(message, self.path, line=self.places[row], column=column_number)


def read_cells(path: str | os.PathLike[str], chunk_rows: int, delimiter: str | None) -> Iterator[Cells]:
    """Yield the table in chunks; at least one, perhaps without rows."""
    chunks: Iterator[Cells] = find_function(str(format_of(path).cells))(path, chunk_rows, delimiter)
    return chunks


class TableRows:
    """The rows of a table in chunks, parsed once: whoever looks at them again gets the same cells.

    A table of many cells is not kept but parsed again.
    """

    def __init__(
        self, path: str | os.PathLike[str], delimiter: str | None = None, chunk_rows: int = 20_000
    ) -> None:
        self.path, self.format = path, format_of(path)
        self._arguments = path, chunk_rows, delimiter
        self._kept_chunks: list[Cells] = []
        self._unread: Iterator[Cells] | None = None
        self._n_cells = 0

    def __iter__(self) -> Iterator[Cells]:
        if self._n_cells > MAX_KEPT:
            yield from read_cells(*self._arguments)
            return
        if self._unread is None:
            self._unread = read_cells(*self._arguments)
        n_yielded = 0
        while True:
            if n_yielded == len(self._kept_chunks):
                try:
                    chunk = next(self._unread, None)
                except Exception:  # a spent generator would make the file look empty to the next reading
                    self._unread, self._kept_chunks, self._n_cells = None, [], 0
                    raise
                if chunk is None:
                    return
                self._n_cells += len(chunk.places) * len(chunk.columns)
                if self._n_cells > MAX_KEPT:
                    self._kept_chunks = []
                    yield chunk
                    yield from self._unread
                    return
                self._kept_chunks.append(chunk)
            yield self._kept_chunks[n_yielded]
            n_yielded += 1

    def whole(self) -> Cells:
        """Return all rows at once."""
        chunks = list(self)
        column_names = dict.fromkeys(name for chunk in chunks for name in chunk.columns)
        columns = {name: [cell for chunk in chunks for cell in chunk.column(name)] for name in column_names}
        return replace(chunks[0], columns=columns, places=[row for chunk in chunks for row in chunk.places])


def iter_text_lines(reader: LineReader) -> Iterator[str]:
    """Yield lines with their ends; `str.splitlines` would also split at form feeds inside a field."""
    for _, block in reader.blocks():
        yield from io.StringIO(decode_bytes(block), newline="\n")


def read_csv_cells(path: str | os.PathLike[str], chunk_rows: int, delimiter: str | None) -> Iterator[Cells]:
    """Yield the rows of a CSV file."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, not {delimiter!r}.")
    with LineReader(path) as reader:
        text_lines = iter_text_lines(reader)
        header_line = next(text_lines)
        if delimiter is None:
            unquoted_text = "".join(header_line.split('"')[::2])
            delimiter = max(_SEPARATORS, key=unquoted_text.count)
        csv_reader = csv.reader(itertools.chain([header_line], text_lines), delimiter=delimiter, strict=True)
        numbered_rows = _iter_numbered_rows(csv_reader, reader)
        column_names = _read_header(numbered_rows, reader)
        has_yielded = False
        while row_chunk := _take_rows(numbered_rows, chunk_rows):
            for line_number, fields in row_chunk:
                if len(fields) != len(column_names):
                    raise reader.fail(
                        f"the row has {len(fields)} fields, the header names {len(column_names)} columns.",
                        line_number,
                        min(len(fields), len(column_names)) + 1,
                    )
            column_fields = zip(*(fields for _, fields in row_chunk), strict=True)
            columns = {name: list(column) for name, column in zip(column_names, column_fields, strict=True)}
            yield Cells(
                columns, [line_number for line_number, _ in row_chunk], reader.path, delimiter=delimiter
            )
            has_yielded = True
        if not has_yielded:
            yield Cells({name: [] for name in column_names}, [], reader.path, delimiter=delimiter)


def _read_header(numbered_rows: Iterator[Any], reader: LineReader) -> list[str]:
    [(_, header_fields)] = _take_rows(numbered_rows, 1)
    if len(header_fields) > MAX_COLUMNS:
        raise reader.fail(f"the header names more than {MAX_COLUMNS} columns.", 1)
    return name_columns(header_fields, lambda message, column: reader.fail(message, 1, column))


def name_columns(titles: Sequence[str], fail: Callable[[str, int], DataError]) -> list[str]:
    """Return the names in a header; an empty one is numbered, one that stands twice refused."""
    column_names = [name.strip() or f"unnamed {j + 1}" for j, name in enumerate(titles)]
    if (repeated_name := find_repeated_name(column_names)) is not None:
        column = column_names.index(repeated_name, column_names.index(repeated_name) + 1) + 1
        raise fail(f"the column {repeated_name!r} appears twice in the header.", column)
    return column_names


def _take_rows(rows: Iterator[Any], count: int) -> list[Any]:
    """Return the next rows, long fields allowed; the limit is the process's own, so it is restored."""
    with _FIELD_LIMIT:
        previous_limit = csv.field_size_limit(MAX_FIELD)
        try:
            return list(itertools.islice(rows, count))
        finally:
            csv.field_size_limit(previous_limit)


def _iter_numbered_rows(csv_reader: Any, reader: LineReader) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank, with the line each starts on."""
    while True:
        first_line = csv_reader.line_num + 1
        try:
            fields = next(csv_reader, None)
        except csv.Error as error:
            raise reader.fail(f"this is not a readable table row ({error}).", first_line) from error
        if fields is None:
            return
        if fields:
            yield first_line, fields


def find_repeated_name(names: Sequence[str]) -> str | None:
    """Return the first name that stands twice."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def read_parquet_cells(
    path: str | os.PathLike[str], chunk_rows: int, _: str | None = None
) -> Iterator[Cells]:
    """Yield the rows of a Parquet file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the path.")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Reading Parquet needs pyarrow: pip install 'hyperlabel[tables]'.") from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if (repeated_name := find_repeated_name(file.schema_arrow.names)) is not None:
                raise DataError(
                    f"the column {repeated_name!r} appears twice; give each a name of its own.", path
                )
            n_read = 0
            for batch in file.iter_batches(batch_size=chunk_rows):
                row_numbers = list(range(n_read + 1, n_read + batch.num_rows + 1))
                n_read += batch.num_rows
                yield Cells(batch.to_pydict(), row_numbers, path, "row")
            if not n_read:
                yield Cells({name: [] for name in file.schema_arrow.names}, [], path, "row")
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        detail = str(error).split("\n")[0]
        raise DataError(f"this is not a readable Parquet file ({detail}).", path) from error

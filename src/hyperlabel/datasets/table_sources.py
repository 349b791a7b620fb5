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


def table_kind(path: str | os.PathLike[str]) -> str:
    """Return csv, jsonl or parquet by the ending of a file."""
    return {**TABLES, ".json": "jsonl"}.get(file_ending(path), "csv")


def read_cells(path: str | os.PathLike[str], chunk_rows: int, delimiter: str | None) -> Iterator[Cells]:
    """Yield the table in chunks; at least one, perhaps without rows."""
    kind = table_kind(path)
    if kind == "parquet":
        return _read_parquet(Path(path), chunk_rows)
    return _read_json_lines(path, chunk_rows) if kind == "jsonl" else _read_csv(path, chunk_rows, delimiter)


def whole_table(path: str | os.PathLike[str]) -> Cells:
    """Read all rows of a table as they are."""
    table_chunks = list(read_cells(path, 50_000, None))
    column_names = dict.fromkeys(name for chunk in table_chunks for name in chunk.columns)
    columns = {name: [cell for chunk in table_chunks for cell in chunk.column(name)] for name in column_names}
    return replace(
        table_chunks[0],
        columns=columns,
        places=[row for chunk in table_chunks for row in chunk.places],
    )


def _iter_text_lines(reader: LineReader) -> Iterator[str]:
    """Yield lines with their ends; `str.splitlines` would also split at form feeds inside a field."""
    for _, block in reader.blocks():
        yield from io.StringIO(decode_bytes(block), newline="\n")


def _read_csv(path: str | os.PathLike[str], chunk_rows: int, delimiter: str | None) -> Iterator[Cells]:
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, not {delimiter!r}.")
    with LineReader(path) as reader:
        text_lines = _iter_text_lines(reader)
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
    column_names = [name.strip() or f"unnamed {j + 1}" for j, name in enumerate(header_fields)]
    if (repeated_name := _find_repeated_name(column_names)) is not None:
        column = column_names.index(repeated_name, column_names.index(repeated_name) + 1) + 1
        raise reader.fail(f"the column {repeated_name!r} appears twice in the header.", 1, column)
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


def _read_json_lines(path: str | os.PathLike[str], chunk_rows: int) -> Iterator[Cells]:
    column_names: dict[str, None] = {}
    with LineReader(path) as reader:
        numbered_objects = _read_objects(reader)
        while row_chunk := list(itertools.islice(numbered_objects, chunk_rows)):
            column_names |= {name: None for _, json_object in row_chunk for name in json_object}
            if len(column_names) * len(row_chunk) > MAX_CELLS:
                raise reader.fail(
                    f"{len(column_names)} names in {len(row_chunk)} rows make more than {MAX_CELLS} cells, "
                    "most of them empty; give rows the same names.",
                    row_chunk[-1][0],
                )
            columns = {name: [json_object.get(name) for _, json_object in row_chunk] for name in column_names}
            yield Cells(columns, [line_number for line_number, _ in row_chunk], reader.path)


class _TwiceError(Exception):
    """A JSON object that uses a name twice: the reader would keep the last value only."""


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    json_object = dict(pairs)
    if len(json_object) < len(pairs):
        raise _TwiceError(_find_repeated_name([name for name, _ in pairs]))
    return json_object


def _find_repeated_name(names: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _read_objects(reader: LineReader) -> Iterator[tuple[int, dict[str, Any]]]:
    while (line_text := reader.readline()) is not None:
        if not line_text.strip(BLANKS):
            continue
        try:
            json_object = json.loads(line_text, object_pairs_hook=_build_object)
            if "\\ud" in line_text.lower():
                json.dumps(json_object, ensure_ascii=False).encode()
        except _TwiceError as error:
            raise reader.fail(
                f"the name {error.args[0][:40]!r} appears twice in one object.", reader.line
            ) from None
        except UnicodeEncodeError:
            raise reader.fail(
                "a text holds half a character (a lone surrogate): repair it.", reader.line
            ) from None
        except json.JSONDecodeError as error:
            raise reader.fail(f"this is not JSON ({error.msg}).", reader.line, error.colno) from error
        except (RecursionError, ValueError) as error:
            raise reader.fail(
                "this JSON cannot be read: too deep or too long a number.", reader.line
            ) from error
        if not isinstance(json_object, dict):
            raise reader.fail("each line must hold one JSON object: {…}.", reader.line, 1)
        yield reader.line, json_object


def _read_parquet(path: Path, chunk_rows: int) -> Iterator[Cells]:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the path.")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Reading Parquet needs pyarrow: pip install 'hyperlabel[tables]'.") from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if (repeated_name := _find_repeated_name(file.schema_arrow.names)) is not None:
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

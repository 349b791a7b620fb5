"""What is written in which format; columns of cells as CSV, JSON lines or Parquet, kept as they are."""

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from hyperlabel.datasets._lines import file_ending
from hyperlabel.datasets.label_cells import MARKS
from hyperlabel.datasets.table_sources import TABLES

FORMATS = {
    ".npz": "npz",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".xmc": "xmc",
    ".txt": "xmc",
    **TABLES,
}


WRITTEN = TABLES | {".json": "json"}  # a table of answers, by the ending of its file


def target_format(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Tell what to write from the ending of a file, unless it is said."""
    if format is None:
        format = FORMATS.get(file_ending(path))
        if format is None:
            raise ValueError(
                f"Cannot tell the format from {Path(path).name!r}: end it with {', '.join(FORMATS)}."
            )
    if format not in FORMATS.values():
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise ValueError(f"format must be one of {known}, not {format!r}.")
    told = FORMATS.get(file_ending(path))
    if told not in (None, format) and file_ending(path) != ".txt":  # which says little
        raise ValueError(f"{Path(path).name} would hold {format}, not {told} as its name says: rename it.")
    return format


def output_kind(path: str | os.PathLike[str], kind: str | None = None) -> str:
    """Tell what table to write from the ending of a file (none: CSV); refuse what the name does not say."""
    end = file_ending(path)
    told = WRITTEN.get(end)
    if kind is None and told is None and end:
        raise ValueError(f"{Path(path).name} cannot be written as a table: end it with {', '.join(WRITTEN)}.")
    if kind is not None and told not in (None, kind):
        raise ValueError(f"{Path(path).name} would hold {kind}, not {told} as its name says: rename it.")
    return kind or told or "csv"


def write_columns(
    columns: dict[str, list[Any]], file: BinaryIO, kind: str, *, delimiter: str | None = None
) -> None:
    """Write columns of equal length; lists become JSON in CSV, text that spells numbers becomes numbers
    elsewhere, where no digit is lost by it.
    """
    _WRITERS[kind](columns, file, delimiter or ",")


def list_cells(sets: Sequence[Sequence[str]], names: Sequence[str], kind: str) -> list[Any]:
    """Return label sets as cells: lists, or in CSV text with a mark that no name holds."""
    if kind != "csv":
        return [list(row) for row in sets]
    mark = next((mark for mark in MARKS[:2] if not any(mark in name for name in names)), None)
    if mark is None:
        return [json.dumps(list(row), ensure_ascii=False) for row in sets]
    return [mark.join(row) for row in sets]


def _write_csv(columns: dict[str, list[Any]], file: BinaryIO, delimiter: str) -> None:
    out = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            cells = [_write_cell(value) for value in row]
            if cells == [""]:
                out.write('""\n')  # a blank line would be no row
            else:
                writer.writerow(cells)
    finally:
        out.detach()


def _write_cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple | dict):
        return json.dumps(json_value(value), ensure_ascii=False, default=str)
    return value


def _records(columns: dict[str, list[Any]]) -> Iterator[bytes]:
    names, cells = list(columns), [_typed_cells(column) for column in columns.values()]
    for row in zip(*cells, strict=True):
        record = {name: json_value(value) for name, value in zip(names, row, strict=True)}
        yield json.dumps(record, ensure_ascii=False, default=str).encode()


def _write_json_lines(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    for record in _records(columns):
        file.write(record + b"\n")


def _write_json(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    mark = b"["
    for record in _records(columns):
        file.write(mark + b"\n" + record)
        mark = b","
    file.write(b"\n]\n" if mark == b"," else b"[]\n")


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers that are not finite become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    if isinstance(value, dict):
        return {str(key): json_value(part) for key, part in value.items()}
    return value


def _write_parquet(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Writing Parquet needs pyarrow: pip install 'hyperlabel[tables]'.") from error
    arrays = {}
    for name, cells in columns.items():
        try:
            arrays[name] = pyarrow.array(_typed_cells(cells))
        except (pyarrow.ArrowException, TypeError):  # values of several kinds
            arrays[name] = pyarrow.array([None if cell is None else str(cell) for cell in cells])
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def _typed_cells(cells: list[Any]) -> list[Any]:
    """Numbers in place of text where each cell spells one as Python would; other columns as they are."""
    if not all(isinstance(cell, str) for cell in cells) or not any(cells):
        return cells
    for kind in (int, float):
        found = [_parse_cell(cell, kind) for cell in cells]
        if all((value is None) == (not cell) for value, cell in zip(found, cells, strict=True)):
            return found
    return cells


def _parse_cell(cell: str, kind: Callable[[str], Any]) -> Any:
    try:
        value = kind(cell)
    except ValueError:
        return None
    fits = isinstance(value, float) or abs(value) < 2**63
    return value if fits and str(value) == cell and math.isfinite(value) else None


_WRITERS: dict[str, Callable[[dict[str, list[Any]], BinaryIO, str], None]] = {
    "csv": _write_csv,
    "jsonl": _write_json_lines,
    "json": _write_json,
    "parquet": _write_parquet,
}

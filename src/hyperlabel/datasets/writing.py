"""The format of each file ending; columns of cells written as CSV, JSON lines, JSON or Parquet."""

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
    """Return the format to write: the one given, else the one of the file's ending."""
    if format is None:
        format = FORMATS.get(file_ending(path))
        if format is None:
            raise ValueError(
                f"Cannot tell the format from {Path(path).name!r}: end it with {', '.join(FORMATS)}."
            )
    if format not in FORMATS.values():
        format_list = ", ".join(dict.fromkeys(FORMATS.values()))
        raise ValueError(f"format must be one of {format_list}, not {format!r}.")
    named_format = FORMATS.get(file_ending(path))
    if named_format not in (None, format) and file_ending(path) != ".txt":  # .txt stands for two formats
        raise ValueError(
            f"{Path(path).name} would hold {format}, not {named_format} as its name says: rename it."
        )
    return format


def output_kind(path: str | os.PathLike[str], kind: str | None = None) -> str:
    """Return the kind of table to write by the file's ending (none: CSV); refuse a kind it contradicts."""
    file_suffix = file_ending(path)
    named_kind = WRITTEN.get(file_suffix)
    if kind is None and named_kind is None and file_suffix:
        raise ValueError(f"{Path(path).name} cannot be written as a table: end it with {', '.join(WRITTEN)}.")
    if kind is not None and named_kind not in (None, kind):
        raise ValueError(
            f"{Path(path).name} would hold {kind}, not {named_kind} as its name says: rename it."
        )
    return kind or named_kind or "csv"


def write_columns(
    columns: dict[str, list[Any]], file: BinaryIO, kind: str, *, delimiter: str | None = None
) -> None:
    """Write columns of equal length; lists become JSON in CSV, text that spells numbers becomes numbers
    elsewhere, where no digit is lost by it.
    """
    _WRITERS[kind](columns, file, delimiter or ",")


def list_cells(row_labels: Sequence[Sequence[str]], names: Sequence[str], kind: str) -> list[Any]:
    """Return label sets as cells: lists, or in CSV text with a mark that no name holds."""
    if kind != "csv":
        return [list(label_set) for label_set in row_labels]
    free_mark = next(
        (free_mark for free_mark in MARKS[:2] if not any(free_mark in name for name in names)), None
    )
    if free_mark is None:
        return [json.dumps(list(label_set), ensure_ascii=False) for label_set in row_labels]
    return [free_mark.join(label_set) for label_set in row_labels]


def _write_csv(columns: dict[str, list[Any]], file: BinaryIO, delimiter: str) -> None:
    text_file = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        csv_writer = csv.writer(text_file, delimiter=delimiter, lineterminator="\n")
        csv_writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            row_cells = [_write_cell(value) for value in row]
            if row_cells == [""]:
                text_file.write('""\n')  # a blank line would be no row
            else:
                csv_writer.writerow(row_cells)
    finally:
        text_file.detach()


def _write_cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple | dict):
        return json.dumps(json_value(value), ensure_ascii=False, default=str)
    return value


def _iter_records(columns: dict[str, list[Any]]) -> Iterator[bytes]:
    column_names, typed_columns = list(columns), [_type_cells(column) for column in columns.values()]
    for row in zip(*typed_columns, strict=True):
        record = {name: json_value(value) for name, value in zip(column_names, row, strict=True)}
        yield json.dumps(record, ensure_ascii=False, default=str).encode()


def _write_json_lines(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    for record in _iter_records(columns):
        file.write(record + b"\n")


def _write_json(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    opening_mark = b"["
    for record in _iter_records(columns):
        file.write(opening_mark + b"\n" + record)
        opening_mark = b","
    file.write(b"\n]\n" if opening_mark == b"," else b"[]\n")


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers that are not finite become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [json_value(inner_value) for inner_value in value]
    if isinstance(value, dict):
        return {str(key): json_value(inner_value) for key, inner_value in value.items()}
    return value


def _write_parquet(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Writing Parquet needs pyarrow: pip install 'hyperlabel[tables]'.") from error
    arrays = {}
    for name, column_values in columns.items():
        try:
            arrays[name] = pyarrow.array(_type_cells(column_values))
        except (pyarrow.ArrowException, TypeError):  # values of several kinds
            arrays[name] = pyarrow.array([None if cell is None else str(cell) for cell in column_values])
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def _type_cells(column_values: list[Any]) -> list[Any]:
    """Return numbers where each cell spells one as Python would; other columns as they are."""
    if not all(isinstance(cell, str) for cell in column_values) or not any(column_values):
        return column_values
    for number_type in (int, float):
        typed_values = [_parse_cell(cell, number_type) for cell in column_values]
        if all(
            (value is None) == (not cell) for value, cell in zip(typed_values, column_values, strict=True)
        ):
            return typed_values
    return column_values


def _parse_cell(cell: str, number_type: Callable[[str], Any]) -> Any:
    try:
        value = number_type(cell)
    except ValueError:
        return None
    fits_int64 = isinstance(value, float) or abs(value) < 2**63
    return value if fits_int64 and str(value) == cell and math.isfinite(value) else None


_WRITERS: dict[str, Callable[[dict[str, list[Any]], BinaryIO, str], None]] = {
    "csv": _write_csv,
    "jsonl": _write_json_lines,
    "json": _write_json,
    "parquet": _write_parquet,
}

"""Columns of cells written as CSV, JSON lines, JSON or Parquet."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from hyperlabel.datasets.formats import BY_NAME, find_function
from hyperlabel.datasets.label_cells import LIST_MARKS


def write_columns(
    columns: dict[str, list[Any]], file: BinaryIO, kind: str, *, delimiter: str | None = None
) -> None:
    """Write columns of equal length; lists become JSON in CSV, text that spells numbers becomes numbers
    elsewhere, where no digit is lost by it.
    """
    find_function(str(BY_NAME[kind].write))(columns, file, delimiter or ",")


def list_cells(row_labels: Sequence[Sequence[str]], names: Sequence[str], kind: str) -> list[Any]:
    """Return label sets as cells: lists, or in CSV text with a mark that no name holds."""
    if kind != "csv":
        return [list(label_set) for label_set in row_labels]
    free_mark = next(
        (free_mark for free_mark in LIST_MARKS[:2] if not any(free_mark in name for name in names)), None
    )
    if free_mark is None:
        return [json.dumps(list(label_set), ensure_ascii=False) for label_set in row_labels]
    return [free_mark.join(label_set) for label_set in row_labels]


def write_csv(columns: dict[str, list[Any]], file: BinaryIO, delimiter: str) -> None:
    """Write columns as CSV."""
    text_file = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        csv_writer = csv.writer(text_file, delimiter=delimiter, lineterminator="\n")
        csv_writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            row_cells = [write_cell(value) for value in row]
            if row_cells == [""]:
                text_file.write('""\n')  # a blank line would be no row
            else:
                csv_writer.writerow(row_cells)
    finally:
        text_file.detach()


def write_cell(value: Any) -> Any:
    """Return a value as a cell that holds text or a number."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple | dict):
        return json.dumps(json_value(value), ensure_ascii=False, default=str)
    return value


def _iter_records(columns: dict[str, list[Any]]) -> Iterator[bytes]:
    column_names, typed_columns = list(columns), [type_cells(column) for column in columns.values()]
    for row in zip(*typed_columns, strict=True):
        record = {name: json_value(value) for name, value in zip(column_names, row, strict=True)}
        yield json.dumps(record, ensure_ascii=False, default=str).encode()


def write_json_lines(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    """Write one object a line."""
    for record in _iter_records(columns):
        file.write(record + b"\n")


def write_json(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    """Write one array of objects."""
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


def write_parquet(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    """Write columns as Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Writing Parquet needs pyarrow: pip install 'hyperlabel[tables]'.") from error
    arrays = {}
    for name, column_values in columns.items():
        try:
            arrays[name] = pyarrow.array(type_cells(column_values))
        except (pyarrow.ArrowException, TypeError):  # values of several kinds
            arrays[name] = pyarrow.array([None if cell is None else str(cell) for cell in column_values])
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def type_cells(column_values: list[Any]) -> list[Any]:
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

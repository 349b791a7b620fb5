"""Sheets of Excel workbooks (.xlsx), read and written through openpyxl."""

import datetime
import itertools
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hyperlabel.datasets._lines import DataError, table_address, warn_user
from hyperlabel.datasets.table_sources import Cells, name_columns
from hyperlabel.datasets.writing import json_value, type_cells, write_cell

MAX_BYTES = 4 << 30  # of a workbook once unpacked: stops decompression bombs early


def read_xlsx_cells(path: str | os.PathLike[str], chunk_rows: int, _: str | None = None) -> Iterator[Cells]:
    """Yield the rows of the sheet ``FILE::SHEET``, by default of the first, below its header.

    Formulas count by the values stored with them.
    """
    file_path, sheet_name = table_address(path)
    if not file_path.exists():
        raise FileNotFoundError(f"There is no file {file_path}: check the path.")
    workbook = _open_workbook(file_path)
    try:
        sheet = _choose_sheet(workbook, sheet_name, file_path)
        rows = filter(_is_filled_row, enumerate(sheet.iter_rows(values_only=True), start=1))
        column_names = _read_header(next(rows, (0, ()))[1], file_path)
        has_yielded = False
        while row_chunk := list(itertools.islice(rows, chunk_rows)):
            columns = {
                name: [_plain_cell(row[j]) if j < len(row) else None for _, row in row_chunk]
                for j, name in enumerate(column_names)
            }
            yield Cells(columns, [i for i, _ in row_chunk], file_path, "row")
            has_yielded = True
        if not has_yielded:
            yield Cells({name: [] for name in column_names}, [], file_path, "row")
    finally:
        workbook.close()


def _open_workbook(path: Path) -> Any:
    openpyxl = _import_openpyxl()
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes <= MAX_BYTES:
            return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # of zip, XML or openpyxl: whatever a damaged file makes them raise
        raise DataError(f"this is not a readable Excel workbook ({error}).", path) from error
    raise DataError(f"the workbook unpacks to more than {MAX_BYTES >> 30} GiB.", path)


def _read_header(header: tuple[Any, ...], path: Path) -> list[str]:
    """Return the names in the first filled row, up to its last one."""
    if not header:
        raise DataError("the sheet is empty.", path)
    width = max(j for j, cell in enumerate(header) if cell is not None) + 1
    titles = ["" if cell is None else str(_plain_cell(cell)) for cell in header[:width]]
    return name_columns(titles, lambda message, _: DataError(message, path))


def _import_openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise ValueError(
            "Excel files need openpyxl: pip install openpyxl (or save the sheet as CSV)."
        ) from error
    return openpyxl


def _choose_sheet(workbook: Any, sheet_name: str | None, path: Any) -> Any:
    titles = [sheet.title for sheet in workbook.worksheets]
    if sheet_name is None:
        if len(titles) > 1:
            others = ", ".join(f"{path.name}::{title}" for title in titles[1:6])
            warn_user(f"{path.name}: the sheet {titles[0]!r} is read; others are {others}.")
        return workbook.worksheets[0]
    if sheet_name not in titles:
        raise DataError(f"there is no sheet {sheet_name!r}; there are {', '.join(titles)}.", path)
    return workbook[sheet_name]


def _is_filled_row(numbered_row: tuple[int, tuple[Any, ...]]) -> bool:
    return any(cell is not None and cell != "" for cell in numbered_row[1])


def _plain_cell(cell: Any) -> Any:
    """Return whole numbers as such and dates as text, as a CSV file would spell them."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return str(cell) if isinstance(cell, (bool, datetime.date, datetime.time, datetime.timedelta)) else cell


def write_xlsx(columns: dict[str, list[Any]], file: BinaryIO, _: str) -> None:
    """Write columns as the only sheet of a workbook."""
    workbook = _import_openpyxl().Workbook(write_only=True)
    sheet = workbook.create_sheet("rows")
    sheet.append(list(columns))
    typed_columns = [type_cells(column_values) for column_values in columns.values()]
    for row in zip(*typed_columns, strict=True):
        sheet.append([write_cell(json_value(value)) for value in row])
    workbook.save(file)

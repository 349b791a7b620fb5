"""The formats of data files in one place: their endings, and who reads and writes them.

To add a format, write its reader and one entry of `FORMATS`. Functions are named as "module:function" below
``hyperlabel.datasets`` and imported on first use: a command loads only what its files need.
"""

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperlabel.datasets._lines import file_ending, table_address

_TABLE_OPTIONS = frozenset(
    {"labels", "label_column", "label_separator", "features", "text", "text_columns", "blank", "group"}
    | {"time", "decimal", "vectors", "unreadable"}
)
_DEBTAGS = "debtags"
# endings that no reader takes, and what to do about them
_RECIPES = {
    ".npy": "an npy file holds numbers without labels: name the table of the labels, and --vectors {path}",
    ".xls": "save it as .xlsx",
    ".ods": "save it as .xlsx or .csv",
    ".zip": "unpack it and name the file inside",
    ".pkl": "pickle files run code when they are read: write it with DataFrame.to_parquet or to_csv",
    ".feather": "write it with DataFrame.to_parquet",
}


@dataclass(frozen=True)
class FileFormat:
    """How files of one format are recognised, read and written."""

    name: str
    title: str  # as people call it
    endings: tuple[str, ...]
    read: str  # f(path, **options) -> Dataset
    iterate: str | None = None  # f(path, chunk_rows=, **options) -> Datasets
    write: str | None = None  # f(Dataset, file), of a table f(columns, file, delimiter)
    cells: str | None = None  # of a table: f(path, chunk_rows, delimiter) -> Cells
    options: frozenset[str] = frozenset()  # of the reader
    names_later: bool = False  # any row may be the first to name a column
    starts: str | None = None  # f(path) -> bool: tells formats of one ending apart

    @property
    def is_table(self) -> bool:
        """Whether files consist of named columns of cells."""
        return self.cells is not None


def _table(name: str, title: str, endings: tuple[str, ...], module: str, **extra: Any) -> FileFormat:
    """Return a format whose reader gives cells, which `read_table` turns into a data set."""
    return FileFormat(
        *(name, title, endings, "table:read_table", "table:iter_table"),
        cells=f"{module}:read_{name}_cells",
        options=_TABLE_OPTIONS,
        **extra,
    )


FORMATS = (
    _table("csv", "CSV", (".csv", ".tsv"), "table_sources", write="writing:write_csv"),
    _table(
        *("jsonl", "JSON lines", (".jsonl", ".ndjson"), "json_tables"),
        write="writing:write_json_lines",
        names_later=True,
    ),
    _table("json", "JSON", (".json",), "json_tables", write="writing:write_json", names_later=True),
    _table("parquet", "Parquet", (".parquet", ".pq"), "table_sources", write="writing:write_parquet"),
    _table("xlsx", "Excel", (".xlsx", ".xlsm"), "excel", write="excel:write_xlsx"),
    _table("sqlite", "SQLite", (".sqlite", ".sqlite3", ".db"), "sqlite_tables"),
    FileFormat(
        *("arff", "ARFF", (".arff",), "_arff:read_arff", "_arff:iter_arff"),
        options=frozenset(("labels", "nominal")),
    ),
    FileFormat("npz", "npz", (".npz",), "npz:load_npz", write="_save:save_npz"),
    FileFormat(
        *("xmc", "XMC", (".xmc", ".txt"), "_rows:read_xmc", "_rows:iter_xmc", "_save:save_xmc"),
        starts="_rows:looks_like_xmc",
    ),
    FileFormat(
        *("libsvm", "LIBSVM", (".svm", ".libsvm", ".svmlight", ".txt")),
        *("_rows:read_svmlight", "_rows:iter_svmlight", "_save:save_libsvm"),
    ),
    FileFormat("shards", "folders of npz files", (), "_open:read_shards", "_open:iter_shards"),
    FileFormat(_DEBTAGS, "the embedded data", (), "_open:read_debtags"),
)
BY_NAME = {file_format.name: file_format for file_format in FORMATS}
ENDINGS = tuple(dict.fromkeys(ending for file_format in FORMATS for ending in file_format.endings))
TABLE_NAMES = tuple(file_format.name for file_format in FORMATS if file_format.is_table)
WRITTEN_TABLES = tuple(name for name in TABLE_NAMES if BY_NAME[name].write)
WRITTEN = tuple(file_format.name for file_format in FORMATS if file_format.write)
TABLE_TITLES = ", ".join(file_format.title for file_format in FORMATS if file_format.is_table)


def find_function(name: str) -> Callable[..., Any]:
    """Import a function named as "module:function"."""
    module_name, function_name = name.split(":")
    module = importlib.import_module(f"hyperlabel.datasets.{module_name}")
    function: Callable[..., Any] = getattr(module, function_name)
    return function


def format_of(path: str | os.PathLike[str]) -> FileFormat:
    """Return the format of a file by its ending, or by its first line where several share one."""
    file_path = table_address(path)[0]
    if file_path.is_dir():
        return BY_NAME["shards"]
    if str(file_path) == _DEBTAGS and not file_path.exists():
        return BY_NAME[_DEBTAGS]
    candidates = formats_of_ending(file_path)
    for candidate in candidates:
        if candidate.starts is None or len(candidates) == 1 or find_function(candidate.starts)(file_path):
            return candidate
    recipe = _RECIPES.get(file_ending(file_path))
    reason = recipe.format(path=file_path) if recipe else f"known endings are {', '.join(ENDINGS)} (.gz too)"
    raise ValueError(f"Cannot tell the format of {file_path.name!r}: {reason}.")


def formats_of_ending(path: str | os.PathLike[str]) -> list[FileFormat]:
    """Return the formats that files with this ending may have."""
    ending = file_ending(path)
    return [file_format for file_format in FORMATS if ending in file_format.endings]


def data_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file (or of a folder of npz shards) without reading it.

    Every kind of table is called ``"table"``.

    Examples
    --------
    >>> from hyperlabel.datasets import data_format
    >>> data_format("emotions.arff.gz"), data_format("songs.xlsx")
    ('arff', 'table')
    """
    file_format = format_of(path)
    return "table" if file_format.is_table else file_format.name


def target_format(path: str | os.PathLike[str], name: str | None = None, *, table: bool = False) -> str:
    """Return the format to write: the one given, else the one of the file's ending.

    Refuse a format that the ending contradicts. A `table` without an ending is CSV.
    """
    writable = WRITTEN_TABLES if table else WRITTEN
    ending_names = [file_format.name for file_format in formats_of_ending(path)]
    if name is not None:
        _need_agreement(name, ending_names, writable, Path(path).name)
        return name
    if table and not file_ending(path):
        return "csv"
    written_name = next((ending_name for ending_name in ending_names if ending_name in writable), None)
    if written_name is None:
        endings = dict.fromkeys(ending for n in writable for ending in BY_NAME[n].endings)
        raise ValueError(f"Cannot tell the format of {Path(path).name!r}: end it with {', '.join(endings)}.")
    return written_name


def _need_agreement(name: str, ending_names: list[str], writable: tuple[str, ...], file_name: str) -> None:
    """Refuse a format that cannot be written, or not under this ending."""
    if name not in writable:
        raise ValueError(f"format must be one of {', '.join(writable)}, not {name!r}.")
    if ending_names and name not in ending_names:
        raise ValueError(f"{file_name} would hold {name}, not {ending_names[0]} as its name says: rename it.")

"""Tables of SQLite databases: ``FILE::TABLE``."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

from hyperlabel.datasets._lines import DataError, table_address
from hyperlabel.datasets.table_sources import Cells


def read_sqlite_cells(path: str | os.PathLike[str], chunk_rows: int, _: str | None = None) -> Iterator[Cells]:
    """Yield the rows of the table or view named by ``FILE::TABLE``; a database of one table needs no name."""
    file_path, table_name = table_address(path)
    if not file_path.exists():
        raise FileNotFoundError(f"There is no file {file_path}: check the path.")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file_path))}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")  # a stranger's view must not call functions
            table_name = _choose_table(database, table_name, file_path)
            quoted_name = table_name.replace('"', '""')
            cursor = database.execute(f'SELECT * FROM "{quoted_name}"')
            column_names = [column[0] for column in cursor.description]
            n_read = 0
            while rows := cursor.fetchmany(chunk_rows):
                columns = dict(zip(column_names, map(list, zip(*rows, strict=True)), strict=True))
                yield Cells(columns, list(range(n_read + 1, n_read + len(rows) + 1)), file_path, "row")
                n_read += len(rows)
            if not n_read:
                yield Cells({name: [] for name in column_names}, [], file_path, "row")
    except sqlite3.Error as error:
        raise DataError(f"this database cannot be read ({error}).", file_path) from error


def _choose_table(database: sqlite3.Connection, table_name: str | None, path: os.PathLike[str]) -> str:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
    names = [str(name) for (name,) in database.execute(query)]
    if table_name is None and len(names) == 1:
        return names[0]
    if table_name not in names:
        which = "it holds several tables" if table_name is None else f"there is no table {table_name!r}"
        choices = ", ".join(f"{os.path.basename(path)}::{name}" for name in names[:12]) or "none"
        raise DataError(f"{which}: name one ({choices}).", path)
    return table_name

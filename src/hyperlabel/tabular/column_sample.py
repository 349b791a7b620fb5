"""A sample of a table's rows, spread over the whole file: what its columns are judged by."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.datasets.table_sources import Cells, read_cells

_MOST_ROWS, _FEWEST_ROWS = 4000, 300
_MOST_CELLS = 1_000_000  # wide tables are judged by fewer rows
_CHUNK_ROWS, _MOST_CHUNKS = 20_000, 100  # of a longer file the first two million rows are looked at


@dataclass(frozen=True)
class TableSample:
    """Some rows of a table by columns, and their numbers in the file."""

    columns: dict[str, list[Any]]
    row_index: np.ndarray
    n_rows: int
    delimiter: str | None = None  # of a CSV file

    def cells(self, path: str) -> Cells:
        """Return the rows as a reader of the file gives them."""
        return Cells(self.columns, self.row_index.tolist(), Path(path), "row", self.delimiter)


def sample_rows(path: str) -> TableSample:
    """Draw rows from all over a table, the same ones each time, in the order of the file.

    Each row gets a random number, and those with the smallest stay: every n-th row would miss what changes
    with the same period. The first row in which a column says something always stays.
    """
    random = np.random.default_rng(0)
    columns: dict[str, list[Any]] = {}
    row_index, priority = np.zeros(0, dtype=np.int64), np.zeros(0)
    filled: set[str] = set()
    n_rows, bound = 0, 1.0
    delimiter: str | None = None
    for chunk in islice(read_cells(path, _CHUNK_ROWS, None), _MOST_CHUNKS):
        delimiter = chunk.delimiter
        drawn = random.random(len(chunk.places))
        for name in chunk.columns.keys() - filled:
            if (row := _first_filled(chunk.columns[name])) is not None:
                drawn[row] = 0.0
                filled.add(name)
        rows = np.flatnonzero(drawn < bound)
        for name in chunk.columns:
            columns.setdefault(name, [None] * len(row_index))
        for name, cells in columns.items():
            there = chunk.column(name)
            cells += [there[i] for i in rows]
        row_index, priority = np.append(row_index, n_rows + rows), np.append(priority, drawn[rows])
        n_rows += len(drawn)
        most = int(np.clip(_MOST_CELLS // max(len(columns), 1), _FEWEST_ROWS, _MOST_ROWS))
        if len(row_index) > most and (smaller := float(np.partition(priority, most)[most])) > 0:
            bound = smaller
            rows = np.flatnonzero(priority < bound)
            columns = {name: [cells[i] for i in rows] for name, cells in columns.items()}
            row_index, priority = row_index[rows], priority[rows]
    return TableSample(columns, row_index, n_rows, delimiter)


def _first_filled(cells: list[Any]) -> int | None:
    return next((i for i, cell in enumerate(cells) if cell is not None and cell != ""), None)

"""Draw rows from the whole of a table, by which the types of its columns are guessed."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.datasets.table_sources import Cells, TableRows

_MOST_ROWS, _FEWEST_ROWS = 4000, 300
_MOST_CELLS = 1_000_000  # wide tables are judged by fewer rows
_MOST_CHUNKS = 100  # of a longer file the first two million rows are looked at


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


def sample_rows(rows: TableRows) -> TableSample:
    """Draw rows from all over a table, the same ones each time, in the order of the file.

    Each row gets a random number, and those with the smallest stay: every n-th row would miss what changes
    with the same period. The first row in which a column says something always stays.
    """
    random = np.random.default_rng(0)
    columns: dict[str, list[Any]] = {}
    row_index, priorities = np.zeros(0, dtype=np.int64), np.zeros(0)
    filled_columns: set[str] = set()
    n_rows, priority_bound = 0, 1.0
    delimiter: str | None = None
    for chunk in islice(rows, _MOST_CHUNKS):
        delimiter = chunk.delimiter
        chunk_priorities = random.random(len(chunk.places))
        for name in chunk.columns.keys() - filled_columns:
            cells = enumerate(chunk.columns[name])
            filled_row = next((i for i, cell in cells if cell is not None and cell != ""), None)
            if filled_row is not None:
                chunk_priorities[filled_row] = 0.0
                filled_columns.add(name)
        row_places = np.flatnonzero(chunk_priorities < priority_bound)
        for name in chunk.columns:
            columns.setdefault(name, [None] * len(row_index))
        for name, values in columns.items():
            chunk_column = chunk.column(name)
            values += [chunk_column[i] for i in row_places]
        row_index, priorities = (
            np.append(row_index, n_rows + row_places),
            np.append(priorities, chunk_priorities[row_places]),
        )
        n_rows += len(chunk_priorities)
        max_rows = int(np.clip(_MOST_CELLS // max(len(columns), 1), _FEWEST_ROWS, _MOST_ROWS))
        if (
            len(row_index) > max_rows
            and (smaller_bound := float(np.partition(priorities, max_rows)[max_rows])) > 0
        ):
            priority_bound = smaller_bound
            row_places = np.flatnonzero(priorities < priority_bound)
            columns = {name: [values[i] for i in row_places] for name, values in columns.items()}
            row_index, priorities = row_index[row_places], priorities[row_places]
    return TableSample(columns, row_index, n_rows, delimiter)

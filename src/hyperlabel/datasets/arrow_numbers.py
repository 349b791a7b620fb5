"""Arrow columns of numbers as arrays: no number becomes a Python object on the way."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.datasets._lines import DataError

TILE_ROWS = 512  # rows that are turned from columns into rows while they are in cache


def rows_of_columns(columns: Sequence[np.ndarray], n_rows: int, dtype: Any) -> np.ndarray:
    """Return the columns as one array in C order, n×m."""
    rows = np.empty((n_rows, len(columns)), dtype=dtype)
    tile = np.empty((len(columns), min(TILE_ROWS, n_rows)), dtype=dtype)
    for first_row in range(0, n_rows, TILE_ROWS):
        n_tile = min(TILE_ROWS, n_rows - first_row)
        for j, column in enumerate(columns):
            tile[j, :n_tile] = column[first_row : first_row + n_tile]
        rows[first_row : first_row + n_tile] = tile[:, :n_tile].T
    return rows


def is_number_type(kind: Any) -> bool:
    """Whether an Arrow type holds numbers or truth values."""
    import pyarrow.types

    return bool(
        pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind)
    )


def number_columns(path: Path, labels: Sequence[str], features: Sequence[str] | None) -> list[str] | None:
    """Return the feature columns of a Parquet file if they and the labels are numbers, else None."""
    try:
        import pyarrow
        import pyarrow.parquet

        schema = pyarrow.parquet.read_schema(path)
    except (ImportError, OSError, ValueError):  # whoever reads it cell by cell says what is wrong
        return None
    names = list(schema.names)
    chosen = [name for name in names if name not in set(labels)] if features is None else list(features)
    wanted = {*labels, *chosen}
    if len(set(names)) < len(names) or not chosen or not wanted <= set(names):
        return None
    types = dict(zip(names, schema.types, strict=True))
    return chosen if all(is_number_type(types[name]) for name in wanted) else None


def iter_number_batches(path: Path, columns: Sequence[str], chunk_rows: int) -> Iterator[Any]:
    """Yield record batches of some columns, in their order."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=chunk_rows, columns=list(columns), use_threads=False)
    except (pyarrow.ArrowException, OSError) as error:
        detail = str(error).split("\n")[0]
        raise DataError(f"this is not a readable Parquet file ({detail}).", path) from error


def numbers_and_labels(
    batch: Any, features: Sequence[str], labels: Sequence[str]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return X (NaN where empty) and Y of a batch; None where a label is empty or neither 0 nor 1."""
    import pyarrow.types

    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, column in columns.items():
        is_filled = name in labels or pyarrow.types.is_boolean(column.type)
        if is_filled and column.null_count:
            return None
    arrays = {name: column.to_numpy(zero_copy_only=False) for name, column in columns.items()}
    Y = rows_of_columns([arrays[name] for name in labels], batch.num_rows, np.int8)
    if not all(np.isin(arrays[name], (0, 1)).all() for name in labels):
        return None
    return rows_of_columns([arrays[name] for name in features], batch.num_rows, np.float64), Y

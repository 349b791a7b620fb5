"""Batches of rows, from Arrow or as (X, y): one after the other, never all in memory."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets import Dataset
from hyperlabel.datasets.arrow_numbers import rows_of_columns

BLOCK_BYTES = 16 * 2**20  # of the dense rows formed at a time; larger blocks were not faster
# A pyarrow data set reads ahead until a gigabyte waits, whatever it is told, unless it has no threads.
READ_AHEAD = {"use_threads": False, "batch_readahead": 0, "fragment_readahead": 0}
Chunk = tuple[Any, Any, Any]  # X, y, sample_weight


class Batches:
    """Chunks ``(X, y, sample_weight)`` from whatever the user has; see `Moments.from_batches`.

    `label_names` and `feature_names` are known once the first chunk is read; `twice` says whether `read` can
    be called again.
    """

    def __init__(self, batches: Any, *, labels: Any, features: Any, sample_weight: Any, classes: Any) -> None:
        readable = callable(batches) or _is_stream(batches) or hasattr(batches, "__iter__")
        if isinstance(batches, (str, bytes)) or not readable:
            raise TypeError(
                "batches must be an Arrow stream (table, reader, data set, frame), an iterable of record "
                f"batches or of (X, y), or a function that returns one; got {type(batches).__name__}."
            )
        if isinstance(features, str):
            raise TypeError(f"features must list column names: [{features!r}].")
        self._batches, self._labels, self._weight = batches, labels, sample_weight
        self.classes = classes
        self.label_names = None if labels is None or isinstance(labels, str) else list(labels)
        self.feature_names = None if features is None else list(features)
        once = isinstance(batches, Iterator) or hasattr(batches, "read_next_batch")
        self.twice = callable(batches) or not once

    def read(self) -> Iterator[Chunk]:
        """Yield the chunks from the start; empty ones are left out."""
        source = self._batches() if callable(self._batches) else self._batches
        if not _is_stream(source):
            items = iter(source)
            first = next(items, None)
            if first is None:
                return
            source = itertools.chain([first], items)
            if isinstance(first, (tuple, Dataset)):
                yield from self._read_pairs(source)
                return
        yield from self._read_arrow(source)

    def _read_pairs(self, items: Any) -> Iterator[Chunk]:
        for item in items:
            if isinstance(item, Dataset):
                self.label_names = item.label_names if self.label_names is None else self.label_names
                self.feature_names = item.feature_names if self.feature_names is None else self.feature_names
                item = (item.X, item.Y)
            if not isinstance(item, tuple) or len(item) not in (2, 3):
                raise TypeError("Each batch must be (X, y) or (X, y, sample_weight).")
            if np.shape(item[0])[0]:
                yield item if len(item) == 3 else (*item, None)

    # -- Arrow --------------------------------------------------------------------------------------

    def _read_arrow(self, source: Any) -> Iterator[Chunk]:
        if self._labels is None:
            raise ValueError("Say which columns are the labels: labels=[…].")
        for arrow_table in self._iter_tables(source):
            if self.feature_names is None:
                other_columns = set(self._other_columns())
                self.feature_names = [name for name in arrow_table.column_names if name not in other_columns]
            y = self._read_targets(arrow_table)
            weights = None if self._weight is None else _stack_columns(arrow_table, [self._weight])[:, 0]
            yield _stack_columns(arrow_table, self.feature_names), y, weights

    def _iter_tables(self, source: Any) -> Iterator[Any]:
        """Tables of a bounded number of rows: long batches are split, short ones joined."""
        pyarrow = _import_pyarrow()
        pending: list[Any] = []
        n_pending = 0
        feature_names = self.feature_names
        column_names = (
            None if feature_names is None else [*feature_names, *filter(None, self._other_columns())]
        )
        for batch in _iter_record_batches(source, pyarrow, column_names):
            if pending and batch.schema != pending[0].schema:
                yield pyarrow.Table.from_batches(pending)
                pending, n_pending = [], 0
            max_rows = max(1, BLOCK_BYTES // (8 * max(1, batch.num_columns)))
            for start in range(0, batch.num_rows, max_rows):
                pending.append(batch.slice(start, max_rows))
                n_pending += pending[-1].num_rows
                if n_pending >= max_rows:
                    yield pyarrow.Table.from_batches(pending)
                    pending, n_pending = [], 0
        if n_pending:
            yield pyarrow.Table.from_batches(pending)

    def _other_columns(self) -> list[str | None]:
        return [self._weight, *([self._labels] if isinstance(self._labels, str) else self._labels)]

    def _read_targets(self, arrow_table: Any) -> Any:
        if not isinstance(self._labels, str):
            values = _stack_columns(arrow_table, list(self._labels), labels=True)
            known = values[~np.isnan(values)]
            if ((known < 0) | (known > 1)).any():  # one column of other numbers would pass for classes
                raise ValueError("Label columns must hold only 0 and 1 (or true and false) or shares.")
            return values
        column = _get_column(arrow_table, self._labels)
        if self.classes is None:
            raise ValueError(f"Say which labels the column {self._labels!r} can hold: classes=[…].")
        types = _import_pyarrow().types
        if any(is_kind(column.type) for is_kind in (types.is_list, types.is_large_list)):
            self.label_names = [str(name) for name in self.classes]
            return _encode_label_lists(column, self._labels, self.classes)
        return np.asarray(column.to_pylist())


def _is_stream(source: Any) -> bool:
    return any(hasattr(source, name) for name in ("__arrow_c_stream__", "to_reader", "scanner"))


def _iter_record_batches(source: Any, pyarrow: Any, columns: list[str] | None) -> Iterator[Any]:
    if hasattr(source, "__arrow_c_stream__"):
        with pyarrow.RecordBatchReader.from_stream(source) as reader:
            yield from reader
    elif hasattr(source, "scanner"):  # a data set reads only the columns it is asked for
        yield from source.scanner(columns=columns, **READ_AHEAD).to_reader()
    elif hasattr(source, "to_reader"):
        yield from source.to_reader()
    elif hasattr(source, "__arrow_c_array__"):
        yield pyarrow.record_batch(source)
    else:
        for item in source:
            if not hasattr(item, "__arrow_c_array__") and not hasattr(item, "__arrow_c_stream__"):
                raise TypeError(
                    f"Each batch must be a record batch, a table or (X, y); got {type(item).__name__}."
                )
            yield from _iter_record_batches(item, pyarrow, columns)


def _get_column(arrow_table: Any, name: str, *, with_nulls: bool = False) -> Any:
    # The index, not `column_names`: that list is built anew for each column, quadratic in wide tables.
    if arrow_table.schema.get_field_index(name) < 0 and name not in arrow_table.column_names:
        raise ValueError(
            f"The batches have no column {name!r}; they have {', '.join(arrow_table.column_names)}."
        )
    column = arrow_table.column(name)
    if column.null_count and not with_nulls:
        raise ValueError(f"The column {name!r} holds nulls: fill them or drop those rows first.")
    return column


def _stack_columns(arrow_table: Any, names: Sequence[str], *, labels: bool = False) -> np.ndarray:
    """Columns as one array, n×m: float32 where all are, else float64; labels as they are."""
    types = _import_pyarrow().types
    columns = []
    for name in names:
        column = _get_column(arrow_table, name, with_nulls=labels)
        kind = column.type
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"The column {name!r} holds {kind}, not numbers: "
                + ("label columns are 0 or 1." if labels else "name the feature columns with features=[…].")
            )
        if column.null_count:  # labels nobody knows
            column = column.cast(_import_pyarrow().float64())
        columns.append(column)
    if not columns:
        raise ValueError(f"There are no {'label' if labels else 'feature'} columns.")
    kinds = {column.type.to_pandas_dtype() for column in columns}
    dtype = np.result_type(*kinds)
    if not labels and dtype != np.float32:
        dtype = np.dtype(np.float64)
    return rows_of_columns([column.to_numpy() for column in columns], arrow_table.num_rows, dtype)


def _encode_label_lists(column: Any, name: str, classes: Any) -> sparse.csr_array:
    """Label indicator of a column of lists, each label once."""
    from pyarrow import compute

    column_of_label = {value: j for j, value in enumerate(np.asarray(classes, dtype=object).tolist())}
    list_lengths = compute.list_value_length(column).to_numpy()
    listed_labels = [value for chunk in column.chunks for value in chunk.flatten().to_pylist()]
    unknown = next((value for value in listed_labels if value not in column_of_label), None)
    if unknown is not None or None in listed_labels:
        raise ValueError(f"The column {name!r} holds the label {unknown!r}, which is not among classes.")
    indptr = np.concatenate([[0], np.cumsum(list_lengths)])
    codes = np.array([column_of_label[value] for value in listed_labels], dtype=np.int64)
    Y = sparse.csr_array(
        (np.ones(len(codes), dtype=np.int8), codes, indptr), shape=(len(list_lengths), len(column_of_label))
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y


def _import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.types
    except ImportError as error:
        raise ValueError("Arrow batches need pyarrow: pip install 'hyperlabel[tables]'.") from error
    return pyarrow

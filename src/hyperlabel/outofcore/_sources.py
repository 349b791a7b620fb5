"""Where chunks come from: files, arrays, sequences, or a function that starts an iterator.

A source yields ``(place, chunk)``. The place, two integers, is the position after that chunk: a fit that was
killed resumes there without reading again what it has already summed.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from hyperlabel import datasets
from hyperlabel._files import npy_header
from hyperlabel._labels import checked_csr
from hyperlabel.outofcore._estimate import estimate_rows

Place = tuple[int, int]
START: Place = (0, 0)
CHUNK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Chunk:
    """A block of rows: features, labels (None where only features are read), weights, label names."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    label_names: Any = None


class Source(ABC):
    """Chunks from a place in the data on; `n_rows` is None where it is unknown."""

    n_rows: int | None = None
    exact = True  # whether `n_rows` is more than an estimate

    @abstractmethod
    def read(self, start: Place = START) -> Iterator[tuple[Place, Chunk]]:
        """Yield chunks and the place after each."""

    @abstractmethod
    def identity(self) -> list[Any]:
        """Return what distinguishes this source from another, for checkpoints."""


class RowChunks(Source):
    """Rows of arrays or ``.npy`` files in chunks of equal size.

    Parameters
    ----------
    X : array, sparse matrix or path of a ``.npy`` file
        The rows. A file is read chunk by chunk, never mapped: mapped pages would count as
        resident memory.
    y : array, sparse matrix or path, default=None
        Their labels; None for prediction.
    sample_weight : array of shape (n,), default=None
        Weights of the rows.
    rows : int, default=None
        Rows per chunk; by default as many as take 64 MiB.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.outofcore import RowChunks
    >>> chunks = RowChunks(np.zeros((10, 3)), np.ones((10, 2)), rows=4)
    >>> [chunk.X.shape for _, chunk in chunks.read()]
    [(4, 3), (4, 3), (2, 3)]
    """

    def __init__(self, X: Any, y: Any = None, *, sample_weight: Any = None, rows: int | None = None) -> None:
        self.X = _open_rows(X)
        self.y = None if y is None else _open_rows(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        self.n_rows = int(self.X.shape[0])
        for name, row_array in (("y", self.y), ("sample_weight", self.sample_weight)):
            if row_array is not None and row_array.shape[0] != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows but {name} has {row_array.shape[0]}.")
        if rows is not None and rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}.")
        self.rows = rows or max(1, CHUNK_BYTES // max(1, _row_bytes(self.X)))

    def read(self, start: Place = START) -> Iterator[tuple[Place, Chunk]]:
        for first_row in range(start[0], self.n_rows or 0, self.rows):
            row_slice = slice(first_row, min(first_row + self.rows, self.n_rows or 0))
            row_arrays = (self.X, self.y, self.sample_weight)
            yield (
                (row_slice.stop, 0),
                Chunk(*(None if row_array is None else row_array[row_slice] for row_array in row_arrays)),
            )

    def identity(self) -> list[Any]:
        npy_paths = [row_array.path for row_array in (self.X, self.y) if isinstance(row_array, _NpyRows)]
        return [type(self).__name__, *self.X.shape, self.rows, *map(file_identity, npy_paths)]


class _NpyRows:
    """Row slices of a C-ordered 2-D (or 1-D) ``.npy`` file by plain reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            shape, is_fortran, dtype = npy_header(file)
            self.offset = file.tell()
        if dtype.hasobject or is_fortran or len(shape) not in (1, 2):
            raise ValueError(f"{path} must hold a C-ordered array of numbers, rows first: save it so.")
        self.shape, self.dtype = shape, dtype
        self.row_bytes = dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64))

    def __getitem__(self, row_slice: slice) -> np.ndarray:
        n_rows = row_slice.stop - row_slice.start
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset + row_slice.start * self.row_bytes)
            values = np.fromfile(file, self.dtype, n_rows * self.row_bytes // self.dtype.itemsize)
        return values.reshape(n_rows, *self.shape[1:])


class FileChunks(Source):
    """Data files in any format that `hyperlabel.datasets.iter_data` streams, chunk by chunk.

    Parameters
    ----------
    paths : path or list of paths
        Files (npz, ARFF, LIBSVM, XMC, CSV, JSON lines, Parquet) or folders of npz shards, all with
        the same columns.
    rows : int, default=10000
        Rows per chunk.
    **options : dict
        Passed to the reader, such as ``n_features=`` and ``n_labels=`` for LIBSVM, where a file does
        not say how wide the others are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from hyperlabel.outofcore import FileChunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.npz")
    ...     np.savez(path, X=np.eye(5), Y=np.eye(5, dtype=int))
    ...     [chunk.X.shape for _, chunk in FileChunks(path, rows=3).read()]
    [(3, 5), (2, 5)]
    """

    exact = False

    def __init__(self, paths: Any, *, rows: int = 10_000, **options: Any) -> None:
        self.paths = [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
        self.rows, self.options = rows, options
        for path in self.paths:
            if not path.exists():
                raise FileNotFoundError(f"There is no file {path}: check the path.")
            datasets.data_format(path)
        row_estimates = [estimate_rows(path) for path in self.paths]
        self.n_rows = (
            None if None in row_estimates else sum(row_estimate or 0 for row_estimate in row_estimates)
        )

    def read(self, start: Place = START) -> Iterator[tuple[Place, Chunk]]:
        """Yield chunks and the place after each; whole files before the place are not opened."""
        for i in range(start[0], len(self.paths)):
            n_skipped = start[1] if i == start[0] else 0
            dataset_stream = datasets.iter_data(self.paths[i], chunk_rows=self.rows, **self.options)
            for j, data in enumerate(dataset_stream):
                if j >= n_skipped:
                    yield (i, j + 1), Chunk(data.X, data.Y, label_names=data.label_names)

    def identity(self) -> list[Any]:
        return [type(self).__name__, self.rows, *map(file_identity, self.paths)]


class Items(Source):
    """A sequence whose items, or a function whose iterator, give the chunks one after the other."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.n_items = len(items) if hasattr(items, "__len__") else None

    def read(self, start: Place = START) -> Iterator[tuple[Place, Chunk]]:
        """Yield chunks and the place after each; of a sequence only the remaining items are read."""
        if self.n_items is not None:
            for i in range(start[0], self.n_items):
                yield (i + 1, 0), _as_chunk(self.items[i])
            return
        for i, item in enumerate(self.items()):
            if i >= start[0]:
                yield (i + 1, 0), _as_chunk(item)

    def identity(self) -> list[Any]:
        return [type(self).__name__, self.n_items]


def file_identity(path: Path) -> list[Any]:
    """Return what changes when a file, or a file of a folder, does."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]


def chunk_digest(chunk: Chunk) -> str:
    """Return a number for the rows, labels, weights and names of a chunk: other data have another."""
    label_names = None if chunk.label_names is None else list(chunk.label_names)
    chunk_fields = (chunk.X, chunk.y, chunk.sample_weight, label_names)
    return str(joblib.hash([_strip_to_arrays(chunk_field) for chunk_field in chunk_fields], hash_name="sha1"))


def as_source(chunks: Any) -> Source:
    """Turn what the user gave into a source."""
    if isinstance(chunks, Source):
        return chunks
    if isinstance(chunks, (str, os.PathLike)):
        return FileChunks(chunks)
    if callable(chunks):
        return Items(chunks)
    if isinstance(chunks, (list, tuple)) and chunks and isinstance(chunks[0], (str, os.PathLike)):
        return FileChunks(chunks)
    if hasattr(chunks, "__len__") and hasattr(chunks, "__getitem__"):
        return Items(chunks)
    raise TypeError(
        "chunks must be files, a sequence of (X, y), RowChunks, or a function that returns an iterator of "
        "(X, y); an iterator alone can be read only once."
    )


def read_ahead(chunks: Iterator[tuple[Place, Chunk]]) -> Iterator[tuple[Place, Chunk]]:
    """Read one chunk ahead in a thread: the disk works while the processor sums."""
    with ThreadPoolExecutor(1, thread_name_prefix="hyperlabel-read") as pool:
        next_chunk = pool.submit(next, chunks, None)
        while (item := next_chunk.result()) is not None:
            next_chunk = pool.submit(next, chunks, None)
            yield item


def _as_chunk(item: Any) -> Chunk:
    if isinstance(item, datasets.Dataset):
        return Chunk(item.X, item.Y, label_names=item.label_names)
    if isinstance(item, tuple) and len(item) in (2, 3):
        return Chunk(*item)
    return Chunk(item)


def _strip_to_arrays(chunk_field: Any) -> Any:
    """Return a chunk's field as plain arrays: what its container caches would change the hash."""
    if sparse.issparse(chunk_field):
        csr_rows = checked_csr(chunk_field)
        return [csr_rows.shape, csr_rows.data, csr_rows.indices, csr_rows.indptr]
    if hasattr(chunk_field, "columns") and hasattr(chunk_field, "to_numpy"):
        return [list(map(str, chunk_field.columns)), chunk_field.to_numpy()]
    return (
        chunk_field
        if chunk_field is None or isinstance(chunk_field, (list, tuple))
        else np.ascontiguousarray(chunk_field)
    )


def _open_rows(values: Any) -> Any:
    if isinstance(values, (str, os.PathLike)):
        return _NpyRows(Path(values))
    return checked_csr(values) if sparse.issparse(values) else values


def _row_bytes(X: Any) -> int:
    if sparse.issparse(X):
        return 1 + 12 * X.nnz // max(1, X.shape[0])
    return X.row_bytes if isinstance(X, _NpyRows) else 8 * int(X.shape[1])

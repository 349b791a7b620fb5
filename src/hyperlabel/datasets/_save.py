"""Writing data sets: npz, LIBSVM, XMC, and tables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from hyperlabel._files import opened
from hyperlabel.datasets.formats import BY_NAME, find_function, target_format
from hyperlabel.datasets.writing import list_cells, write_columns

_DENSE_Y = 20_000_000  # entries of Y up to which the plain dense form is written
_MOST_COLUMNS = 100_000  # of a table


def save_dataset(data: Any, path: str | os.PathLike[str], format: str | None = None) -> Path:
    """Write a data set; see `Dataset.save`."""
    path = Path(path)
    format = target_format(path, format)
    with opened(path) as file:
        if BY_NAME[format].is_table:
            _save_table(data, file, kind=format)
        else:
            find_function(str(BY_NAME[format].write))(data, file)
    return path


def save_shards(datasets: Iterable[Any], folder: str | os.PathLike[str]) -> list[Path]:
    """Write a stream of data sets as numbered npz files ``part-00000.npz`` and so on, one per data set.

    Parameters
    ----------
    datasets : iterable of Dataset
        For example what `iter_data` yields; only one is in memory at a time.
    folder : path
        Where to write; made when missing.

    Returns
    -------
    list of path

    Examples
    --------
    >>> import tempfile
    >>> from hyperlabel.datasets import iter_data, make_multilabel, save_shards
    >>> data = make_multilabel(10, 3, 4, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = save_shards([data[:6], data[6:]], folder)
    ...     [len(chunk) for chunk in iter_data(folder, chunk_rows=5)]
    [5, 5]
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [save_dataset(dataset, folder / f"part-{i:05d}.npz") for i, dataset in enumerate(datasets)]


def save_npz(data: Any, file: BinaryIO) -> None:
    """Write the arrays of a data set."""
    arrays: dict[str, Any] = {}
    if sparse.issparse(data.X):
        arrays |= {
            "X_data": data.X.data,
            "X_indices": data.X.indices,
            "X_indptr": data.X.indptr,
            "X_shape": np.array(data.X.shape, dtype=np.int64),
        }
    else:
        arrays["X"] = data.X
    if data.n_rows * data.n_labels <= _DENSE_Y:
        arrays["Y"] = data.Y.toarray().astype(np.uint8)
    else:
        arrays |= {
            "Y_indices": data.Y.indices,
            "Y_indptr": data.Y.indptr,
            "Y_shape": np.array(data.Y.shape, dtype=np.int64),
        }
    for key in ("feature_names", "label_names"):
        names = getattr(data, key)
        if isinstance(names, list):
            arrays[key] = np.array(names, dtype=np.str_)
        else:  # there may be 10⁹ of them
            arrays[f"{key}_numbered"] = np.array([names.prefix, str(names.start)])
    for key in ("groups", "time"):
        values = getattr(data, key)
        if values is not None:
            arrays[key] = values.astype(np.str_) if values.dtype.hasobject else values
    if data.missing is not None:
        arrays["missing_rows"], arrays["missing_labels"] = data.missing.nonzero()
    if data.text is not None:
        arrays |= _encode_texts(data.text, "text")
    if data.text_columns:
        arrays["text_columns"] = np.array(list(data.text_columns), dtype=np.str_)
        for j, column in enumerate(data.text_columns.values()):
            arrays |= _encode_texts(column, f"words{j}")
    np.savez_compressed(file, **arrays)


def _encode_texts(texts: list[str], key: str) -> dict[str, np.ndarray]:
    """Return bytes and offsets: a fixed-width array would be as wide as the longest text."""
    encoded_texts = [_encode_text(text, i) for i, text in enumerate(texts)]
    return {
        f"{key}_bytes": np.frombuffer(b"".join(encoded_texts), dtype=np.uint8),
        f"{key}_ends": np.cumsum([len(text) for text in encoded_texts], dtype=np.int64),
    }


def _encode_text(text: str, row: int) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"The text of row {row} holds half a character (a lone surrogate), which no file can: repair it."
        ) from None


def save_libsvm(data: Any, file: BinaryIO) -> None:
    """Write labels from 0 and features from 1; a row without anything gets one explicit zero."""
    _save_rows(data, file, first_index=1, empty_row=" 1:0")


def save_xmc(data: Any, file: BinaryIO) -> None:
    """Write the three sizes, then rows with labels and features from 0."""
    file.write(f"{data.n_rows} {data.n_features} {data.n_labels}\n".encode())
    _save_rows(data, file, first_index=0, empty_row="")


def _save_rows(data: Any, file: BinaryIO, *, first_index: int, empty_row: str) -> None:
    X, Y = sparse.csr_array(data.X), data.Y
    for i in range(data.n_rows):
        row_labels = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
        row_entries = slice(X.indptr[i], X.indptr[i + 1])
        feature_pairs = zip(
            (X.indices[row_entries] + first_index).tolist(), X.data[row_entries].tolist(), strict=True
        )
        row_text = ",".join(map(str, row_labels)) + "".join(
            f" {j}:{_short_number(value)}" for j, value in feature_pairs
        )
        file.write((row_text or empty_row).encode() + b"\n")


def _short_number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _save_table(data: Any, file: BinaryIO, *, kind: str) -> None:
    """Write text, features, groups, time and a column ``labels``, which lists the labels of each row."""
    feature_names = list(data.feature_names[: _MOST_COLUMNS + 1])
    if len(feature_names) > _MOST_COLUMNS:
        raise ValueError(f"A table cannot have {data.n_features} columns: write npz, LIBSVM or XMC.")
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    columns: dict[str, list[Any]] = {} if data.text is None else {"text": data.text}
    columns = dict(data.text_columns) if data.text_columns else columns
    columns |= {name: _shorten_numbers(X[:, j]) for j, name in enumerate(feature_names)}
    for key in ("groups", "time"):
        if getattr(data, key) is not None:
            columns[key] = getattr(data, key).astype(str).tolist()
    n_texts = len(data.text_columns) if data.text_columns else int(data.text is not None)
    if len(columns) < len(feature_names) + n_texts + sum(v is not None for v in (data.groups, data.time)):
        raise ValueError("Two columns would have the same name: rename a feature.")
    label_column = next(name for name in ("labels", "labels of the row") if name not in columns)
    columns[label_column] = list_cells(data.label_sets(), data.label_names, kind)
    write_columns(columns, file, kind)


def _shorten_numbers(values: np.ndarray) -> list[Any]:
    """Return the values as integers where all are, so that they are written without a point."""
    all_integers = (
        np.isfinite(values).all() and (values == np.floor(values)).all() and (abs(values) < 2**53).all()
    )
    return (values.astype(np.int64) if all_integers else values).tolist()

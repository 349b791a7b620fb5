"""npz files: X dense or as CSR arrays, Y, names and, where published, a split."""

import itertools
import math
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel._files import npy_header
from hyperlabel._labels import check_places
from hyperlabel.datasets._dataset import Dataset, NumberedNames
from hyperlabel.datasets._lines import DataError, decode_bytes
from hyperlabel.datasets._numbers import to_whole
from hyperlabel.datasets._row_blocks import MAX_FEATURES, MAX_LABELS

_DEFLATE_RATIO = 1100  # deflate cannot shrink more than this: larger claims are forged
_OPTIONAL = ("groups", "time")
_OUTDATED = {"words", "unknown_rows", "unknown_labels"}  # today text_columns, missing_rows, missing_labels


def load_npz(
    path: str | os.PathLike[str], *, part: Literal["train", "test"] | None = None, name: str | None = None
) -> Dataset:
    """Read a data set from an npz file (never a pickle).

    Parameters
    ----------
    path : path
        The file, with the keys ``X`` or ``X_data, X_indices, X_indptr, X_shape``; ``Y`` or
        ``Y_indices, Y_indptr, Y_shape``; and, where they exist, ``feature_names``,
        ``label_names`` (or ``…_names_numbered``: the prefix of the numbers, and the first number),
        ``groups``, ``time``, ``train_idx``, ``test_idx``, and ``text_bytes`` with ``text_ends`` (UTF-8 text
        of all rows, and where each ends); ``text_columns`` (names of further columns of
        text) with ``words0_bytes``, ``words0_ends`` and so on; ``missing_rows`` and ``missing_labels``
        (entries of Y that are unknown).
    part : {"train", "test"}, optional
        Only the rows of the published split.
    name : str, optional
        Name of the data set; the file's stem when not given.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from hyperlabel.datasets import load_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.npz")
    ...     np.savez(file, X=np.eye(2), Y=np.eye(2, dtype=int))
    ...     load_npz(file)
    Dataset('tiny', n=2, d=2, k=2, dense)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the path.")
    try:
        arrays = _read_arrays(path)
        if outdated := sorted(_OUTDATED & set(arrays)):
            raise DataError(f"{outdated[0]!r} is a key of hyperlabel 0.1: write the file again.", path)
        X, Y = _read_matrix(arrays, "X", MAX_FEATURES), _read_matrix(arrays, "Y", MAX_LABELS)
        data = Dataset(
            X,
            Y,
            _read_names(arrays, "feature_names", X.shape[-1]),
            _read_names(arrays, "label_names", Y.shape[-1]),
            name=path.stem if name is None else name,
            text=_read_texts(arrays, "text"),
            text_columns=_read_text_columns(arrays),
            missing=_read_missing(arrays, Y.shape),
            **{key: arrays.get(key) for key in _OPTIONAL},
        )
    except DataError:
        raise
    except Exception as error:  # zipfile, zlib, lzma and NumPy share no exception for damaged bytes
        reason = error.args[0] if error.args else type(error).__name__
        raise DataError(f"this is not a readable npz file ({reason}).", path) from error
    if part is None:
        return data
    split_rows = arrays.get(f"{part}_idx")
    if split_rows is None:
        raise DataError(f"the file has no published split ({part}_idx).", path)
    if (
        split_rows.dtype.kind not in "iu"
        or split_rows.ndim != 1
        or (split_rows >= len(data)).any()
        or (split_rows < 0).any()
    ):
        raise DataError(f"{part}_idx does not hold row numbers.", path)
    return data[split_rows]


def iter_npz(folder: str | os.PathLike[str]) -> Iterator[Dataset]:
    """Read the npz files of a folder one after the other, in the order of their names."""
    shard_paths = sorted(Path(folder).glob("*.npz"))
    if not shard_paths:
        raise FileNotFoundError(f"There are no npz files in {folder}.")
    return map(load_npz, shard_paths)


def _read_names(arrays: dict[str, np.ndarray], key: str, count: int) -> Any:
    if f"{key}_numbered" not in arrays:
        return arrays.get(key)
    prefix, start = arrays[f"{key}_numbered"].tolist()
    return NumberedNames(prefix, count, to_whole(start))


def _read_text_columns(arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    if "text_columns" not in arrays:
        return None
    return {str(name): _read_texts(arrays, f"words{j}") for j, name in enumerate(arrays["text_columns"])}


def _read_missing(arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> Any:
    if "missing_rows" not in arrays:
        return None
    row_index, label_index = arrays["missing_rows"], arrays["missing_labels"]
    return sparse.csr_array((np.ones(len(row_index), dtype=np.int8), (row_index, label_index)), shape=shape)


def _read_texts(arrays: dict[str, np.ndarray], key: str) -> list[str] | None:
    if f"{key}_ends" not in arrays:
        return None
    text_bytes, text_ends = arrays[f"{key}_bytes"].tobytes(), arrays[f"{key}_ends"].tolist()
    if text_ends != sorted(text_ends) or (
        text_ends and (text_ends[0] < 0 or text_ends[-1] != len(text_bytes))
    ):
        raise ValueError("the ends of the texts do not fit their bytes.")
    return [decode_bytes(text_bytes[a:b]) for a, b in itertools.pairwise([0, *text_ends])]


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return every array of the file, after checking that its sizes can be true."""
    stored_arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            key = member.filename.removesuffix(".npy")
            if key in stored_arrays:
                raise DataError(f"the array {key!r} is stored twice.", path)
            _check_member(archive, member, path)
            with archive.open(member) as stream:
                stored_arrays[key] = np.lib.format.read_array(stream, allow_pickle=False)
    return stored_arrays


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    packed_size = member.compress_size
    if packed_size > path.stat().st_size or member.file_size > _DEFLATE_RATIO * max(packed_size, 1) + (
        1 << 16
    ):
        raise DataError(f"the array {member.filename!r} claims an impossible size.", path)
    with archive.open(member) as stream:
        shape, _, dtype = npy_header(stream)
    if dtype.hasobject:
        raise DataError(f"the array {member.filename!r} holds pickled objects, which are never loaded.", path)
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise DataError(f"the array {member.filename!r} declares more values than it holds.", path)


def _read_matrix(arrays: dict[str, np.ndarray], key: str, max_columns: int) -> Any:
    if key in arrays:
        return arrays[key]
    if f"{key}_indptr" not in arrays:
        raise ValueError(f"the file has neither {key} nor {key}_indptr; it is not a data set.")
    indices, indptr = arrays[f"{key}_indices"], arrays[f"{key}_indptr"]
    data = arrays.get(f"{key}_data", np.ones(len(indices), dtype=np.int8))
    shape = tuple(int(size) for size in arrays[f"{key}_shape"])
    if shape[1] > max_columns:
        raise ValueError(f"{key} would have {shape[1]} columns, more than {max_columns}")
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    check_places(matrix)
    return matrix

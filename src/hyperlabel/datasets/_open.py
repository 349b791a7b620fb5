"""One entry point for every format: `read_data` and `iter_data` choose it by the ending of the file."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hyperlabel.datasets._arff import iter_arff, read_arff
from hyperlabel.datasets._dataset import Dataset, concat, rebatch
from hyperlabel.datasets._debtags import load_debtags
from hyperlabel.datasets._lines import file_ending
from hyperlabel.datasets._rows import iter_svmlight, iter_xmc, looks_like_xmc, read_svmlight, read_xmc
from hyperlabel.datasets.npz import iter_npz, load_npz
from hyperlabel.datasets.table import iter_table, read_table
from hyperlabel.datasets.table_sources import TABLES

_ENDINGS = {
    ".arff": "arff",
    ".npz": "npz",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".xmc": "xmc",
    ".txt": "xmc or svmlight",
    **dict.fromkeys(TABLES, "table"),
}
_READERS: dict[str, Callable[..., Dataset]] = {
    "arff": read_arff,
    "npz": load_npz,
    "svmlight": read_svmlight,
    "xmc": read_xmc,
    "table": read_table,
    "shards": lambda path: concat(iter_npz(path), name=Path(path).name),
    "debtags": lambda _: load_debtags(),
}
_STREAMS: dict[str, Callable[..., Iterator[Dataset]]] = {
    "arff": iter_arff,
    "svmlight": iter_svmlight,
    "xmc": iter_xmc,
    "table": iter_table,
    "shards": lambda path, chunk_rows: rebatch(iter_npz(path), chunk_rows),
}


def data_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file (or of a folder of npz shards) without reading it.

    Examples
    --------
    >>> from hyperlabel.datasets import data_format
    >>> data_format("emotions.arff.gz")
    'arff'
    """
    path = Path(path)
    if path.is_dir():
        return "shards"
    if str(path) == "debtags" and not path.exists():
        return "debtags"
    format_name = _ENDINGS.get(file_ending(path))
    if format_name is None:
        raise ValueError(
            f"Cannot tell the format of {path.name!r}: known endings are {', '.join(_ENDINGS)} (.gz too)."
        )
    if format_name == "xmc or svmlight":
        return "xmc" if looks_like_xmc(path) else "svmlight"
    return format_name


def read_data(path: str | os.PathLike[str], **options: Any) -> Dataset:
    """Read a data set in any known format.

    Parameters
    ----------
    path : path
        ARFF, npz, LIBSVM, XMC, CSV, JSON lines or Parquet, by the ending; a ``.txt`` file is XMC
        when it starts with three sizes, otherwise LIBSVM; a folder holds npz shards; ``debtags``
        is the embedded data set.
    **options : Any
        Handed to the reader of that format, for example ``labels`` or ``label_column``.

    Returns
    -------
    Dataset

    See Also
    --------
    read_arff, load_npz, read_svmlight, read_xmc, read_table : The readers and their options.
    iter_data : The same, in chunks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import make_multilabel, read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = make_multilabel(4, 2, 3, random_state=0).save(pathlib.Path(folder, "a.txt"))
    ...     read_data(file)
    Dataset('a', n=4, d=2, k=3, sparse)
    """
    return _READERS[data_format(path)](path, **options)


def iter_data(path: str | os.PathLike[str], *, chunk_rows: int = 10_000, **options: Any) -> Iterator[Dataset]:
    r"""Read a data set in any known format as a stream of data sets of ``chunk_rows`` rows.

    Row-oriented files are never held in memory as a whole; an npz file is, and npz shards
    come one at a time. See `read_data` for the formats.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import iter_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.svm")
    ...     _ = file.write_text("0,2 1:0.5 3:1\n 2:4\n")
    ...     [chunk.n_rows for chunk in iter_data(file, chunk_rows=1)]
    [1, 1]
    """
    format_name = data_format(path)
    if format_name in _STREAMS:
        return _STREAMS[format_name](path, chunk_rows=chunk_rows, **options)
    return rebatch([read_data(path, **options)], chunk_rows)

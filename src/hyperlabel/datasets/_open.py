"""One entry point for every format: `read_data` and `iter_data` choose it by the ending of the file."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hyperlabel.datasets._dataset import Dataset, concat, rebatch
from hyperlabel.datasets.formats import find_function, format_of


def read_data(path: str | os.PathLike[str], **options: Any) -> Dataset:
    """Read a data set in any known format.

    Parameters
    ----------
    path : path
        A table (CSV, JSON, JSON lines, Parquet, Excel, SQLite), ARFF, npz, LIBSVM or XMC, by the ending; a
        ``.txt`` file is XMC when it starts with three sizes, otherwise LIBSVM; a folder holds npz
        shards; ``debtags`` is the embedded data set.
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
    dataset: Dataset = find_function(format_of(path).read)(path, **options)
    return dataset


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
    iterate = format_of(path).iterate
    if iterate is None:
        return rebatch([read_data(path, **options)], chunk_rows)
    datasets: Iterator[Dataset] = find_function(iterate)(path, chunk_rows=chunk_rows, **options)
    return datasets


def read_shards(folder: str | os.PathLike[str]) -> Dataset:
    """Read all npz files of a folder as one data set."""
    from hyperlabel.datasets.npz import iter_npz

    return concat(iter_npz(folder), name=Path(folder).name)


def iter_shards(folder: str | os.PathLike[str], chunk_rows: int) -> Iterator[Dataset]:
    """Read the npz files of a folder in chunks of other sizes."""
    from hyperlabel.datasets.npz import iter_npz

    return rebatch(iter_npz(folder), chunk_rows)


def read_debtags(_: str | os.PathLike[str]) -> Dataset:
    """Return the embedded data set."""
    from hyperlabel.datasets._debtags import load_debtags

    return load_debtags()

"""Sparse rows as text: LIBSVM multilabel and the format of the XMC repository."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from scipy import sparse

from hyperlabel.datasets._dataset import Dataset, NumberedNames, rebatch
from hyperlabel.datasets._lines import LineReader
from hyperlabel.datasets._row_blocks import MAX_FEATURES, MAX_LABELS, Rows, join_blocks, no_rows, read_blocks


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    labels_zero_based: bool | Literal["auto"] = "auto",
    name: str | None = None,
) -> Dataset:
    r"""Read a LIBSVM (svmlight) file with several labels per row, plain or gzip.

    Parameters
    ----------
    path : path
        Rows such as ``2,5 1:0.5 7:1``; a row may have no labels. ``#`` starts a comment.
    n_features, n_labels : int, optional
        Numbers of columns; by default what the file needs. Give them when a test file must have
        the columns of its training file.
    zero_based, labels_zero_based : bool or "auto"
        Whether numbering starts at 0 or 1; "auto": at 0 if a 0 appears anywhere in the file.
    name : str, optional
        Name of the data set; the file's stem when not given.

    Returns
    -------
    Dataset
        X as ``csr_array``; labels are named by their number in the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.svm")
    ...     _ = file.write_text("0,2 1:0.5 3:1\n 2:4\n")
    ...     read_svmlight(file)
    Dataset('a', n=2, d=3, k=3, sparse)
    """
    numbering_options = (n_features, n_labels, zero_based, labels_zero_based)
    with LineReader(path) as reader:
        row_blocks = list(read_blocks(reader, keep_blank=False))
        column_counts = _count_columns(row_blocks, reader, *numbering_options)
    return _build_svm_dataset(join_blocks(row_blocks), column_counts, _dataset_name(path, name))


def iter_svmlight(
    path: str | os.PathLike[str], *, chunk_rows: int = 10_000, name: str | None = None, **options: Any
) -> Iterator[Dataset]:
    """Read a LIBSVM file as a stream; a first pass counts what the options leave open."""
    with LineReader(path) as reader:
        is_open = len(options) < 4 or None in options.values() or "auto" in options.values()
        scanned_blocks = read_blocks(reader, keep_blank=False) if is_open else ()
        n_features, n_labels, feature_base, label_base = _count_columns(scanned_blocks, reader, **options)

    def datasets() -> Iterator[Dataset]:
        with LineReader(path) as reader:
            for row_block in read_blocks(reader, keep_blank=False):
                column_counts = _count_columns(
                    [row_block], reader, n_features, n_labels, feature_base == 0, label_base == 0
                )
                yield _build_svm_dataset(row_block, column_counts, _dataset_name(path, name))

    yield from rebatch(datasets(), chunk_rows)


def read_xmc(
    path: str | os.PathLike[str],
    *,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Dataset:
    r"""Read a file of the Extreme Classification repository, plain or gzip.

    Parameters
    ----------
    path : path
        First a line ``n d k``, then a row per line: ``label,label index:value …``, all from 0.
        An empty line is a row without labels and features.
    label_names, feature_names : sequence of str, optional
        Names, in order.
    name : str, optional
        Name of the data set; the file's stem when not given.

    Returns
    -------
    Dataset
        X as ``csr_array``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import read_xmc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.txt")
    ...     _ = file.write_text("2 5 3\n0,2 1:0.5 3:1\n 2:4\n")
    ...     read_xmc(file)
    Dataset('a', n=2, d=5, k=3, sparse)
    """
    with LineReader(path) as reader:
        n_rows, n_features, n_labels = _read_xmc_header(reader)
        X, Y = join_blocks(list(_iter_xmc_blocks(reader, n_rows, n_features, n_labels)))
    return Dataset(X, Y, feature_names, label_names, name=_dataset_name(path, name))


def iter_xmc(
    path: str | os.PathLike[str], *, chunk_rows: int = 10_000, name: str | None = None, **names: Any
) -> Iterator[Dataset]:
    """Read an XMC file as a stream of data sets of ``chunk_rows`` rows."""

    def datasets() -> Iterator[Dataset]:
        with LineReader(path) as reader:
            n_rows, n_features, n_labels = _read_xmc_header(reader)
            for X, Y in _iter_xmc_blocks(reader, n_rows, n_features, n_labels):
                yield Dataset(X, Y, name=_dataset_name(path, name), **names)

    yield from rebatch(datasets(), chunk_rows)


def looks_like_xmc(path: str | os.PathLike[str]) -> bool:
    """Return whether the first line is the three sizes of an XMC file."""
    with LineReader(path) as reader:
        header_words = (reader.readline() or "").split()
    return len(header_words) == 3 and all(word.isdecimal() for word in header_words)


# -- shared -----------------------------------------------------------------------------------------


def _dataset_name(path: str | os.PathLike[str], name: str | None) -> str:
    return Path(path).name.split(".")[0] if name is None else name


def _count_columns(
    blocks: Iterable[Rows],
    reader: LineReader,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    labels_zero_based: bool | Literal["auto"] = "auto",
) -> tuple[int, int, int, int]:
    """Return the numbers of features and labels, and the number of the first of each."""
    number_spans: list[tuple[int, ...]] = [(), ()]  # smallest and largest number seen
    for row_block in blocks:
        for i, matrix in enumerate(row_block):
            if matrix.nnz:
                span_ends = (int(matrix.indices.min()), int(matrix.indices.max()), *number_spans[i])
                number_spans[i] = (min(span_ends), max(span_ends))
    d, feature_base = _settle_numbering(number_spans[0], n_features, zero_based, "feature", reader)
    k, label_base = _settle_numbering(number_spans[1], n_labels, labels_zero_based, "label", reader)
    return d, k, feature_base, label_base


def _settle_numbering(
    number_span: tuple[int, ...], count: int | None, zero_based: bool | str, role: str, reader: LineReader
) -> tuple[int, int]:
    smallest, largest = number_span or (None, -1)
    first_number = int(not zero_based) if zero_based != "auto" else int(smallest is not None and smallest > 0)
    if smallest is not None and smallest < first_number:
        raise reader.fail(f"a {role} has number 0, but numbering was said to start at 1.")
    n_needed = largest - first_number + 1
    max_count = MAX_FEATURES if role == "feature" else MAX_LABELS
    if max(n_needed, count or 0) > max_count:
        raise reader.fail(f"there would be {max(n_needed, count or 0)} {role}s, more than {max_count}.")
    if count is not None and n_needed > count:
        raise reader.fail(f"a {role} has number {largest}, beyond the {count} {role}s asked for.")
    return (max(n_needed, 0) if count is None else count), first_number


def _build_svm_dataset(rows: Rows, column_counts: tuple[int, int, int, int], name: str) -> Dataset:
    X, Y = (
        sparse.csr_array(
            (matrix.data, matrix.indices - first_number, matrix.indptr), shape=(matrix.shape[0], n_columns)
        )
        for matrix, n_columns, first_number in zip(rows, column_counts[:2], column_counts[2:], strict=True)
    )
    return Dataset(X, Y, None, NumberedNames("", column_counts[1], column_counts[3]), name=name)


def _read_xmc_header(reader: LineReader) -> tuple[int, int, int]:
    header_words = (reader.readline() or "").split()
    if len(header_words) != 3 or not all(
        word.isascii() and word.isdecimal() and len(word) < 16 for word in header_words
    ):
        raise reader.fail("the first line must hold three sizes: rows, features and labels.", 1, 1)
    n_rows, n_features, n_labels = map(int, header_words)
    if n_features > MAX_FEATURES or n_labels > MAX_LABELS:
        raise reader.fail(
            f"{n_features} features and {n_labels} labels are declared; at most {MAX_FEATURES} "
            f"and {MAX_LABELS} can be read.",
            1,
            1,
        )
    return n_rows, n_features, n_labels


def _iter_xmc_blocks(reader: LineReader, n_rows: int, n_features: int, n_labels: int) -> Iterator[Rows]:
    n_read = 0
    yield no_rows(n_features, n_labels)
    for row_block in read_blocks(reader, keep_blank=True, n_features=n_features, n_labels=n_labels):
        n_read += row_block[0].shape[0]
        if n_read > n_rows:
            raise reader.fail(f"{n_rows} rows are declared but there are more.")
        yield row_block
    if n_read < n_rows:
        raise reader.fail(f"{n_rows} rows are declared but only {n_read} are there; is the file complete?")

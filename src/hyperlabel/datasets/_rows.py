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
    given = (n_features, n_labels, zero_based, labels_zero_based)
    with LineReader(path) as lines:
        blocks = list(read_blocks(lines, keep_blank=False))
        shape = _count_columns(blocks, lines, *given)
    return _svm_dataset(join_blocks(blocks), shape, _dataset_name(path, name))


def iter_svmlight(
    path: str | os.PathLike[str], *, chunk_rows: int = 10_000, name: str | None = None, **options: Any
) -> Iterator[Dataset]:
    """Read a LIBSVM file as a stream; what the options leave open is found by reading it once before."""
    with LineReader(path) as lines:
        is_open = len(options) < 4 or None in options.values() or "auto" in options.values()
        seen = read_blocks(lines, keep_blank=False) if is_open else ()
        n_features, n_labels, base, label_base = _count_columns(seen, lines, **options)

    def datasets() -> Iterator[Dataset]:
        with LineReader(path) as lines:
            for block in read_blocks(lines, keep_blank=False):
                shape = _count_columns([block], lines, n_features, n_labels, base == 0, label_base == 0)
                yield _svm_dataset(block, shape, _dataset_name(path, name))

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
    with LineReader(path) as lines:
        n_rows, n_features, n_labels = _xmc_header(lines)
        X, Y = join_blocks(list(_xmc_blocks(lines, n_rows, n_features, n_labels)))
    return Dataset(X, Y, feature_names, label_names, name=_dataset_name(path, name))


def iter_xmc(
    path: str | os.PathLike[str], *, chunk_rows: int = 10_000, name: str | None = None, **names: Any
) -> Iterator[Dataset]:
    """Read an XMC file as a stream of data sets of ``chunk_rows`` rows."""

    def datasets() -> Iterator[Dataset]:
        with LineReader(path) as lines:
            n_rows, n_features, n_labels = _xmc_header(lines)
            for X, Y in _xmc_blocks(lines, n_rows, n_features, n_labels):
                yield Dataset(X, Y, name=_dataset_name(path, name), **names)

    yield from rebatch(datasets(), chunk_rows)


def looks_like_xmc(path: str | os.PathLike[str]) -> bool:
    """Whether the first line is the three sizes of an XMC file."""
    with LineReader(path) as lines:
        words = (lines.readline() or "").split()
    return len(words) == 3 and all(word.isdecimal() for word in words)


# -- shared -----------------------------------------------------------------------------------------


def _dataset_name(path: str | os.PathLike[str], name: str | None) -> str:
    return Path(path).name.split(".")[0] if name is None else name


def _count_columns(
    blocks: Iterable[Rows],
    lines: LineReader,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    labels_zero_based: bool | Literal["auto"] = "auto",
) -> tuple[int, int, int, int]:
    """Return the numbers of features and labels, and the number of the first of each."""
    spans: list[tuple[int, ...]] = [(), ()]  # smallest and largest number seen
    for block in blocks:
        for i, part in enumerate(block):
            if part.nnz:
                ends = (int(part.indices.min()), int(part.indices.max()), *spans[i])
                spans[i] = (min(ends), max(ends))
    d, base = _settle_numbering(spans[0], n_features, zero_based, "feature", lines)
    k, label_base = _settle_numbering(spans[1], n_labels, labels_zero_based, "label", lines)
    return d, k, base, label_base


def _settle_numbering(
    span: tuple[int, ...], count: int | None, zero_based: bool | str, what: str, lines: LineReader
) -> tuple[int, int]:
    low, high = span or (None, -1)
    base = int(not zero_based) if zero_based != "auto" else int(low is not None and low > 0)
    if low is not None and low < base:
        raise lines.fail(f"a {what} has number 0, but numbering was said to start at 1.")
    needed = high - base + 1
    most = MAX_FEATURES if what == "feature" else MAX_LABELS
    if max(needed, count or 0) > most:
        raise lines.fail(f"there would be {max(needed, count or 0)} {what}s, more than {most}.")
    if count is not None and needed > count:
        raise lines.fail(f"a {what} has number {high}, beyond the {count} {what}s asked for.")
    return (max(needed, 0) if count is None else count), base


def _svm_dataset(rows: Rows, shape: tuple[int, int, int, int], name: str) -> Dataset:
    X, Y = (
        sparse.csr_array((part.data, part.indices - base, part.indptr), shape=(part.shape[0], count))
        for part, count, base in zip(rows, shape[:2], shape[2:], strict=True)
    )
    return Dataset(X, Y, None, NumberedNames("", shape[1], shape[3]), name=name)


def _xmc_header(lines: LineReader) -> tuple[int, int, int]:
    words = (lines.readline() or "").split()
    if len(words) != 3 or not all(word.isascii() and word.isdecimal() and len(word) < 16 for word in words):
        raise lines.fail("the first line must hold three sizes: rows, features and labels.", 1, 1)
    n_rows, n_features, n_labels = map(int, words)
    if n_features > MAX_FEATURES or n_labels > MAX_LABELS:
        raise lines.fail(
            f"{n_features} features and {n_labels} labels are declared; at most {MAX_FEATURES} "
            f"and {MAX_LABELS} can be read.",
            1,
            1,
        )
    return n_rows, n_features, n_labels


def _xmc_blocks(lines: LineReader, n_rows: int, n_features: int, n_labels: int) -> Iterator[Rows]:
    seen = 0
    yield no_rows(n_features, n_labels)
    for block in read_blocks(lines, keep_blank=True, n_features=n_features, n_labels=n_labels):
        seen += block[0].shape[0]
        if seen > n_rows:
            raise lines.fail(f"{n_rows} rows are declared but there are more.")
        yield block
    if seen < n_rows:
        raise lines.fail(f"{n_rows} rows are declared but only {seen} are there; is the file complete?")

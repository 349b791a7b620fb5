"""Sparse rows as text: LIBSVM multilabel and the format of the XMC repository.

Both write a row as ``label,label index:value index:value``. As for ARFF, blocks of plain numbers go
through array operations and anything else through a careful parser that says where a mistake is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from hyperlabel.datasets._dataset import Dataset, NumberedNames, rebatch, small_indices
from hyperlabel.datasets._lines import LineReader, decode
from hyperlabel.datasets._numbers import find_words, read_numbers

MAX_FEATURES = 2**31 - 2  # 32-bit indices, as scikit-learn's solvers want them
MAX_LABELS = 20_000_000  # counts of labels are dense: a larger claim is a mistake or an attack
_COLON, _COMMA, _NEWLINE = 58, 44, 10


@dataclass(frozen=True)
class _Block:
    """Rows as written: pointers and columns of labels and features, values of the features."""

    label_ptr: np.ndarray
    labels: np.ndarray
    ptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def matrices(
        self, n_features: int, n_labels: int, feature_base: int, label_base: int
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        n_rows = len(self.ptr) - 1
        X = sparse.csr_array((self.values, self.columns - feature_base, self.ptr), shape=(n_rows, n_features))
        ones = np.ones(len(self.labels), dtype=np.int64)
        Y = sparse.csr_array((ones, self.labels - label_base, self.label_ptr), shape=(n_rows, n_labels))
        return small_indices(X), small_indices(Y)


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
    with LineReader(path) as lines:
        blocks = list(_blocks(lines, keep_blank=False))
        n_features, base = _extent(
            (block.columns for block in blocks), n_features, zero_based, "feature", lines
        )
        n_labels, label_base = _extent(
            (block.labels for block in blocks), n_labels, labels_zero_based, "label", lines
        )
    return _svm_dataset(_join(blocks), n_features, n_labels, base, label_base, _title(path, name))


def iter_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    labels_zero_based: bool | Literal["auto"] = "auto",
    name: str | None = None,
    chunk_rows: int = 10_000,
) -> Iterator[Dataset]:
    r"""Read a LIBSVM file as a stream of data sets of ``chunk_rows`` rows.

    Parameters are those of `read_svmlight`; whatever they leave open is found by reading the file
    once before.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import iter_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.svm")
    ...     _ = file.write_text("0,2 1:0.5 3:1\n 2:4\n")
    ...     [part.X.shape for part in iter_svmlight(file, chunk_rows=1)]
    [(1, 3), (1, 3)]
    """
    given = (n_features, n_labels, zero_based, labels_zero_based)
    if None in given or "auto" in given:
        spans = [_Span(), _Span()]
        with LineReader(path) as lines:
            for block in _blocks(lines, keep_blank=False):
                spans[0].see(block.columns)
                spans[1].see(block.labels)
            n_features, base = spans[0].settle(n_features, zero_based, "feature", lines)
            n_labels, label_base = spans[1].settle(n_labels, labels_zero_based, "label", lines)
    else:
        base, label_base = int(not zero_based), int(not labels_zero_based)

    def datasets() -> Iterator[Dataset]:
        assert n_features is not None
        assert n_labels is not None
        with LineReader(path) as lines:
            for block in _blocks(lines, keep_blank=False):
                for part, count, start, what in (
                    (block.columns, n_features, base, "feature"),
                    (block.labels, n_labels, label_base, "label"),
                ):
                    _Span().see(part).settle(count, start == 0, what, lines)
                yield _svm_dataset(block, n_features, n_labels, base, label_base, _title(path, name))

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
    found = []
    with LineReader(path) as lines:
        n_rows, n_features, n_labels = _xmc_header(lines)
        found = list(_xmc_blocks(lines, n_rows, n_features, n_labels))
    X, Y = _join(found).matrices(n_features, n_labels, 0, 0)
    return Dataset(X, Y, feature_names, label_names, name=_title(path, name))


def iter_xmc(
    path: str | os.PathLike[str],
    *,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    name: str | None = None,
    chunk_rows: int = 10_000,
) -> Iterator[Dataset]:
    r"""Read an XMC file as a stream of data sets of ``chunk_rows`` rows; see `read_xmc`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import iter_xmc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.txt")
    ...     _ = file.write_text("2 5 3\n0,2 1:0.5 3:1\n 2:4\n")
    ...     [part.X.shape for part in iter_xmc(file, chunk_rows=1)]
    [(1, 5), (1, 5)]
    """

    def datasets() -> Iterator[Dataset]:
        with LineReader(path) as lines:
            n_rows, n_features, n_labels = _xmc_header(lines)
            for block in _xmc_blocks(lines, n_rows, n_features, n_labels):
                X, Y = block.matrices(n_features, n_labels, 0, 0)
                yield Dataset(X, Y, feature_names, label_names, name=_title(path, name))

    yield from rebatch(datasets(), chunk_rows)


def looks_like_xmc(path: str | os.PathLike[str]) -> bool:
    """Whether the first line is the three sizes of an XMC file."""
    with LineReader(path) as lines:
        words = (lines.readline() or "").split()
    return len(words) == 3 and all(word.isdecimal() for word in words)


# -- shared -----------------------------------------------------------------------------------------


def _title(path: str | os.PathLike[str], name: str | None) -> str:
    return Path(path).name.split(".")[0] if name is None else name


class _Span:
    """Smallest and largest number of a kind of column, and what follows for the shape."""

    def __init__(self) -> None:
        self.low: int | None = None
        self.high = -1

    def see(self, columns: np.ndarray) -> _Span:
        if len(columns):
            low = int(columns.min())
            self.low = low if self.low is None else min(low, self.low)
            self.high = max(self.high, int(columns.max()))
        return self

    def settle(
        self, count: int | None, zero_based: bool | Literal["auto"], what: str, lines: LineReader
    ) -> tuple[int, int]:
        """Return the number of columns and the number of the first."""
        base = int(not zero_based) if zero_based != "auto" else int(self.low is not None and self.low > 0)
        if self.low is not None and self.low < base:
            raise lines.fail(f"a {what} has number 0, but numbering was said to start at 1.")
        needed = self.high - base + 1
        most = MAX_FEATURES if what == "feature" else MAX_LABELS
        if max(needed, count or 0) > most:
            raise lines.fail(f"there would be {max(needed, count or 0)} {what}s, more than {most}.")
        if count is not None and needed > count:
            raise lines.fail(f"a {what} has number {self.high}, beyond the {count} {what}s asked for.")
        return (max(needed, 0) if count is None else count), base


def _extent(
    parts: Iterator[np.ndarray],
    count: int | None,
    zero_based: bool | Literal["auto"],
    what: str,
    lines: LineReader,
) -> tuple[int, int]:
    span = _Span()
    for part in parts:
        span.see(part)
    return span.settle(count, zero_based, what, lines)


def _svm_dataset(
    block: _Block, n_features: int, n_labels: int, base: int, label_base: int, name: str
) -> Dataset:
    X, Y = block.matrices(n_features, n_labels, base, label_base)
    return Dataset(X, Y, None, NumberedNames("", n_labels, label_base), name=name)


def _xmc_header(lines: LineReader) -> tuple[int, int, int]:
    words = (lines.readline() or "").split()
    if len(words) != 3 or not all(word.isdecimal() and len(word) < 16 for word in words):
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


def _xmc_blocks(lines: LineReader, n_rows: int, n_features: int, n_labels: int) -> Iterator[_Block]:
    seen = 0
    none = True
    for block in _blocks(lines, keep_blank=True, n_features=n_features, n_labels=n_labels):
        seen += len(block.ptr) - 1
        if seen > n_rows:
            raise lines.fail(f"{n_rows} rows are declared but there are more.")
        none = False
        yield block
    if none:
        yield _join([])
    if seen < n_rows:
        raise lines.fail(f"{n_rows} rows are declared but only {seen} are there; is the file complete?")


def _join(blocks: Sequence[_Block]) -> _Block:
    def pointer(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *parts]))])

    def flat(parts: list[np.ndarray], dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *parts])

    return _Block(
        pointer([np.diff(block.label_ptr) for block in blocks]),
        flat([block.labels for block in blocks], np.int64),
        pointer([np.diff(block.ptr) for block in blocks]),
        flat([block.columns for block in blocks], np.int64),
        flat([block.values for block in blocks], np.float64),
    )


def _blocks(
    lines: LineReader,
    *,
    keep_blank: bool,
    n_features: int = MAX_FEATURES + 1,
    n_labels: int = MAX_LABELS + 1,
) -> Iterator[_Block]:
    """Parse the rest of the file; numbers must lie below ``n_features`` and ``n_labels``."""
    for first, block in lines.blocks():
        parsed = _plain(block, keep_blank)
        if parsed is None or (parsed.columns >= n_features).any() or (parsed.labels >= n_labels).any():
            parsed = _careful(block, first, lines, keep_blank, n_features, n_labels)
        yield parsed


def _plain(block: bytes, keep_blank: bool) -> _Block | None:
    """Parse rows of plain numbers by array operations; None when anything looks odd."""
    if b"#" in block or b"q" in block:
        return None
    if not block.endswith(b"\n"):
        block += b"\n"
    words = find_words(block, b",:\n")
    numbers = read_numbers(words)
    if numbers is None:
        return None
    text = np.frombuffer(block, dtype=np.uint8)
    is_column = text[words.finish] == _COLON
    is_value = np.zeros(len(numbers), dtype=bool)
    is_value[1:] = is_column[:-1]
    is_label = ~is_column & ~is_value
    ends = np.cumsum(words.before)[words.marks == _NEWLINE]  # words up to the end of each line
    length = np.diff(ends, prepend=0)
    row = np.repeat(np.arange(len(ends)), length)
    glued = is_value & (text[words.begin - 1] == _COLON)
    n_marks = np.bincount(words.marks, minlength=256)
    labels_of = np.bincount(row[is_label], minlength=len(ends))
    same_row = row[1:] == row[:-1] if len(row) else np.zeros(0, dtype=bool)
    followed = is_label[:-1] & is_label[1:] & same_row  # a label with another after it: a comma between
    good = (
        n_marks[_COLON] == is_column.sum() == glued.sum()
        and not (is_column & is_value).any()
        and n_marks[_COMMA] == np.maximum(labels_of - 1, 0).sum()
        and bool((text[words.finish[:-1][followed]] == _COMMA).all())
        and not (is_label[1:] & ~is_label[:-1] & same_row).any()  # labels come first
    )
    whole = numbers[~is_value]
    if not good or not ((whole >= 0) & (whole <= 2**52)).all() or (whole % 1).any():
        return None
    used = np.ones(len(ends), dtype=bool) if keep_blank else length > 0
    label_ptr = np.concatenate([[0], np.cumsum(labels_of[used])])
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row[is_column], minlength=len(ends))[used])])
    labels, columns = numbers[is_label].astype(np.int64), numbers[is_column].astype(np.int64)
    values = numbers[is_value]
    labels, order = _in_order(labels, label_ptr)
    columns, order = _in_order(columns, ptr)
    if labels is None or columns is None:
        return None
    return _Block(label_ptr, labels, ptr, columns, values if order is None else values[order])


def _in_order(columns: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Sort the columns inside each row; None when one appears twice."""
    row = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    step = np.diff(columns)
    inside = row[1:] == row[:-1]
    if (step[inside] > 0).all():
        return columns, None
    order = np.lexsort((columns, row))
    columns = columns[order]
    return (columns if (np.diff(columns)[inside] > 0).all() else None), order


def _careful(
    block: bytes, first: int, lines: LineReader, keep_blank: bool, n_features: int, n_labels: int
) -> _Block:
    label_ptr, labels, ptr, columns, values = [0], [], [0], [], []
    for number, line in enumerate(decode(block).removesuffix("\n").split("\n"), start=first):
        text = line.split("#", 1)[0]
        if not text.strip() and ("#" in line or not keep_blank):
            continue
        row_labels, entries = _row(text, number, lines, n_features, n_labels)
        labels += row_labels
        columns += [j for j, _ in entries]
        values += [value for _, value in entries]
        label_ptr.append(len(labels))
        ptr.append(len(columns))
    return _Block(
        np.array(label_ptr),
        np.array(labels, dtype=np.int64),
        np.array(ptr),
        np.array(columns, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _row(
    text: str, number: int, lines: LineReader, n_features: int, n_labels: int
) -> tuple[list[int], list[tuple[int, float]]]:
    labels: list[int] = []
    entries: dict[int, float] = {}
    position = 0
    for order, word in enumerate(text.split()):
        position = text.index(word, position)
        column = position + 1
        position += len(word)
        index, colon, value = word.partition(":")
        if not colon:
            if order or text[:1].isspace():
                raise lines.fail(f"{word[:40]!r} is not index:value (labels come first).", number, column)
            labels = [_whole(part, "label", n_labels, number, column, lines) for part in word.split(",")]
            if len(set(labels)) < len(labels):
                raise lines.fail("a label appears twice in the row.", number, column)
            continue
        if index == "qid":
            continue
        j = _whole(index, "feature", n_features, number, column, lines)
        if j in entries:
            raise lines.fail(f"the feature {j} appears twice in the row.", number, column)
        try:
            if "_" in value:
                raise ValueError(value)
            entries[j] = float(value)
        except ValueError:
            raise lines.fail(
                f"the value {value[:40]!r} of feature {j} is not a number.", number, column + len(index) + 1
            ) from None
    return sorted(labels), sorted(entries.items())


def _whole(text: str, what: str, bound: int, number: int, column: int, lines: LineReader) -> int:
    plain = text[:-2] if what == "label" and text.endswith(".0") else text
    if not plain.isascii() or not plain.isdecimal():
        raise lines.fail(f"{text[:40]!r} is not the number of a {what}.", number, column)
    if len(plain) > 18 or int(plain) >= bound:
        raise lines.fail(
            f"the {what} {plain[:40]} is beyond the {bound} {what}s "
            f"{'declared' if bound not in (MAX_FEATURES + 1, MAX_LABELS + 1) else 'that can be read'}.",
            number,
            column,
        )
    return int(plain)

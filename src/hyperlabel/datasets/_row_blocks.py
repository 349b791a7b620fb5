"""Blocks of rows written ``label,label index:value index:value``.

As for ARFF, the careful parser says what a row may be and where a mistake is; array operations read the
same from blocks of rows in their plainest form and leave every other block to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hyperlabel.datasets._dataset import small_indices
from hyperlabel.datasets._lines import LineReader, decode
from hyperlabel.datasets._numbers import (
    BLANKS,
    MAX_PLAIN,
    WORD,
    find_words,
    read_numbers,
    to_number,
    to_whole,
)

MAX_FEATURES = 2**31 - 2  # 32-bit indices, as scikit-learn's solvers want them
MAX_LABELS = 20_000_000  # counts of labels are dense: a larger claim is a mistake or an attack
_COLON, _COMMA, _NEWLINE = 58, 44, 10


@dataclass(frozen=True)
class RowBlock:
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


def join_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    def pointer(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *parts]))])

    def flat(parts: list[np.ndarray], dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *parts])

    return RowBlock(
        pointer([np.diff(block.label_ptr) for block in blocks]),
        flat([block.labels for block in blocks], np.int64),
        pointer([np.diff(block.ptr) for block in blocks]),
        flat([block.columns for block in blocks], np.int64),
        flat([block.values for block in blocks], np.float64),
    )


def read_blocks(
    lines: LineReader,
    *,
    keep_blank: bool,
    n_features: int = MAX_FEATURES + 1,
    n_labels: int = MAX_LABELS + 1,
) -> Iterator[RowBlock]:
    """Parse the rest of the file; numbers must lie below ``n_features`` and ``n_labels``."""
    for first, block in lines.blocks():
        parsed = _plain(block, keep_blank) if len(block) <= MAX_PLAIN else None
        if parsed is None or (parsed.columns >= n_features).any() or (parsed.labels >= n_labels).any():
            parsed = _careful(block, first, lines, keep_blank, n_features, n_labels)
        yield parsed


def _plain(block: bytes, keep_blank: bool) -> RowBlock | None:
    """Parse rows of plain numbers by array operations; None when anything looks odd."""
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
        and bool(np.isin(text[words.begin[is_label] - 1], (_COMMA, _NEWLINE)).all())  # no blank before one
        and bool(words.only_digits()[~is_value].all())
    )
    if not good:
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
    return RowBlock(label_ptr, labels, ptr, columns, values if order is None else values[order])


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
) -> RowBlock:
    label_ptr, labels, ptr, columns, values = [0], [], [0], [], []
    for number, line in enumerate(decode(block).removesuffix("\n").split("\n"), start=first):
        text = line.split("#", 1)[0]
        if not text.strip(BLANKS) and ("#" in line or not keep_blank):
            continue
        row_labels, entries = _row(text, number, lines, n_features, n_labels)
        labels += row_labels
        columns += [j for j, _ in entries]
        values += [value for _, value in entries]
        label_ptr.append(len(labels))
        ptr.append(len(columns))
    return RowBlock(
        np.array(label_ptr),
        np.array(labels, dtype=np.int64),
        np.array(ptr),
        np.array(columns, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _row(
    text: str, number: int, lines: LineReader, n_features: int, n_labels: int
) -> tuple[list[int], list[tuple[int, float]]]:
    labels: set[int] = set()
    entries: dict[int, float] = {}
    for match in WORD.finditer(text):
        word, column = match[0], match.start() + 1
        index, colon, value = word.partition(":")
        if not colon:
            if column > 1:
                raise lines.fail(f"{word[:40]!r} is not index:value (labels come first).", number, column)
            for part in word.split(","):
                label = _whole(part, "label", n_labels, number, column, lines)
                if label in labels:
                    raise lines.fail("a label appears twice in the row.", number, column)
                labels.add(label)
            continue
        if index == "qid":
            continue
        j = _whole(index, "feature", n_features, number, column, lines)
        if j in entries:
            raise lines.fail(f"the feature {j} appears twice in the row.", number, column)
        try:
            entries[j] = to_number(value)
        except ValueError:
            raise lines.fail(
                f"the value {value[:40]!r} of feature {j} is not a number.", number, column + len(index) + 1
            ) from None
    return sorted(labels), sorted(entries.items())


def _whole(text: str, what: str, bound: int, number: int, column: int, lines: LineReader) -> int:
    plain = text[:-2] if what == "label" and text.endswith(".0") else text
    try:
        found = to_whole(plain)
    except ValueError:
        raise lines.fail(f"{text[:40]!r} is not the number of a {what}.", number, column) from None
    if found >= bound:
        raise lines.fail(
            f"the {what} {plain[:40]} is beyond the {bound} {what}s "
            f"{'declared' if bound not in (MAX_FEATURES + 1, MAX_LABELS + 1) else 'that can be read'}.",
            number,
            column,
        )
    return found

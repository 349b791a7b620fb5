"""Blocks of rows written ``label,label index:value index:value``.

As for ARFF, the careful parser says what a row may be and where a mistake is; blocks of rows in their
plainest form are read as a whole, every other block is left to it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets._lines import LineReader, decode_bytes
from hyperlabel.datasets._numbers import (
    BLANKS,
    MAX_PLAIN,
    NUMBER,
    WORD,
    read_plain_numbers,
    to_number,
    to_whole,
)

MAX_FEATURES = 2**31 - 2  # 32-bit indices, as scikit-learn's solvers want them
MAX_LABELS = 20_000_000  # counts of labels are dense: a larger claim is a mistake or an attack
_PLAIN_ROW = rf"(?:[0-9]++(?:,[0-9]++)*+)?+(?: [0-9]++:{NUMBER})*+ ?+\n"
_PLAIN = re.compile(rf"(?:{_PLAIN_ROW})++".encode())
_NEWLINE, _COLON = b"\n:"

Rows = tuple[sparse.csr_array, sparse.csr_array]  # features and labels, their columns numbered as written


def read_blocks(
    lines: LineReader,
    *,
    keep_blank: bool,
    n_features: int = MAX_FEATURES + 1,
    n_labels: int = MAX_LABELS + 1,
) -> Iterator[Rows]:
    """Parse the rest of the file; numbers must lie below ``n_features`` and ``n_labels``."""
    for first, block in lines.blocks():
        parsed = (
            _parse_plain_block(block, keep_blank, n_features, n_labels) if len(block) <= MAX_PLAIN else None
        )
        yield parsed or _parse_lines(block, first, lines, keep_blank, n_features, n_labels)


def no_rows(n_features: int, n_labels: int) -> Rows:
    return sparse.csr_array((0, n_features)), sparse.csr_array((0, n_labels))


def join_blocks(blocks: Sequence[Rows]) -> Rows:
    X, Y = (sparse.vstack(parts, format="csr") for parts in zip(*blocks, strict=True))
    return X, Y


def _parse_plain_block(block: bytes, keep_blank: bool, n_features: int, n_labels: int) -> Rows | None:
    """Parse rows of plain numbers as a whole; None when anything looks odd."""
    block = block.removesuffix(b"\n") + b"\n"
    if _PLAIN.fullmatch(block) is None:
        return None
    numbers, ends = read_plain_numbers(block, b",:")
    text = np.frombuffer(block, dtype=np.uint8)
    lines = np.flatnonzero(text == _NEWLINE)
    is_column = text[ends] == _COLON
    is_value = np.append(False, is_column)[:-1]
    is_label = ~is_column & ~is_value
    row = np.searchsorted(lines, ends)
    labels_of, entries_of = (np.bincount(row[kind], minlength=len(lines)) for kind in (is_label, is_column))
    used = keep_blank | (labels_of + entries_of > 0)
    labels, columns = numbers[is_label], numbers[is_column]
    if (columns >= n_features).any() or (labels >= n_labels).any():
        return None
    X = _build_matrix(numbers[is_value], columns, entries_of[used], n_features)
    Y = _build_matrix(None, labels, labels_of[used], n_labels)
    return (X, Y) if X.has_canonical_format and Y.has_canonical_format else None  # no number twice in a row


def _build_matrix(values: Any, columns: Any, lengths: Any, width: int) -> sparse.csr_array:
    columns = np.asarray(columns, dtype=np.int64)
    values = np.ones(len(columns), dtype=np.int64) if values is None else np.asarray(values, dtype=np.float64)
    indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
    matrix = sparse.csr_array((values, columns, indptr), shape=(len(indptr) - 1, width))
    matrix.sort_indices()
    return matrix


def _parse_lines(
    block: bytes, first: int, lines: LineReader, keep_blank: bool, n_features: int, n_labels: int
) -> Rows:
    rows = []
    for number, line in enumerate(decode_bytes(block).removesuffix("\n").split("\n"), start=first):
        text = line.split("#", 1)[0]
        if text.strip(BLANKS) or (keep_blank and "#" not in line):
            rows.append(_parse_row(text, number, lines, n_features, n_labels))
    labels = [label for found, _ in rows for label in found]
    columns, values = ([entry[i] for _, found in rows for entry in found] for i in (0, 1))
    return (
        _build_matrix(values, columns, [len(found) for _, found in rows], n_features),
        _build_matrix(None, labels, [len(found) for found, _ in rows], n_labels),
    )


def _parse_row(
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
                label = _parse_index(part, "label", n_labels, number, column, lines)
                if label in labels:
                    raise lines.fail("a label appears twice in the row.", number, column)
                labels.add(label)
            continue
        if index == "qid":
            continue
        j = _parse_index(index, "feature", n_features, number, column, lines)
        if j in entries:
            raise lines.fail(f"the feature {j} appears twice in the row.", number, column)
        try:
            entries[j] = to_number(value)
        except ValueError:
            raise lines.fail(
                f"the value {value[:40]!r} of feature {j} is not a number.", number, column + len(index) + 1
            ) from None
    return sorted(labels), sorted(entries.items())


def _parse_index(text: str, what: str, bound: int, number: int, column: int, lines: LineReader) -> int:
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

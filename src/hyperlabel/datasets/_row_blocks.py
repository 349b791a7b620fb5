"""Blocks of rows written ``label,label index:value index:value``.

As for ARFF, the careful parser defines what a row may be and locates mistakes. Blocks of rows in their
plainest form are parsed at once; every other block goes to the careful parser.
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
    reader: LineReader,
    *,
    keep_blank: bool,
    n_features: int = MAX_FEATURES + 1,
    n_labels: int = MAX_LABELS + 1,
) -> Iterator[Rows]:
    """Parse the rest of the file; numbers must lie below ``n_features`` and ``n_labels``."""
    for first_line, line_block in reader.blocks():
        plain_rows = (
            _parse_plain_block(line_block, keep_blank, n_features, n_labels)
            if len(line_block) <= MAX_PLAIN
            else None
        )
        yield plain_rows or _parse_lines(line_block, first_line, reader, keep_blank, n_features, n_labels)


def no_rows(n_features: int, n_labels: int) -> Rows:
    return sparse.csr_array((0, n_features)), sparse.csr_array((0, n_labels))


def join_blocks(blocks: Sequence[Rows]) -> Rows:
    X, Y = (sparse.vstack(row_blocks, format="csr") for row_blocks in zip(*blocks, strict=True))
    return X, Y


def _parse_plain_block(block: bytes, keep_blank: bool, n_features: int, n_labels: int) -> Rows | None:
    """Parse rows of plain numbers as a whole; None when anything looks odd."""
    block = block.removesuffix(b"\n") + b"\n"
    if _PLAIN.fullmatch(block) is None:
        return None
    numbers, number_ends = read_plain_numbers(block, b",:")
    block_bytes = np.frombuffer(block, dtype=np.uint8)
    line_ends = np.flatnonzero(block_bytes == _NEWLINE)
    is_column = block_bytes[number_ends] == _COLON
    is_value = np.append(False, is_column)[:-1]
    is_label = ~is_column & ~is_value
    row_of_number = np.searchsorted(line_ends, number_ends)
    labels_of, entries_of = (
        np.bincount(row_of_number[number_kind], minlength=len(line_ends))
        for number_kind in (is_label, is_column)
    )
    is_row = keep_blank | (labels_of + entries_of > 0)
    label_numbers, feature_numbers = numbers[is_label], numbers[is_column]
    if (feature_numbers >= n_features).any() or (label_numbers >= n_labels).any():
        return None
    X = _build_matrix(numbers[is_value], feature_numbers, entries_of[is_row], n_features)
    Y = _build_matrix(None, label_numbers, labels_of[is_row], n_labels)
    return (X, Y) if X.has_canonical_format and Y.has_canonical_format else None  # no number twice in a row


def _build_matrix(values: Any, columns: Any, row_lengths: Any, n_columns: int) -> sparse.csr_array:
    columns = np.asarray(columns, dtype=np.int64)
    values = np.ones(len(columns), dtype=np.int64) if values is None else np.asarray(values, dtype=np.float64)
    indptr = np.append(0, np.cumsum(row_lengths, dtype=np.int64))
    matrix = sparse.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))
    matrix.sort_indices()
    return matrix


def _parse_lines(
    block: bytes, first_line: int, reader: LineReader, keep_blank: bool, n_features: int, n_labels: int
) -> Rows:
    parsed_rows = []
    for line_number, raw_line in enumerate(
        decode_bytes(block).removesuffix("\n").split("\n"), start=first_line
    ):
        row_text = raw_line.split("#", 1)[0]
        if row_text.strip(BLANKS) or (keep_blank and "#" not in raw_line):
            parsed_rows.append(_parse_row(row_text, line_number, reader, n_features, n_labels))
    label_numbers = [label for row_labels, _ in parsed_rows for label in row_labels]
    feature_numbers, feature_values = (
        [pair[i] for _, row_pairs in parsed_rows for pair in row_pairs] for i in (0, 1)
    )
    return (
        _build_matrix(
            feature_values, feature_numbers, [len(row_pairs) for _, row_pairs in parsed_rows], n_features
        ),
        _build_matrix(None, label_numbers, [len(row_labels) for row_labels, _ in parsed_rows], n_labels),
    )


def _parse_row(
    row_text: str, line_number: int, reader: LineReader, n_features: int, n_labels: int
) -> tuple[list[int], list[tuple[int, float]]]:
    label_numbers: set[int] = set()
    feature_entries: dict[int, float] = {}
    for match in WORD.finditer(row_text):
        word, word_column = match[0], match.start() + 1
        index_text, colon, value_text = word.partition(":")
        if not colon:
            if word_column > 1:
                raise reader.fail(
                    f"{word[:40]!r} is not index:value (labels come first).", line_number, word_column
                )
            for label_text in word.split(","):
                label_number = _parse_index(label_text, "label", n_labels, line_number, word_column, reader)
                if label_number in label_numbers:
                    raise reader.fail("a label appears twice in the row.", line_number, word_column)
                label_numbers.add(label_number)
            continue
        if index_text == "qid":
            continue
        j = _parse_index(index_text, "feature", n_features, line_number, word_column, reader)
        if j in feature_entries:
            raise reader.fail(f"the feature {j} appears twice in the row.", line_number, word_column)
        try:
            feature_entries[j] = to_number(value_text)
        except ValueError:
            raise reader.fail(
                f"the value {value_text[:40]!r} of feature {j} is not a number.",
                line_number,
                word_column + len(index_text) + 1,
            ) from None
    return sorted(label_numbers), sorted(feature_entries.items())


def _parse_index(
    index_text: str, column_role: str, bound: int, line_number: int, column: int, reader: LineReader
) -> int:
    plain_text = index_text[:-2] if column_role == "label" and index_text.endswith(".0") else index_text
    try:
        parsed_index = to_whole(plain_text)
    except ValueError:
        raise reader.fail(
            f"{index_text[:40]!r} is not the number of a {column_role}.", line_number, column
        ) from None
    if parsed_index >= bound:
        raise reader.fail(
            f"the {column_role} {plain_text[:40]} is beyond the {bound} {column_role}s "
            f"{'declared' if bound not in (MAX_FEATURES + 1, MAX_LABELS + 1) else 'that can be read'}.",
            line_number,
            column,
        )
    return parsed_index

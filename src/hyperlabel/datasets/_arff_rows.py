"""The rows of an ARFF file as numbers.

The careful parser reads line by line, defines what a row may be and locates mistakes. Most files hold nothing
but numbers and plain words: such blocks are parsed at once, dense ones a column at a time, with the same
values. Any other block (quotes, comments, mistakes) goes to the careful parser.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from scipy import sparse

from hyperlabel.datasets._arff_columns import ArffColumns
from hyperlabel.datasets._arff_header import QUOTED, Attribute, split_values, unquote_name
from hyperlabel.datasets._lines import LineReader, decode_bytes
from hyperlabel.datasets._numbers import (
    BLANKS,
    MAX_PLAIN,
    NUMBER,
    WORD,
    read_decimals,
    read_plain_numbers,
    to_whole,
)

# A dense row of these needs no look at single characters.
_PLAIN_TEXT = bytes(code for code in range(32, 127) if chr(code) not in "'\"%{}\\") + b"\n"
_PAIR = re.compile(rf"\s*+(\d++)\s++(?:({QUOTED})\s*+|([^,\s'\"][^,]*))(?:,|$)", re.ASCII)
_PLAIN_PAIR = f"[0-9]++ {NUMBER}"
_PLAIN_SPARSE = re.compile(rf"(?:\{{(?:{_PLAIN_PAIR}(?:,{_PLAIN_PAIR})*+)?+\}}\n)++".encode())

# -- dense rows -----------------------------------------------------------------------------------


def dense_block(block: bytes, first_line: int, columns: ArffColumns, reader: LineReader) -> np.ndarray:
    """Return rows × attributes as numbers."""
    n_attributes = len(columns.attributes)
    if len(block) <= MAX_PLAIN:
        plain_rows = _parse_plain_dense(block, columns)
        if plain_rows is not None:
            return plain_rows
    parsed_rows = [
        _dense_row(row_text, line_number, columns, reader)
        for line_number, row_text in _iter_data_lines(block, first_line)
    ]
    return np.array(parsed_rows, dtype=np.float64).reshape(-1, n_attributes)


def _iter_data_lines(block: bytes, first_line: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor a comment, and their numbers."""
    for line_number, row_text in enumerate(decode_bytes(block).split("\n"), start=first_line):
        stripped_text = row_text.strip(BLANKS)
        if stripped_text and not stripped_text.startswith("%"):
            yield line_number, row_text


def _parse_plain_dense(block: bytes, columns: ArffColumns) -> np.ndarray | None:
    """Parse rows without quotes, comments and braces; None when anything looks odd."""
    n_attributes = len(columns.attributes)
    block = (block.replace(b", ", b",") if b" " in block else block).strip(b"\n") + b"\n"
    if not columns.is_plain or block.translate(None, b"0123456789+-.,\n"):
        return None if block.translate(None, _PLAIN_TEXT) else _parse_by_column(block, columns)
    parsed = read_decimals(block, n_attributes)
    if parsed is None:
        return None
    number_rows, field_lengths = parsed
    zero_one_values = number_rows[:, columns.zero_one]
    if not ((zero_one_values == 0) | (zero_one_values == 1)).all():
        return None
    return number_rows if (field_lengths[:, columns.one_digit] == 1).all() else None


def _parse_by_column(block: bytes, columns: ArffColumns) -> np.ndarray | None:
    """Parse numbers and plain words; None where a row or a value needs a closer look."""
    n_attributes, text = len(columns.attributes), block[:-1].decode("ascii")
    row_texts = text.split("\n")
    if any(row_text.count(",") != n_attributes - 1 for row_text in row_texts):
        return None
    cells = text.replace("\n", ",").split(",")
    number_rows = np.empty((len(row_texts), n_attributes))
    for j, (parse, is_number) in enumerate(zip(columns.parse, columns.is_float, strict=True)):
        try:
            number_rows[:, j] = _parse_column(cells[j::n_attributes], parse, is_number and "_" not in text)
        except (KeyError, ValueError):  # whoever reads line by line says where
            return None
    return number_rows


def _parse_column(column_cells: list[str], parse: Callable[[str], float], is_number: bool) -> np.ndarray:
    """Parse a column, by Python's `float` where it holds plain numbers."""
    if is_number:
        with suppress(ValueError):  # a value nobody knows
            return np.fromiter(map(float, column_cells), np.float64, len(column_cells))
    return np.fromiter(map(parse, column_cells), np.float64, len(column_cells))


def _dense_row(row_text: str, line_number: int, columns: ArffColumns, reader: LineReader) -> list[float]:
    n_attributes = len(columns.attributes)
    if row_text.lstrip(BLANKS).startswith("{"):
        raise reader.fail("a sparse row in a file of dense rows.", line_number, 1)
    if "'" in row_text or '"' in row_text:
        try:
            field_texts = split_values(row_text)
        except ValueError as error:
            raise reader.fail("a quote never closes.", line_number, error.args[0] + 1) from None
    else:
        field_texts = [field_text.strip(BLANKS) for field_text in row_text.split(",")]
        if len(field_texts) == 1 and n_attributes > 1:
            field_texts = WORD.findall(row_text)  # Weka also takes blanks and tabs
    if len(field_texts) != n_attributes:
        raise reader.fail(
            f"the row has {len(field_texts)} values, the header declares {n_attributes} attributes.",
            line_number,
            len(row_text.rstrip(BLANKS)) + 1,
        )
    try:
        return [parse(field_text) for parse, field_text in zip(columns.parse, field_texts, strict=True)]
    except (KeyError, ValueError):
        position = 0
        for parse, field_text, attribute in zip(columns.parse, field_texts, columns.attributes, strict=True):
            try:
                parse(field_text)
            except (KeyError, ValueError):
                raise _value_error(
                    attribute, field_text, line_number, row_text, position, reader, columns
                ) from None
            position = row_text.find(",", position) + 1
        raise


def _value_error(
    attribute: Attribute,
    field_text: str,
    line_number: int,
    row_text: str,
    position: int,
    reader: LineReader,
    columns: ArffColumns,
) -> Exception:
    position += len(row_text[position:]) - len(row_text[position:].lstrip())
    is_label = columns.is_label[columns.attributes.index(attribute)]
    if attribute.kind == "nominal":
        value_list = ",".join(attribute.values[:6]) + (",…" if len(attribute.values) > 6 else "")
        mistake = f"not one of its values {{{value_list}}}"
    else:
        mistake = "not 0 or 1" if is_label else "not a number"
    column_role = "label" if is_label else "attribute"
    message = f"the value {field_text[:40]!r} of {column_role} {attribute.name!r} is {mistake}."
    return reader.fail(message, line_number, position + 1)


# -- sparse rows ----------------------------------------------------------------------------------


def sparse_block(block: bytes, first_line: int, columns: ArffColumns, reader: LineReader) -> sparse.csr_array:
    """Return rows × attributes as csr_array; explicit zeros are kept (an omitted value may not be 0)."""
    n_attributes = len(columns.attributes)
    if columns.is_plain and len(block) <= MAX_PLAIN:
        plain_rows = _parse_plain_sparse(block, columns)
        if plain_rows is not None:
            return plain_rows
    parsed_rows = [
        _sparse_row(row_text, line_number, columns, reader)
        for line_number, row_text in _iter_data_lines(block, first_line)
    ]
    column_indices, entry_values = (
        np.array([pair[i] for row_pairs in parsed_rows for pair in row_pairs], dtype=float) for i in (0, 1)
    )
    indptr = np.cumsum([0, *map(len, parsed_rows)])
    return sparse.csr_array(
        (entry_values, column_indices.astype(np.int64), indptr), shape=(len(parsed_rows), n_attributes)
    )


def _parse_plain_sparse(block: bytes, columns: ArffColumns) -> sparse.csr_array | None:
    """Parse rows ``{index value,…}`` of plain numbers; None when anything looks odd."""
    n_attributes = len(columns.attributes)
    block = block.strip(b"\n").replace(b", ", b",") + b"\n"
    if _PLAIN_SPARSE.fullmatch(block) is None:
        return None
    numbers, number_ends = read_plain_numbers(block, b"{},")
    written_indices, entry_values = numbers[0::2], numbers[1::2].copy()
    if not (written_indices < n_attributes).all():
        return None
    column_indices = written_indices.astype(np.int32)
    other_columns = column_indices[(entry_values != 0) & (entry_values != 1)]
    long_columns = column_indices[number_ends[1::2] - number_ends[0::2] > 2]
    if columns.zero_one[other_columns].any() or columns.one_digit[long_columns].any():
        return None
    line_ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 10)
    indptr = np.append(0, np.searchsorted(number_ends[1::2], line_ends))
    sparse_rows = sparse.csr_array(
        (entry_values, column_indices, indptr), shape=(len(indptr) - 1, n_attributes)
    )
    sparse_rows.sort_indices()
    return sparse_rows if sparse_rows.has_canonical_format else None  # an index twice in a row is a mistake


def _sparse_row(
    row_text: str, line_number: int, columns: ArffColumns, reader: LineReader
) -> list[tuple[int, float]]:
    stripped_text = row_text.strip(BLANKS)
    pair_start = row_text.find("{") + 1
    if not stripped_text.startswith("{") or not stripped_text.endswith("}"):
        raise reader.fail("a sparse row stands in braces on one line: {index value, …}.", line_number, 1)
    braces_text = row_text[: row_text.rfind("}")]
    if not braces_text[pair_start:].strip(BLANKS):
        return []
    row_entries: dict[int, float] = {}
    while True:
        pair_match = _PAIR.match(braces_text, pair_start)
        if pair_match is None:
            raise _pair_error(braces_text, pair_start, line_number, reader)
        j = to_whole(pair_match[1])
        if j >= len(columns.attributes):
            raise reader.fail(
                f"the index {pair_match[1][:40]} is beyond the {len(columns.attributes)} attributes "
                "(indices start at 0).",
                line_number,
                pair_match.start(1) + 1,
            )
        if j in row_entries:
            raise reader.fail(
                f"the index {j} appears twice in one row.", line_number, pair_match.start(1) + 1
            )
        value_text = unquote_name(pair_match[2] or pair_match[3].rstrip(BLANKS))
        try:
            row_entries[j] = columns.parse[j](value_text)
        except (KeyError, ValueError):
            raise _value_error(
                columns.attributes[j], value_text, line_number, row_text, pair_match.end(1), reader, columns
            ) from None
        if not pair_match[0].endswith(","):
            return sorted(row_entries.items())
        pair_start = pair_match.end()


def _pair_error(braces_text: str, pair_start: int, line_number: int, reader: LineReader) -> Exception:
    pair_text = braces_text[pair_start:].partition(",")[0]
    column = pair_start + len(pair_text) - len(pair_text.lstrip(BLANKS)) + 1
    pair_text = pair_text.strip(BLANKS)
    if "'" in pair_text or '"' in pair_text:
        return reader.fail("a quote never closes, or an index is missing.", line_number, column)
    return reader.fail(f"{pair_text[:40]!r} is not an index and a value.", line_number, column)

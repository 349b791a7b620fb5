"""The rows of an ARFF file as numbers.

The careful parser, line by line, says what a row may be and where a mistake is. Blocks of nothing but rows
of plain numbers, as most files are, are read as a whole, which gives the same values; whatever is not in that
form (words, quotes, comments, mistakes) is left to the careful parser.
"""

import re
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from hyperlabel.datasets._arff_columns import ArffColumns
from hyperlabel.datasets._arff_header import QUOTED, Attribute, split_values, unquote_name
from hyperlabel.datasets._lines import LineReader, decode_bytes
from hyperlabel.datasets._numbers import BLANKS, MAX_PLAIN, NUMBER, WORD, read_plain_numbers, to_whole

_PAIR = re.compile(rf"\s*+(\d++)\s++(?:({QUOTED})\s*+|([^,\s'\"][^,]*))(?:,|$)", re.ASCII)
_PLAIN_PAIR = f"[0-9]++ {NUMBER}"
_PLAIN_SPARSE = re.compile(rf"(?:\{{(?:{_PLAIN_PAIR}(?:,{_PLAIN_PAIR})*+)?+\}}\n)++".encode())

# -- dense rows -----------------------------------------------------------------------------------


def dense_block(block: bytes, first: int, columns: ArffColumns, lines: LineReader) -> np.ndarray:
    """Rows × attributes as numbers."""
    width = len(columns.attributes)
    if columns.is_plain and len(block) <= MAX_PLAIN:
        raw = _dense_plain(block, columns)
        if raw is not None:
            return raw
    found = [_dense_row(line, number, columns, lines) for number, line in _data_lines(block, first)]
    return np.array(found, dtype=np.float64).reshape(-1, width)


def _data_lines(block: bytes, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor a comment, and their numbers."""
    for number, line in enumerate(decode_bytes(block).split("\n"), start=first):
        text = line.strip(BLANKS)
        if text and not text.startswith("%"):
            yield number, line


def _dense_plain(block: bytes, columns: ArffColumns) -> np.ndarray | None:
    """Parse rows of plain numbers; None when anything looks odd."""
    width = len(columns.attributes)
    block = block.strip(b"\n").replace(b", ", b",") + b"\n"
    if columns.plain_rows.fullmatch(block) is None:
        return None
    numbers, ends = read_plain_numbers(block, b",")
    raw, lengths = numbers.reshape(-1, width), np.diff(ends, prepend=-1).reshape(-1, width) - 1
    bound = raw[:, columns.zero_one]
    fits = ((bound == 0) | (bound == 1)).all() and (lengths[:, columns.one_digit] == 1).all()
    return raw if fits else None


def _dense_row(line: str, number: int, columns: ArffColumns, lines: LineReader) -> list[float]:
    width = len(columns.attributes)
    if line.lstrip(BLANKS).startswith("{"):
        raise lines.fail("a sparse row in a file of dense rows.", number, 1)
    if "'" in line or '"' in line:
        try:
            fields = split_values(line)
        except ValueError as error:
            raise lines.fail("a quote never closes.", number, error.args[0] + 1) from None
    else:
        fields = [value.strip(BLANKS) for value in line.split(",")]
        if len(fields) == 1 and width > 1:
            fields = WORD.findall(line)  # Weka also takes blanks and tabs
    if len(fields) != width:
        raise lines.fail(
            f"the row has {len(fields)} values, the header declares {width} attributes.",
            number,
            len(line.rstrip(BLANKS)) + 1,
        )
    try:
        return [parse(value) for parse, value in zip(columns.parse, fields, strict=True)]
    except (KeyError, ValueError):
        position = 0
        for parse, value, attribute in zip(columns.parse, fields, columns.attributes, strict=True):
            try:
                parse(value)
            except (KeyError, ValueError):
                raise _bad_value(attribute, value, number, line, position, lines, columns) from None
            position = line.find(",", position) + 1
        raise


def _bad_value(
    attribute: Attribute,
    value: str,
    number: int,
    line: str,
    position: int,
    lines: LineReader,
    columns: ArffColumns,
) -> Exception:
    position += len(line[position:]) - len(line[position:].lstrip())
    label = columns.is_label[columns.attributes.index(attribute)]
    if attribute.kind == "nominal":
        shown = ",".join(attribute.values[:6]) + (",…" if len(attribute.values) > 6 else "")
        wrong = f"not one of its values {{{shown}}}"
    else:
        wrong = "not 0 or 1" if label else "not a number"
    what = "label" if label else "attribute"
    message = f"the value {value[:40]!r} of {what} {attribute.name!r} is {wrong}."
    return lines.fail(message, number, position + 1)


# -- sparse rows ----------------------------------------------------------------------------------


def sparse_block(block: bytes, first: int, columns: ArffColumns, lines: LineReader) -> sparse.csr_array:
    """Rows × attributes as csr_array; explicit zeros are kept (an omitted value may not be 0)."""
    width = len(columns.attributes)
    if columns.is_plain and len(block) <= MAX_PLAIN:
        raw = _sparse_plain(block, columns)
        if raw is not None:
            return raw
    rows = [_sparse_row(line, number, columns, lines) for number, line in _data_lines(block, first)]
    indices, values = (np.array([pair[i] for row in rows for pair in row], dtype=float) for i in (0, 1))
    indptr = np.cumsum([0, *map(len, rows)])
    return sparse.csr_array((values, indices.astype(np.int64), indptr), shape=(len(rows), width))


def _sparse_plain(block: bytes, columns: ArffColumns) -> sparse.csr_array | None:
    """Parse rows ``{index value,…}`` of plain numbers; None when anything looks odd."""
    width = len(columns.attributes)
    block = block.strip(b"\n").replace(b", ", b",") + b"\n"
    if _PLAIN_SPARSE.fullmatch(block) is None:
        return None
    numbers, ends = read_plain_numbers(block, b"{},")
    where, values = numbers[0::2], numbers[1::2].copy()
    if not (where < width).all():
        return None
    indices, lengths = where.astype(np.int32), ends[1::2] - ends[0::2] - 1
    other, longer = indices[(values != 0) & (values != 1)], indices[lengths > 1]
    if columns.zero_one[other].any() or columns.one_digit[longer].any():
        return None
    lines = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 10)
    indptr = np.append(0, np.searchsorted(ends[1::2], lines))
    raw = sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))
    raw.sort_indices()
    return raw if raw.has_canonical_format else None  # an index twice in a row is a mistake


def _sparse_row(line: str, number: int, columns: ArffColumns, lines: LineReader) -> list[tuple[int, float]]:
    text = line.strip(BLANKS)
    start = line.find("{") + 1
    if not text.startswith("{") or not text.endswith("}"):
        raise lines.fail("a sparse row stands in braces on one line: {index value, …}.", number, 1)
    inner = line[: line.rfind("}")]
    if not inner[start:].strip(BLANKS):
        return []
    found: dict[int, float] = {}
    while True:
        match = _PAIR.match(inner, start)
        if match is None:
            raise _bad_pair(inner, start, number, lines)
        j = to_whole(match[1])
        if j >= len(columns.attributes):
            raise lines.fail(
                f"the index {match[1][:40]} is beyond the {len(columns.attributes)} attributes "
                "(indices start at 0).",
                number,
                match.start(1) + 1,
            )
        if j in found:
            raise lines.fail(f"the index {j} appears twice in one row.", number, match.start(1) + 1)
        value = unquote_name(match[2] or match[3].rstrip(BLANKS))
        try:
            found[j] = columns.parse[j](value)
        except (KeyError, ValueError):
            raise _bad_value(
                columns.attributes[j], value, number, line, match.end(1), lines, columns
            ) from None
        if not match[0].endswith(","):
            return sorted(found.items())
        start = match.end()


def _bad_pair(inner: str, start: int, number: int, lines: LineReader) -> Exception:
    pair = inner[start:].partition(",")[0]
    column = start + len(pair) - len(pair.lstrip(BLANKS)) + 1
    pair = pair.strip(BLANKS)
    if "'" in pair or '"' in pair:
        return lines.fail("a quote never closes, or an index is missing.", number, column)
    return lines.fail(f"{pair[:40]!r} is not an index and a value.", number, column)

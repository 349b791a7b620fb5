"""The rows of an ARFF file as numbers.

The careful parser, line by line, says what a row may be and where a mistake is. Blocks of nothing but rows
of plain numbers, as most files are, go through a few array operations that give the same values; whatever
is not in that form (words, quotes, comments, mistakes) they leave to the careful parser.
"""

from __future__ import annotations

import re

import numpy as np
from scipy import sparse

from hyperlabel.datasets._arff_columns import Columns
from hyperlabel.datasets._arff_header import QUOTED, Attribute, split_values, unquote
from hyperlabel.datasets._lines import LineReader, decode
from hyperlabel.datasets._numbers import (
    BLANKS,
    MAX_PLAIN,
    WORD,
    find_words,
    read_digits,
    read_numbers,
    to_whole,
)

_PAIR = re.compile(rf"\s*+(\d++)\s++(?:({QUOTED})\s*+|([^,\s'\"][^,]*))(?:,|$)", re.ASCII)

# -- dense rows -----------------------------------------------------------------------------------


def dense_block(block: bytes, first: int, columns: Columns, lines: LineReader) -> np.ndarray:
    """Rows × attributes as numbers."""
    width = len(columns.attributes)
    if columns.is_plain and len(block) <= MAX_PLAIN:
        raw = _dense_plain(block, columns)
        if raw is not None:
            return raw
    found = []
    for number, line in enumerate(decode(block).split("\n"), start=first):
        text = line.strip(BLANKS)
        if text and not text.startswith("%"):
            found.append(_dense_row(line, number, columns, lines))
    return np.array(found, dtype=np.float64).reshape(-1, width)


def _dense_plain(block: bytes, columns: Columns) -> np.ndarray | None:
    """Parse rows of plain numbers; None when anything looks odd."""
    width = len(columns.attributes)
    words = find_words(block + b"\n", b",\n")
    used = (words.marks != 10) | (words.before > 0)  # blank lines do not count
    used[1:] |= words.marks[:-1] == 44
    marks, before = words.marks[used], words.before[used]
    if len(marks) % width or (before != 1).any():
        return None
    marks = marks.reshape(-1, width)
    if (marks[:, -1] != 10).any() or (marks[:, :-1] != 44).any():
        return None
    values = read_numbers(words)
    if values is None:
        return None
    raw = values.reshape(-1, width)
    bound = raw[:, columns.zero_one]
    lengths = (words.finish - words.begin).reshape(-1, width)[:, columns.one_digit]
    return raw if ((bound == 0) | (bound == 1)).all() and (lengths == 1).all() else None


def _dense_row(line: str, number: int, columns: Columns, lines: LineReader) -> list[float]:
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
    columns: Columns,
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


def sparse_block(block: bytes, first: int, columns: Columns, lines: LineReader) -> sparse.csr_array:
    """Rows × attributes as csr_array; explicit zeros are kept (an omitted value may not be 0)."""
    width = len(columns.attributes)
    if columns.is_plain and len(block) <= MAX_PLAIN:
        raw = _sparse_plain(block, columns)
        if raw is not None:
            return raw
    indptr, indices, values = [0], [], []
    for number, line in enumerate(decode(block).split("\n"), start=first):
        text = line.strip(BLANKS)
        if not text or text.startswith("%"):
            continue
        for j, value in _sparse_row(line, number, columns, lines):
            indices.append(j)
            values.append(value)
        indptr.append(len(indices))
    return sparse.csr_array(
        (np.array(values, dtype=np.float64), np.array(indices, dtype=np.int64), np.array(indptr)),
        shape=(len(indptr) - 1, width),
    )


def _sparse_plain(block: bytes, columns: Columns) -> sparse.csr_array | None:
    """Parse rows ``{index value, …}`` of plain numbers; None when anything looks odd."""
    width, zero_one = len(columns.attributes), columns.zero_one
    found = _short_pairs(block) or _spaced_pairs(block)
    if found is None:
        return None
    where, values, lengths, pairs = found
    if not (where < width).all():
        return None
    indices = where.astype(np.int32)
    bound = values if zero_one.all() else values[zero_one[indices]]
    if not ((bound == 0) | (bound == 1)).all():
        return None
    if lengths is not None and (lengths[columns.one_digit[indices]] != 1).any():
        return None
    indptr = np.concatenate([[0], np.cumsum(pairs)])
    raw = sparse.csr_array((values, indices, indptr), shape=(len(pairs), width))
    if not raw.has_sorted_indices:
        raw.sort_indices()
    return raw if raw.has_canonical_format else None  # an index twice in a row is a mistake


Pairs = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]


def _short_pairs(block: bytes) -> Pairs | None:
    r"""Parse rows as most programs write them, ``{7 1,12 1}\n``: one blank, values of one digit.

    Indices, values, length of each value as written (None: all 1) and pairs per row. When every pair ends in
    a blank and a digit, all blanks and line ends are where they must be and there is nothing but digits
    besides, the rest of each pair is its index.
    """
    if block.translate(None, b"0123456789{}, \n"):
        return None
    text = np.frombuffer(block, dtype=np.uint8)
    at = np.flatnonzero((text == 44) | (text >= 123))
    marks = text[at]
    opens, closes = np.flatnonzero(marks == 123), np.flatnonzero(marks == 125)
    if len(opens) == 0 or len(opens) != len(closes) or at[0] != 0 or len(block) - at[-1] > 2:
        return None
    if (opens != np.append(0, closes[:-1] + 1)).any() or marks[-1] != 125:
        return None
    between = at[opens[1:]] - at[closes[:-1]]
    if (between != 2).any() or block.count(b"\n") != len(opens) - (not block.endswith(b"\n")):
        return None
    lengths = np.diff(at, prepend=-1) - 3  # digits of the index, were there a pair before the mark
    pairs = closes - opens
    pairs[(pairs == 1) & (lengths[closes] == -2)] = 0
    is_pair = marks != 123
    is_pair[closes[pairs == 0]] = False
    ends, lengths = at[is_pair], lengths[is_pair]
    if block.count(b" ") != len(ends) or not ((lengths >= 1) & (lengths <= 9)).all():
        return None
    if (text[ends - 2] != 32).any():
        return None
    return read_digits(block, ends - 2, lengths), text[ends - 1] - 48.0, None, pairs


def _spaced_pairs(block: bytes) -> Pairs | None:
    """Parse rows of any plain numbers and blanks, one row per line; returns as `_short_pairs`."""
    words = find_words(block, b"{},")
    opens, closes = np.flatnonzero(words.marks == 123), np.flatnonzero(words.marks == 125)
    if len(opens) == 0 or len(opens) != len(closes) or words.after or words.marks[-1] != 125:
        return None
    # Braces alternate, lines end between rows only, and two words stand before each comma and closing brace.
    if opens[0] != 0 or (opens[1:] != closes[:-1] + 1).any() or block.count(b"}\n{") != len(opens) - 1:
        return None
    if block.count(b"\n") != len(opens) - (not block.endswith(b"\n")):
        return None
    pairs = closes - opens
    pairs[(pairs == 1) & (words.before[closes] == 0)] = 0
    expected = np.full(len(words.marks), 2)
    expected[opens] = 0
    expected[closes[pairs == 0]] = 0
    numbers = None if (words.before != expected).any() else read_numbers(words)
    if numbers is None or not words.only_digits()[0::2].all():
        return None
    return numbers[0::2], numbers[1::2].copy(), (words.finish - words.begin)[1::2], pairs


def _sparse_row(line: str, number: int, columns: Columns, lines: LineReader) -> list[tuple[int, float]]:
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
        value = unquote(match[2] or match[3].rstrip(BLANKS))
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

"""ARFF files, dense and sparse, with multi-label headers.

Two ways through the body. Blocks of plain numbers go through a few array operations; a block that
holds anything else (words, quotes, comments, mistakes) goes line by line through the careful parser,
which also says where a mistake is. Both give the same values.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel.datasets._arff_header import Attribute, Header, read_header, split_values, unquote
from hyperlabel.datasets._dataset import Dataset, rebatch
from hyperlabel.datasets._lines import LineReader, decode
from hyperlabel.datasets._mulan import label_columns
from hyperlabel.datasets._numbers import find_words, read_digits, read_numbers

Labels = Sequence[str] | str | os.PathLike[str] | int | None


def read_arff(
    path: str | os.PathLike[str],
    labels: Labels = None,
    *,
    nominal: Literal["drop", "onehot"] = "drop",
    name: str | None = None,
) -> Dataset:
    r"""Read an ARFF file, dense or sparse, plain or gzip.

    Parameters
    ----------
    path : path
        The file. Sparse files stay sparse (``csr_array``).
    labels : None, path, list of str or int
        Which attributes are labels. A path: Mulan's XML. A list: their names. An int: MEKA's ``-C``,
        the first ``C`` attributes, or the last ones when negative. None: the XML that lies beside
        the file (``a-train.arff.gz`` → ``a.xml``), else the ``-C`` in its ``@relation``.
    nominal : {"drop", "onehot"}
        What to do with nominal features that are words. Values such as NO/YES and numbers
        become numbers either way.
    name : str, optional
        Name of the data set; the file's stem when not given.

    Returns
    -------
    Dataset
        Features and labels, each in the order of the file.

    Warns
    -----
    UserWarning
        Names the text, date and (unless one-hot) word columns that were left out.

    Notes
    -----
    A value left out of a sparse row is 0, for nominal attributes the first declared value, as Weka
    defines it. ``?`` in a feature reads as NaN; in a label it is refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import read_arff
    >>> text = "@relation 'r: -C 1'\n@attribute sky {0,1}\n@attribute hue real\n@data\n1,0.5\n0,0.1\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.arff")
    ...     _ = file.write_text(text)
    ...     read_arff(file)
    Dataset('a', n=2, d=1, k=1, dense)
    """
    blocks = list(_raw_blocks(path, labels, nominal, name))  # at least one
    columns, title, raw = blocks[0]
    if len(blocks) > 1:
        rows = [block for _, _, block in blocks]
        raw = sparse.vstack(rows, format="csr") if sparse.issparse(raw) else np.vstack(rows)
    return columns.dataset(raw, title)


def iter_arff(
    path: str | os.PathLike[str],
    labels: Labels = None,
    *,
    nominal: Literal["drop", "onehot"] = "drop",
    name: str | None = None,
    chunk_rows: int = 10_000,
) -> Iterator[Dataset]:
    """Read an ARFF file as a stream of data sets of ``chunk_rows`` rows.

    Parameters are those of `read_arff`. At least one (perhaps empty) data set comes out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import iter_arff
    >>> lines = ["@relation a", "@attribute x numeric", "@attribute y {0,1}", "@data", "1.5,1", "2,0"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.arff")
    ...     _ = file.write_text(chr(10).join(lines))
    ...     [part.n_rows for part in iter_arff(file, labels=["y"], chunk_rows=1)]
    [1, 1]
    """
    blocks = _raw_blocks(path, labels, nominal, name)
    yield from rebatch((columns.dataset(raw, title) for columns, title, raw in blocks), chunk_rows)


def _raw_blocks(
    path: str | os.PathLike[str], labels: Labels, nominal: str, name: str | None
) -> Iterator[tuple[_Columns, str, Any]]:
    """Yield what becomes of the columns, the title, and rows × attributes of each block (at least one)."""
    if nominal not in ("drop", "onehot"):
        raise ValueError(f"nominal must be 'drop' or 'onehot', not {nominal!r}.")
    path = Path(path)
    with LineReader(path) as lines:
        header = read_header(lines)
        names = [attribute.name for attribute in header.attributes]
        places = label_columns(path, header.relation, names, labels)
        columns = _Columns.choose(header, places, nominal, lines)
        title = re.sub(r"\.arff(\.gz)?$", "", path.name, flags=re.IGNORECASE) if name is None else name
        is_sparse: bool | None = None
        for first, block in lines.blocks():
            if is_sparse is None:
                is_sparse = _starts_sparse(block)
            if is_sparse is not None:
                parse = _sparse_block if is_sparse else _dense_block
                yield columns, title, parse(block, first, columns, lines)
        if is_sparse is None:
            yield columns, title, np.empty((0, len(names)))


@dataclass(eq=False)
class _Columns:
    """What becomes of each attribute."""

    attributes: tuple[Attribute, ...]
    labels: np.ndarray  # positions of the labels
    features: np.ndarray  # positions of the features kept
    is_label: np.ndarray
    zero_one: np.ndarray  # attributes whose values must be 0 or 1
    is_plain: bool  # nothing but numbers and {0,1}: blocks may take the fast way

    @classmethod
    def choose(cls, header: Header, places: list[int], nominal: str, lines: LineReader) -> _Columns:
        attributes = header.attributes
        is_label = np.zeros(len(attributes), dtype=bool)
        is_label[places] = True
        for j in places:
            attribute = attributes[j]
            if not attribute.is_number or not set(attribute.codes.values()) <= {-1.0, 0.0, 1.0}:
                raise lines.fail(
                    f"the label {attribute.name!r} is not binary; labels must be {{0,1}}, NO/YES or numbers."
                )
        kept: list[int] = []
        dropped: list[int] = []
        for j, attribute in enumerate(attributes):
            if not is_label[j]:
                wanted = attribute.is_number or (attribute.kind == "nominal" and nominal == "onehot")
                (kept if wanted else dropped).append(j)
        if dropped:
            shown = ", ".join(repr(attributes[j].name) for j in dropped[:8])
            more = f" and {len(dropped) - 8} more" if len(dropped) > 8 else ""
            warnings.warn(
                f"{lines.path.name}: left out text or id columns {shown}{more}"
                f"{'' if nominal == 'onehot' else ' (nominal=onehot keeps nominal ones)'}.",
                stacklevel=4,
            )
        zero_one = np.array([attribute.is_zero_one for attribute in attributes])
        numeric = np.array([attribute.kind == "numeric" for attribute in attributes])
        is_plain = not dropped and bool((zero_one | numeric).all())
        return cls(
            attributes, np.array(places), np.array(kept, dtype=int), is_label, zero_one | is_label, is_plain
        )

    @cached_property
    def parse(self) -> list[Callable[[str], float]]:
        """The converter of each attribute; one that skips for columns left out."""
        used = {*self.labels.tolist(), *self.features.tolist()}
        return [
            _converter(attribute, bool(self.is_label[j])) if j in used else _skip
            for j, attribute in enumerate(self.attributes)
        ]

    def dataset(self, raw: Any, name: str) -> Dataset:
        """Split a block of raw columns into features and labels."""
        if sparse.issparse(raw):
            raw = self._fill_omitted(raw)
        X, names = raw[:, _span(self.features)], [self.attributes[j].name for j in self.features]
        if not all(self.attributes[j].is_number for j in self.features):
            X, names = self._one_hot(X)
        return Dataset(
            X, raw[:, _span(self.labels)], names, [self.attributes[j].name for j in self.labels], name=name
        )

    @cached_property
    def _omitted(self) -> np.ndarray:
        omitted = np.array([attribute.omitted for attribute in self.attributes])
        omitted[self.is_label & (omitted < 0)] = 0.0
        return omitted

    def _fill_omitted(self, raw: sparse.csr_array) -> sparse.csr_array:
        """Give entries left out of sparse rows their first nominal value, where that is not 0."""
        omitted = self._omitted
        special = np.flatnonzero(omitted)
        if special.size:
            written = sparse.csr_array((np.ones(raw.nnz), raw.indices, raw.indptr), shape=raw.shape)
            fill = np.where(written[:, special].toarray() > 0, 0.0, omitted[special])
            rows, columns = np.nonzero(fill)
            raw = raw + sparse.csr_array((fill[rows, columns], (rows, special[columns])), shape=raw.shape)
        if (raw.data == 0).any():
            raw.eliminate_zeros()
        return raw

    def _one_hot(self, X: Any) -> tuple[Any, list[str]]:
        parts, names = [], []
        for i, j in enumerate(self.features):
            attribute = self.attributes[j]
            column = X[:, [i]]
            if attribute.is_number:
                parts.append(column)
                names.append(attribute.name)
                continue
            codes = column.toarray() if sparse.issparse(column) else column
            hot = (codes == np.arange(len(attribute.values))).astype(np.float64)
            parts.append(sparse.csr_array(hot) if sparse.issparse(X) else hot)
            names += [f"{attribute.name}={value}" for value in attribute.values]
        return (sparse.hstack(parts, format="csr") if sparse.issparse(X) else np.hstack(parts)), names


def _span(columns: np.ndarray) -> Any:
    """The columns as a slice where they stand side by side, which is far cheaper to cut out."""
    if len(columns) and columns[-1] - columns[0] == len(columns) - 1:
        return slice(int(columns[0]), int(columns[-1]) + 1)
    return columns


def _skip(_: str) -> float:
    return 0.0


def _converter(attribute: Attribute, is_label: bool) -> Callable[[str], float]:
    """Return the function from a field as written to its number; it raises on a bad value."""
    if attribute.kind == "nominal":
        codes = dict(attribute.codes)
        if is_label:
            codes = {value: max(code, 0.0) for value, code in codes.items()}
        else:
            codes.setdefault("?", np.nan)
        return codes.__getitem__
    return _label_number if is_label else _number


def _number(text: str) -> float:
    if text == "?":
        return float("nan")
    if "_" in text:  # Python reads 1_000, ARFF does not
        raise ValueError(text)
    return float(text)


def _label_number(text: str) -> float:
    value = float(text)
    if value not in (0.0, 1.0):
        raise ValueError(text)
    return value


def _starts_sparse(block: bytes) -> bool | None:
    for line in block.split(b"\n"):
        line = line.strip()
        if line and not line.startswith(b"%"):
            return line.startswith(b"{")
    return None


# -- dense rows -----------------------------------------------------------------------------------


def _dense_block(block: bytes, first: int, columns: _Columns, lines: LineReader) -> np.ndarray:
    """Rows × attributes as numbers."""
    width = len(columns.attributes)
    if columns.is_plain:
        raw = _dense_plain(block, width, columns.zero_one)
        if raw is not None:
            return raw
    found = []
    for number, line in enumerate(decode(block).split("\n"), start=first):
        text = line.strip()
        if text and not text.startswith("%"):
            found.append(_dense_row(line, number, columns, lines))
    return np.array(found, dtype=np.float64).reshape(-1, width)


def _dense_plain(block: bytes, width: int, zero_one: np.ndarray) -> np.ndarray | None:
    """Parse rows of plain numbers; None when anything looks odd."""
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
    bound = raw[:, zero_one]
    return raw if ((bound == 0) | (bound == 1)).all() else None


def _dense_row(line: str, number: int, columns: _Columns, lines: LineReader) -> list[float]:
    width = len(columns.attributes)
    if line.lstrip().startswith("{"):
        raise lines.fail("a sparse row in a file of dense rows.", number, 1)
    if "'" in line or '"' in line:
        try:
            fields = [unquote(value) for _, value in split_values(line)]
        except ValueError as error:
            raise lines.fail("a quote never closes.", number, error.args[0] + 1) from None
    else:
        fields = [value.strip() for value in line.split(",")]
        if len(fields) == 1 and width > 1:
            fields = line.split()  # Weka also takes blanks and tabs
    if len(fields) != width:
        raise lines.fail(
            f"the row has {len(fields)} values, the header declares {width} attributes.",
            number,
            len(line.rstrip()) + 1,
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
    columns: _Columns,
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


def _sparse_block(block: bytes, first: int, columns: _Columns, lines: LineReader) -> sparse.csr_array:
    """Rows × attributes as csr_array; explicit zeros are kept (an omitted value may not be 0)."""
    width = len(columns.attributes)
    if columns.is_plain:
        raw = _sparse_plain(block, width, columns.zero_one)
        if raw is not None:
            return raw
    indptr, indices, values = [0], [], []
    for number, line in enumerate(decode(block).split("\n"), start=first):
        text = line.strip()
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


def _sparse_plain(block: bytes, width: int, zero_one: np.ndarray) -> sparse.csr_array | None:
    """Parse rows ``{index value, …}`` of plain numbers; None when anything looks odd."""
    found = _short_pairs(block) or _spaced_pairs(block)
    if found is None:
        return None
    where, values, pairs = found
    if not ((where >= 0) & (where < width)).all() or (where % 1).any():
        return None
    indices = where.astype(np.int32)
    bound = values if zero_one.all() else values[zero_one[indices]]
    if not ((bound == 0) | (bound == 1)).all():
        return None
    indptr = np.concatenate([[0], np.cumsum(pairs)])
    raw = sparse.csr_array((values, indices, indptr), shape=(len(pairs), width))
    if not raw.has_sorted_indices:
        raw.sort_indices()
    return raw if raw.has_canonical_format else None  # an index twice in a row is a mistake


def _short_pairs(block: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    r"""Parse rows as most programs write them, ``{7 1,12 1}\n``: one blank, values of one digit.

    Indices, values and pairs per row. When every pair ends in a blank and a digit, all blanks and line ends
    are where they must be and there is nothing but digits besides, the rest of each pair is its index.
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
    return read_digits(block, ends - 2, lengths), text[ends - 1] - 48.0, pairs


def _spaced_pairs(block: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Parse rows of any plain numbers and blanks; indices, values and pairs per row."""
    words = find_words(block, b"{},")
    opens, closes = np.flatnonzero(words.marks == 123), np.flatnonzero(words.marks == 125)
    if len(opens) == 0 or len(opens) != len(closes) or words.after or words.marks[-1] != 125:
        return None
    # Braces alternate, one row per line, and two words stand before each comma and closing brace.
    if opens[0] != 0 or (opens[1:] != closes[:-1] + 1).any() or block.count(b"}\n{") < len(opens) - 1:
        return None
    pairs = closes - opens
    pairs[(pairs == 1) & (words.before[closes] == 0)] = 0
    expected = np.full(len(words.marks), 2)
    expected[opens] = 0
    expected[closes[pairs == 0]] = 0
    numbers = None if (words.before != expected).any() else read_numbers(words)
    return None if numbers is None else (numbers[0::2], numbers[1::2].copy(), pairs)


def _sparse_row(line: str, number: int, columns: _Columns, lines: LineReader) -> list[tuple[int, float]]:
    text = line.strip()
    start = line.find("{")
    if not text.startswith("{") or not text.endswith("}"):
        raise lines.fail("a sparse row stands in braces on one line: {index value, …}.", number, 1)
    inner = line[start + 1 : line.rfind("}")]
    if not inner.strip():
        return []
    found: dict[int, float] = {}
    for position, pair in _pairs(inner, number, start, lines):
        column = start + position + 2
        index, _, value = pair.partition(" ") if " " in pair else pair.partition("\t")
        if not index.isdecimal() or not value.strip():
            raise lines.fail(f"{pair[:40]!r} is not an index and a value.", number, column)
        j = int(index)
        if j >= len(columns.attributes):
            raise lines.fail(
                f"the index {j} is beyond the {len(columns.attributes)} attributes (indices start at 0).",
                number,
                column,
            )
        if j in found:
            raise lines.fail(f"the index {j} appears twice in one row.", number, column)
        try:
            found[j] = columns.parse[j](unquote(value.strip()))
        except (KeyError, ValueError):
            offset = start + 1 + position + len(index)
            raise _bad_value(
                columns.attributes[j], value.strip(), number, line, offset, lines, columns
            ) from None
    return sorted(found.items())


def _pairs(inner: str, number: int, start: int, lines: LineReader) -> list[tuple[int, str]]:
    """Split the inside of a sparse row at its commas, minding quotes."""
    if "'" not in inner and '"' not in inner:
        found, position = [], 0
        for piece in inner.split(","):
            lead = len(piece) - len(piece.lstrip())
            found.append((position + lead, piece.strip()))
            position += len(piece) + 1
        return found
    pattern = re.compile(r"\s*(\d+\s+(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,]*?))\s*(?:,|$)")
    found, position = [], 0
    while position < len(inner):
        match = pattern.match(inner, position)
        if match is None:
            raise lines.fail("a quote never closes, or an index is missing.", number, start + position + 2)
        found.append((match.start(1), match[1]))
        position = match.end()
    return found

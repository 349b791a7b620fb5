"""The header of an ARFF file: relation and attributes, up to ``@data``."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from hyperlabel.datasets._lines import LineReader
from hyperlabel.datasets._numbers import BLANKS, to_number

QUOTED = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:({QUOTED})\s*|(\S+)\s+)(\S.*)$", re.IGNORECASE)
_TIGHT = re.compile(r"@attribute\s+()([^\s{]+)(\{.*)$", re.IGNORECASE)  # name{0,1} without a space
_VALUE = re.compile(rf"\s*+(?:({QUOTED})\s*+|((?!['\"])[^,]*))(?:,|$)", re.ASCII)
_TRUE_FALSE = ({"no", "yes"}, {"n", "y"}, {"false", "true"}, {"f", "t"}, {"off", "on"})
_TRUE = {"yes", "y", "true", "t", "on"}


@dataclass(eq=False)
class Attribute:
    """One declared attribute; text is free text and dates, hierarchical are paths of labels.

    A nominal value's code is the value itself where all are numbers, 0/1 for words such as NO/YES, otherwise
    its position.
    """

    name: str
    kind: Literal["numeric", "nominal", "text", "hierarchical"]
    values: tuple[str, ...] = ()
    codes: dict[str, float] = field(default_factory=dict)
    is_number: bool = True  # reads as numbers without one-hot encoding
    is_zero_one: bool = False  # so written

    @property
    def omitted(self) -> float:
        """The number of an entry missing from a sparse row: 0, or the first nominal value's."""
        return self.codes[self.values[0]] if self.kind == "nominal" else 0.0


def unquote_name(text: str) -> str:
    r"""Remove the quotes around a name and its backslash escapes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def split_values(text: str) -> list[str]:
    """Split a comma-separated list that may hold quotes into its values, quotes and escapes removed."""
    split_fields = []
    position = 0
    while True:
        match = _VALUE.match(text, position)
        if match is None:  # a quote that never closes, or text after one that did
            raise ValueError(position)
        split_fields.append(unquote_name(match[1] or match[2].rstrip(BLANKS)))
        if match.end() >= len(text):
            if text.endswith(",") and match[0].endswith(","):
                split_fields.append("")
            return split_fields
        position = match.end()


def read_header(reader: LineReader) -> tuple[str, tuple[Attribute, ...]]:
    """Read up to and including the ``@data`` line; return the relation's name and the attributes."""
    relation = ""
    attributes: list[Attribute] = []
    while (raw_line := reader.readline()) is not None:
        stripped_line = raw_line.strip()
        if not stripped_line or stripped_line.startswith("%"):
            continue
        first_word = stripped_line.split(None, 1)[0].lower()
        if first_word == "@relation":
            relation = unquote_name(stripped_line[len("@relation") :].strip())
        elif first_word == "@attribute":
            attributes.append(_read_attribute(stripped_line, raw_line, reader))
        elif first_word == "@data":
            if not attributes:
                raise reader.fail("@data comes before any @attribute.", reader.line, 1)
            return relation, tuple(attributes)
        else:
            line_excerpt = stripped_line if len(stripped_line) <= 40 else stripped_line[:40] + "…"
            raise reader.fail(
                f"{line_excerpt!r} is neither @relation, @attribute nor @data; is this an ARFF file?",
                reader.line,
                1,
            )
    raise reader.fail("the file ends before @data.", reader.line)


def _read_attribute(stripped_line: str, raw_line: str, reader: LineReader) -> Attribute:
    match = _ATTRIBUTE.match(stripped_line) or _TIGHT.match(stripped_line)
    if match is None:
        raise reader.fail("an attribute needs a name and a type: @attribute name numeric.", reader.line, 1)
    name, type_text = unquote_name(match[1] or match[2]), match[3].strip()
    type_column = len(raw_line) - len(raw_line.lstrip()) + match.start(3) + 1
    type_word = type_text.split(None, 1)[0].lower()
    if type_text.startswith("{"):
        if not type_text.endswith("}"):
            raise reader.fail(
                f"the values of {name!r} lack the closing brace; put them on one line.",
                reader.line,
                type_column,
            )
        try:
            values, codes, is_number = _parse_nominal_values(type_text[1:-1])
        except ValueError as error:
            raise reader.fail(
                f"a quote in the values of {name!r} never closes.",
                reader.line,
                type_column + error.args[0] + 1,
            ) from None
        return Attribute(name, "nominal", values, codes, is_number, set(values) == {"0", "1"})
    if type_word in ("numeric", "real", "integer"):
        return Attribute(name, "numeric")
    if type_word in ("string", "date"):
        return Attribute(name, "text", is_number=False)
    if type_word == "hierarchical":
        label_paths = (path.strip() for path in type_text[len(type_word) :].split(","))
        return Attribute(name, "hierarchical", tuple(path for path in label_paths if path), is_number=False)
    raise reader.fail(
        f"the type {type_word!r} of {name!r} is not known; numeric, {{a,b}}, string, date and "
        "hierarchical are.",
        reader.line,
        type_column,
    )


@lru_cache(maxsize=64)  # most files declare {0,1} a thousand times
def _parse_nominal_values(text: str) -> tuple[tuple[str, ...], dict[str, float], bool]:
    """Return the values between the braces, their codes, and whether these codes are numbers by meaning."""
    values = tuple(split_values(text))
    try:
        return values, {value: to_number(value) for value in values}, True
    except ValueError:
        pass
    if any({value.lower() for value in values} <= word_pair for word_pair in _TRUE_FALSE):
        return values, {value: float(value.lower() in _TRUE) for value in values}, True
    return values, {value: float(i) for i, value in enumerate(values)}, False

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
    """One declared attribute; text is free text and dates.

    A nominal value's code is the value itself where all are numbers, 0/1 for words such as NO/YES, otherwise
    its position.
    """

    name: str
    kind: Literal["numeric", "nominal", "text"]
    values: tuple[str, ...] = ()
    codes: dict[str, float] = field(default_factory=dict)
    is_number: bool = True  # reads as numbers without one-hot encoding
    is_zero_one: bool = False  # so written

    @property
    def omitted(self) -> float:
        """What an entry missing from a sparse row means: 0, or the first nominal value."""
        return self.codes[self.values[0]] if self.kind == "nominal" else 0.0


def unquote_name(text: str) -> str:
    r"""Remove the quotes around a name and its backslash escapes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def split_values(text: str) -> list[str]:
    """Split a comma-separated list that may hold quotes into its values, quotes and escapes removed."""
    found = []
    position = 0
    while True:
        match = _VALUE.match(text, position)
        if match is None:  # a quote that never closes, or text after one that did
            raise ValueError(position)
        found.append(unquote_name(match[1] or match[2].rstrip(BLANKS)))
        if match.end() >= len(text):
            if text.endswith(",") and match[0].endswith(","):
                found.append("")
            return found
        position = match.end()


def read_header(lines: LineReader) -> tuple[str, tuple[Attribute, ...]]:
    """Read up to and including the ``@data`` line; return the relation's name and the attributes."""
    relation = ""
    attributes: list[Attribute] = []
    while (raw := lines.readline()) is not None:
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        word = line.split(None, 1)[0].lower()
        if word == "@relation":
            relation = unquote_name(line[len("@relation") :].strip())
        elif word == "@attribute":
            attributes.append(_read_attribute(line, raw, lines))
        elif word == "@data":
            if not attributes:
                raise lines.fail("@data comes before any @attribute.", lines.line, 1)
            return relation, tuple(attributes)
        else:
            shown = line if len(line) <= 40 else line[:40] + "…"
            raise lines.fail(
                f"{shown!r} is neither @relation, @attribute nor @data; is this an ARFF file?", lines.line, 1
            )
    raise lines.fail("the file ends before @data.", lines.line)


def _read_attribute(line: str, raw: str, lines: LineReader) -> Attribute:
    match = _ATTRIBUTE.match(line) or _TIGHT.match(line)
    if match is None:
        raise lines.fail("an attribute needs a name and a type: @attribute name numeric.", lines.line, 1)
    name, kind = unquote_name(match[1] or match[2]), match[3].strip()
    column = len(raw) - len(raw.lstrip()) + match.start(3) + 1
    word = kind.split(None, 1)[0].lower()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise lines.fail(
                f"the values of {name!r} lack the closing brace; put them on one line.", lines.line, column
            )
        try:
            values, codes, is_number = _nominal_values(kind[1:-1])
        except ValueError as error:
            raise lines.fail(
                f"a quote in the values of {name!r} never closes.", lines.line, column + error.args[0] + 1
            ) from None
        return Attribute(name, "nominal", values, codes, is_number, set(values) == {"0", "1"})
    if word in ("numeric", "real", "integer"):
        return Attribute(name, "numeric")
    if word in ("string", "date"):
        return Attribute(name, "text", is_number=False)
    raise lines.fail(
        f"the type {word!r} of {name!r} is not known; numeric, {{a,b}}, string and date are.",
        lines.line,
        column,
    )


@lru_cache(maxsize=64)  # most files declare {0,1} a thousand times
def _nominal_values(text: str) -> tuple[tuple[str, ...], dict[str, float], bool]:
    """Values between the braces, their numbers, and whether these numbers mean something."""
    values = tuple(split_values(text))
    try:
        return values, {value: to_number(value) for value in values}, True
    except ValueError:
        pass
    if any({value.lower() for value in values} <= words for words in _TRUE_FALSE):
        return values, {value: float(value.lower() in _TRUE) for value in values}, True
    return values, {value: float(i) for i, value in enumerate(values)}, False

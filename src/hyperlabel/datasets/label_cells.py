"""Cells that list the labels of a row: which mark separates them, and which cells mean "no label".

One mark holds for a whole column. Labels of a list come in any company: each is now first, now later (its
place from the start differs), and now last, now earlier (so does its place from the end). Parts of
one name keep a place: "hot" in "Drinks, hot" never leads, "NY" in "New York, NY" always ends. So a
comma, which names often hold, separates only where enough parts move in both senses; names hardly ever hold
``;`` and ``|``, so these separate unless another mark explains more.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from hyperlabel.datasets._lines import warn_user

MARKS = (";", "|", ",")
NO_LABEL = ("", "-", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
_MOVING = 0.25  # share of the parts between commas that must move
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")


def find_separator(cells: Iterable[Any]) -> str | None:
    """Return the mark that separates the labels of a column.

    ``""`` says that the cells are single names although they hold commas, None that nothing needs cutting.
    """
    texts = {str(cell).strip() for cell in cells if _labels_of_list(cell) is None and not _is_empty(cell)}
    cut, moving, share = {}, {}, {}
    for mark in MARKS:
        cut[mark], moving[mark], share[mark] = _separator_evidence(texts, mark)
    lists = [mark for mark in MARKS if cut[mark] and (mark != "," or share[mark] >= _MOVING)]
    if not lists:
        return "" if cut[","] else None
    return max(lists, key=lambda mark: (moving[mark], cut[mark]))


def split_label_cells(
    cells: Sequence[Any], separator: str | None, names: Collection[str] | None = None
) -> list[list[str]]:
    """Return the labels of each cell; `names`, where known, may hold a word that else means no label."""
    known: dict[str, list[str]] = {}
    sets = []
    for cell in cells:
        if isinstance(cell, str):
            if cell not in known:
                known[cell] = _labels_of_cell(cell, separator, names)
            sets.append(known[cell])
        else:
            sets.append(_labels_of_cell(cell, separator, names))
    return sets


def warn_of_empty(cells: Iterable[Any], column: str, file: str, names: Collection[str] | None = None) -> None:
    """Say once how many cells hold a word that means no label."""
    said = Counter(cell.strip() for cell in cells if isinstance(cell, str) and _is_empty(cell))
    words = [word for word, _ in said.most_common() if word not in ("", *(names or ()))]
    count = sum(said[word] for word in words)
    if count:
        shown = ", ".join(map(repr, words[:5])) + (", …" if len(words) > 5 else "")
        verb = "cell says" if count == 1 else "cells say"
        warn_user(f"{file}: {count} {verb} {shown} in {column!r}: read as no label.")


def _labels_of_cell(cell: Any, separator: str | None, names: Collection[str] | None) -> list[str]:
    if _is_empty(cell) and str(cell).strip() not in (names or ()):
        return []
    listed = _labels_of_list(cell)
    if listed is None:
        text = _name(cell)
        if text[:1] == "[" and text[-1:] == "]":  # a list without quotes
            text = text[1:-1]
            separator = separator if separator and separator in text else ","
        listed = _split_text(text, separator)
    return [name for name in dict.fromkeys(map(_name, listed)) if name]


def _is_empty(cell: Any) -> bool:
    return cell is None or (not isinstance(cell, list | tuple) and str(cell).strip().lower() in NO_LABEL)


def _labels_of_list(cell: Any) -> list[Any] | None:
    """Return the values of a cell that is a list by itself: of JSON, Parquet, or quoted in brackets."""
    if isinstance(cell, list | tuple):
        return [value for value in cell if value is not None and value == value]
    text = str(cell).strip()
    if text[:1] != "[" or text[-1:] != "]":
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return [value for value in found if value is not None]
    if set(_QUOTED.sub("", text[1:-1])) - set(" ,;|\t\r\n"):
        return None
    quoted = ("".join(pair) for pair in _QUOTED.findall(text))
    return [re.sub(r"\\(['\"\\])", r"\1", name).strip() for name in quoted]


def _name(value: Any) -> str:
    """Return the name of a label; an object or a list has none."""
    if isinstance(value, dict):
        inside = next(iter(value), "NAME")
        raise ValueError(f"a label is an object, {str(value)[:60]}: say COLUMN.{inside} to reach inside.")
    if isinstance(value, list | tuple):
        raise ValueError(f"a label is a list, {str(value)[:60]}: list names.")
    return str(value).strip()


def _split_text(text: str, separator: str | None) -> list[str]:
    parts = [text] if not separator else text.split() if separator == " " else text.split(separator)
    return [name for part in parts if (name := part.strip().strip("'\"").strip())]


def _separator_evidence(texts: Collection[str], mark: str) -> tuple[int, int, float]:
    """Count the cells that hold the mark and the parts in them that move; the latter also as a share."""
    starts: defaultdict[str, set[int]] = defaultdict(set)
    ends: defaultdict[str, set[int]] = defaultdict(set)
    parts, cut = [], 0
    for text in texts:
        names = _split_text(text, mark)
        for place, name in enumerate(names):
            starts[name].add(place)
            ends[name].add(len(names) - place)
        if mark in text:
            cut += 1
            parts += names
    moving = min(sum(len(places[name]) > 1 for name in parts) for places in (starts, ends))
    return cut, moving, moving / max(len(parts), 1)

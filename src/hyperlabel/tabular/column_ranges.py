"""Columns named by ranges: the last nineteen (-19), from one name to another (year:price), Excel's A:S."""

import re
from collections.abc import Sequence
from typing import Any

_LETTERS = re.compile("[A-Z]{1,3}").fullmatch


def expand_ranges(options: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the options with the columns that ranges stand for in --labels, --text and --features."""
    expanded_options = dict(options)
    for key in ("labels", "text", "features"):
        if options.get(key):
            expanded_options[key] = [
                column for name in options[key] for column in _expand_name(name, columns)
            ]
    return expanded_options


def join_names(names: Sequence[str], columns: Sequence[str]) -> str:
    """Write columns as an option takes them: many by their range, those with commas quoted."""
    column_list = list(columns)
    if len(names) > 3 and column_list[-len(names) :] == list(names):
        return f"-{len(names)}"
    return ",".join(f'"{name}"' if "," in name else name for name in names)


def _expand_name(name: str, columns: Sequence[str]) -> list[str]:
    if name in columns:
        return [name]
    if name.startswith("-") and name[1:].isdecimal():
        n_last = int(name)
        if not 0 < -n_last <= len(columns):
            raise ValueError(f"{name} names the last columns, of which there are {len(columns)}.")
        return list(columns[n_last:])
    start_name, colon, end_name = name.partition(":")
    ends = [_find_column(end.strip(), columns) for end in (start_name, end_name)] if colon else []
    if None in ends or not ends:
        return [name]
    start, end = (end for end in ends if end is not None)
    if end < start:
        raise ValueError(f"{name} ends before it starts: {end_name!r} stands left of {start_name!r}.")
    return list(columns[start : end + 1])


def _find_column(name: str, columns: Sequence[str]) -> int | None:
    """Return the position of a column named by itself or by the letters of a spreadsheet."""
    if name in columns:
        return list(columns).index(name)
    if not _LETTERS(name):
        return None
    position = 0
    for letter in name:
        position = 26 * position + ord(letter) - ord("A") + 1
    return position - 1 if position <= len(columns) else None

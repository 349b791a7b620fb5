"""Which column of a table is what, where the user did not say: read from the first rows."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from hyperlabel.cli._input import names

_LOOK_AT = 300  # rows
_ZERO_ONE = {"", "0", "1", "0.0", "1.0", "true", "false", "yes", "no", "y", "n", "t", "f"}
_WORDS = 3.0  # a text column has at least so many words on average


def list_column(path: str, labels: list[str]) -> str | None:
    """Return the one column named as labels if it lists them, rather than saying 0 or 1."""
    if len(labels) != 1:
        return None
    cells = _first_rows(path).get(labels[0])
    return None if cells is None or _all_zero_one(cells) else labels[0]


def guess_columns(path: str, options: dict[str, str | None]) -> dict[str, str | None]:
    """Fill in what was left open: a list column given as --labels, the text, and no id columns."""
    columns = _first_rows(path)
    shown = ", ".join(list(columns)[:20]) + (", …" if len(columns) > 20 else "")
    found = dict(options)
    if found.get("labels") is None and found.get("label_column") is None:
        raise ValueError(
            f"Say which column of {Path(path).name} holds the labels: --labels NAME (a column that lists "
            f"them, or several 0/1 columns separated by commas); the columns are {shown}."
        )
    labels = names(found.get("labels") or "")
    missing = [name for name in labels if name not in columns]
    if missing:
        raise ValueError(f"{Path(path).name} has no column {missing[0]!r}; the columns are {shown}.")
    if list_column(path, labels):
        found["labels"], found["label_column"] = None, labels[0]
    taken = {*labels, *names(found.get("text") or "")}
    taken |= {str(found[key]) for key in ("label_column", "group", "time") if found.get(key)}
    others = [name for name in columns if name not in taken]
    if found.get("text") is None and not found.get("features"):
        texts = [name for name in others if _words(columns[name]) >= _WORDS]
        if not texts and not any(_is_number(columns[name]) for name in others):
            texts = sorted(others, key=lambda name: -_words(columns[name]))[:1]  # short texts, then
        found["text"] = ",".join(texts) or None
        others = [name for name in others if name not in texts]
    if found.get("features") is None:
        ids = [name for name in others if _is_id(name, columns[name])]
        if ids:
            numbers = [n for n in others if n not in ids and _is_number(columns[n])]
            found["features"] = ",".join(numbers)
    return found


def _first_rows(path: str) -> dict[str, list[Any]]:
    from hyperlabel.datasets._table_sources import read_cells

    return next(itertools.islice(read_cells(path, _LOOK_AT, None), 1)).columns


def _filled(cells: list[Any]) -> list[str]:
    return [text for cell in cells if cell is not None and (text := str(cell).strip())]


def _all_zero_one(cells: list[Any]) -> bool:
    flags = [not isinstance(c, list | tuple) and str(c).strip().lower() in _ZERO_ONE for c in cells]
    return all(flags) and bool(_filled(cells))


def _words(cells: list[Any]) -> float:
    """Words of a cell that is not empty, on average."""
    filled = _filled(cells)
    return sum(len(text.split()) for text in filled) / max(len(filled), 1)


def _is_number(cells: list[Any]) -> bool:
    from hyperlabel.datasets._table import _starts_with_number

    return _starts_with_number(cells)


def _is_id(name: str, cells: list[Any]) -> bool:
    """Say whether a column only counts the rows: whole numbers, all different, named like a key."""
    lowered = name.lower()
    named = lowered in ("id", "index", "row", "key", "nr", "no") or lowered.endswith(("_id", "-id", " id"))
    filled = _filled(cells)
    whole = bool(filled) and all(text.lstrip("-").isdecimal() for text in filled)
    return (named or lowered.startswith("unnamed")) and whole and len(set(filled)) == len(filled)

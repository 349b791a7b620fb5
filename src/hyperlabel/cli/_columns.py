"""Which column of a table is what, where the user did not say: read from the first rows."""

import itertools
import re
from pathlib import Path
from typing import Any

from hyperlabel.cli._input import plain_warnings, say
from hyperlabel.cli._reading import readable_columns
from hyperlabel.cli._variants import variants
from hyperlabel.cli._words import plural, some
from hyperlabel.datasets.label_cells import MARKS, find_separator
from hyperlabel.datasets.objects import names_inside
from hyperlabel.datasets.table_columns import NO, YES, first_is_number, vector_length, warn_of_dropped
from hyperlabel.datasets.table_sources import Cells, read_cells, table_kind

_LOOK_AT = 300  # rows
_FEW_LABELS = 10  # fewer may well occur once each
_LABEL_NAMES = ("labels", "label", "tags", "tag", "topics", "categories", "keywords", "genres", "classes")
_DECIMAL_COMMA = re.compile(r"[-+]?[\d.]*\d,\d+").fullmatch
_ONE_COLUMN = ("label_column", "group", "time")
_WORDS = 3.0  # a text column has at least so many words on average


def guess_columns(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Fill in what was left open: a list column given as --labels, the text, and no id columns."""
    columns, facts = readable_columns(first_cells(path), options)
    found = options | facts
    labels = _labels(path, columns, found)
    found["chosen"] = found.get("features")
    if len(labels) == 1 and not _all_zero_one(columns[labels[0]]):
        found["labels"], found["label_column"] = None, labels[0]
    taken = [*labels, *(found.get("text") or ()), *(found.get(key) for key in _ONE_COLUMN)]
    others = _without(columns, taken)
    if found.get("text") is None and not found.get("features"):
        found["text"] = _texts(others, more=bool(found.get("vectors"))) or None
        others = _without(others, found["text"] or [])
    categories = _categories(path, columns, others, found)
    texts = found.get("text") or []  # words of several columns keep the column they come from
    found["words"] = [*(texts if len(texts) > 1 else []), *categories] or None
    return found


def _categories(
    path: str, columns: dict[str, list[Any]], others: dict[str, list[Any]], found: dict[str, Any]
) -> list[str]:
    """Return the columns of categories; name the numbers beside them in `found`, and leave ids out."""
    if (wanted := found.get("features")) is not None:
        categories = [name for name in wanted if name in columns and not _is_numeric(columns[name])]
        found["features"] = [name for name in wanted if name not in categories]
        return categories
    ids = [name for name, cells in others.items() if _is_id(name, cells)]
    others = _without(others, ids)
    categories = [name for name, cells in others.items() if _is_category(cells)]
    if ids or categories:
        found["features"] = [name for name, cells in others.items() if _is_numeric(cells)]
        _warn_of_left(path, _without(others, [*categories, *found["features"]]))
    return categories


def _warn_of_left(path: str, columns: dict[str, list[Any]]) -> None:
    """Name the columns that are of no use: words that hardly come back, or numbers no reader knows."""
    commas = [name for name, cells in columns.items() if _has_decimal_commas(cells)]
    hint = (
        f". Numbers are read with a decimal point; {commas[0]!r} has commas (see --decimal)" if commas else ""
    )
    with plain_warnings():
        warn_of_dropped(Path(path).name, list(columns), hint)


def _has_decimal_commas(cells: list[Any]) -> bool:
    filled = _filled(cells)
    return bool(filled) and all(map(_DECIMAL_COMMA, filled))


def _without(columns: dict[str, list[Any]], taken: list[Any]) -> dict[str, list[Any]]:
    return {name: cells for name, cells in columns.items() if name not in taken}


def _labels(path: str, columns: dict[str, list[Any]], options: dict[str, Any]) -> list[str]:
    """Return the columns named by --labels ('' names none); refuse names the file does not have."""
    shown = ", ".join(list(columns)[:20]) + (", …" if len(columns) > 20 else "")
    if options.get("labels") is None and options.get("label_column") is None:
        raise ValueError(
            f"Say which column of {Path(path).name} holds the labels: --labels NAME (a column that lists "
            f"them, or several 0/1 columns separated by commas){_proposal(columns)}; the columns are {shown}."
        )
    labels: list[str] = options.get("labels") or []
    others = [name for key in ("text", "features") for name in options.get(key) or ()]
    others += [options[key] for key in ("group", "time") if options.get(key)]
    if table_kind(path) == "jsonl":  # a later row may be the first to name a column
        others = []
    missing = [name for name in [*labels, *others] if name not in columns]
    if missing:
        raise ValueError(f"{Path(path).name} has no column {missing[0]!r}; the columns are {shown}.")
    return labels


def _lists_labels(cells: list[Any]) -> bool:
    if _is_numeric(cells) or _has_decimal_commas(cells) or _words(cells) >= 2 * _WORDS:
        return False
    return any(isinstance(cell, list | tuple) for cell in cells) or bool(find_separator(cells))


def _proposal(columns: dict[str, list[Any]]) -> str:
    """Propose the column that lists labels, or the 0/1 columns, in the words of the command line."""
    lists = [name for name, cells in columns.items() if _lists_labels(cells)]
    named = [name for name in lists if name.lower() in _LABEL_NAMES]
    named = named or [name for name in columns if name.lower() in _LABEL_NAMES and name not in lists]
    flags = [name for name, cells in columns.items() if _all_zero_one(cells)]
    best = (named or lists)[:1] or flags
    return f", perhaps --labels {','.join(best)}" if best else ""


def _texts(columns: dict[str, list[Any]], more: bool) -> list[str]:
    """Columns of several words to a cell; where there is nothing else to learn from, the wordiest one."""
    words = {name: _words(cells) for name, cells in columns.items() if not _is_numeric(cells)}
    texts = [name for name in words if words[name] >= _WORDS]
    others = more or len(words) < len(columns) or any(_is_category(columns[name]) for name in words)
    return texts if texts or others else sorted(words, key=lambda name: -words[name])[:1]


def listing(column: str | None, separator: str | None) -> str:
    """Say in a few words how a column lists labels."""
    if separator is None:
        how = "one to a cell or as lists"
    elif separator == "":
        how = "each cell one label (commas belong to the names; --label-separator ',' cuts there)"
    else:
        how = f"separated by {separator!r}"
    return f"labels listed in {column!r}, {how}"


def _warn_of_variants(label_names: list[str]) -> None:
    if spelled := variants(label_names):
        verb = "differs" if len(spelled) == 1 else "differ"
        say(
            f"Warning: {plural(len(spelled), 'label')} {verb} only in case or blanks, such as "
            f"{some([repr(name) for name in spelled[0]])}: --normalise-labels joins them."
        )


def warn_of_labels(table: Any, options: dict[str, Any]) -> None:
    """Warn where labels look as if their cells were cut at the wrong mark."""
    separator, known = options.get("label_separator"), set(table.label_names)
    counts = table.Y.sum(axis=0)
    once = [name for name, count in zip(table.label_names, counts, strict=True) if count == 1]
    if len(known) >= _FEW_LABELS and 2 * len(once) > len(known):
        spaced = sum(" " in name for name in once) > len(once) / 2
        hint = " (for tags separated by spaces: --label-separator ' ')" if spaced else ""
        say(
            f"Warning: {len(once)} of {plural(len(known), 'label')} occur once, such as {once[0][:60]!r}: if "
            f"this is a list, say what separates it with --label-separator{hint}."
        )
    _warn_of_variants(table.label_names)
    lists = {
        name
        for mark in MARKS
        for name in known
        if mark != separator and mark in name and all(part.strip() in known for part in name.split(mark))
    }
    if lists:
        looks = "label looks like a list" if len(lists) == 1 else "labels look like lists"
        say(
            f"Warning: {len(lists)} {looks} of others, such as {min(lists)!r}: a column has one separator, "
            "which --label-separator names."
        )


def first_cells(path: str) -> Cells:
    """Read the first rows of a table."""
    return next(itertools.islice(read_cells(path, _LOOK_AT, None), 1))


def _filled(cells: list[Any]) -> list[str]:
    return [text for cell in cells if cell is not None and (text := str(cell).strip())]


def _all_zero_one(cells: list[Any]) -> bool:
    flags = [not isinstance(c, list | tuple) and str(c).strip().lower() in {"", *YES, *NO} for c in cells]
    return all(flags) and bool(_filled(cells))


def _words(cells: list[Any]) -> float:
    """Words of a cell that is not empty, on average."""
    filled = _filled(cells)
    return sum(len(text.split()) for text in filled) / max(len(filled), 1)


def _is_numeric(cells: list[Any]) -> bool:
    """Say whether a column holds numbers, or lists of numbers."""
    return first_is_number(cells) is not False or vector_length(cells) > 0


def _is_category(cells: list[Any]) -> bool:
    """Say whether a column holds single words that come back: at most half as many as cells."""
    filled = _filled(cells)
    lists = any(isinstance(cell, list | tuple | dict) for cell in cells)
    short = _words(cells) < 2
    return short and not _is_numeric(cells) and not lists and 2 * len(set(filled)) <= len(filled)


def kind_of(name: str, cells: list[Any]) -> str:
    """Name what a column looks like, in one word or two."""
    if not _filled(cells):
        return "empty"
    if names_inside(name, cells) is not None:
        return "objects"
    if _is_id(name, cells):
        return "id"
    if _all_zero_one(cells):
        return "0/1"
    if any(isinstance(cell, list | tuple) for cell in cells) and not _is_numeric(cells):
        return "list"
    if _is_numeric(cells):
        return "vectors" if first_is_number(cells) is False else "numbers"
    if _words(cells) >= _WORDS:
        return "text"
    return "categories" if _is_category(cells) else "words"


def _is_id(name: str, cells: list[Any]) -> bool:
    """Say whether a column only counts the rows: whole numbers, all different, named like a key."""
    lowered = name.lower()
    named = lowered in ("id", "index", "row", "key", "nr", "no") or lowered.endswith(("_id", "-id", " id"))
    filled = _filled(cells)
    whole = bool(filled) and all(text.lstrip("-").isdecimal() for text in filled)
    return (named or lowered.startswith("unnamed")) and whole and len(set(filled)) == len(filled)

"""Which column of a table is what, where the user did not say: judged by rows from all over the file."""

import itertools
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hyperlabel.datasets.label_cells import MARKS, find_separator
from hyperlabel.datasets.table_columns import NO, YES, cell_number, vector_length, warn_of_dropped
from hyperlabel.datasets.table_sources import read_cells, table_kind
from hyperlabel.tabular.column_sample import TableSample, sample_rows
from hyperlabel.tabular.identifiers import group_candidates, is_identifier
from hyperlabel.tabular.label_spelling import spelling_variants
from hyperlabel.tabular.pipeline import UNSPACED
from hyperlabel.tabular.reading import readable_columns
from hyperlabel.tabular.wording import plural, some_names

_FIRST_ROWS = 300
_FEW_LABELS = 10  # fewer may well occur once each
_LABEL_NAMES = ("labels", "label", "tags", "tag", "topics", "categories", "keywords", "genres", "classes")
_DECIMAL_COMMA = re.compile(r"[-+]?[\d.]*\d,\d+").fullmatch
_ONE_COLUMN = ("label_column", "group", "time")
_WORDS = 3.0  # a text column has at least so many words on average
_CHARACTERS = 4  # of a script without blanks that make a word
_NUMBERS = 0.9  # share of the cells of a column of numbers that are; the reader then names the others


def guess_columns(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Fill in what was left open: a list column given as --labels, the text, and no identifiers."""
    sample = sample_rows(path)
    columns, facts = readable_columns(sample.cells(path), options)
    found = options | facts
    labels = _label_columns(path, columns, found)
    found["chosen"] = found.get("features")
    if len(labels) == 1 and not _all_zero_one(columns[labels[0]]):
        found["labels"], found["label_column"] = None, labels[0]
    taken = [*labels, *(found.get("text") or ()), *(found.get(key) for key in _ONE_COLUMN)]
    others = _drop_columns(columns, taken)
    ids = identifiers(sample, others, _label_column(columns, found))
    found["kinds"] = dict.fromkeys(sample.columns, "objects")
    found["kinds"] |= {name: "identifier" if name in ids else kind_of(columns[name]) for name in columns}
    found["group_candidates"] = group_candidates(others, ids)
    if found.get("text") is None and not found.get("features"):
        found["text"] = _text_columns(_drop_columns(others, ids), more=bool(found.get("vectors"))) or None
    others = _drop_columns(others, found.get("text") or [])
    categories = _category_columns(path, columns, others, ids, found)
    texts = found.get("text") or []  # words of several columns keep the column they come from
    found["text_columns"] = [*(texts if len(texts) > 1 else []), *categories] or None
    return found


def _label_column(columns: dict[str, list[Any]], options: dict[str, Any]) -> list[str] | None:
    """Return what each row of the sample says about its labels; None where nobody named any."""
    named = [options["label_column"]] if options.get("label_column") else options.get("labels") or []
    cells = [columns[name] for name in named if name in columns]
    return [repr(row) for row in zip(*cells, strict=True)] if cells else None


def identifiers(sample: TableSample, columns: dict[str, list[Any]], labels: list[str] | None) -> list[str]:
    """Return the columns that name or count rows."""
    short = [name for name, cells in columns.items() if _mean_words(cells) < 2 and not _has_lists(cells)]
    return [name for name in short if is_identifier(name, columns[name], sample, labels)]


def _category_columns(
    path: str,
    columns: dict[str, list[Any]],
    others: dict[str, list[Any]],
    ids: list[str],
    found: dict[str, Any],
) -> list[str]:
    """Return the columns of categories; name the numbers beside them in `found`, and leave ids out."""
    if (wanted := found.get("features")) is not None:
        categories = [name for name in wanted if name in columns and not _is_numeric(columns[name])]
        found["features"] = [name for name in wanted if name not in categories]
        return categories
    others = _drop_columns(others, ids)
    categories = [name for name, cells in others.items() if _is_category(cells)]
    found["features"] = [name for name, cells in others.items() if _is_numeric(cells)]
    _warn_of_left(path, _drop_columns(others, [*categories, *found["features"]]))
    if ids:
        shown, they = (
            some_names([repr(name) for name in ids], most=8),
            "it tells" if len(ids) == 1 else "they tell",
        )
        warnings.warn(
            f"{Path(path).name}: left out {shown}: {they} nothing about new rows. --features takes in the "
            "columns it lists.",
            stacklevel=2,
        )
    return categories


def _warn_of_left(path: str, columns: dict[str, list[Any]]) -> None:
    """Name the columns that are of no use: words that hardly come back, or numbers no reader knows."""
    commas = [name for name, cells in columns.items() if _has_decimal_commas(cells)]
    hint = (
        f". Numbers are read with a decimal point; {commas[0]!r} has commas (see --decimal)" if commas else ""
    )
    warn_of_dropped(Path(path).name, list(columns), hint)


def _has_decimal_commas(cells: list[Any]) -> bool:
    filled = _filled_cells(cells)
    return bool(filled) and all(map(_DECIMAL_COMMA, filled))


def _drop_columns(columns: dict[str, list[Any]], taken: list[Any]) -> dict[str, list[Any]]:
    return {name: cells for name, cells in columns.items() if name not in taken}


def _label_columns(path: str, columns: dict[str, list[Any]], options: dict[str, Any]) -> list[str]:
    """Return the columns named by --labels ('' names none); refuse names the file does not have."""
    shown = ", ".join(list(columns)[:20]) + (", …" if len(columns) > 20 else "")
    if options.get("labels") is None and options.get("label_column") is None:
        raise ValueError(
            f"Say which column of {Path(path).name} holds the labels: --labels NAME (a column that lists "
            f"them, or several 0/1 columns separated by commas){_propose_labels(columns)}; the columns are "
            f"{shown}."
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
    if _is_numeric(cells) or _has_decimal_commas(cells) or _mean_words(cells) >= 2 * _WORDS:
        return False
    return any(isinstance(cell, list | tuple) for cell in cells) or bool(find_separator(cells))


def _propose_labels(columns: dict[str, list[Any]]) -> str:
    """Propose the column that lists labels, or the 0/1 columns, in the words of the command line."""
    lists = [name for name, cells in columns.items() if _lists_labels(cells)]
    named = [name for name in lists if name.lower() in _LABEL_NAMES]
    named = named or [name for name in columns if name.lower() in _LABEL_NAMES and name not in lists]
    flags = [name for name, cells in columns.items() if _all_zero_one(cells)]
    best = (named or lists)[:1] or flags
    return f", perhaps --labels {','.join(best)}" if best else ""


def _text_columns(columns: dict[str, list[Any]], more: bool) -> list[str]:
    """Columns of several words to a cell; where there is nothing else to learn from, the wordiest one."""
    words = {name: _mean_words(cells) for name, cells in columns.items() if not _is_numeric(cells)}
    texts = [name for name in words if words[name] >= _WORDS]
    others = more or len(words) < len(columns) or any(_is_category(columns[name]) for name in words)
    return texts if texts or others else sorted(words, key=lambda name: -words[name])[:1]


def describe_label_column(column: str | None, separator: str | None) -> str:
    """Say in a few words how a column lists labels."""
    if separator is None:
        how = "one to a cell or as lists"
    elif separator == "":
        how = "each cell one label (commas belong to the names; --label-separator ',' splits there)"
    else:
        how = f"separated by {separator!r}"
    return f"labels listed in {column!r}, {how}"


def _warn_of_variants(label_names: list[str]) -> None:
    if spelled := spelling_variants(label_names):
        verb = "differs" if len(spelled) == 1 else "differ"
        warnings.warn(
            f"{plural(len(spelled), 'label')} {verb} only in case or blanks, such as "
            f"{some_names([repr(name) for name in spelled[0]])}: --normalise-labels joins them.",
            stacklevel=2,
        )


def warn_of_labels(table: Any, options: dict[str, Any]) -> None:
    """Warn where labels look as if their cells were cut at the wrong mark."""
    separator, known = options.get("label_separator"), set(table.label_names)
    counts = table.Y.sum(axis=0)
    once = [name for name, count in zip(table.label_names, counts, strict=True) if count == 1]
    if len(known) >= _FEW_LABELS and 2 * len(once) > len(known):
        spaced = sum(" " in name for name in once) > len(once) / 2
        hint = " (for tags separated by spaces: --label-separator ' ')" if spaced else ""
        warnings.warn(
            f"{len(once)} of {plural(len(known), 'label')} occur once, such as {once[0][:60]!r}: if "
            f"this is a list, say what separates it with --label-separator{hint}.",
            stacklevel=2,
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
        warnings.warn(
            f"{len(lists)} {looks} of others, such as {min(lists)!r}: a column has one separator, "
            "which --label-separator names.",
            stacklevel=2,
        )


def column_names(path: str, dotted: Iterable[str] = ()) -> list[str]:
    """Return the columns that the first rows of a table have, and what dotted names make of those inside."""
    cells = next(itertools.islice(read_cells(path, _FIRST_ROWS, None), 1))
    return list(cells.reaching(list(dotted)).columns)


def _filled_cells(cells: list[Any]) -> list[str]:
    return [text for cell in cells if cell is not None and (text := str(cell).strip())]


def _all_zero_one(cells: list[Any]) -> bool:
    flags = [not isinstance(c, list | tuple) and str(c).strip().lower() in {"", *YES, *NO} for c in cells]
    return all(flags) and bool(_filled_cells(cells))


def _mean_words(cells: list[Any]) -> float:
    """Words of a cell that is not empty, on average; scripts without blanks have one every few characters."""
    filled = _filled_cells(cells)
    return sum(map(_count_words, filled)) / max(len(filled), 1)


def _count_words(text: str) -> float:
    n_words = len(text.split())
    return n_words if text.isascii() else max(n_words, len(UNSPACED.findall(text)) / _CHARACTERS)


def _has_lists(cells: list[Any]) -> bool:
    return any(isinstance(cell, list | tuple | dict) for cell in cells)


def _is_numeric(cells: list[Any]) -> bool:
    """Say whether a column holds numbers (an empty one might), or lists of numbers."""
    if vector_length(cells) > 0:
        return True
    numbers = [_is_number(cell) for cell in cells]
    n_filled = sum(is_number is not None for is_number in numbers)
    return numbers.count(True) >= _NUMBERS * n_filled


def _is_number(cell: Any) -> bool | None:
    """Say whether a cell is a number; None where it is empty."""
    try:
        value = cell_number(cell)
    except (ValueError, TypeError, OverflowError):
        return False
    return True if value == value else None


def _is_category(cells: list[Any]) -> bool:
    """Say whether a column holds single words that come back: at most half as many as cells."""
    filled = _filled_cells(cells)
    short = _mean_words(cells) < 2
    return short and not _is_numeric(cells) and not _has_lists(cells) and 2 * len(set(filled)) <= len(filled)


def kind_of(cells: list[Any]) -> str:
    """Name what a column that is no identifier looks like, in one word or two."""
    if not _filled_cells(cells):
        return "empty"
    if _all_zero_one(cells):
        return "0/1"
    if any(isinstance(cell, list | tuple) for cell in cells) and not _is_numeric(cells):
        return "list"
    if _is_numeric(cells):
        return "vectors" if vector_length(cells) else "numbers"
    if _mean_words(cells) >= _WORDS:
        return "text"
    return "categories" if _is_category(cells) else "words"

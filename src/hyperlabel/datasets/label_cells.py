"""Cells that list the labels of a row: which mark separates them, and which cells mean "no label".

One mark holds for a whole column. A label of a list stands at several positions, counted from the start and
from the end. A piece of one name keeps its position: "hot" in "Drinks, hot" never leads, "NY" in "New York,
NY" always ends. Names often hold commas, so a comma separates only where enough pieces move in both counts.
Names hardly ever hold ``;`` and ``|``, so these separate unless another mark explains more.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from hyperlabel.datasets._lines import warn_user

LIST_MARKS = (";", "|", "、", "；", "，")
_NAME_MARKS = ("/", ",")  # which names hold, too
MARKS = (*LIST_MARKS, *_NAME_MARKS)
NO_LABEL = ("", "-", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
_MOVING = 0.25  # share of the pieces between commas or slashes that must move
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")


def find_separator(column_values: Iterable[Any]) -> str | None:
    """Return the mark that separates the labels of a column.

    ``""`` means that the cells are single names although they hold commas, None that no cell needs splitting.
    """
    cell_texts = {
        str(cell).strip() for cell in column_values if _read_list_labels(cell) is None and not _is_empty(cell)
    }
    n_split, n_moving, moving_share = {}, {}, {}
    for mark in MARKS:
        n_split[mark], n_moving[mark], moving_share[mark] = _separator_evidence(cell_texts, mark)
    list_marks = [
        mark for mark in MARKS if n_split[mark] and (mark not in _NAME_MARKS or moving_share[mark] >= _MOVING)
    ]
    if not list_marks:
        return "" if n_split[","] else None
    return max(list_marks, key=lambda mark: (n_moving[mark], n_split[mark]))


def split_label_cells(
    column_values: Sequence[Any], separator: str | None, label_names: Collection[str] | None = None
) -> list[list[str]]:
    """Return the labels of each cell; `label_names` may hold a word that else means no label."""
    labels_of_text: dict[str, list[str]] = {}
    row_labels = []
    for cell in column_values:
        if isinstance(cell, str):
            if cell not in labels_of_text:
                labels_of_text[cell] = _read_cell_labels(cell, separator, label_names)
            row_labels.append(labels_of_text[cell])
        else:
            row_labels.append(_read_cell_labels(cell, separator, label_names))
    return row_labels


def warn_of_empty(
    column_values: Iterable[Any], column: str, file: str, label_names: Collection[str] | None = None
) -> None:
    """Say once how many cells hold a word that means no label."""
    empty_words = Counter(cell.strip() for cell in column_values if isinstance(cell, str) and _is_empty(cell))
    named_words = [word for word, _ in empty_words.most_common() if word not in ("", *(label_names or ()))]
    n_cells = sum(empty_words[word] for word in named_words)
    if n_cells:
        word_list = ", ".join(map(repr, named_words[:5])) + (", …" if len(named_words) > 5 else "")
        verb = "cell says" if n_cells == 1 else "cells say"
        warn_user(f"{file}: {n_cells} {verb} {word_list} in {column!r}: read as no label.")


def _read_cell_labels(cell: Any, separator: str | None, label_names: Collection[str] | None) -> list[str]:
    if _is_empty(cell) and str(cell).strip() not in (label_names or ()):
        return []
    cell_labels = _read_list_labels(cell)
    if cell_labels is None:
        cell_text = _label_name(cell)
        if cell_text[:1] == "[" and cell_text[-1:] == "]":  # a list without quotes
            cell_text = cell_text[1:-1]
            separator = separator if separator and separator in cell_text else ","
        cell_labels = _split_text(cell_text, separator)
    return [name for name in dict.fromkeys(map(_label_name, cell_labels)) if name]


def _is_empty(cell: Any) -> bool:
    return cell is None or (not isinstance(cell, list | tuple) and str(cell).strip().lower() in NO_LABEL)


def _read_list_labels(cell: Any) -> list[Any] | None:
    """Return the values of a cell that is a list by itself: of JSON, Parquet, or quoted in brackets."""
    if isinstance(cell, list | tuple):
        return [value for value in cell if value is not None and value == value]
    cell_text = str(cell).strip()
    if cell_text[:1] != "[" or cell_text[-1:] != "]":
        return None
    try:
        json_list = json.loads(cell_text)
    except (ValueError, RecursionError):
        pass
    else:
        return [value for value in json_list if value is not None]
    if set(_QUOTED.sub("", cell_text[1:-1])) - set(" ,;|\t\r\n"):
        return None
    quoted_names = ("".join(pair) for pair in _QUOTED.findall(cell_text))
    return [re.sub(r"\\(['\"\\])", r"\1", name).strip() for name in quoted_names]


def _label_name(value: Any) -> str:
    """Return the name of a label; an object or a list has none."""
    if isinstance(value, dict):
        first_key = next(iter(value), "NAME")
        raise ValueError(f"a label is an object, {str(value)[:60]}: say COLUMN.{first_key} to reach inside.")
    if isinstance(value, list | tuple):
        raise ValueError(f"a label is a list, {str(value)[:60]}: list names.")
    return str(value).strip()


def _split_text(text: str, separator: str | None) -> list[str]:
    text_pieces = [text] if not separator else text.split() if separator == " " else text.split(separator)
    return [name for text_piece in text_pieces if (name := text_piece.strip().strip("'\"").strip())]


def _separator_evidence(cell_texts: Collection[str], mark: str) -> tuple[int, int, float]:
    """Return how many cells hold the mark, how many of their pieces move, and the share of the latter."""
    start_positions: defaultdict[str, set[int]] = defaultdict(set)
    end_positions: defaultdict[str, set[int]] = defaultdict(set)
    split_names, n_split = [], 0
    for text in cell_texts:
        piece_names = _split_text(text, mark)
        for position, name in enumerate(piece_names):
            start_positions[name].add(position)
            end_positions[name].add(len(piece_names) - position)
        if mark in text:
            n_split += 1
            split_names += piece_names
    n_moving = min(
        sum(len(name_positions[name]) > 1 for name in split_names)
        for name_positions in (start_positions, end_positions)
    )
    return n_split, n_moving, n_moving / max(len(split_names), 1)

"""Columns that name or count rows, and columns whose values hold rows of one origin together."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperlabel.tabular.column_sample import TableSample
from hyperlabel.tabular.wording import plural

_NAMES = re.compile(r"(?i:(^|[\W_])(ids?|identifier|key|uuid|guid|rowid)$)|[a-z](Id|ID|Key)$")
_COUNTER_NAMES = re.compile(r"(?i)(^|[\W_])(nr|no|number|index|row)$|^unnamed\b|^#$|^$")
_DECIMAL = re.compile(r"[-+]?[0-9.,]*[0-9]([eE][-+]?[0-9]+)?")
_NAMES_SHARE = 0.9  # of an identifier's values; a hexadecimal number may look like 12e3
_FEW_VALUES, _ROWS_OF_A_VALUE = 20, 10  # a named column of few values, each on many rows, is a category
_FEWEST_TO_COUNT = 10  # rows: fewer may well be numbered by chance
_SPREAD = 10  # a counter with gaps has at most so many numbers for each row
_ONE_LABEL_SET = 0.9  # share of an identifier's values that carry one label set
_MOST_CANDIDATES = 8
_AGREEMENT, _GROUPED_ROWS = 0.5, 0.1  # beyond chance; share of rows that share their value


def is_identifier(name: str, cells: list[Any], sample: TableSample, labels: Sequence[str] | None) -> bool:
    """Say whether a column of short values names or counts rows instead of describing them."""
    values = [_spell(cell) for cell in cells]
    filled = [value for value in values if value]
    if not filled or not _are_names(filled):
        return False
    n_values = len(set(filled))
    if has_identifier_name(name):
        return n_values > _FEW_VALUES or len(filled) < _ROWS_OF_A_VALUE * n_values
    if not all(map(_is_whole, filled)):
        return labels is not None and _values_tell_label_sets(values, labels)
    if n_values < len(values):
        return False
    return bool(_COUNTER_NAMES.search(_plain(name))) or _counts_rows(np.array(values, dtype=float), sample)


def has_identifier_name(name: str) -> bool:
    """Say whether a column is called id, key, ticket_id, packageId or the like."""
    return bool(_NAMES.search(_plain(name)))


def _plain(name: str) -> str:
    """Return the name of a column without the marks at its end: Nr. is Nr."""
    return re.sub(r"[\s.:_]+$", "", name.strip())


def _spell(cell: Any) -> str:
    """Return a cell as text; 3.0, as tables with gaps spell whole numbers, is 3."""
    return "" if cell is None else re.sub(r"^(-?[0-9]+)\.0+$", r"\1", str(cell).strip())


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and len(value) < 16


def _are_names(values: Sequence[str]) -> bool:
    """Say whether nearly all values are words or whole numbers: measures have decimals."""
    n_decimals = sum(not _is_whole(value) and bool(_DECIMAL.fullmatch(value)) for value in values)
    return n_decimals <= (1 - _NAMES_SHARE) * len(values)


def _counts_rows(numbers: np.ndarray, sample: TableSample) -> bool:
    """Say whether whole numbers, all different, count rows: in file order, with gaps or shuffled."""
    if len(numbers) < _FEWEST_TO_COUNT:
        return False
    steps = np.diff(numbers)
    n_rows = sample.n_rows
    is_order = (steps > 0).all() or (steps < 0).all()
    std = np.ptp(numbers)
    return bool((is_order and std < _SPREAD * n_rows) or (numbers.min() in (0, 1) and std <= n_rows))


def _values_tell_label_sets(values: Sequence[str], labels: Sequence[str]) -> bool:
    """Say whether nearly each of many values comes back with one label set only, beyond chance."""
    n_rows_of_value = Counter(values)
    n_sets_of_value = Counter(value for value, _ in set(zip(values, labels, strict=True)))
    again = [value for value, n_rows in n_rows_of_value.items() if value and n_rows > 1]
    if len(again) <= _FEW_VALUES:
        return False
    n_pure = sum(n_sets_of_value[value] == 1 for value in again)
    chance = _agreement_by_chance(np.unique(labels, return_inverse=True)[1])
    return n_pure >= _ONE_LABEL_SET * len(again) and chance < 0.5


def _agreement_by_chance(label_set: np.ndarray) -> float:
    """Return how often two rows drawn at random have the same label set."""
    share = np.bincount(label_set) / max(len(label_set), 1)
    return float((share**2).sum())


def group_candidates(columns: Mapping[str, list[Any]], ids: Sequence[str]) -> list[str]:
    """Return columns of short words or whole numbers that might say which rows belong together.

    They are carried along through the whole file, so there are few: identifiers first, then words.
    """
    rank: dict[str, int] = {}
    for name, cells in columns.items():
        values = [value for cell in cells if (value := _spell(cell))]
        words_per_value = sum(len(value.split()) for value in values) / max(len(values), 1)
        if words_per_value >= 2 or any(isinstance(cell, list | tuple | dict) for cell in cells):
            continue
        if name in ids or has_identifier_name(name):
            rank[name] = 0
        elif len(set(values)) > _FEW_VALUES and _are_names(values):
            rank[name] = 2 if all(map(_is_whole, values)) else 1
    return sorted(rank, key=rank.__getitem__)[:_MOST_CANDIDATES]


@dataclass(frozen=True)
class SharedLabels:
    """A column whose values are on several rows that mostly carry the same labels."""

    column: str
    n_rows: int  # that share their value with another row
    agreement: float  # share of neighbours of one value with the same label set

    @property
    def advice(self) -> str:
        """Say what to do about it, in a sentence."""
        rows, option = plural(self.n_rows, "row"), shlex.quote(self.column)
        return (
            f"Perhaps --group {option}: {rows} share their {self.column!r} with another, and "
            f"{self.agreement:.0%} of such rows carry the same labels. The stated score is too good without "
            "it: the model is judged by rows of which it has seen the like."
        )


def find_shared_labels(Y: Any, columns: Mapping[str, Sequence[str]]) -> SharedLabels | None:
    """Return the column of which rows with the same value share their labels most, beyond chance."""
    number_of_set: dict[bytes, int] = {}
    row_labels = np.split(Y.sorted_indices().indices, Y.indptr[1:-1])
    label_set = np.array([number_of_set.setdefault(row.tobytes(), len(number_of_set)) for row in row_labels])
    chance = _agreement_by_chance(label_set)
    best, best_excess = None, 0.0
    for name, cells in columns.items():
        values, value_of_row = np.unique([_spell(cell) for cell in cells], return_inverse=True)
        n_rows_of_value = np.bincount(value_of_row)
        several = (n_rows_of_value > 1) & (values != "")
        order = np.argsort(value_of_row, kind="stable")
        order = order[several[value_of_row[order]]]
        pairs = value_of_row[order][1:] == value_of_row[order][:-1]
        if not pairs.any() or not (has_identifier_name(name) or several.sum() > _FEW_VALUES):
            continue
        agreement = float((label_set[order][1:] == label_set[order][:-1])[pairs].mean())
        excess = (agreement - chance) / (1 - chance) if chance < 1 else 0.0
        if len(order) >= _GROUPED_ROWS * len(value_of_row) and excess >= max(_AGREEMENT, best_excess + 1e-9):
            best, best_excess = SharedLabels(name, len(order), agreement), excess
    return best


def take_out_candidates(
    data: Any, candidates: Sequence[str], categories: Sequence[str]
) -> tuple[Any, SharedLabels | None]:
    """Take the columns that were only carried along out of a data set; return what they say about groups."""
    if not candidates:
        return data, None
    shared_labels = find_shared_labels(data.Y, {name: data.text_columns[name] for name in candidates})
    words = {name: cells for name, cells in data.text_columns.items() if name in categories}
    return replace(data, text_columns=words or None), shared_labels

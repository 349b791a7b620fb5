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
_NUMBERS_PER_ROW = 10  # a counter with gaps has at most so many numbers for each row
_ONE_LABEL_SET = 0.9  # share of an identifier's values that carry one label set
_MOST_CANDIDATES = 8
_AGREEMENT, _GROUPED_ROWS = 0.5, 0.1  # beyond chance; share of rows that share their value


def is_identifier(name: str, values: list[Any], sample: TableSample, labels: Sequence[str] | None) -> bool:
    """Say whether a column of short values names or counts rows instead of describing them."""
    spelled_values = [_spell_cell(cell) for cell in values]
    filled_values = [value for value in spelled_values if value]
    if not filled_values or not _are_names(filled_values):
        return False
    n_values = len(set(filled_values))
    if has_identifier_name(name):
        return n_values > _FEW_VALUES or len(filled_values) < _ROWS_OF_A_VALUE * n_values
    if not all(map(_is_whole, filled_values)):
        return labels is not None and _values_tell_label_sets(spelled_values, labels)
    if n_values < len(spelled_values):
        return False
    return bool(_COUNTER_NAMES.search(_strip_name_marks(name))) or _counts_rows(
        np.array(spelled_values, dtype=float), sample
    )


def has_identifier_name(name: str) -> bool:
    """Say whether a column is called id, key, ticket_id, packageId or the like."""
    return bool(_NAMES.search(_strip_name_marks(name)))


def _strip_name_marks(name: str) -> str:
    """Return the name of a column without the marks at its end: Nr. is Nr."""
    return re.sub(r"[\s.:_]+$", "", name.strip())


def _spell_cell(cell: Any) -> str:
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
    number_range = np.ptp(numbers)
    return bool(
        (is_order and number_range < _NUMBERS_PER_ROW * n_rows)
        or (numbers.min() in (0, 1) and number_range <= n_rows)
    )


def _values_tell_label_sets(values: Sequence[str], labels: Sequence[str]) -> bool:
    """Say whether nearly each of many values comes back with one label set only, beyond chance."""
    n_rows_of_value = Counter(values)
    n_sets_of_value = Counter(value for value, _ in set(zip(values, labels, strict=True)))
    repeated_values = [value for value, n_rows in n_rows_of_value.items() if value and n_rows > 1]
    if len(repeated_values) <= _FEW_VALUES:
        return False
    n_pure = sum(n_sets_of_value[value] == 1 for value in repeated_values)
    chance_agreement = _measure_chance_agreement(np.unique(labels, return_inverse=True)[1])
    return n_pure >= _ONE_LABEL_SET * len(repeated_values) and chance_agreement < 0.5


def _measure_chance_agreement(label_set: np.ndarray) -> float:
    """Return how often two rows drawn at random have the same label set."""
    set_shares = np.bincount(label_set) / max(len(label_set), 1)
    return float((set_shares**2).sum())


def group_candidates(columns: Mapping[str, list[Any]], ids: Sequence[str]) -> list[str]:
    """Return columns of short words or whole numbers that might say which rows belong together.

    They are carried along through the whole file, so there are few: identifiers first, then words.
    """
    candidate_rank: dict[str, int] = {}
    for column_name, column_values in columns.items():
        spelled_values = [value for cell in column_values if (value := _spell_cell(cell))]
        words_per_value = sum(len(value.split()) for value in spelled_values) / max(len(spelled_values), 1)
        if words_per_value >= 2 or any(isinstance(cell, list | tuple | dict) for cell in column_values):
            continue
        if column_name in ids or has_identifier_name(column_name):
            candidate_rank[column_name] = 0
        elif len(set(spelled_values)) > _FEW_VALUES and _are_names(spelled_values):
            candidate_rank[column_name] = 2 if all(map(_is_whole, spelled_values)) else 1
    return sorted(candidate_rank, key=candidate_rank.__getitem__)[:_MOST_CANDIDATES]


@dataclass(frozen=True)
class SharedLabels:
    """A column in which rows of one value mostly carry the same labels."""

    column: str
    n_rows: int  # that share their value with another row
    agreement: float  # share of neighbours of one value with the same label set

    @property
    def advice(self) -> str:
        """Say what to do about it, in a sentence."""
        row_count, quoted_column = plural(self.n_rows, "row"), shlex.quote(self.column)
        return (
            f"Perhaps --group {quoted_column}: {row_count} share their {self.column!r} with another, and "
            f"{self.agreement:.0%} of such rows carry the same labels. The stated score is too good without "
            "it: the model is judged by rows of which it has seen the like."
        )


def find_shared_labels(Y: Any, columns: Mapping[str, Sequence[str]]) -> SharedLabels | None:
    """Return the column of which rows with the same value share their labels most, beyond chance."""
    number_of_set: dict[bytes, int] = {}
    row_labels = np.split(Y.sorted_indices().indices, Y.indptr[1:-1])
    label_set = np.array([number_of_set.setdefault(row.tobytes(), len(number_of_set)) for row in row_labels])
    chance_agreement = _measure_chance_agreement(label_set)
    shared_labels, best_excess = None, 0.0
    for name, values in columns.items():
        unique_values, value_of_row = np.unique([_spell_cell(cell) for cell in values], return_inverse=True)
        n_rows_of_value = np.bincount(value_of_row)
        is_repeated = (n_rows_of_value > 1) & (unique_values != "")
        order = np.argsort(value_of_row, kind="stable")
        order = order[is_repeated[value_of_row[order]]]
        is_pair = value_of_row[order][1:] == value_of_row[order][:-1]
        if not is_pair.any() or not (has_identifier_name(name) or is_repeated.sum() > _FEW_VALUES):
            continue
        agreement = float((label_set[order][1:] == label_set[order][:-1])[is_pair].mean())
        excess = (agreement - chance_agreement) / (1 - chance_agreement) if chance_agreement < 1 else 0.0
        if len(order) >= _GROUPED_ROWS * len(value_of_row) and excess >= max(_AGREEMENT, best_excess + 1e-9):
            shared_labels, best_excess = SharedLabels(name, len(order), agreement), excess
    return shared_labels


def take_out_candidates(
    data: Any, candidates: Sequence[str], categories: Sequence[str]
) -> tuple[Any, SharedLabels | None]:
    """Take the columns that were only carried along out of a data set; return what they say about groups."""
    if not candidates:
        return data, None
    shared_labels = find_shared_labels(data.Y, {name: data.text_columns[name] for name in candidates})
    category_columns = {name: values for name, values in data.text_columns.items() if name in categories}
    return replace(data, text_columns=category_columns or None), shared_labels

"""What becomes of the columns of an ARFF file: features, labels, one-hot words, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets._arff_header import Attribute
from hyperlabel.datasets._dataset import Dataset
from hyperlabel.datasets._lines import DataError, LineReader
from hyperlabel.datasets._numbers import NUMBER, to_number
from hyperlabel.datasets.table_columns import warn_of_dropped

MAX_ENTRIES = 1 << 29  # values that are not in the file but follow from it; 4 GiB


@dataclass(eq=False)
class ArffColumns:
    """What becomes of each attribute."""

    attributes: tuple[Attribute, ...]
    labels: np.ndarray  # positions of the labels
    features: np.ndarray  # positions of the features kept
    is_label: np.ndarray
    zero_one: np.ndarray  # attributes whose values must be 0 or 1
    one_digit: np.ndarray  # and, declared {0,1}, so written
    is_plain: bool  # nothing but numbers and {0,1}: blocks may take the fast way
    path: Path

    @classmethod
    def choose(
        cls, attributes: tuple[Attribute, ...], places: list[int], nominal: str, lines: LineReader
    ) -> ArffColumns:
        is_label = np.zeros(len(attributes), dtype=bool)
        is_label[places] = True
        for j in places:
            attribute = attributes[j]
            if not attribute.is_number or not set(attribute.codes.values()) <= {-1.0, 0.0, 1.0}:
                raise lines.fail(
                    f"the label {attribute.name!r} is not binary; labels must be {{0,1}}, NO/YES or numbers."
                )
        kept: list[int] = []
        dropped: list[int] = []
        for j, attribute in enumerate(attributes):
            if not is_label[j]:
                wanted = attribute.is_number or (attribute.kind == "nominal" and nominal == "onehot")
                (kept if wanted else dropped).append(j)
        hint = "" if nominal == "onehot" else " (nominal=onehot keeps nominal ones)"
        warn_of_dropped(lines.path.name, [attributes[j].name for j in dropped], hint)
        zero_one = np.array([attribute.is_zero_one for attribute in attributes])
        numeric = np.array([attribute.kind == "numeric" for attribute in attributes])
        is_plain = not dropped and bool((zero_one | numeric).all())
        return cls(
            attributes,
            np.array(places),
            np.array(kept, dtype=int),
            is_label,
            zero_one | is_label,
            zero_one,
            is_plain,
            lines.path,
        )

    @cached_property
    def plain_rows(self) -> re.Pattern[bytes]:
        """Dense rows of plain numbers."""
        return re.compile(rf"(?:{NUMBER}(?:,{NUMBER}){{{len(self.attributes) - 1}}}+\n)++".encode())

    @cached_property
    def parse(self) -> list[Callable[[str], float]]:
        """The converter of each attribute; one that skips for columns left out."""
        used = {*self.labels.tolist(), *self.features.tolist()}
        return [
            _field_converter(attribute, bool(self.is_label[j])) if j in used else (lambda _: 0.0)
            for j, attribute in enumerate(self.attributes)
        ]

    def dataset(self, raw: Any, name: str) -> Dataset:
        """Split a block of raw columns into features and labels."""
        if sparse.issparse(raw):
            raw = self._fill_omitted(raw)
        X, names = raw[:, _column_slice(self.features)], [self.attributes[j].name for j in self.features]
        if not all(self.attributes[j].is_number for j in self.features):
            X, names = self._one_hot(X)
        return Dataset(
            X,
            raw[:, _column_slice(self.labels)],
            names,
            [self.attributes[j].name for j in self.labels],
            name=name,
        )

    @cached_property
    def _omitted(self) -> np.ndarray:
        omitted = np.array([attribute.omitted for attribute in self.attributes])
        omitted[self.is_label & (omitted < 0)] = 0.0
        return omitted

    def _fill_omitted(self, raw: sparse.csr_array) -> sparse.csr_array:
        """Give entries left out of sparse rows their first nominal value, where that is not 0."""
        omitted = self._omitted
        special = np.flatnonzero(omitted)
        if special.size:
            self._check_entries(raw.shape[0] * special.size, "values left out of sparse rows that are not 0")
            written = sparse.csr_array((np.ones(raw.nnz), raw.indices, raw.indptr), shape=raw.shape)
            fill = np.where(written[:, special].toarray() > 0, 0.0, omitted[special])
            rows, columns = np.nonzero(fill)
            raw = raw + sparse.csr_array((fill[rows, columns], (rows, special[columns])), shape=raw.shape)
        if (raw.data == 0).any():
            raw.eliminate_zeros()
        return raw

    def _check_entries(self, count: int, what: str) -> None:
        """Refuse what a short file may unfold to, before memory is asked for."""
        if count > MAX_ENTRIES:
            raise DataError(f"there would be {count} {what}, more than {MAX_ENTRIES}.", self.path)

    def _one_hot(self, X: Any) -> tuple[Any, list[str]]:
        width = sum(max(len(self.attributes[j].values), 1) for j in self.features)
        self._check_entries(X.shape[0] * width, "values of one-hot columns")
        parts, names = [], []
        for i, j in enumerate(self.features):
            attribute = self.attributes[j]
            column = X[:, [i]]
            if attribute.is_number:
                parts.append(column)
                names.append(attribute.name)
                continue
            codes = column.toarray() if sparse.issparse(column) else column
            hot = (codes == np.arange(len(attribute.values))).astype(np.float64)
            parts.append(sparse.csr_array(hot) if sparse.issparse(X) else hot)
            names += [f"{attribute.name}={value}" for value in attribute.values]
        return (sparse.hstack(parts, format="csr") if sparse.issparse(X) else np.hstack(parts)), names


def _column_slice(columns: np.ndarray) -> Any:
    """The columns as a slice where they stand side by side, which is far cheaper to cut out."""
    if len(columns) and columns[-1] - columns[0] == len(columns) - 1:
        return slice(int(columns[0]), int(columns[-1]) + 1)
    return columns


def _field_converter(attribute: Attribute, is_label: bool) -> Callable[[str], float]:
    """Return the function from a field as written to its number; it raises on a bad value."""
    if attribute.kind == "nominal":
        codes = dict(attribute.codes)
        if is_label:
            codes = {value: max(code, 0.0) for value, code in codes.items()}
        else:
            codes.setdefault("?", np.nan)
        return codes.__getitem__
    return _label_number if is_label else _parse_number


def _parse_number(text: str) -> float:
    if text == "?":
        return float("nan")
    return to_number(text)


def _label_number(text: str) -> float:
    value = to_number(text)
    if value not in (0.0, 1.0):
        raise ValueError(text)
    return value

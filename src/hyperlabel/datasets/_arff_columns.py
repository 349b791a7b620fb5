"""The role of each column of an ARFF file: feature, label, one-hot encoded words, or dropped."""

from __future__ import annotations

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
from hyperlabel.datasets._numbers import to_number
from hyperlabel.datasets.table_columns import warn_of_dropped

MAX_ENTRIES = 1 << 29  # values that are not in the file but follow from it; 4 GiB


@dataclass(eq=False)
class ArffColumns:
    """The role of each attribute, and how its fields are parsed."""

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
        cls, attributes: tuple[Attribute, ...], label_positions: list[int], nominal: str, reader: LineReader
    ) -> ArffColumns:
        is_label = np.zeros(len(attributes), dtype=bool)
        is_label[label_positions] = True
        for j in label_positions:
            attribute = attributes[j]
            if not attribute.is_number or not set(attribute.codes.values()) <= {-1.0, 0.0, 1.0}:
                raise reader.fail(
                    f"the label {attribute.name!r} is not binary; labels must be {{0,1}}, NO/YES or numbers."
                )
        feature_positions: list[int] = []
        dropped_positions: list[int] = []
        for j, attribute in enumerate(attributes):
            if not is_label[j]:
                is_feature = attribute.is_number or (attribute.kind == "nominal" and nominal == "onehot")
                (feature_positions if is_feature else dropped_positions).append(j)
        hint = "" if nominal == "onehot" else " (nominal=onehot keeps nominal ones)"
        warn_of_dropped(reader.path.name, [attributes[j].name for j in dropped_positions], hint)
        zero_one = np.array([attribute.is_zero_one for attribute in attributes])
        is_numeric = np.array([attribute.kind == "numeric" for attribute in attributes])
        is_plain = not dropped_positions and bool((zero_one | is_numeric).all())
        return cls(
            attributes,
            np.array(label_positions),
            np.array(feature_positions, dtype=int),
            is_label,
            zero_one | is_label,
            zero_one,
            is_plain,
            reader.path,
        )

    @cached_property
    def is_float(self) -> list[bool]:
        """Which attributes are features of numbers."""
        return [parse is _parse_number for parse in self.parse]

    @cached_property
    def parse(self) -> list[Callable[[str], float]]:
        """The converter of each attribute; one that skips for columns left out."""
        used_positions = {*self.labels.tolist(), *self.features.tolist()}
        return [
            _field_converter(attribute, bool(self.is_label[j])) if j in used_positions else (lambda _: 0.0)
            for j, attribute in enumerate(self.attributes)
        ]

    def dataset(self, raw: Any, name: str) -> Dataset:
        """Split a block of raw columns into features and labels."""
        if sparse.issparse(raw):
            raw = self._fill_omitted(raw)
        X = raw[:, _column_slice(self.features)]
        feature_names = [self.attributes[j].name for j in self.features]
        if not all(self.attributes[j].is_number for j in self.features):
            X, feature_names = self._encode_one_hot(X)
        return Dataset(
            X,
            raw[:, _column_slice(self.labels)],
            feature_names,
            [self.attributes[j].name for j in self.labels],
            name=name,
        )

    @cached_property
    def _omitted_codes(self) -> np.ndarray:
        omitted_codes = np.array([attribute.omitted for attribute in self.attributes])
        omitted_codes[self.is_label & (omitted_codes < 0)] = 0.0
        return omitted_codes

    def _fill_omitted(self, raw: sparse.csr_array) -> sparse.csr_array:
        """Give entries left out of sparse rows their first nominal value, where that is not 0."""
        omitted_codes = self._omitted_codes
        filled = np.flatnonzero(omitted_codes)
        if filled.size:
            self._check_entries(raw.shape[0] * filled.size, "values left out of sparse rows that are not 0")
            written_mask = sparse.csr_array((np.ones(raw.nnz), raw.indices, raw.indptr), shape=raw.shape)
            fill_values = np.where(written_mask[:, filled].toarray() > 0, 0.0, omitted_codes[filled])
            rows, columns = np.nonzero(fill_values)
            raw = raw + sparse.csr_array(
                (fill_values[rows, columns], (rows, filled[columns])), shape=raw.shape
            )
        if (raw.data == 0).any():
            raw.eliminate_zeros()
        return raw

    def _check_entries(self, count: int, what: str) -> None:
        """Refuse what a short file may unfold to, before memory is allocated."""
        if count > MAX_ENTRIES:
            raise DataError(f"there would be {count} {what}, more than {MAX_ENTRIES}.", self.path)

    def _encode_one_hot(self, X: Any) -> tuple[Any, list[str]]:
        n_columns = sum(max(len(self.attributes[j].values), 1) for j in self.features)
        self._check_entries(X.shape[0] * n_columns, "values of one-hot columns")
        column_blocks, column_names = [], []
        for i, j in enumerate(self.features):
            attribute = self.attributes[j]
            column_codes = X[:, [i]]
            if attribute.is_number:
                column_blocks.append(column_codes)
                column_names.append(attribute.name)
                continue
            dense_codes = column_codes.toarray() if sparse.issparse(column_codes) else column_codes
            one_hot = (dense_codes == np.arange(len(attribute.values))).astype(np.float64)
            column_blocks.append(sparse.csr_array(one_hot) if sparse.issparse(X) else one_hot)
            column_names += [f"{attribute.name}={value}" for value in attribute.values]
        X = sparse.hstack(column_blocks, format="csr") if sparse.issparse(X) else np.hstack(column_blocks)
        return X, column_names


def _column_slice(columns: np.ndarray) -> Any:
    """Return adjacent columns as a slice, which indexes far cheaper than an array."""
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
    return _parse_label if is_label else _parse_number


def _parse_number(text: str) -> float:
    if text == "?":
        return float("nan")
    return to_number(text)


def _parse_label(text: str) -> float:
    label_entry = to_number(text)
    if label_entry not in (0.0, 1.0):
        raise ValueError(text)
    return label_entry

"""The samples themselves in the place of their moments: fewer numbers where samples are few or sparse.

XᵀX has d² entries however few samples were summed. `StoredRows` holds X and Y, adds and subtracts samples as
`RowMoments` does, and forms the moments when they are asked for. A sample taken out is looked up and deleted,
so nothing of it remains, and one that was never in is refused.

Notation
--------
code           meaning                          shape
X              samples                          n×d
Y              labels, 0/1                      n×k
sample_weight  weights of the samples, or None  n
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hyperlabel.solvers.moments.grouped_moments import GroupedMoments, add_sums
from hyperlabel.solvers.moments.label_groups import WeightedEntries
from hyperlabel.solvers.moments.row_moments import RowMoments

_ROUNDING = 1e-9  # relative: the same sample, computed on another machine


@dataclass(eq=False)
class StoredRows:
    """Labelled samples that add and subtract as their moments do."""

    X: Any
    Y: sparse.csr_array
    sample_weight: np.ndarray | None = None

    cached_sums = None  # type: Any  # the moments of these very rows, neither copied nor saved
    _fitted_shapes: ClassVar[dict[str, str]] = {"X": "n d", "Y": "n k", "sample_weight": "n"}

    @classmethod
    def from_rows(cls, X: Any, Y: Any, sample_weight: np.ndarray | None = None) -> StoredRows:
        """Keep the samples X and their labels Y; weights of 0 are samples that are not there."""
        stored_X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        stored_Y = sparse.csr_array(Y)
        if sample_weight is not None and sample_weight.ndim == 2:
            raise ValueError("A model that keeps its rows takes one weight for each row, not for each entry.")
        if sample_weight is not None:
            weighted = np.flatnonzero(sample_weight)
            stored_X, stored_Y, sample_weight = (
                stored_X[weighted],
                stored_Y[weighted],
                sample_weight[weighted],
            )
        return cls(stored_X, stored_Y, sample_weight)

    # -- reading ------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.X.shape[1])

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n if self.sample_weight is None else self.sample_weight.sum())

    @property
    def sum_targets(self) -> np.ndarray:
        """Weighted label counts."""
        Y = WeightedEntries.of(self.Y, None).Y
        label_counts = Y.sum(axis=0) if self.sample_weight is None else self.sample_weight @ Y
        return np.asarray(label_counts, dtype=np.float64).ravel()

    @property
    def n_bytes(self) -> int:
        """Bytes of the samples in a file."""
        X_bytes = self.X.data.nbytes + self.X.indices.nbytes if sparse.issparse(self.X) else self.X.nbytes
        return int(X_bytes + 5 * self.Y.nnz + 8 * self.n)

    @property
    def sums_bytes(self) -> int:
        """Bytes that the moments would take."""
        return 8 * self.n_features * (self.n_features + self.Y.shape[1])

    def sums(self) -> Any:
        """Return the moments; they follow the samples from then on."""
        if self.cached_sums is None:
            self.cached_sums = _sum_stored(self)
        return self.cached_sums

    def digits_kept(self) -> float:
        """Return the decimal digits of the moments: all, as they are never subtracted."""
        return float(np.finfo(np.float64).precision)

    # -- adding and subtracting -----------------------------------------------------------------------

    def copy(self) -> StoredRows:
        """Return the same samples; arrays are shared, for none is ever changed in place."""
        return StoredRows(self.X, self.Y, self.sample_weight)

    def __deepcopy__(self, memo: dict[int, Any]) -> StoredRows:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cached_sums"}

    def add(self, other: StoredRows) -> StoredRows:
        """Add samples in place."""
        self._check_same_width(other)
        if self.cached_sums is not None:
            self.cached_sums = add_sums(self.cached_sums, _sum_stored(other))
        return self.append(other)

    def append(self, other: StoredRows) -> StoredRows:
        """Add samples that the moments, if they were formed, hold already."""
        if self.sample_weight is not None or other.sample_weight is not None:
            self.sample_weight = np.concatenate([_weights_of(self), _weights_of(other)])
        if sparse.issparse(self.X):
            self.X = sparse.vstack([self.X, sparse.csr_array(other.X)], format="csr")
        else:
            other_X = other.X.toarray() if sparse.issparse(other.X) else other.X
            self.X = np.vstack([self.X, other_X])
        self.Y = sparse.vstack([self.Y, other.Y], format="csr")
        return self

    def subtract(self, other: StoredRows) -> StoredRows:
        """Delete samples in place: each must be here with the same labels and weight."""
        if other.n > self.n:
            raise ValueError(f"Cannot take {other.n} rows out of {self.n}.")
        self._check_same_width(other)
        leaving = self._find_rows(other)
        remaining = np.delete(np.arange(self.n), leaving)
        self.cached_sums = None
        self.X, self.Y = self.X[remaining], self.Y[remaining]
        if self.sample_weight is not None:
            self.sample_weight = self.sample_weight[remaining]
        return self

    def take_over(self, other: StoredRows) -> None:
        """Take the moments that `other`, which holds the same samples, has formed."""
        self.cached_sums, other.cached_sums = other.cached_sums, None

    def _find_rows(self, other: StoredRows) -> list[int]:
        """Return which sample here each one of `other` is, every sample once."""
        rows_of_pattern: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
        own_patterns, own_values = _patterns_of(self)
        for i, pattern in enumerate(own_patterns):
            rows_of_pattern[pattern].append(i)
        found: list[int] = []
        for i, (pattern, values) in enumerate(zip(*_patterns_of(other), strict=True)):
            candidates = rows_of_pattern[pattern]
            matches = (j for j in candidates if _same_values(own_values[j], values))
            row = next(matches, None)
            if row is None:
                raise ValueError(
                    f"These rows were not all in the model: row {i} is not among them with these labels."
                )
            candidates.remove(row)
            found.append(row)
        return found

    def _check_same_width(self, other: StoredRows) -> None:
        if self.X.shape[1] != other.X.shape[1] or self.Y.shape[1] != other.Y.shape[1]:
            raise ValueError(
                f"These rows do not fit together: {self.X.shape[1]} features and {self.Y.shape[1]} labels "
                f"here, {other.X.shape[1]} and {other.Y.shape[1]} there."
            )

    # -- labels come and go -----------------------------------------------------------------------------

    def select_labels(self, columns: list[int]) -> StoredRows:
        """Return the samples with some of the labels."""
        return StoredRows(self.X, self.Y[:, columns], self.sample_weight)

    def with_label(self, X: Any) -> StoredRows:
        """Return the samples with one more label, which the samples X among them carry, and no other."""
        label_column = np.zeros((self.n, 1))
        if X is not None:
            no_labels = sparse.csr_array((X.shape[0], 0))
            unlabelled = StoredRows(self.X, sparse.csr_array((self.n, 0)))
            label_column[unlabelled._find_rows(StoredRows.from_rows(X, no_labels))] = 1.0
        all_labels = sparse.hstack([self.Y, sparse.csr_array(label_column)], format="csr")
        return StoredRows(self.X, all_labels, self.sample_weight)


def _sum_stored(rows: StoredRows) -> Any:
    if np.isnan(rows.Y.data).any():
        return GroupedMoments.from_rows(rows.X, WeightedEntries.of(rows.Y, rows.sample_weight))
    return RowMoments.from_rows(rows.X, rows.Y, sample_weight=rows.sample_weight)


def _same_values(own: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(own, other, rtol=_ROUNDING, atol=0.0, equal_nan=True))


def _weights_of(rows: StoredRows) -> np.ndarray:
    return np.ones(rows.n) if rows.sample_weight is None else rows.sample_weight


def _patterns_of(rows: StoredRows) -> tuple[list[tuple[bytes, bytes]], list[np.ndarray]]:
    """Return where each sample and its labels are not zero, and their values with the weight."""
    X, Y = (sparse.csr_array(matrix, copy=True) for matrix in (rows.X, rows.Y))
    for matrix in (X, Y):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    weights = _weights_of(rows)
    patterns, values = [], []
    for i in range(rows.n):
        x, y = slice(*X.indptr[i : i + 2]), slice(*Y.indptr[i : i + 2])
        patterns.append((X.indices[x].astype(np.int64).tobytes(), Y.indices[y].astype(np.int64).tobytes()))
        values.append(np.concatenate([X.data[x], Y.data[y], weights[i : i + 1]]))
    return patterns, values

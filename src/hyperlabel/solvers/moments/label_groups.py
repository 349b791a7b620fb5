"""Labels that count on the same samples with the same weights: they share one set of sums and one solve.

A label that is unknown on a sample is left out there, so each label has its own samples. Weights may differ
from entry to entry as well. Labels that agree in all of it form a group.

Notation
--------
code          meaning                                                        shape
Y             targets from 0 to 1, NaN where nobody knows                    n×k
C             weight of each entry, 0 where the target is unknown            n×k
row_weights   of a sample for all its labels: the mean of its known entries  n
on_off        weight of positives and of negatives of each label             2×k
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """Labels, the samples on which they are known, the weights there (None: 1), and the targets."""

    labels: np.ndarray
    rows: np.ndarray
    weights: np.ndarray | None
    targets: sparse.csr_array


@dataclass(frozen=True, eq=False)
class WeightedEntries:
    """Targets with zeros where they are unknown, which entries count, and how much."""

    Y: sparse.csr_array
    known: np.ndarray  # n×k truth values
    weights: np.ndarray | None  # as given: n, or n×k
    on_off: np.ndarray | None

    @property
    def has_entry_weights(self) -> bool:
        """Whether a row weighs differently for different labels."""
        return self.weights is not None and self.weights.ndim == 2

    @classmethod
    def of(
        cls, Y: sparse.csr_array, weights: np.ndarray | None, on_off: np.ndarray | None = None
    ) -> WeightedEntries:
        """Take apart targets that may hold NaN; entries of weight 0 count as unknown."""
        known = np.ones(Y.shape, dtype=bool)
        rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        is_missing = np.isnan(Y.data)
        known[rows[is_missing], Y.indices[is_missing]] = False
        if weights is not None:
            known &= (weights if weights.ndim == 2 else weights[:, None]) > 0
        targets = Y.copy()
        targets.data[~known[rows, Y.indices]] = 0.0
        targets.eliminate_zeros()
        return cls(targets, known, weights, on_off)

    @property
    def row_weights(self) -> np.ndarray:
        """Return what each sample counts; 0 where none of its labels is known."""
        if self.weights is None or self.weights.ndim == 1:
            row_weights = np.ones(len(self.known)) if self.weights is None else self.weights
            return np.where(self.known.any(axis=1), row_weights, 0.0)
        n_known = self.known.sum(axis=1)
        return np.where(self.known, self.weights, 0.0).sum(axis=1) / np.maximum(n_known, 1)

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight of the positives of each label and of the samples that know it."""
        row_weights = self.row_weights
        return np.asarray(row_weights @ self.Y), row_weights @ self.known

    def signed(
        self, labels: slice | np.ndarray, *, with_row_weights: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights that some labels have as positives and as negatives, two arrays n×m.

        A target p is a positive of weight p and a negative of weight 1 − p.
        """
        shares = self.Y[:, labels].toarray()
        entry_weights = self.known[:, labels].astype(np.float64)
        if self.weights is not None and with_row_weights:
            entry_weights *= self.weights[:, labels] if self.weights.ndim == 2 else self.weights[:, None]
        on, off = entry_weights * shares, entry_weights * (1.0 - shares)
        if self.on_off is not None:
            on, off = on * self.on_off[0, labels], off * self.on_off[1, labels]
        return on, off

    def groups(self) -> list[np.ndarray]:
        """Return the labels of each group, in the order of their first one."""
        labels_of_pattern: dict[tuple[bytes, ...], list[int]] = {}
        for j in range(self.Y.shape[1]):
            pattern: tuple[bytes, ...] = (np.packbits(self.known[:, j]).tobytes(),)
            if self.weights is not None and self.weights.ndim == 2:
                pattern += (np.where(self.known[:, j], self.weights[:, j], 0.0).tobytes(),)
            if self.on_off is not None and self.on_off[0, j] != self.on_off[1, j]:
                pattern += (str(j).encode(),)
            elif self.on_off is not None:
                pattern += (self.on_off[0, j].tobytes(),)
            labels_of_pattern.setdefault(pattern, []).append(j)
        return [np.array(labels) for labels in labels_of_pattern.values()]

    def each_group(self, groups: list[np.ndarray]) -> Iterator[LabelGroup]:
        """Yield the samples, weights and targets of each group."""
        columns = self.Y.tocsc()
        for labels in groups:
            rows = np.flatnonzero(self.known[:, labels[0]])
            targets = sparse.csr_array(columns[:, labels])[rows]
            weights = None
            if self.weights is not None:
                weights = (self.weights if self.weights.ndim == 1 else self.weights[:, labels[0]])[rows]
            if self.on_off is not None:
                on, off = self.on_off[:, labels[0]]
                if on == off:
                    weights = np.full(len(rows), on) if weights is None else on * weights
                else:
                    shares = targets.toarray().ravel()
                    factor = off + (on - off) * shares
                    weights = factor if weights is None else factor * weights
                    weighted_shares = np.divide(on * shares, factor, out=shares, where=factor > 0)
                    targets = sparse.csr_array(weighted_shares[:, None])
            yield LabelGroup(labels, rows, weights, targets)

    def take(self, rows: np.ndarray) -> WeightedEntries:
        """Return some of the samples."""
        weights = None if self.weights is None else self.weights[rows]
        return WeightedEntries(self.Y[rows], self.known[rows], weights, self.on_off)

    def filled(self) -> sparse.csr_array:
        """Return the targets, unknown ones at their label's share of positives."""
        counts, known_weight = self.counts()
        shares = np.divide(counts, known_weight, out=np.zeros(len(counts)), where=known_weight > 0)
        return sparse.csr_array(self.Y + sparse.csr_array(~self.known) @ sparse.diags_array(shares))

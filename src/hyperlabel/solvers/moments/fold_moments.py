"""Moments of every training fold from one pass over the rows.

Rows that belong to the same training sets form one *atom*; atoms are disjoint, so the moments
of any training set are a sum of atoms, or the total less the atoms left out, whichever is
shorter. k-fold, group-fold, leave-one-group-out and time blocks all have about as many atoms
as folds. Splits whose training sets overlap at random (repeated or shuffled splits) have many:
beyond `memory_limit` their moments are summed from the rows, fold by fold.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hyperlabel.solvers.moments.row_moments import RowMoments

MEMORY_LIMIT = 2 * 2**30


class FoldMoments:
    """Moments of all rows and of each training fold; the factor F must not depend on the fold."""

    def __init__(
        self,
        X: Any,
        F: Any,
        trains: Sequence[np.ndarray],
        *,
        sample_weight: np.ndarray | None = None,
        with_target_gram: bool = False,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        self._rows = (X, F, sample_weight, with_target_gram)
        self._trains = trains
        member = np.zeros((X.shape[0], len(trains)), dtype=bool)
        for fold, train in enumerate(trains):
            member[train, fold] = True
        atoms, atom_of_row = np.unique(member, axis=0, return_inverse=True)
        d, m = X.shape[1], F.shape[1]
        one = 8 * (d * (d + m) + (m * m if with_target_gram else 0))
        if len(atoms) * one > memory_limit or len(atoms) > 4 * len(trains) + 4:
            self._atoms, self._member = None, atoms
            self.total = self._sum(slice(None), shift=None)
            return
        first = self._sum(atom_of_row.ravel() == 0, shift=None)
        self._atoms = [first] + [
            self._sum(atom_of_row.ravel() == a, shift=first.shift) for a in range(1, len(atoms))
        ]
        self._member = atoms
        self.total = first.copy()
        for atom in self._atoms[1:]:
            self.total.add(atom)

    def __iter__(self) -> Iterator[RowMoments]:
        for fold in range(len(self._trains)):
            yield self.training(fold)

    def training(self, fold: int) -> RowMoments:
        """Moments of the training rows of one fold."""
        if self._atoms is None:
            return self._sum(self._trains[fold], shift=self.total.shift)
        inside = self._member[:, fold]
        if inside.sum() > len(inside) / 2:
            moments = self.total.copy()
            for a in np.flatnonzero(~inside):
                moments.subtract(self._atoms[a])
        else:
            chosen = np.flatnonzero(inside)
            moments = self._atoms[chosen[0]].copy()
            for a in chosen[1:]:
                moments.add(self._atoms[a])
        return moments

    def _sum(self, rows: Any, shift: np.ndarray | None) -> RowMoments:
        X, F, weight, with_target_gram = self._rows
        weight = None if weight is None else weight[rows]
        return RowMoments.from_rows(
            X[rows], F[rows], sample_weight=weight, shift=shift, with_target_gram=with_target_gram
        )

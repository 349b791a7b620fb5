"""Moments of every training fold from one pass over the rows.

Rows that belong to the same training sets form one *atom*; atoms are disjoint, so the moments
of any training set are a sum of atoms, or the total less the other atoms, whichever is
shorter. k-fold, group-fold, leave-one-group-out and time blocks all have about as many atoms
as folds. Splits whose training sets overlap at random (repeated or shuffled splits) have many:
beyond `memory_limit` their moments are summed from the rows, fold by fold.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hyperlabel.solvers.moments.grouped_moments import GroupedMoments, grouped_bytes
from hyperlabel.solvers.moments.label_groups import WeightedEntries
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
        self._groups = F.groups() if isinstance(F, WeightedEntries) else []
        in_training = np.zeros((X.shape[0], len(trains)), dtype=bool)
        for fold, train_rows in enumerate(trains):
            in_training[train_rows, fold] = True
        atom_folds, atom_of_row = np.unique(in_training, axis=0, return_inverse=True)
        d = X.shape[1]
        if isinstance(F, WeightedEntries):
            atom_bytes = grouped_bytes(d, F.Y.shape[1], len(self._groups))
        else:
            m = F.shape[1]
            atom_bytes = 8 * (d * (d + m) + (m * m if with_target_gram else 0))
        if len(atom_folds) * atom_bytes > memory_limit or len(atom_folds) > 4 * len(trains) + 4:
            self._atoms, self._atom_folds = None, atom_folds
            self.total = self._sum_rows(slice(None), shift=None)
            return
        first_atom = self._sum_rows(atom_of_row.ravel() == 0, shift=None)
        self._atoms = [first_atom] + [
            self._sum_rows(atom_of_row.ravel() == a, shift=first_atom.shift)
            for a in range(1, len(atom_folds))
        ]
        self._atom_folds = atom_folds
        self.total = first_atom.copy()
        for atom_moments in self._atoms[1:]:
            self.total.add(atom_moments)

    def __iter__(self) -> Iterator[Any]:
        for fold in range(len(self._trains)):
            yield self.training(fold)

    def training(self, fold: int) -> Any:
        """Moments of the training rows of one fold, of groups of labels where F are weighted entries."""
        if self._atoms is None:
            return self._sum_rows(self._trains[fold], shift=self.total.shift)
        in_fold = self._atom_folds[:, fold]
        if in_fold.sum() > len(in_fold) / 2:
            fold_moments = self.total.copy()
            for a in np.flatnonzero(~in_fold):
                fold_moments.subtract(self._atoms[a])
        else:
            chosen_atoms = np.flatnonzero(in_fold)
            fold_moments = self._atoms[chosen_atoms[0]].copy()
            for a in chosen_atoms[1:]:
                fold_moments.add(self._atoms[a])
        return fold_moments

    def _sum_rows(self, rows: Any, shift: np.ndarray | None) -> Any:
        X, F, row_weights, with_target_gram = self._rows
        if isinstance(F, WeightedEntries):
            return GroupedMoments.from_rows(X[rows], F.take(rows), shift=shift, groups=self._groups)
        row_weights = None if row_weights is None else row_weights[rows]
        return RowMoments.from_rows(
            X[rows], F[rows], sample_weight=row_weights, shift=shift, with_target_gram=with_target_gram
        )

"""What the three fitters of binary relevance are given: validated rows, of which every one knows a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._missing_labels import mask_entries, rows_with_known_labels
from hyperlabel._sklearn_compat import check_method_params
from hyperlabel._validation import TargetLayout, per_label_values
from hyperlabel.solvers.moments.label_groups import WeightedEntries


@dataclass(frozen=True, eq=False)
class FitRows:
    """Rows to fit on; `rows` says which rows of `origin` they are, None where they are all.

    `on_off` are the weights of positives and negatives of each label (2×k), if classes are weighed.
    """

    X: Any
    Y: sparse.csr_array
    weights: np.ndarray | None
    groups: Any
    cv: Any
    params: dict[str, Any]
    rows: np.ndarray | None = None
    origin: FitRows | None = None
    on_off: np.ndarray | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every label is known everywhere and a row counts alike for all of them."""
        return self.on_off is None and not self.has_entry_weights and not np.isnan(self.Y.data).any()

    @property
    def has_entry_weights(self) -> bool:
        """Whether a row weighs differently for different labels."""
        return self.weights is not None and self.weights.ndim == 2

    def entries(self) -> WeightedEntries:
        """Return which entries of Y count, and how much."""
        return WeightedEntries.of(self.Y, self.weights, self.on_off)

    @classmethod
    def of(
        cls, X: Any, Y: sparse.csr_array, weights: Any, groups: Any, cv: Any, params: dict[str, Any]
    ) -> FitRows:
        """Take validated rows but those of which no label is known: they change nothing, not even folds."""
        return cls(X, Y, weights, groups, cv, params)._without_strangers()

    def weigh_classes(self, class_weight: Any, layout: TargetLayout) -> FitRows:
        """Weigh positives and negatives as `class_weight` says."""
        if isinstance(class_weight, str):
            counts, known = WeightedEntries.of(self.Y, self.weights).counts()
            return replace(self, on_off=balanced_weights(counts, known))
        return replace(self, on_off=class_weights(class_weight, layout))

    def _without_strangers(self) -> FitRows:
        if not self.has_entry_weights and not np.isnan(self.Y.data).any():
            return self
        Y = mask_entries(self.Y, self.weights)
        n_unknown = np.bincount(np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))[np.isnan(Y.data)])
        n_unknown.resize(Y.shape[0], refcheck=False)
        rows = np.flatnonzero(n_unknown < Y.shape[1])
        if not len(rows):
            raise ValueError("y holds no known label: every entry is NaN or has weight 0.")
        if len(rows) == Y.shape[0]:
            return replace(self, Y=Y)
        return replace(
            self,
            X=self.X[rows],
            Y=Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            groups=None if self.groups is None else np.asarray(self.groups)[rows],
            cv=splits_of_rows(self.cv, rows, Y.shape[0]),
            params=check_method_params(self.X, self.params, indices=rows),
            rows=rows,
            origin=replace(self, Y=Y),
        )

    def take(self, rows: np.ndarray) -> FitRows:
        """Return some of the rows, without groups or folds."""
        weights = None if self.weights is None else self.weights[rows]
        params = check_method_params(self.X, self.params, indices=rows)
        return FitRows(self.X[rows], self.Y[rows], weights, None, None, params, on_off=self.on_off)

    def spread(self, oof_scores: np.ndarray) -> np.ndarray:
        """Return out-of-fold scores of all rows, NaN for those left out."""
        if self.origin is None:
            return oof_scores
        all_scores = np.full(self.origin.Y.shape, np.nan)
        all_scores[self.rows] = oof_scores
        return all_scores


def known_rows_only(X: Any, Y: sparse.csr_array, groups: Any, cv: Any) -> tuple[Any, Any, Any, Any]:
    """Return rows that know a label, with their labels and groups, and splits of these rows."""
    rows = rows_with_known_labels(Y)
    if rows is None:
        return X, Y, groups, cv
    if not len(rows):
        raise ValueError("y holds no known label: there is nothing to learn from.")
    row_groups = None if groups is None else np.asarray(groups)[rows]
    return X[rows], Y[rows], row_groups, splits_of_rows(cv, rows, Y.shape[0])


def splits_of_rows(cv: Any, rows: np.ndarray, n_rows: int) -> Any:
    """Number the rows of given splits anew; other ways to split are asked about the rows that are left."""
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        return cv
    place = np.full(n_rows, -1)
    place[rows] = np.arange(len(rows))
    splits = [(place[np.asarray(train)], place[np.asarray(test)]) for train, test in cv]
    return [(train[train >= 0], test[test >= 0]) for train, test in splits]


def class_weights(spec: Any, layout: TargetLayout) -> np.ndarray | None:
    """Return the weights of positives and of negatives of each label, 2×k, from numbers or a dict."""
    if spec is None:
        return None
    n_labels = layout.n_columns
    if isinstance(spec, Mapping) and layout.kind == "binary" and set(spec) != {0, 1}:  # names both classes
        return per_label_values(spec, 2, layout.classes, name="class_weight")[::-1, None]
    if isinstance(spec, Mapping) and set(spec) == {0, 1}:
        off_and_on = per_label_values([spec[0], spec[1]], 2, None, name="class_weight")
        return np.repeat(off_and_on[::-1, None], n_labels, axis=1)
    names = layout.label_names if layout.kind == "multilabel" else layout.classes
    return np.vstack([per_label_values(spec, n_labels, names, name="class_weight"), np.ones(n_labels)])


def balanced_weights(counts: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return weights that make positives and negatives of each label weigh the same, as scikit-learn does."""
    sides = np.vstack([counts, known - counts])
    return np.divide(known, 2.0 * sides, out=np.ones(sides.shape), where=sides > 1e-12 * known)

"""Sums over samples of labels that do not all count on the same samples with the same weights.

Labels that do form a group (`solvers.moments.label_groups`), and each group has moments of its own. They add
and subtract like `RowMoments`: where two blocks group the labels differently, the common refinement is taken.

Beside the groups stand the sums over all samples that know any label, of targets and of what is known. From
them follow the evidence of λ, as if an unknown target were the mean of its label, and how scores are spread
over all samples.

Notation
--------
code        meaning                                                          shape
group_of    the group of each label                                          k
overall     sums over all samples, targets [Y | known], unknown targets 0    d×2k
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import first_mean
from hyperlabel.solvers.moments.label_groups import LabelGroup, WeightedEntries
from hyperlabel.solvers.moments.row_moments import RowMoments

FEW = 3  # unknown samples, times this, must be fewer than the known ones to be subtracted


@dataclass
class GroupedMoments:
    """Mergeable, subtractable sums of groups of labels; see the module docstring."""

    groups: list[RowMoments]
    group_of: np.ndarray
    overall: RowMoments

    rank_one_factor = None

    @classmethod
    def from_rows(
        cls,
        X: Any,
        entries: WeightedEntries,
        *,
        shift: np.ndarray | None = None,
        groups: list[np.ndarray] | None = None,
        single: bool = False,
    ) -> GroupedMoments:
        """Sum over the rows of X; `groups` may be finer than those of the entries themselves."""
        groups = entries.groups() if groups is None else groups
        row_weights = entries.row_weights
        rows = np.flatnonzero(row_weights)
        if shift is None:
            shift = np.zeros(X.shape[1]) if sparse.issparse(X) or not len(rows) else first_mean(X[rows])
        targets = sparse.hstack([entries.Y, sparse.csr_array(entries.known, dtype=np.float64)], format="csr")
        weights = None if entries.weights is None else row_weights[rows]
        options: Any = {"shift": shift, "single": single}
        overall = RowMoments.from_rows(X[rows], targets[rows], sample_weight=weights, **options)
        own_weights = entries.on_off is not None or entries.has_entry_weights
        group_of = np.empty(entries.Y.shape[1], dtype=np.int64)
        group_moments = []
        for index, group in enumerate(entries.each_group(groups)):
            group_of[group.labels] = index
            n_unknown = len(rows) - len(group.rows)
            if not own_weights and FEW * n_unknown < len(group.rows):
                unknown_rows = np.setdiff1d(rows, group.rows, assume_unique=True)
                group_moments.append(_leave_out(overall, X, group, unknown_rows, entries.weights, options))
            else:
                group_moments.append(
                    RowMoments.from_rows(X[group.rows], group.targets, sample_weight=group.weights, **options)
                )
        return cls(group_moments, group_of, overall)

    @classmethod
    def of_plain(cls, moments: RowMoments) -> GroupedMoments:
        """Return the sums of labels that are all known, as one group."""
        k = moments.cross.shape[1]
        overall = replace(
            moments.copy(),
            cross=np.hstack([moments.cross, np.repeat(moments.sum_x[:, None], k, axis=1)]),
            sum_targets=np.append(moments.sum_targets, np.full(k, moments.weight)),
            target_gram=None,
        )
        group = replace(moments.copy(), target_gram=None)
        return cls([group], np.zeros(k, dtype=np.int64), overall)

    # -- reading ----------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of samples that know any label."""
        return self.overall.n

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.overall.n_features

    @property
    def shift(self) -> np.ndarray:
        """The point that samples are summed around."""
        return self.overall.shift

    @property
    def sum_targets(self) -> np.ndarray:
        """Weight of the positives of each label."""
        return self.overall.sum_targets[: len(self.group_of)]

    @property
    def weight(self) -> np.ndarray:
        """Weight of the samples that know each label."""
        return self.overall.sum_targets[len(self.group_of) :]

    @property
    def peak(self) -> float:
        """Largest trace of a Gram these sums ever held."""
        return self.overall.peak

    def labels_of(self, group: int) -> np.ndarray:
        """Return the labels of a group."""
        return np.flatnonzero(self.group_of == group)

    def digits_kept(self) -> float:
        """Return the decimal digits that the worst of the sums has left."""
        filled_sums = [sums for sums in (*self.groups, self.overall) if sums.weight > 0]
        return min((sums.digits_kept() for sums in filled_sums), default=0.0)

    def sums(self) -> GroupedMoments:
        """Return these moments, as `StoredRows` forms them."""
        return self

    def take_over(self, other: Any) -> None:
        """Take nothing over: no factor follows these sums."""

    def filled(self) -> tuple[RowMoments, np.ndarray]:
        """Return sums over all samples, unknown targets at the share of their label, and the shares."""
        sums, k = self.overall, len(self.group_of)
        shares = np.divide(self.sum_targets, self.weight, out=np.zeros(k), where=self.weight > 0)
        unknown_x = sums.sum_x[:, None] - sums.cross[:, k:]
        filled_sums = replace(
            sums,
            cross=sums.cross[:, :k] + unknown_x * shares,
            sum_targets=self.sum_targets + (sums.weight - self.weight) * shares,
        )
        return filled_sums, shares

    # -- adding and subtracting -----------------------------------------------------------------

    def copy(self) -> GroupedMoments:
        """Return an independent copy."""
        return GroupedMoments(
            [sums.copy() for sums in self.groups], self.group_of.copy(), self.overall.copy()
        )

    def __add__(self, other: Any) -> GroupedMoments:
        return self.copy().add(other)

    def __sub__(self, other: Any) -> GroupedMoments:
        return self.copy().subtract(other)

    def add(self, other: GroupedMoments | RowMoments) -> GroupedMoments:
        """Add in place."""
        return self._combine(other, "add")

    def subtract(self, other: GroupedMoments | RowMoments) -> GroupedMoments:
        """Subtract in place: the samples of `other` must be among those summed here."""
        return self._combine(other, "subtract")

    def _combine(self, other: GroupedMoments | RowMoments, step: str) -> GroupedMoments:
        if isinstance(other, RowMoments):
            other = GroupedMoments.of_plain(other)
        if self.overall.cross.shape != other.overall.cross.shape:
            raise ValueError("These moments do not fit together: they differ in their features or labels.")
        getattr(self.overall, step)(other.overall)
        refined_groups: list[RowMoments] = []
        refined_group_of = np.empty_like(self.group_of)
        pairs = np.stack([self.group_of, other.group_of])
        for own_group, other_group in np.unique(pairs, axis=1).T:
            labels = np.flatnonzero((pairs[0] == own_group) & (pairs[1] == other_group))
            own_sums = _select(self.groups[own_group], np.searchsorted(self.labels_of(own_group), labels))
            other_sums = _select(
                other.groups[other_group], np.searchsorted(other.labels_of(other_group), labels)
            )
            refined_group_of[labels] = len(refined_groups)
            refined_groups.append(getattr(own_sums, step)(other_sums))
        self.groups, self.group_of = refined_groups, refined_group_of
        return self

    def select_labels(self, labels: Iterable[int]) -> GroupedMoments:
        """Return the sums of some of the labels."""
        chosen = np.array(list(labels), dtype=np.int64)
        k = len(self.group_of)
        kept_groups = np.unique(self.group_of[chosen])
        groups, group_of = [], np.empty(len(chosen), dtype=np.int64)
        for index, group in enumerate(kept_groups):
            members = np.flatnonzero(self.group_of[chosen] == group)
            group_of[members] = index
            places = np.searchsorted(self.labels_of(group), chosen[members])
            groups.append(_select(self.groups[group], places))
        return GroupedMoments(groups, group_of, _select(self.overall, np.append(chosen, k + chosen)))

    def with_label(self, cross: np.ndarray, count: float) -> GroupedMoments:
        """Return the sums with one more label, known of all samples; `cross`, `count`: of its positives."""
        sums, k = self.overall, len(self.group_of)
        label_sums = replace(
            _select(sums, np.zeros(0, dtype=np.int64)), cross=cross[:, None], sum_targets=np.array([count])
        )
        overall = replace(
            sums.copy(),
            cross=np.column_stack([sums.cross[:, :k], cross, sums.cross[:, k:], sums.sum_x]),
            sum_targets=np.concatenate([sums.sum_targets[:k], [count], sums.sum_targets[k:], [sums.weight]]),
        )
        group_of = np.append(self.group_of, len(self.groups))
        return GroupedMoments([*[group.copy() for group in self.groups], label_sums], group_of, overall)

    def check_shapes(self, n_labels: int) -> None:
        """Refuse sums whose parts do not belong together, as a file might hold."""
        d, group_of = self.n_features, np.asarray(self.group_of)
        if group_of.shape != (n_labels,) or not np.isin(group_of, np.arange(len(self.groups))).all():
            raise ValueError(f"group_of must name one of {len(self.groups)} groups for {n_labels} labels.")
        widths = [(self.overall, 2 * n_labels)]
        widths += [(sums, int((group_of == index).sum())) for index, sums in enumerate(self.groups)]
        for sums, width in widths:
            shapes = [np.shape(sums.gram), np.shape(sums.cross), np.shape(sums.sum_x), np.shape(sums.shift)]
            if shapes != [(d, d), (d, width), (d,), (d,)] or np.shape(sums.sum_targets) != (width,):
                raise ValueError(f"The sums of a group have shapes {shapes} for {width} labels.")

    # -- plain arrays -----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays, for a file."""
        arrays = {"group_of": self.group_of}
        for prefix, sums in (("overall", self.overall), *enumerate(self.groups)):
            arrays |= {f"{prefix}.{name}": value for name, value in sums.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> GroupedMoments:
        """Return the sums that `to_arrays` took apart."""
        parts: dict[str, dict[str, np.ndarray]] = {}
        for name, value in arrays.items():
            if "." in name:
                prefix, field_name = name.split(".")
                parts.setdefault(prefix, {})[field_name] = value
        overall = RowMoments.from_arrays(parts.pop("overall"))
        groups = [RowMoments.from_arrays(parts[str(index)]) for index in range(len(parts))]
        return cls(groups, np.asarray(arrays["group_of"]), overall)


Sums = RowMoments | GroupedMoments


def add_sums(own: Any, other: Any) -> Any:
    """Add moments in place where they are of one kind; else return the grouped sum."""
    if isinstance(own, RowMoments) and isinstance(other, GroupedMoments):
        own = GroupedMoments.of_plain(own)
    return own.add(other)


def subtract_sums(own: Any, other: Any) -> Any:
    """Subtract moments in place where they are of one kind; else return the grouped difference."""
    if isinstance(own, RowMoments) and isinstance(other, GroupedMoments):
        own = GroupedMoments.of_plain(own)
    return own.subtract(other)


def sums_from_arrays(arrays: dict[str, np.ndarray]) -> Any:
    """Return the moments that `to_arrays` took apart, of either kind."""
    return (GroupedMoments if "group_of" in arrays else RowMoments).from_arrays(arrays)


def grouped_bytes(n_features: int, n_labels: int, n_groups: int) -> int:
    """Return the memory of the sums of so many groups."""
    return 8 * n_features * ((n_groups + 1) * n_features + 3 * n_labels)


def _select(sums: RowMoments, columns: np.ndarray) -> RowMoments:
    """Return a copy of the sums of some columns."""
    return replace(
        sums,
        sum_x=sums.sum_x.copy(),
        gram=sums.gram.copy(),
        cross=sums.cross[:, columns],
        sum_targets=sums.sum_targets[columns],
        target_gram=None,
    )


def _leave_out(
    overall: RowMoments,
    X: Any,
    group: LabelGroup,
    unknown_rows: np.ndarray,
    weights: np.ndarray | None,
    options: Any,
) -> RowMoments:
    """Return the sums of a group that knows most samples: all of them less the few others."""
    known_sums = _select(overall, group.labels)
    if not len(unknown_rows):
        return known_sums
    no_targets = sparse.csr_array((len(unknown_rows), len(group.labels)))
    unknown_weights = None if weights is None else weights[unknown_rows]
    return known_sums.subtract(
        RowMoments.from_rows(X[unknown_rows], no_targets, sample_weight=unknown_weights, **options)
    )

"""Columns of labels in moments and layouts: chosen, renamed, merged, found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._validation import TargetLayout
from hyperlabel.solvers.moments.grouped_moments import GroupedMoments
from hyperlabel.solvers.moments.stored_rows import StoredRows


def select_columns(m: Any, columns: list[int]) -> Any:
    """Return the sums of some columns of the factor."""
    if isinstance(m, (StoredRows, GroupedMoments)):
        return m.select_labels(columns)
    target_gram = None if m.target_gram is None else m.target_gram[np.ix_(columns, columns)]
    return replace(m, cross=m.cross[:, columns], sum_targets=m.sum_targets[columns], target_gram=target_gram)


def with_names(layout: TargetLayout, names: list[str]) -> TargetLayout:
    """Return the layout with other label names."""
    return replace(layout, classes=np.arange(len(names)), label_names=np.array(names, dtype=object))


def rename_labels(names: list[str], rename: Mapping[str, str]) -> list[str]:
    """Return the names after renaming, each once."""
    for old in rename:
        find_label(names, old)
    new_names = [rename.get(name, name) for name in names]
    repeated_name = next((name for j, name in enumerate(new_names) if name in new_names[:j]), None)
    if repeated_name is not None:
        raise ValueError(f"The model already has a label {repeated_name!r}.")
    return new_names


def find_label(names: list[str], name: str) -> int:
    """Return the column of a label, or refuse a name there is not."""
    if name not in names:
        raise ValueError(f"The model has no label {name!r}; label_names_ lists them.")
    return names.index(name)


def edit_columns(
    m: Any,
    names: list[str],
    rename: Mapping[str, str] | None,
    merge: Mapping[str, str] | None,
    drop: Sequence[str],
) -> tuple[Any, list[str], list[int]]:
    """Return the moments and names with labels renamed, merged and dropped, and the old columns that stay."""
    merged: list[str] = []
    names, n_old = rename_labels(names, rename or {}), len(names)
    if merge:
        m, names, merged = merge_labels(m, names, merge)
    dropped_columns = {find_label(names, name) for name in (*merged, *drop)}
    if len(dropped_columns) == len(names):
        raise ValueError("The last label cannot be dropped.")
    kept_columns = [j for j in range(len(names)) if j not in dropped_columns]
    old_columns = [j for j in kept_columns if j < n_old]
    return select_columns(m, kept_columns), [names[j] for j in kept_columns], old_columns


# -- several labels become one ------------------------------------------------------------------------


def merge_labels(m: Any, names: list[str], merge: Mapping[str, str]) -> tuple[Any, list[str], list[str]]:
    """Return the moments and names with the columns that labels merge into, and the labels merged.

    A column that a label had keeps its place, new ones are the last; the labels merged are still there.
    """
    members_of: dict[str, list[int]] = {}
    for old, into in merge.items():
        if into in merge:
            raise ValueError(f"{into!r} is merged itself: name the label that all of them become.")
        members_of.setdefault(into, []).append(find_label(names, old))
    new_names = [*names, *(into for into in members_of if into not in names)]
    columns = [[j] for j in range(len(names))] + [[] for _ in new_names[len(names) :]]
    for into, members in members_of.items():
        own_column = [names.index(into)] if into in names else []
        columns[new_names.index(into)] = _find_union(m, [*own_column, *members], names)
    return _add_columns(m, columns), new_names, list(merge)


def _find_union(m: Any, members: list[int], names: list[str]) -> list[int]:
    """Return labels that never meet and have the rows of all `members`; refuse where the rows must say."""
    if isinstance(m, StoredRows):  # which say
        return members
    gram = None if isinstance(m, GroupedMoments) else m.target_gram
    if gram is None:
        raise ValueError(
            f"Whether {names[members[0]]!r} and {names[members[1]]!r} meet only the rows know, and these "
            "moments hold no label co-occurrence: merge them in Moments, or fit anew on the rows."
        )
    slack = 1e-9 * max(float(np.abs(m.sum_targets).max(initial=0.0)), 1.0)
    if np.abs(np.diag(gram)[members] - m.sum_targets[members]).max() > slack:
        raise ValueError("Shares between 0 and 1 have no union: fit anew on the rows.")
    union = list(members)
    for a in members:  # whose rows all carry another of them adds nothing
        if any(abs(gram[a, b] - gram[a, a]) <= slack for b in union if b != a):
            union.remove(a)
    for a in union:
        b = next((other for other in union if other != a and gram[a, other] > slack), None)
        if b is not None:
            raise ValueError(
                f"{names[a]!r} and {names[b]!r} meet, and what their rows have in common only the rows know: "
                "fit anew on the rows, with the two as one label."
            )
    return union


def _add_columns(m: Any, columns: list[list[int]]) -> Any:
    """Return moments whose columns are sums of columns, of stored rows their unions."""
    picked = np.concatenate([np.asarray(members, dtype=np.int64) for members in columns])
    at = np.repeat(np.arange(len(columns)), [len(members) for members in columns])
    shape = (len(m.sum_targets), len(columns))
    T = sparse.csc_array((np.ones(len(picked)), (picked, at)), shape=shape)
    if isinstance(m, StoredRows):
        if not np.isin(m.Y.data, (0.0, 1.0)).all():
            raise ValueError("Labels that are unknown in some rows, or shares, have no union: fit anew.")
        Y = sparse.csr_array(m.Y @ T)
        return StoredRows(m.X, Y.minimum(1.0).tocsr(), m.sample_weight)
    target_gram = None if m.target_gram is None else np.asarray(T.T @ np.asarray(m.target_gram @ T))
    return replace(
        m, cross=np.asarray(m.cross @ T), sum_targets=np.asarray(m.sum_targets @ T), target_gram=target_gram
    )

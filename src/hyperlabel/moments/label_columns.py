"""Columns of labels in moments and layouts: chosen, renamed, found by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

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

"""Join labels that differ only in case or blanks under the spelling used most."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any


def spelling_key(name: str) -> str:
    """Return what stays of a label when case and blanks do not count."""
    return " ".join(name.split()).casefold()


def spelling_variants(names: Sequence[str]) -> list[list[str]]:
    """Return the spellings of each label that has several."""
    names_by_key: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        names_by_key[spelling_key(name)].append(name)
    return [spellings for spellings in names_by_key.values() if len(spellings) > 1]


def join_variants(data: Any) -> Any:
    """Return a data set in which every label has one spelling: the one on most rows."""
    import numpy as np

    label_names = list(data.label_names)
    label_counts = np.asarray(data.Y.sum(axis=0)).ravel()
    column_of_key: dict[str, int] = {}
    for j, name in enumerate(label_names):
        key = spelling_key(name)
        if key not in column_of_key or label_counts[j] > label_counts[column_of_key[key]]:
            column_of_key[key] = j
    kept_columns = sorted(column_of_key.values(), key=lambda j: label_names[j])
    if len(kept_columns) == len(label_names):
        return data
    new_column_of_key = {spelling_key(label_names[j]): i for i, j in enumerate(kept_columns)}
    target_columns = [new_column_of_key[spelling_key(name)] for name in label_names]
    Y, missing = move_columns(data.Y, target_columns, len(kept_columns)) > 0, data.missing
    if missing is not None:  # missing in some spelling, set in none
        missing = (move_columns(missing, target_columns, len(kept_columns)) > 0).astype(np.int8)
        missing = missing - missing.multiply(Y)
    return replace(data, Y=Y, label_names=[label_names[j] for j in kept_columns], missing=missing)


def move_columns(Y: Any, target: Sequence[int], count: int) -> Any:
    """Return Y with column j moved to `target[j]` (−1: dropped); columns of one target are added."""
    import numpy as np
    from scipy import sparse

    moved = np.flatnonzero(np.array(target) >= 0)
    column_map = (np.ones(len(moved), dtype=np.int64), (moved, np.array(target, dtype=np.int64)[moved]))
    return sparse.csr_array(Y @ sparse.csr_array(column_map, shape=(Y.shape[1], count)))

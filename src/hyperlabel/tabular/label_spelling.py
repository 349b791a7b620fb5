"""Labels that differ only in case or blanks: found, and joined under the spelling used most."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any


def spelling_key(name: str) -> str:
    """Return what stays of a label when case and blanks do not count."""
    return " ".join(name.split()).casefold()


def spelling_variants(names: Sequence[str]) -> list[list[str]]:
    """Return the spellings of each label that has several."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        found[spelling_key(name)].append(name)
    return [spellings for spellings in found.values() if len(spellings) > 1]


def join_variants(data: Any) -> Any:
    """Return a data set in which every label has one spelling: the one on most rows."""
    import numpy as np

    names = list(data.label_names)
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    best: dict[str, int] = {}
    for j, name in enumerate(names):
        key = spelling_key(name)
        if key not in best or counts[j] > counts[best[key]]:
            best[key] = j
    kept = sorted(best.values(), key=lambda j: names[j])
    if len(kept) == len(names):
        return data
    place = {spelling_key(names[j]): i for i, j in enumerate(kept)}
    target = [place[spelling_key(name)] for name in names]
    Y, unknown = move_columns(data.Y, target, len(kept)) > 0, data.missing
    if unknown is not None:  # in some spelling, and on in none
        unknown = (move_columns(unknown, target, len(kept)) > 0).astype(np.int8)
        unknown = unknown - unknown.multiply(Y)
    return replace(data, Y=Y, label_names=[names[j] for j in kept], missing=unknown)


def move_columns(Y: Any, target: Sequence[int], count: int) -> Any:
    """Return Y with each column where `target` says (nowhere: −1), sums where several go to one place."""
    import numpy as np
    from scipy import sparse

    known = np.flatnonzero(np.array(target) >= 0)
    where = (np.ones(len(known), dtype=np.int64), (known, np.array(target, dtype=np.int64)[known]))
    return sparse.csr_array(Y @ sparse.csr_array(where, shape=(Y.shape[1], count)))

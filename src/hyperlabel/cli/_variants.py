"""Labels that differ only in case or blanks: found, and joined under the spelling used most."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any


def key_of(name: str) -> str:
    """Return what stays of a label when case and blanks do not count."""
    return " ".join(name.split()).casefold()


def variants(names: Sequence[str]) -> list[list[str]]:
    """Return the spellings of each label that has several."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        found[key_of(name)].append(name)
    return [spellings for spellings in found.values() if len(spellings) > 1]


def join_variants(data: Any) -> Any:
    """Return a data set in which every label has one spelling: the one on most rows."""
    import numpy as np
    from scipy import sparse

    names = list(data.label_names)
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    best: dict[str, int] = {}
    for j, name in enumerate(names):
        key = key_of(name)
        if key not in best or counts[j] > counts[best[key]]:
            best[key] = j
    kept = sorted(best.values(), key=lambda j: names[j])
    if len(kept) == len(names):
        return data
    place = {key_of(names[j]): i for i, j in enumerate(kept)}
    columns = np.array([place[key_of(name)] for name in names])
    Y = data.Y.tocoo()
    joined = sparse.csr_array((np.ones(Y.nnz), (Y.row, columns[Y.col])), shape=(len(data), len(kept)))
    joined.data[:] = 1
    return replace(
        data, Y=joined, label_names=[names[j] for j in kept], unknown=_joined(data, columns, joined)
    )


def _joined(data: Any, columns: Any, Y: Any) -> Any:
    """Entries nobody knows: those unknown in some spelling and on in none."""
    import numpy as np
    from scipy import sparse

    if data.unknown is None:
        return None
    U = data.unknown.tocoo()
    unknown = sparse.csr_array((np.ones(U.nnz), (U.row, columns[U.col])), shape=Y.shape)
    return (unknown > 0).astype(np.int8) - (unknown > 0).astype(np.int8).multiply(Y > 0)

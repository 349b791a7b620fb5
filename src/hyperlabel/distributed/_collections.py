"""Row blocks of Dask arrays, dataframes and series, dense or sparse, aligned with each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed
from scipy import sparse


@dataclass(frozen=True)
class RowBlocks:
    """Delayed blocks of rows, each a list of pieces side by side, and their sizes (NaN: unknown)."""

    blocks: list[list[Any]]
    sizes: list[float]

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def known(self) -> bool:
        """Whether every block's number of rows is known before it is computed."""
        return not np.isnan(self.sizes).any()


def row_blocks(collection: Any, name: str) -> RowBlocks:
    """Take a Dask collection apart into row blocks."""
    if not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask array, dataframe or series, got {type(collection).__name__}; for data in "
            "memory call the estimator's own fit."
        )
    pieces = collection.to_delayed()
    if isinstance(pieces, list):  # a dataframe: partitions of unknown length
        return RowBlocks([[piece] for piece in pieces], [float("nan")] * len(pieces))
    pieces = np.asarray(pieces, dtype=object)
    pieces = pieces.reshape(pieces.shape[0], -1)
    return RowBlocks([list(row) for row in pieces], [float(size) for size in collection.chunks[0]])


def align(other: RowBlocks, like: RowBlocks, name: str) -> list[list[tuple[list[Any], int, int | None]]]:
    """Cut the rows of `other` at the blocks of `like`: for each block its (pieces, start, stop)."""
    if other.known and like.known:
        if sum(other.sizes) != sum(like.sizes):
            raise ValueError(f"X has {sum(like.sizes):.0f} rows but {name} has {sum(other.sizes):.0f}.")
        return _cut(other, like)
    if len(other) != len(like):
        raise ValueError(
            f"X has {len(like)} partitions but {name} has {len(other)}, and their lengths are unknown: "
            "give both the same partitions."
        )
    return [[(pieces, 0, None)] for pieces in other.blocks]


def _cut(other: RowBlocks, like: RowBlocks) -> list[list[tuple[list[Any], int, int | None]]]:
    ends = np.concatenate([[0], np.cumsum(other.sizes)]).astype(int)
    cuts: list[list[tuple[list[Any], int, int | None]]] = []
    start = 0
    for size in like.sizes:
        stop = start + int(size)
        inside = [i for i in range(len(other)) if ends[i] < stop and ends[i + 1] > start]
        cuts.append(
            [
                (other.blocks[i], max(start - int(ends[i]), 0), min(stop, int(ends[i + 1])) - int(ends[i]))
                for i in inside
            ]
        )
        start = stop
    return cuts


def join_columns(pieces: list[Any]) -> Any:
    """Put computed pieces side by side."""
    if len(pieces) == 1:
        return pieces[0]
    return sparse.hstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.hstack(pieces)


def join_rows(parts: list[tuple[list[Any], int, int | None]]) -> Any:
    """Put computed, cut parts on top of each other."""
    blocks = [_slice(join_columns(pieces), start, stop) for pieces, start, stop in parts]
    if len(blocks) == 1:
        return blocks[0]
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)


def _slice(block: Any, start: int, stop: int | None) -> Any:
    whole = start == 0 and (stop is None or stop == block.shape[0])
    if whole:
        return block
    return sparse.csr_array(block)[start:stop] if sparse.issparse(block) else block[start:stop]


def tree_reduce(parts: list[Any], add: Any, *, every: int = 4) -> Any:
    """Add delayed parts in a fixed tree: the same sum whichever worker does what."""
    add = delayed(add, pure=False)
    while len(parts) > 1:
        parts = [add(parts[i : i + every]) for i in range(0, len(parts), every)]
    return parts[0]

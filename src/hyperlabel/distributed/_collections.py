"""Row blocks of Dask arrays, dataframes and series, dense or sparse, aligned with each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed


@dataclass(frozen=True)
class RowBlocks:
    """Delayed blocks of rows, and their sizes (NaN: unknown before they are computed)."""

    blocks: list[Any]
    sizes: list[float]


def collection_blocks(collection: Any, name: str, like: RowBlocks | None = None) -> RowBlocks:
    """Return the row blocks of a Dask collection; those of `like`, where their sizes are known."""
    if not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask array, dataframe or series, got {type(collection).__name__}; for data in "
            "memory call the estimator's own fit."
        )
    if hasattr(collection, "chunks"):
        if collection.ndim > 1:
            collection = collection.rechunk({1: -1})
        if like is not None and not np.isnan([*collection.chunks[0], *like.sizes]).any():
            if collection.shape[0] != sum(like.sizes):
                raise ValueError(f"X has {sum(like.sizes):.0f} rows but {name} has {collection.shape[0]}.")
            collection = collection.rechunk({0: tuple(map(int, like.sizes))})
        row_blocks = RowBlocks(list(np.ravel(collection.to_delayed())), list(collection.chunks[0]))
    else:  # a dataframe: partitions of unknown length
        frame_partitions = collection.to_delayed()
        row_blocks = RowBlocks(frame_partitions, [float("nan")] * len(frame_partitions))
    if like is not None and len(row_blocks.blocks) != len(like.blocks):
        raise ValueError(
            f"X has {len(like.blocks)} partitions but {name} has {len(row_blocks.blocks)}, and their lengths "
            "are unknown: give both the same partitions."
        )
    return row_blocks


def tree_reduce(block_sums: list[Any], add_blocks: Any) -> Any:
    """Add delayed block sums in a fixed tree: the same rounding whichever worker does what."""
    add_blocks = delayed(add_blocks, pure=False)
    while len(block_sums) > 1:
        block_sums = [add_blocks(block_sums[i : i + 4]) for i in range(0, len(block_sums), 4)]
    return block_sums[0]

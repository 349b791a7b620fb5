"""What this machine has in memory, and what moments of many groups of labels would take of it."""

import os

import numpy as np

from hyperlabel.solvers.moments.grouped_moments import grouped_bytes


def machine_memory() -> float:
    """Return the bytes of memory that this machine has, ∞ where it does not say."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else np.inf


def refuse_many_groups(d: int, k: int, n_groups: int, memory_limit: float | None) -> None:
    """One sentence where moments of so many groups of labels would not fit into memory."""
    needed, limit = grouped_bytes(d, k, n_groups), machine_memory() if memory_limit is None else memory_limit
    if needed > limit:
        raise ValueError(
            f"The labels have {n_groups} patterns of gaps and weights, and moments keep XᵀX for each: "
            f"{needed / 1e9:.1f} GB, more than the {limit / 1e9:.1f} GB allowed. Use fit on rows in memory, "
            "which solves one pattern after the other."
        )

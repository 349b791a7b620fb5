"""From scores of label sets to scores of labels.

A model that scores whole label sets (vertices v_c of the cube) ranks labels by the best set
with the label against the best set without it: the difference is positive exactly where the
best set of all has the label.
"""

from typing import Any

import numpy as np

from hyperlabel.solvers.compiling import check_rows, compiled, csr_parts

TINY = 1e-300  # tells a label of the best set, tied with another set, from one outside it


def best_with_and_without(S: np.ndarray, vertices: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the best score among the vertices with (without) each label, two n×K arrays.

    −inf where no vertex has (lacks) the label.
    """
    n, K = len(S), vertices.shape[1]
    check_rows(vertices)
    if S.shape[1] != vertices.shape[0]:  # compiled code trusts it
        raise ValueError(f"S scores {S.shape[1]} vertices, there are {vertices.shape[0]}.")
    on, off = np.full((n, K), -np.inf), np.full((n, K), -np.inf)
    S = np.ascontiguousarray(S, dtype=np.float64)
    _best_vertex(S, *csr_parts(vertices)[:2], on, off)
    return on, off


def label_margins(on: np.ndarray, off: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Turn best scores into margins that are positive exactly on the chosen sets."""
    has, lacks = np.isfinite(on), np.isfinite(off)  # some vertex either has or lacks the label
    both = np.stack([np.where(has, on, off), np.where(lacks, off, on)])
    high = both.max(axis=(0, 2))[:, None]
    beyond = high - both.min(axis=(0, 2))[:, None] + 1.0  # more than any margin between two vertices
    margin = np.where(has, on, high - beyond) - np.where(lacks, off, high - beyond)
    return np.where(chosen, np.maximum(margin, TINY), np.minimum(margin, 0.0))


@compiled
def _best_vertex(S, indptr, indices, on, off):
    n, C = S.shape
    K = on.shape[1]
    stamp = np.full(K, -1, np.int64)
    for row in range(n):
        top = np.argmax(S[row])
        for k in range(K):
            off[row, k] = S[row, top]  # right for every label outside the best set
        for q in range(indptr[top], indptr[top + 1]):
            off[row, indices[q]] = -np.inf
        for c in range(C):
            s = S[row, c]
            for q in range(indptr[c], indptr[c + 1]):
                k = indices[q]
                stamp[k] = c
                on[row, k] = max(on[row, k], s)
            for q in range(indptr[top], indptr[top + 1]):
                k = indices[q]
                if stamp[k] != c:
                    off[row, k] = max(off[row, k], s)
        stamp[:] = -1

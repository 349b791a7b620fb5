"""From scores of label sets to scores of labels.

A model that scores whole label sets (vertices v_c of the cube) ranks labels by the best set
with the label against the best set without it: the difference is positive exactly where the
best set of all has the label.
"""

from typing import Any

import numpy as np

from hyperlabel.solvers.compiling import check_csr_indices, compiled, csr_parts

TINY = 1e-300  # tells a label of the best set, tied with another set, from one outside it


def best_with_and_without(S: np.ndarray, vertices: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the best score among the vertices with (without) each label, two n×K arrays.

    −inf where no vertex has (lacks) the label.
    """
    n, K = len(S), vertices.shape[1]
    check_csr_indices(vertices)
    if S.shape[1] != vertices.shape[0]:  # compiled code trusts it
        raise ValueError(f"S scores {S.shape[1]} vertices, there are {vertices.shape[0]}.")
    best_with, best_without = np.full((n, K), -np.inf), np.full((n, K), -np.inf)
    S = np.ascontiguousarray(S, dtype=np.float64)
    best_vertices, last_vertex = S.argmax(axis=1), np.full(K, -1, dtype=np.int64)
    _fill_best_scores(S, *csr_parts(vertices)[:2], best_vertices, last_vertex, best_with, best_without)
    return best_with, best_without


def label_margins(best_with: np.ndarray, best_without: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Turn best scores into margins that are positive exactly on the chosen sets."""
    some_have, some_lack = (
        np.isfinite(best_with),
        np.isfinite(best_without),
    )  # some vertex either has or lacks the label
    finite_scores = np.stack(
        [np.where(some_have, best_with, best_without), np.where(some_lack, best_without, best_with)]
    )
    highest_score = finite_scores.max(axis=(0, 2))[:, None]
    beyond_margin = (
        highest_score - finite_scores.min(axis=(0, 2))[:, None] + 1.0
    )  # more than any margin between two vertices
    label_margin = np.where(some_have, best_with, highest_score - beyond_margin) - np.where(
        some_lack, best_without, highest_score - beyond_margin
    )
    return np.where(chosen, np.maximum(label_margin, TINY), np.minimum(label_margin, 0.0))


@compiled
def _fill_best_scores(S, indptr, indices, best_vertices, last_vertex, best_with, best_without):
    n, C = S.shape
    K = best_with.shape[1]
    for row in range(n):
        best_vertex = best_vertices[row]
        for k in range(K):
            best_without[row, k] = S[row, best_vertex]  # right for every label outside the best set
        for q in range(indptr[best_vertex], indptr[best_vertex + 1]):
            best_without[row, indices[q]] = -np.inf
        for c in range(C):
            s = S[row, c]
            for q in range(indptr[c], indptr[c + 1]):
                k = indices[q]
                last_vertex[k] = c
                best_with[row, k] = max(best_with[row, k], s)
            for q in range(indptr[best_vertex], indptr[best_vertex + 1]):
                k = indices[q]
                if last_vertex[k] != c:
                    best_without[row, k] = max(best_without[row, k], s)
        for k in range(K):
            last_vertex[k] = -1

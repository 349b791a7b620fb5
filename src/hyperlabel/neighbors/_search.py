"""Neighbours in any metric scikit-learn knows, a bounded block of distances at a time."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import pairwise_distances

from hyperlabel.solvers.arrays import BLOCK_BYTES, row_blocks
from hyperlabel.solvers.neighbors.nearest import Nearest, solve_nearest, update_nearest

_EUCLIDEAN = ("euclidean", "l2")
# scikit-learn computes these on sparse rows; for the others blocks are densified.
_SPARSE_METRICS = ("cityblock", "l1", "manhattan", "cosine", "precomputed")


def find_neighbors(
    X: Any,
    T: Any,
    k: int,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    skip: np.ndarray | None = None,
) -> Nearest:
    """Find the k rows of T nearest to each row of X; ties to the lowest index, never row `skip`.

    With ``metric="precomputed"`` X holds the distances to all rows of T.
    """
    if isinstance(metric, str) and metric in _EUCLIDEAN and not metric_params:
        return solve_nearest(X, T, k, skip=skip)
    n_queries, n = X.shape[0], T.shape[0]
    skip = np.full(n_queries, -1) if skip is None else np.asarray(skip)
    nearest = Nearest.nothing_yet(n_queries, k)
    densify = sparse.issparse(X) and (callable(metric) or metric not in _SPARSE_METRICS)
    train_rows = max(1, BLOCK_BYTES // (8 * X.shape[1])) if densify else n
    for start in range(0, n, train_rows):
        train_block = T[start : start + train_rows]
        train_block = train_block.toarray() if densify else train_block
        for rows in row_blocks(n_queries, 8 * max(train_block.shape[0], X.shape[1] if densify else 1)):
            block = X[rows].toarray() if densify else X[rows]
            distances = _pairwise_distances(block, train_block, metric, dict(metric_params or {}))
            block_nearest = Nearest(nearest.index[rows], nearest.distance[rows])
            update_nearest(distances, block_nearest, first=start, skip=skip[rows])
    return nearest


def _pairwise_distances(X: Any, T: Any, metric: Any, params: dict[str, Any]) -> np.ndarray:
    if isinstance(metric, str) and metric == "precomputed":
        return X.toarray() if sparse.issparse(X) else X
    with warnings.catch_warnings():  # jaccard and its like read numbers as yes and no, as meant here
        warnings.simplefilter("ignore", DataConversionWarning)
        return pairwise_distances(X, T, metric=metric, **params)

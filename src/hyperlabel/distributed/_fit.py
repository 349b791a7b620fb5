"""Fit over Dask: block sums on the workers, added in a fixed tree, one solve at the end.

What travels is the model without data (once), and d×d sums (one per block, added near where they arise).
A worker that dies takes its sums along; Dask computes them again, and since the tree of
additions is fixed, the result is the same.
"""

import copy
from functools import partial
from typing import Any

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.base import clone

from hyperlabel._params import forget_fit
from hyperlabel._validation import check_fit, check_weights
from hyperlabel.distributed._collections import collection_blocks, tree_reduce
from hyperlabel.linear import BinaryRelevance
from hyperlabel.linear.per_label import fit_labels
from hyperlabel.moments.blocks import add_scans, close_fit, open_fit, scan_block, sum_block
from hyperlabel.solvers.moments.row_moments import RowMoments


def fit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    classes: Any = None,
    client: Any = None,
    label_block: int | None = None,
    memory_limit: float | None = None,
) -> Any:
    """Fit an estimator on Dask collections; equal to the fit in memory whatever the chunks.

    Parameters
    ----------
    estimator : estimator
        Any estimator on moments (`BinaryRelevance`, `PLST`, …): its sums are taken block by block on
        the workers. ``BinaryRelevance(classifier)`` is fitted label by label, blocks of labels
        spread over the workers; each of them then holds all of X. Fitted in place.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; blocks may be dense or scipy sparse, of any number and size.
    y : dask array, dataframe or series
        Label indicator, or classes. Blocks need not match those of X if their sizes are known.
    sample_weight : dask array or series of shape (n_samples,), default=None
        Weights of the rows.
    classes : array-like, default=None
        With a 1-D y: all classes; found by a pass over y when not given.
    client : distributed.Client, default=None
        Where to compute; by default wherever Dask computes at the moment.
    label_block : int, default=None
        Labels per task for ``BinaryRelevance(classifier)``; by default 32 tasks or fewer.
    memory_limit : float, default=None
        Bytes the sums may take on one machine, by default what a worker has; more is refused.

    Returns
    -------
    estimator : object
        The fitted estimator, an ordinary one: it predicts in memory as well.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, distributed
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4)); Y = (X[:, :3] > 0).astype(int)
    >>> model = distributed.fit(
    ...     BinaryRelevance(), da.from_array(X, chunks=(25, 2)), da.from_array(Y, chunks=(20, 3))
    ... )
    >>> np.allclose(model.coef_, BinaryRelevance().fit(X, Y).coef_)
    True
    """
    blocks = _Blocks(X, y, sample_weight, client)
    if isinstance(estimator, BinaryRelevance) and estimator.estimator is not None:
        return _fit_label_blocks(estimator, blocks, label_block)
    if classes is None and getattr(y, "ndim", 2) == 1:
        found = blocks.compute([delayed(np.unique)(block) for block in blocks.y])
        classes = np.unique(np.concatenate(found))
    opened = blocks.open(estimator, classes, memory_limit)
    if opened._scans():
        opened._use_scan(blocks.total(scan_block, opened, add_scans))
    total = blocks.total(sum_block, opened, RowMoments.add)
    return close_fit(_take_over(estimator, opened), total)


def _take_over(estimator: Any, fitted: Any) -> Any:
    """Give the user's own object what its twin on a worker has become."""
    forget_fit(estimator)
    estimator.__setstate__(fitted.__getstate__())
    return estimator


class _Blocks:
    """Row blocks of X with the labels and weights that belong to them."""

    def __init__(self, X: Any, y: Any, sample_weight: Any, client: Any) -> None:
        rows = collection_blocks(X, "X")
        self.X = rows.blocks
        self.y = collection_blocks(y, "y", rows).blocks
        self.weights = [None] * len(self.X)
        if sample_weight is not None:
            self.weights = collection_blocks(sample_weight, "sample_weight", rows).blocks
        self._how = {} if client is None else {"scheduler": client}

    def compute(self, values: Any) -> Any:
        return dask.compute(values, **self._how)[0]

    def total(self, step: Any, model: Any, add: Any) -> Any:
        """Sum what a step makes of every block."""
        shared = delayed(model, pure=False)
        task = delayed(partial(_of_block, step), pure=False)
        parts = [task(shared, *block) for block in zip(self.X, self.y, self.weights, strict=True)]
        return self.compute(tree_reduce(parts, partial(_sum_blocks, add)))

    def open(self, estimator: Any, classes: Any, memory_limit: float | None) -> Any:
        """Let the first block that has rows through validation, on a worker."""
        bare = clone(estimator)
        for rows, labels in zip(self.X, self.y, strict=True):
            opened = self.compute(delayed(_open_fit, pure=False)(bare, rows, labels, classes, memory_limit))
            if opened is not None:
                return opened
        raise ValueError("X has no rows.")


def _open_fit(model: Any, X: Any, labels: Any, classes: Any, memory_limit: float | None) -> Any:
    if not X.shape[0]:
        return None
    opened = copy.copy(model)
    open_fit(opened, X, labels, classes=classes, memory_limit=memory_limit)
    return opened


def _of_block(step: Any, model: Any, X: Any, labels: Any, weights: Any) -> Any:
    """`scan_block` or `sum_block` of a block, None of an empty one."""
    return step(model, X, labels, weights) if X.shape[0] else None


def _sum_blocks(add: Any, parts: list[Any]) -> Any:
    total = None
    for part in parts:
        if part is not None:  # inputs of a task are never changed: Dask may need them again
            total = part.copy() if total is None else add(total, part)
    return total


# -- one classifier per label: blocks of labels over the workers -------------------------------------


def _fit_label_blocks(estimator: Any, blocks: _Blocks, label_block: int | None) -> Any:
    whole = delayed(_gather_rows, pure=False)(blocks.X, blocks.y, blocks.weights)
    opened = delayed(_open_labels, pure=False)(clone(estimator), whole)
    model = blocks.compute(delayed(lambda pair: pair[0], pure=False)(opened))
    labels = np.flatnonzero(model._constant == 0)
    size = label_block or max(1, -(-len(labels) // 32))
    task = delayed(_fit_labels, pure=False)
    parts = [task(opened, labels[i : i + size]) for i in range(0, len(labels), size)]
    fitted = [one for part in blocks.compute(parts) for one in part]
    model.estimators_ = [None] * len(model._constant)
    for j, one in zip(labels, fitted, strict=True):
        model.estimators_[j] = one
    return _take_over(estimator, model)


def _gather_rows(X: list[Any], y: list[Any], weights: list[Any]) -> tuple[Any, Any, Any]:
    return _stack_blocks(X), _stack_blocks(y), None if weights[0] is None else np.concatenate(weights)


def _stack_blocks(blocks: list[Any]) -> Any:
    if sparse.issparse(blocks[0]):
        return sparse.vstack(blocks, format="csr")
    if hasattr(blocks[0], "columns"):
        import pandas as pd

        return pd.concat(blocks)
    return np.concatenate(blocks)


def _open_labels(model: Any, whole: tuple[Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    model = copy.copy(model)
    X, Y, layout = check_fit(model, whole[0], whole[1])
    model._set_targets(layout, counts=Y.sum(axis=0), n_rows=Y.shape[0])
    return model, X, Y, check_weights(whole[2], X)


def _fit_labels(opened: tuple[Any, Any, Any, Any], labels: np.ndarray) -> list[Any]:
    model, X, Y, weights = opened
    return fit_labels(model, X, Y, labels, weights, {}, None)

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

from hyperlabel._missing_labels import label_counts, mean_prevalence
from hyperlabel._params import forget_fit
from hyperlabel._validation import check_fit, check_weights
from hyperlabel.distributed._collections import collection_blocks, tree_reduce
from hyperlabel.linear import BinaryRelevance
from hyperlabel.linear.fit_rows import FitRows
from hyperlabel.linear.per_label import fit_labels, labels_to_fit
from hyperlabel.moments.blocks import add_scans, close_fit, open_fit, scan_block, sum_block
from hyperlabel.solvers.moments.grouped_moments import add_sums


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
        distributed over the workers; each of them then holds all of X. Fitted in place.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; blocks may be dense or scipy sparse, of any number and size.
    y : dask array, dataframe or series
        Label indicator, or classes. Blocks need not match those of X if their sizes are known.
    sample_weight : dask array or series of shape (n_samples,), default=None
        Weights of the rows.
    classes : array-like, default=None
        With a 1-D y: all classes; collected by a pass over y when not given.
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
    row_blocks = _Blocks(X, y, sample_weight, client)
    if isinstance(estimator, BinaryRelevance) and estimator.estimator is not None:
        return _fit_label_blocks(estimator, row_blocks, label_block)
    if classes is None and getattr(y, "ndim", 2) == 1:
        block_classes = row_blocks.compute([delayed(np.unique)(block) for block in row_blocks.y])
        classes = np.unique(np.concatenate(block_classes))
    opened_model = row_blocks.open(estimator, classes, memory_limit)
    if opened_model._scans():
        opened_model._use_scan(row_blocks.total(scan_block, opened_model, add_scans))
    total_moments = row_blocks.total(sum_block, opened_model, add_sums)
    return close_fit(_copy_fitted_state(estimator, opened_model), total_moments)


def _copy_fitted_state(estimator: Any, fitted: Any) -> Any:
    """Copy the fitted state of the model from a worker into the user's object."""
    forget_fit(estimator)
    estimator.__setstate__(fitted.__getstate__())
    return estimator


class _Blocks:
    """Row blocks of X with the labels and weights that belong to them."""

    def __init__(self, X: Any, y: Any, sample_weight: Any, client: Any) -> None:
        row_blocks = collection_blocks(X, "X")
        self.X = row_blocks.blocks
        self.y = collection_blocks(y, "y", row_blocks).blocks
        self.weights = [None] * len(self.X)
        if sample_weight is not None:
            self.weights = collection_blocks(sample_weight, "sample_weight", row_blocks).blocks
        self._how = {} if client is None else {"scheduler": client}

    def compute(self, values: Any) -> Any:
        return dask.compute(values, **self._how)[0]

    def total(self, step: Any, model: Any, add: Any) -> Any:
        """Sum what a step makes of every block."""
        shared_model = delayed(model, pure=False)
        block_task = delayed(partial(_apply_to_block, step), pure=False)
        block_sums = [
            block_task(shared_model, *block) for block in zip(self.X, self.y, self.weights, strict=True)
        ]
        return self.compute(tree_reduce(block_sums, partial(_sum_blocks, add)))

    def open(self, estimator: Any, classes: Any, memory_limit: float | None) -> Any:
        """Let the first block that has rows through validation, on a worker."""
        bare_model = clone(estimator)
        for block_rows, block_labels in zip(self.X, self.y, strict=True):
            opened_model = self.compute(
                delayed(_open_fit, pure=False)(bare_model, block_rows, block_labels, classes, memory_limit)
            )
            if opened_model is not None:
                return opened_model
        raise ValueError("X has no rows.")


def _open_fit(model: Any, X: Any, labels: Any, classes: Any, memory_limit: float | None) -> Any:
    if not X.shape[0]:
        return None
    opened_model = copy.copy(model)
    open_fit(opened_model, X, labels, classes=classes, memory_limit=memory_limit)
    return opened_model


def _apply_to_block(step: Any, model: Any, X: Any, labels: Any, weights: Any) -> Any:
    """Return `scan_block` or `sum_block` of a block, None of an empty one."""
    return step(model, X, labels, weights) if X.shape[0] else None


def _sum_blocks(add: Any, block_sums: list[Any]) -> Any:
    total = None
    for block_sum in block_sums:
        if block_sum is not None:  # inputs of a task are never changed: Dask may need them again
            total = block_sum.copy() if total is None else add(total, block_sum)
    return total


# -- one classifier per label: blocks of labels over the workers -------------------------------------


def _fit_label_blocks(estimator: Any, row_blocks: _Blocks, label_block: int | None) -> Any:
    all_rows = delayed(_gather_rows, pure=False)(row_blocks.X, row_blocks.y, row_blocks.weights)
    opened_fit = delayed(_open_label_fit, pure=False)(clone(estimator), all_rows)
    model = row_blocks.compute(delayed(lambda pair: pair[0], pure=False)(opened_fit))
    fitted_labels = row_blocks.compute(delayed(lambda pair: labels_to_fit(*pair), pure=False)(opened_fit))
    block_size = label_block or max(1, -(-len(fitted_labels) // 32))
    label_task = delayed(_fit_labels, pure=False)
    block_fits = [
        label_task(opened_fit, fitted_labels[i : i + block_size])
        for i in range(0, len(fitted_labels), block_size)
    ]
    label_estimators = [
        label_estimator
        for block_estimators in row_blocks.compute(block_fits)
        for label_estimator in block_estimators
    ]
    model.estimators_ = [None] * len(model._constant)
    for j, label_estimator in zip(fitted_labels, label_estimators, strict=True):
        model.estimators_[j] = label_estimator
    return _copy_fitted_state(estimator, model)


def _gather_rows(X: list[Any], y: list[Any], weights: list[Any]) -> tuple[Any, Any, Any]:
    return _stack_blocks(X), _stack_blocks(y), None if weights[0] is None else np.concatenate(weights)


def _stack_blocks(blocks: list[Any]) -> Any:
    if sparse.issparse(blocks[0]):
        return sparse.vstack(blocks, format="csr")
    if hasattr(blocks[0], "columns"):
        import pandas as pd

        return pd.concat(blocks)
    return np.concatenate(blocks)


def _open_label_fit(model: Any, all_rows: tuple[Any, Any, Any]) -> tuple[Any, FitRows]:
    model = copy.copy(model)
    X, Y, layout = check_fit(model, all_rows[0], all_rows[1])
    rows = FitRows.of(X, Y, check_weights(all_rows[2], X, Y.shape[1]), None, None, {})
    counts, known = label_counts(rows.Y, rows.weights)
    model._set_targets(layout, counts=counts, n_rows=known)
    model._prevalence_ = mean_prevalence(counts, known)
    if model.class_weight is not None:
        rows = rows.weigh_classes(model.class_weight, layout)
    return model, rows


def _fit_labels(opened_fit: tuple[Any, FitRows], labels: np.ndarray) -> list[Any]:
    model, rows = opened_fit
    return fit_labels(model, rows, labels)

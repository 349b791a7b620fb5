"""A fit as a sum over blocks of rows: the steps that out-of-core and Dask share.

A model on moments (`MomentsModel`) is fitted in blocks as ::

    open_fit(model, X₁, y₁)                       # validation, on the first block: features and labels
    model._use_scan(Σ scan_block(model, Xᵢ, yᵢ))  # only if model._scans(): label counts and the like
    close_fit(model, Σ sum_block(model, Xᵢ, yᵢ))  # moments, then the model's own solve

Every Σ may be taken in any order and anywhere. What a model needs before it can form its factor
(label counts for a hypergraph, label co-occurrence for PLST) comes out of the scan.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._known_labels import check_same_classes, layout_of_names
from hyperlabel._labels import plain_targets
from hyperlabel._validation import check_features, check_fit, count_dimensions
from hyperlabel.moments.memory import machine_memory
from hyperlabel.moments.model import MomentsModel
from hyperlabel.solvers.arrays import first_mean

Scan = dict[str, Any]  # arrays that add


def open_fit(
    model: Any,
    X: Any,
    y: Any,
    *,
    classes: Any = None,
    label_names: Any = None,
    memory_limit: float | None = None,
    is_only_block: bool = False,
) -> None:
    """Let the first block through validation: from here on the model knows its features and labels.

    `is_only_block` says that no other follows: the classes of a 1-D y are those it holds.
    """
    if not isinstance(model, MomentsModel):
        raise TypeError(
            f"{type(model).__name__} cannot be fitted from blocks of rows: it is not a function of sums."
        )
    refusal = model._refuses_blocks()
    if refusal:
        raise ValueError(refusal)
    if classes is not None and label_names is None:
        X, layout = check_features(model, X, reset=True), layout_of_names(y, classes)
    else:
        y = plain_targets(y)
        is_column_vector = (
            label_names is None
            and count_dimensions(y) == 2
            and not sparse.issparse(y)
            and np.shape(y)[1] == 1
        )
        if (is_column_vector or count_dimensions(y) == 1) and not is_only_block:
            raise ValueError("With a 1-D y pass classes=, all the classes that will ever come.")
        X, _, layout = check_fit(model, X, y)
    refuse_large(X.shape[1], layout.n_columns, model._keeps_target_gram, memory_limit)
    if label_names is not None:
        if len(label_names) != len(layout.label_names):
            raise ValueError(f"{len(label_names)} labels are named, y has {len(layout.label_names)}.")
        layout = replace(layout, label_names=np.asarray(label_names, dtype=object))
        check_same_classes(label_names if classes is None else classes, layout)
    model._set_targets(layout, counts=np.zeros(layout.n_columns), n_rows=0)
    model._block_shift = np.zeros(X.shape[1]) if sparse.issparse(X) else first_mean(X)


def scan_block(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Scan:
    """Return what the model wants to know of a block before it can form its factor."""
    X, Y, weights = _check_block(model, X, y, sample_weight)
    return model._scan(X, Y, weights)


def add_scans(total: Scan, block_scan: Scan) -> Scan:
    """Add two scans, name by name."""
    return {name: total[name] + block_scan[name] for name in total}


def sum_block(model: Any, X: Any, y: Any, sample_weight: Any = None, *, single: bool = False) -> Any:
    """Return the sums of a block, by groups where needed; `single` multiplies float32 rows in float32."""
    X, Y, weights = _check_block(model, X, y, sample_weight)
    shift = None if sparse.issparse(X) else model._block_shift
    return model._sum_validated(X, Y, weights, shift, single=single)


def close_fit(model: Any, total: Any) -> Any:
    """Solve the model from the sums of all blocks."""
    del model._block_shift
    model.moments_ = total
    model._solve()
    model._blocks_done()
    return model


def refuse_large(d: int, k: int, with_target_gram: bool, memory_limit: float | None = None) -> None:
    """One sentence before hours of reading, rather than a crash after them."""
    needed = 8.0 * (
        2 * d * d + d * k + (k * k if with_target_gram else 0)
    )  # XᵀX twice: the sum and its factor
    limit = machine_memory() if memory_limit is None else memory_limit
    if needed > limit:
        raise ValueError(
            f"The sums of {d} features and {k} labels take {needed / 1e9:.1f} GB, more than the "
            f"{limit / 1e9:.1f} GB allowed: fit wide sparse rows in memory (their solver sums nothing), or "
            "reduce the features."
        )


def _check_block(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, sparse.csr_array, Any]:
    X = check_features(model, X)
    return X, model._encode(y, X.shape[0]), model._check_row_weights(sample_weight, X)

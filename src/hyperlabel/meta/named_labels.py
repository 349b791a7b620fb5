"""Estimators around a ridge with `label_features`: labels without rows get columns and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from hyperlabel._base import score_rows
from hyperlabel._validation import TargetLayout
from hyperlabel.linear import BinaryRelevance
from hyperlabel.linear.label_features import add_named_labels, read_label_features, rows_by_name


def find_named_ridge(estimator: Any, inner: str = "estimator") -> BinaryRelevance | None:
    """Return the nested ridge that is given features of labels, or None; of fitted ones by "estimator_"."""
    while estimator is not None:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, BinaryRelevance):
            return None if estimator.label_features is None else estimator
        else:
            estimator = getattr(estimator, inner, None)
    return None


def add_labels_of(
    estimator: Any, Y: sparse.csr_array, layout: TargetLayout
) -> tuple[sparse.csr_array, TargetLayout]:
    """Give labels that the nested ridge knows by name only a column of zeros."""
    ridge = find_named_ridge(estimator)
    return (Y, layout) if ridge is None else add_named_labels(Y, layout, ridge.label_features)


def clone_for(estimator: Any, layout: TargetLayout) -> Any:
    """Clone an estimator; features of labels by name become rows in the order of the columns of y."""
    model = clone(estimator)
    ridge = find_named_ridge(model)
    named_rows = None if ridge is None else rows_by_name(ridge.label_features)
    if ridge is not None and named_rows:
        first = next(iter(named_rows.values()))
        width = np.shape(first)[-1]
        ridge.set_params(label_features=read_label_features(ridge.label_features, layout.label_names, width))
    return model


def has_sources(model: Any) -> bool:
    """Say whether scores come from anything but rows: from names alone, or from labels below in a tree."""
    by_name_alone: Any = getattr(find_named_ridge(model, "estimator_"), "_by_name_alone", np.zeros(0))
    return bool(by_name_alone.any()) or hasattr(model, "tree_columns_")


def find_sources(model: Any, X: Any) -> np.ndarray | None:
    """Return what the score of each label of each row comes from; None where all come from rows.

    "rows", or "name" where a label has no rows but a name, or "child" where a label below it scores higher.
    """
    if not has_sources(model):
        return None
    scores = score_rows(model, X)
    sources = np.full(scores.shape, "rows", dtype="U5")
    ridge = find_named_ridge(model, "estimator_")
    if ridge is not None:
        sources[:, ridge._by_name_alone] = "name"
    if hasattr(model, "tree_columns_"):
        sources[scores > score_rows(model.estimator_, X)] = "child"
    return sources


def known_by_name(estimator: Any, constant: np.ndarray) -> np.ndarray:
    """Return which labels are constant, without those that a fitted nested ridge scores by their names."""
    if find_named_ridge(estimator, "estimator_") is None:
        return constant
    return np.where(constant < 0, 0, constant).astype(np.int8)

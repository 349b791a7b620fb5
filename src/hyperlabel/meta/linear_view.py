"""A linear model seen through everything that wraps it: f(z) = coef·z + intercept of some labels.

A classifier that wraps others says how it is seen by a method ``_view(Z, names, columns)``; a linear one by
`_linear_map`. Pipelines take the rows and their names along.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.linear.per_label import map_of_labels
from hyperlabel.moments.linear_map import not_linear
from hyperlabel.solvers.arrays import as_dense


@dataclass
class LinearView:
    """f(z) of some labels: coef z + intercept; and z → codes → scores where there are directions."""

    Z: np.ndarray | None
    names: Any
    coef: np.ndarray
    intercept: np.ndarray
    codes: Any = None  # (U d×m, offset m)
    readout: np.ndarray | None = None  # V, m×k: of all labels
    of_names: np.ndarray | None = None  # the part of coef that comes from the names of the labels

    def scaled(self, slope: np.ndarray, shift: np.ndarray, columns: Any) -> LinearView:
        """Return slope·f + shift, one number of each for every label."""
        readout = None if self.readout is None else self.readout * slope
        label_slopes = slope[columns, None]
        coef, of_names = self.coef * label_slopes, self.of_names
        of_names = None if of_names is None else of_names * label_slopes
        intercept = self.intercept * slope[columns] + shift[columns]
        return replace(self, coef=coef, intercept=intercept, readout=readout, of_names=of_names)


def linear_view(model: Any, Z: Any, names: Any, columns: Any) -> LinearView:
    """Return the linear map of a model, with the rows and feature names as that map sees them."""
    if hasattr(model, "steps"):
        return _view_pipeline(model, Z, names, columns)
    if hasattr(model, "_linear_view"):
        return model._linear_view(Z, names, columns)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    return _view_estimator(model, _as_dense(Z), names, columns)


def _view_pipeline(model: Any, Z: Any, names: Any, columns: Any) -> LinearView:
    from hyperlabel.projection import Projection  # a package of its own: most models need none of it

    steps = [(name, step) for name, step in model.steps[:-1] if step not in (None, "passthrough")]
    final_estimator = model.steps[-1][1]
    projection = steps[-1][1] if steps and isinstance(steps[-1][1], Projection) else None
    if projection is not None and projection.kernel_ is not None:
        raise not_linear(type(projection).__name__)
    feature_steps = steps[:-1] if projection is not None else steps
    for _, step in feature_steps:
        names = _transform_names(step, names)
        Z = None if Z is None else step.transform(Z)
    if projection is None:
        return linear_view(final_estimator, Z, names, columns)
    final_view = linear_view(final_estimator, None, None, columns)
    all_labels_view = linear_view(final_estimator, None, None, slice(None))
    U = np.asarray(projection.components_, dtype=np.float64).T
    code_offset = -projection.mean_ @ U
    return LinearView(
        _as_dense(Z),
        names,
        final_view.coef @ U.T,
        final_view.intercept + final_view.coef @ code_offset,
        (U, code_offset),
        all_labels_view.coef.T,
    )


def _view_estimator(model: Any, Z: np.ndarray | None, names: Any, columns: Any) -> LinearView:
    if hasattr(model, "_linear_map"):
        linear_map = model._linear_map()
        model_view = LinearView(Z, names, linear_map.weights(columns), linear_map.intercept[columns])
        if linear_map.through is not None and not hasattr(model, "dual_coef_"):  # rows are no directions
            model_view.codes = linear_map.through.basis, linear_map.through.offset
            model_view.readout = as_dense(linear_map.through.readout)
        if getattr(model, "label_scale_", 0.0) > 0:
            model_view.of_names = 2.0 * model.label_scale_ * as_dense(model.label_features_[columns])
        return model_view
    coef, intercept = _label_coefficients(model)
    return LinearView(Z, names, coef[columns], intercept[columns])


def _label_coefficients(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all labels, k×d and k."""
    label_estimators = getattr(model, "estimators_", None)
    if label_estimators is not None and not hasattr(model, "coef_"):
        linear_map = map_of_labels(label_estimators, type(model).__name__)
        return linear_map.coef, linear_map.intercept
    label_weights: Any = getattr(model, "coef_", None)
    if not isinstance(label_weights, np.ndarray) or not hasattr(model, "intercept_"):
        raise not_linear(type(model).__name__)
    return np.atleast_2d(label_weights), np.atleast_1d(model.intercept_)


def _as_dense(Z: Any) -> np.ndarray | None:
    if Z is None:
        return None
    return np.asarray(Z.toarray() if sparse.issparse(Z) else Z, dtype=np.float64)


def _transform_names(transformer: Any, names: Any) -> Any:
    if not hasattr(transformer, "get_feature_names_out"):
        return None
    try:
        return transformer.get_feature_names_out(None if names is None else np.asarray(names, dtype=object))
    except ValueError:  # other names than it was fitted with
        return transformer.get_feature_names_out()

"""A linear model seen through everything that wraps it: f(z) = coef·z + intercept of some labels.

A classifier that wraps others says how it is seen by a method ``_view(Z, names, columns)``; a linear one by
`_linear_map`. Pipelines take the rows and their names along.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    def scaled(self, slope: np.ndarray, shift: np.ndarray, columns: Any) -> LinearView:
        """Return slope·f + shift, one number of each for every label."""
        readout = None if self.readout is None else self.readout * slope
        coef = self.coef * slope[columns, None]
        return LinearView(
            self.Z, self.names, coef, self.intercept * slope[columns] + shift[columns], self.codes, readout
        )


def linear_view(model: Any, Z: Any, names: Any, columns: Any) -> LinearView:
    """Walk down to the linear part, taking the rows and their names along."""
    if hasattr(model, "steps"):
        return _view_pipeline(model, Z, names, columns)
    if hasattr(model, "_linear_view"):
        return model._linear_view(Z, names, columns)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    return _view_estimator(model, _as_dense(Z), names, columns)


def _view_pipeline(model: Any, Z: Any, names: Any, columns: Any) -> LinearView:
    from hyperlabel.projection import Projection  # a package of its own: most models need none of it

    steps = [(name, part) for name, part in model.steps[:-1] if part not in (None, "passthrough")]
    last = model.steps[-1][1]
    projection = steps[-1][1] if steps and isinstance(steps[-1][1], Projection) else None
    if projection is not None and projection.kernel_ is not None:
        raise not_linear(type(projection).__name__)
    before = steps[:-1] if projection is not None else steps
    for _, part in before:
        names = _names_out(part, names)
        Z = None if Z is None else part.transform(Z)
    if projection is None:
        return linear_view(last, Z, names, columns)
    inner = linear_view(last, None, None, columns)
    everything = linear_view(last, None, None, slice(None))
    U = np.asarray(projection.components_, dtype=np.float64).T
    offset = -projection.mean_ @ U
    return LinearView(
        _as_dense(Z),
        names,
        inner.coef @ U.T,
        inner.intercept + inner.coef @ offset,
        (U, offset),
        everything.coef.T,
    )


def _view_estimator(model: Any, Z: np.ndarray | None, names: Any, columns: Any) -> LinearView:
    if hasattr(model, "_linear_map"):
        known = model._linear_map()
        found = LinearView(Z, names, known.weights(columns), known.intercept[columns])
        if known.through is not None:
            found.codes = known.through.basis, known.through.offset
            found.readout = as_dense(known.through.readout)
        return found
    coef, intercept = _label_coefficients(model)
    return LinearView(Z, names, coef[columns], intercept[columns])


def _label_coefficients(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all labels, k×d and k."""
    each = getattr(model, "estimators_", None)
    if each is not None and not hasattr(model, "coef_"):
        known = map_of_labels(each, type(model).__name__)
        return known.coef, known.intercept
    weights: Any = getattr(model, "coef_", None)
    if not isinstance(weights, np.ndarray) or not hasattr(model, "intercept_"):
        raise not_linear(type(model).__name__)
    return np.atleast_2d(weights), np.atleast_1d(model.intercept_)


def _as_dense(Z: Any) -> np.ndarray | None:
    if Z is None:
        return None
    return np.asarray(Z.toarray() if sparse.issparse(Z) else Z, dtype=np.float64)


def _names_out(part: Any, names: Any) -> Any:
    if not hasattr(part, "get_feature_names_out"):
        return None
    try:
        return part.get_feature_names_out(None if names is None else np.asarray(names, dtype=object))
    except ValueError:  # other names than it was fitted with
        return part.get_feature_names_out()

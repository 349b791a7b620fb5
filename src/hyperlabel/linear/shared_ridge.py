"""The shared ridge of all labels: one pass over the rows, one factorisation, and labels with gaps."""

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._validation import split_missing
from hyperlabel.linear.per_label import solve_known
from hyperlabel.moments.auto_params import default_threshold
from hyperlabel.moments.cross_validate import cross_validate_ridge
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import choose_route


def fit_shared_ridge(
    model: Any, X: Any, Y: sparse.csr_array, weights: np.ndarray | None, groups: Any
) -> None:
    """Fit a `BinaryRelevance` with the squared loss on validated rows."""
    alphas, threshold = model._list_alphas(), default_threshold(model.threshold, model.alpha)
    if np.isnan(Y.data).any():
        Y, missing = split_missing(Y)
        assert missing is not None
        if model.cv is not None:
            raise ValueError("Out-of-fold scores need every label known: fill the NaN in y or leave cv=None.")
        model._set_coef(*solve_known(X, Y, missing.tocsc(), weights, alphas[0], model.solver))
        return
    route: Any = choose_route(X) if model.solver == "auto" else model.solver
    model.alpha_ = alphas[0]
    if model.cv is not None:
        scorer = model._choose_scorer(len(alphas))
        cv_scores, total_moments = cross_validate_ridge(
            X, Y, model._layout, model.cv, alphas, scorer, route, weights, groups, threshold
        )
        model._set_cv_attributes(cv_scores, Y, weights)
        model.alpha_ = alphas[cv_scores.best]
        if total_moments is not None:  # cross-validation has summed all rows already
            model.moments_ = total_moments
    if route == "gram":
        if not hasattr(model, "moments_"):
            model.moments_ = RowMoments.from_rows(X, Y, sample_weight=weights)
        model._solve_sums((X, Y, weights) if model.solver == "auto" else None)
    else:
        model._solve_rows(X, Y, weights, route)

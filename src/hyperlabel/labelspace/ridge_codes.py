"""The default regressor of the label-space classifiers: a ridge of the codes, from rows or from moments.

λ = "auto" is that of the labels, not of the codes: it does not change with the number of components, and
every linear classifier chooses the same on the same rows. The solution for codes h = P(y − o) is then read
off the path of the labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.labelspace.encoders import AffineEncoder
from hyperlabel.moments.auto_params import decide_alpha, decide_threshold
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import (
    RidgePath,
    RidgeResult,
    choose_alpha,
    choose_route,
    path_of_codes,
    solve_ridge,
)

WithAlpha = Callable[[Any, float], Any]  # an encoder and λ → the encoder that knows λ


@dataclass(frozen=True, eq=False)
class RidgeOfCodes:
    """The ridge from rows to codes at one λ; points are the path's fitted values times `rights`."""

    alpha: float
    codes: RidgeResult
    path: Any
    rights: tuple[Any, ...]

    def threshold(
        self, threshold: Any, kind: str, P: Any, offset: np.ndarray, counts: Any, weight: float
    ) -> float:
        """Return the threshold of the points o + Pᵀr(x): as given, or decided on their means and
        variances.
        """
        means = offset + np.asarray((P @ (counts / weight - offset)) @ P)
        squares = partial(self.path.fitted_squares, self.alpha, *self.rights)
        return decide_threshold(threshold, kind, means, squares, counts, weight)


def codes_from_rows(
    encoder: Any,
    with_alpha: WithAlpha,
    alpha: Any,
    X: Any,
    Y: sparse.csr_array,
    kept_moments: RowMoments | None = None,
) -> RidgeOfCodes:
    """Fit the encoder and the ridge of its codes to rows, whose moments may be at hand."""
    is_affine, is_auto_alpha = isinstance(encoder, AffineEncoder), isinstance(alpha, str)
    on_moments = is_affine and choose_route(X) == "gram"
    if on_moments and is_auto_alpha:
        moments = RowMoments.from_rows(X, Y) if kept_moments is None else kept_moments
        ridge_path: Any = RidgePath(moments)
        chosen_alpha = decide_alpha(moments, alpha, ridge_path)
        with_alpha(encoder, chosen_alpha).fit(Y, X)
        return through_labels(ridge_path, encoder.components_, encoder.offset_, chosen_alpha)
    chosen_alpha = choose_alpha(X, Y) if is_auto_alpha else float(alpha)
    with_alpha(encoder, chosen_alpha).fit(Y, X)
    # At λ = 0 the rows themselves may have to answer. XᵀY (d×K), which gives XᵀH for codes linear in y, may
    # be smaller than the codes H (n×M).
    has_less_cross = X.shape[1] * Y.shape[1] <= X.shape[0] * getattr(encoder, "n_components_", 0)
    if on_moments and chosen_alpha > 0 and (kept_moments is not None or has_less_cross):
        moments = RowMoments.from_rows(X, Y) if kept_moments is None else kept_moments
        ridge_path = path_of_codes(moments.centered(), encoder.components_, encoder.offset_, chosen_alpha)
    else:
        ridge_path = solve_ridge(X, encoder.transform(Y), alphas=(chosen_alpha,))
    rights = (encoder.components_,) if is_affine else ()
    return RidgeOfCodes(chosen_alpha, ridge_path.solve(chosen_alpha), ridge_path, rights)


def codes_from_moments(
    encoder: AffineEncoder, with_alpha: WithAlpha, alpha: Any, moments: RowMoments
) -> RidgeOfCodes:
    """Fit the encoder and the ridge of its codes to moments."""
    if isinstance(alpha, str):
        ridge_path = RidgePath(moments)
        chosen_alpha = decide_alpha(moments, alpha, ridge_path)
        with_alpha(encoder, chosen_alpha).fit_moments(moments)
        return through_labels(ridge_path, encoder.components_, encoder.offset_, chosen_alpha)
    chosen_alpha = float(alpha)
    with_alpha(encoder, chosen_alpha).fit_moments(moments)
    ridge_path = path_of_codes(moments.centered(), encoder.components_, encoder.offset_, chosen_alpha)
    return RidgeOfCodes(chosen_alpha, ridge_path.solve(chosen_alpha), ridge_path, (encoder.components_,))


def through_labels(path: RidgePath, P: Any, offset: np.ndarray, alpha: float) -> RidgeOfCodes:
    """Return the ridge of the codes P(y − o) from the path of the labels y."""
    # the ridge is linear in its targets: W of the codes is W of the labels times Pᵀ
    W = np.asarray(path.combine(alpha, P.T))
    intercept = np.asarray(P @ (path.f_mean - offset)) - path.x_mean @ W
    return RidgeOfCodes(alpha, RidgeResult(W, intercept, path.residual(alpha)), path, (P.T, P))

"""The default regressor of the label-space classifiers: a ridge of the codes, from rows or from sums.

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
    encoder: Any, with_alpha: WithAlpha, alpha: Any, X: Any, Y: sparse.csr_array
) -> RidgeOfCodes:
    """Fit the encoder and the ridge of its codes to rows."""
    flat, auto = isinstance(encoder, AffineEncoder), isinstance(alpha, str)
    on_moments = flat and choose_route(X) == "gram"
    if on_moments and auto:
        sums = RowMoments.from_rows(X, Y)
        path: Any = RidgePath(sums)
        chosen = decide_alpha(sums, alpha, path)
        with_alpha(encoder, chosen).fit(Y, X)
        return through_labels(path, encoder.components_, encoder.offset_, chosen)
    chosen = choose_alpha(X, Y) if auto else float(alpha)
    with_alpha(encoder, chosen).fit(Y, X)
    # At λ = 0 the rows themselves may have to answer. XᵀY (d×K), which gives XᵀH for codes linear in y, may
    # be smaller than the codes H (n×M).
    if on_moments and chosen > 0 and X.shape[1] * Y.shape[1] <= X.shape[0] * encoder.n_components_:
        sums = RowMoments.from_rows(X, Y)
        path = path_of_codes(sums.centered(), encoder.components_, encoder.offset_, chosen)
    else:
        path = solve_ridge(X, encoder.transform(Y), alphas=(chosen,))
    return RidgeOfCodes(chosen, path.solve(chosen), path, (encoder.components_,) if flat else ())


def codes_from_moments(
    encoder: AffineEncoder, with_alpha: WithAlpha, alpha: Any, moments: RowMoments
) -> RidgeOfCodes:
    """Fit the encoder and the ridge of its codes to sums over rows."""
    if isinstance(alpha, str):
        path = RidgePath(moments)
        chosen = decide_alpha(moments, alpha, path)
        with_alpha(encoder, chosen).fit_moments(moments)
        return through_labels(path, encoder.components_, encoder.offset_, chosen)
    chosen = float(alpha)
    with_alpha(encoder, chosen).fit_moments(moments)
    path = path_of_codes(moments.centered(), encoder.components_, encoder.offset_, chosen)
    return RidgeOfCodes(chosen, path.solve(chosen), path, (encoder.components_,))


def through_labels(path: RidgePath, P: Any, offset: np.ndarray, alpha: float) -> RidgeOfCodes:
    """Return the ridge of the codes P(y − o) from the path of the labels y."""
    W = np.asarray(path.combine(alpha, P.T))
    intercept = np.asarray(P @ (path.f_mean - offset)) - path.x_mean @ W
    return RidgeOfCodes(alpha, RidgeResult(W, intercept, path.residual(alpha)), path, (P.T, P))

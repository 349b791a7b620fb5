"""From solved blocks of labels to the fitted attributes of binary relevance."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._missing_labels import constant_labels, unknown_score
from hyperlabel.moments.auto_params import decide_threshold
from hyperlabel.moments.linear_map import LinearMap
from hyperlabel.solvers.ridge.label_blocks import SolvedBlock, keep_largest
from hyperlabel.solvers.ridge.routes import RidgeResult


class SolvedLabels:
    """What `BinaryRelevance` makes of a solution, whichever loss and route it comes from."""

    def _set_coef(
        self: Any, blocks: Iterable[SolvedBlock], solver: str, counts: np.ndarray, weight: Any
    ) -> None:
        """Set `coef_`, `intercept_` and `threshold_` from the solved blocks of labels, in order."""
        coefs, intercepts, self.residual_ = [], [], 0.0
        squares: list[Any] = []
        for block in blocks:
            linear_map = self._make_linear_map(block.result, block.centre)
            coefs.append(linear_map.product)
            intercepts.append(linear_map.intercept)
            squares.append(block.squares)
            self.residual_, self.alpha_ = max(self.residual_, block.result.residual), block.alpha
        if self.max_nonzero_coefs is not None:
            self.coef_ = sparse.vstack(coefs, format="csr")
        else:
            self.coef_ = coefs[0] if len(coefs) == 1 else np.vstack(coefs)
        self._set_threshold(np.concatenate(intercepts), squares, block.means, counts, weight)
        self.solver_ = solver
        self._constant = constant_labels(counts, weight)

    def _set_threshold(
        self: Any, intercept: np.ndarray, squares: list[Any], means: Any, counts: np.ndarray, weight: Any
    ) -> None:
        """Decide the threshold, and set the intercepts of all labels."""
        label_means = np.divide(counts, weight, out=np.zeros(len(counts)), where=np.asarray(weight) > 0)
        if means is not None:
            label_means = means
        all_squares = partial(np.concatenate, squares)
        self.threshold_ = decide_threshold(
            self._threshold_rule(), self._layout.kind, label_means, all_squares, counts, weight
        )
        self.intercept_ = intercept - self.threshold_
        if np.ndim(weight):
            is_logistic = self.loss == "logistic"
            prior_score = unknown_score(counts, weight, self.threshold_, logistic=is_logistic)
            self.intercept_[weight <= 0] = prior_score

    def _make_linear_map(self: Any, result: RidgeResult, centre: np.ndarray) -> LinearMap:
        """Return the linear map of a solution, truncated to `max_nonzero_coefs` but exact at the row mean."""
        full_map = LinearMap.of_targets(result.coef, result.intercept)
        if self.max_nonzero_coefs is None:
            return full_map
        sparse_coef = keep_largest(np.ascontiguousarray(full_map.product), self.max_nonzero_coefs)
        return LinearMap(
            sparse_coef, full_map.intercept + np.asarray((full_map.product - sparse_coef) @ centre)
        )

"""Out-of-fold scores of the shared ridge on wide sparse rows, whose XᵀX is not formed."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._base import constant_labels, label_counts, place_constant_labels
from hyperlabel.moments.auto_params import decide_threshold, is_auto
from hyperlabel.moments.linear_map import LinearMap, signed_targets
from hyperlabel.solvers.ridge.evidence import krylov_alpha
from hyperlabel.solvers.ridge.held_out import leave_out_tests_alone, score_held_out, shares_factor
from hyperlabel.solvers.ridge.krylov_path import KRYLOV_BYTES
from hyperlabel.solvers.ridge.label_blocks import SETTLED, SINGLE, solve_label_blocks


class WideFolds:
    """Fold scores of the shared ridge on wide sparse rows, at the tolerance of a fit.

    Where the n×n Gram fits in memory, all folds come from one factorisation (`solvers.ridge.held_out`);
    elsewhere each is solved by conjugate gradients.
    """

    def __init__(
        self,
        X: Any,
        Y: sparse.csr_array,
        splits: Sequence[Any],
        kind: str,
        threshold: Any,
        sample_weight: np.ndarray | None,
        *,
        tol: float = SETTLED,
        memory_limit: float | None = None,
    ) -> None:
        self.X, self.Y, self.splits, self.kind, self.threshold = X, Y, splits, kind, threshold
        self.weights, self.tol, self.memory_limit = sample_weight, tol, memory_limit
        train_weights = [None if sample_weight is None else sample_weight[train] for train, _ in self.splits]
        self.counts = [
            label_counts(Y[train], weights)
            for (train, _), weights in zip(self.splits, train_weights, strict=True)
        ]
        self._auto_alpha: float | None = None

    def scores(self, setting: dict[str, Any]) -> Iterator[np.ndarray]:
        """Yield the scores of each test fold at the λ of a setting."""
        alpha = self._choose_alpha() if is_auto(setting["alpha"]) else setting["alpha"]
        score_folds = self._from_one_factor if self._shares_factor() else self._fold_by_fold
        for scores, (counts, weight) in zip(score_folds(alpha), self.counts, strict=True):
            constant = constant_labels(counts, weight)
            yield place_constant_labels(scores, constant) if constant.any() else scores

    def _choose_alpha(self) -> float:
        if self._auto_alpha is None:
            self._auto_alpha = krylov_alpha(self.X, self.Y, self.weights)
        return self._auto_alpha

    def _dtype(self) -> Any:
        return np.float32 if self.tol >= SINGLE else np.float64

    def _shares_factor(self) -> bool:
        """Whether one factorisation serves all folds: an automatic threshold needs their coefficients."""
        has_empty_rows = self.weights is not None and not (self.weights > 0).all()
        if has_empty_rows or is_auto(self.threshold):
            return False
        is_cheaper = shares_factor(
            self.X.shape[0],
            self.X.nnz,
            self.Y.shape[1],
            len(self.splits),
            itemsize=np.dtype(self._dtype()).itemsize,
            memory_limit=KRYLOV_BYTES if self.memory_limit is None else self.memory_limit,
        )
        return is_cheaper and leave_out_tests_alone(self.X.shape[0], self.splits)

    def _from_one_factor(self, alpha: float) -> Iterator[np.ndarray]:
        tests = [test for _, test in self.splits]
        options: Any = {"sample_weight": self.weights, "tol": self.tol, "dtype": self._dtype()}
        # The factorisation is done once, before the first fold: the folds themselves call SciPy's BLAS alone.
        fold_scores = score_held_out(self.X, self.Y, tests, alpha, **options)
        return (signed_targets(scores) - self.threshold for scores in fold_scores)

    def _fold_by_fold(self, alpha: float) -> Iterator[np.ndarray]:
        for (train, test), (counts, weight) in zip(self.splits, self.counts, strict=True):
            train_weights = None if self.weights is None else self.weights[train]
            options: Any = {"memory_limit": self.memory_limit, "tol": self.tol, "route": "krylov"}
            blocks = solve_label_blocks(
                self.X[train], self.Y[train], alpha, sample_weight=train_weights, squares=True, **options
            )
            scores, squares = [], []
            for block in blocks:
                scores.append(
                    LinearMap.of_targets(block.result.coef, block.result.intercept).scores(self.X[test])
                )
                squares.append(block.squares)
            all_squares = partial(np.concatenate, squares)
            yield np.hstack(scores) - decide_threshold(
                self.threshold, self.kind, counts / weight, all_squares, counts, weight
            )

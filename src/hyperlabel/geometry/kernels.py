"""Kernels as rows, for projections and rankers alike.

A kernel method is a linear one on other rows: k(x, bᵢ) against the rows bᵢ of a basis. With the whole
training set as basis the method is exact; with landmarks the rows are multiplied by K(B, B)^(−1/2),
after which their inner products approximate the kernel (Nyström).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state

from hyperlabel.solvers.rank.row_space import kernel_space
from hyperlabel.solvers.rank.scaling import FeatureScaling


@dataclass(eq=False)
class KernelRows:
    """Turn rows into their kernel with a basis.

    `kernel` is one of scikit-learn's `pairwise_kernels`; "precomputed" rows are the kernel and have no basis.
    `lift` is K(B, B)^(−1/2) of landmarks. `scale` multiplies the columns of new rows first (those of the
    basis are scaled already); `lenient` leaves out parameters that the kernel does not take.
    """

    kernel: Any
    params: dict[str, Any] = field(default_factory=dict)
    basis: Any = None
    lift: np.ndarray | None = None
    scale: np.ndarray | None = None
    lenient: bool = False

    @classmethod
    def landmarks(
        cls, kernel: Any, params: dict[str, Any], X: Any, n_landmarks: int, random_state: Any = None
    ) -> KernelRows:
        """Pick landmarks among the rows X, and the map that gives their rows the kernel's products."""
        if kernel == "precomputed":
            raise ValueError("Nyström features need rows: a precomputed kernel has none to pick.")
        n = X.shape[0]
        picked = check_random_state(random_state).permutation(n)[: min(n_landmarks, n)]
        kernel_rows = cls(kernel, params, X[picked])
        kernel_rows.lift = kernel_space(kernel_rows.basis_kernel().astype(np.float64)).lift
        return kernel_rows

    def rows(self, X: Any) -> np.ndarray:
        """Return the rows of X as this space sees them."""
        if self.kernel == "precomputed":
            return X.toarray() if sparse.issparse(X) else X
        if self.scale is not None:
            X = FeatureScaling(np.zeros(X.shape[1]), self.scale).rows(X, center=False)
        K = self._kernel_with_basis(X)
        return K if self.lift is None else K @ self.lift

    def basis_kernel(self) -> np.ndarray:
        """Return the kernel of the basis with itself."""
        return self._kernel_with_basis(self.basis)

    def _kernel_with_basis(self, X: Any) -> np.ndarray:
        return pairwise_kernels(X, self.basis, metric=self.kernel, filter_params=self.lenient, **self.params)

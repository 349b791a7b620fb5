"""The rows a ranking solver works on, and the way back to the user's features.

Everything is plain Rank-SVM on suitable rows:

* linear: the scaled features themselves;
* kernel: with K = UΛUᵀ, the rows Φ = UΛ^(1/2) have the inner products of the kernel, so weights w
  on Φ are the weights UΛ^(−1/2)w on the training rows (`lift`);
* hypergraph: with M = I + λΦᵀLΦ = GGᵀ, the penalty ½wᵀMw is ½‖Gᵀw‖², so the rows G⁻¹φ and the
  weights v = Gᵀw give the same scores under the plain penalty. Aᵢⱼ = φᵢᵀM⁻¹φⱼ is eq. (27)
  whether Φ are features or the kernel's.

The bias is the weight of a constant 1 beside Φ. L1 = 0, so it is not touched by the Laplacian.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hyperlabel.solvers.arrays import as_dense, rank_tolerance
from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.frank_wolfe import solve_rank_frank_wolfe
from hyperlabel.solvers.rank.problem import RankProblem, RankResult
from hyperlabel.solvers.rank.scaling import FeatureScaling


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows (n×r, dense or CSR), what is still to be subtracted from them, and the way back."""

    rows: Any
    shift: np.ndarray
    lift: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """A ranking problem on such rows, and the way back from its solutions.

    G is the factor of a Laplacian penalty, or None. Without `scaling` weights belong to the training rows of
    a kernel, with it to the features of X. A single label is ranked against its absence, as two columns.
    """

    problem: RankProblem
    space: RowSpace
    G: np.ndarray | None
    X: Any
    scaling: FeatureScaling | None
    is_single: bool

    @classmethod
    def build(
        cls,
        space: RowSpace,
        labels: sparse.csr_array,
        X: Any,
        scaling: FeatureScaling | None,
        *,
        is_single: bool,
        form: np.ndarray | None = None,
        weight: float = 0.0,
        **costs: Any,
    ) -> "ScaledProblem":
        """Lay out the pairs of the rows, whitened where ``weight·form`` is added to the penalty."""
        G = None if form is None else whitening_factor(form, weight)
        rows = space.rows if G is None else whiten_rows(space.rows, G)
        problem = RankProblem.build(rows, labels, shift=space.shift, **costs)
        return cls(problem, space, G, X, scaling, is_single)

    def solve(
        self, solver: str, alpha: np.ndarray | None, seed: Any, *, trace: bool, dual_dtype: Any, **limits: Any
    ) -> RankResult:
        """Solve within `limits` (C, tol, max_iter), from given duals where the solver keeps them."""
        if solver != "dcd":
            return solve_rank_frank_wolfe(self.problem, trace=trace, **limits)
        if alpha is not None and len(alpha) != self.problem.n_pairs:
            alpha = None
        return solve_rank_dcd(
            self.problem, alpha=alpha, seed=seed, trace=trace, dual_dtype=dual_dtype, **limits
        )

    def read_back(
        self, result: RankResult, w: np.ndarray | None = None, b: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts of the labels, and last those of a further function (w, b)."""
        W = result.W if self.G is None else unwhiten_weights(result.W, self.G)
        w = np.zeros(len(W)) if w is None else w
        all_W, all_b = np.column_stack([W, w]), np.append(result.b, b)
        if self.is_single:
            all_W = np.column_stack([W[:, 1] - W[:, 0], w])
            all_b = np.array([result.b[1] - result.b[0], b])
        if self.space.lift is not None:
            all_W = self.space.lift @ all_W
        if self.scaling is None:
            return np.ascontiguousarray(all_W.T), all_b
        if self.space.lift is not None:  # from weights on centred rows to weights on features
            scaled = self.scaling.rows(self.X)
            centre = self.scaling.shift if sparse.issparse(scaled) else np.zeros(scaled.shape[1])
            all_W = as_dense(scaled.T @ all_W) - np.outer(centre, all_W.sum(axis=0))
        return self.scaling.unscale(all_W, all_b)


def kernel_space(K: np.ndarray) -> RowSpace:
    """Factor a kernel matrix, n×n, into rows with the same inner products; K is overwritten."""
    s, U = linalg.eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    if s[0] < -1e-6 * max(s[-1], 1e-300):
        raise ValueError(
            f"The kernel matrix has the eigenvalue {s[0]:.3g}: use a positive semi-definite kernel."
        )
    above_rounding = s > rank_tolerance(s)
    singular_values = np.sqrt(s[above_rounding])
    U = U[:, above_rounding]
    return RowSpace(
        np.ascontiguousarray(U * singular_values), np.zeros(len(singular_values)), U / singular_values
    )


def whitening_factor(form: np.ndarray, weight: float) -> np.ndarray:
    """Lower-triangular G with GGᵀ = I + weight·form; `form` is not changed."""
    M = weight * form
    M[np.diag_indices_from(M)] += 1.0
    return linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)


def whiten_rows(rows: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Rows G⁻¹φ."""
    return np.ascontiguousarray(linalg.solve_triangular(G, rows.T, lower=True, check_finite=False).T)


def unwhiten_weights(V: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Weights w = G⁻ᵀv on the rows before `whiten_rows`."""
    return linalg.solve_triangular(G, V, lower=True, trans="T", check_finite=False)

"""Conjugate gradients for the ridge of many labels on wide sparse rows, without a kept basis.

Solves (XcᵀXc + λI)W = XcᵀYc for λ > 0, a block of labels at a time. Every label has its own recurrence; all
labels of a block share each product with the rows.

Notation
--------
code       meaning                                                shape
X          rows times √weight, columns by falling frequency       n×d
mean       μ, the mean row                                        d
inverse    D⁻¹, D = diag(XcᵀXc) + λ: the preconditioner           d
B          XcᵀYc                                                  d×m
W, R, P    solution, residual B − (XcᵀXc + λI)W, direction        d×m
energy     RᵀD⁻¹R of each label                                   m

Why so
------
* A block Krylov basis (`solvers.ridge.krylov_space`) needs the fewest products, but 8dm² steps of
  orthogonalisation after each; from some hundred labels on they outweigh the product with sparse rows
  (4·nnz·m) by far.
* XᵀXV is formed row by row: u = xᵢV, then xᵢᵀu is added to the answer. X is read once and nothing of length
  n is kept; words follow a power law, so that most lines read and written are in the cache.
* The diagonal evens out frequent and rare words: 7 products instead of 30 for a residual of 1e-2 on words
  drawn from a power law, 19 instead of 30 on Debian's package descriptions. A low-rank preconditioner
  (randomised, 30 to 240 directions) cost about what it saved.

When to stop
------------
√(energy/n) estimates how far the scores of a label are from those of the exact solution (root mean square
over the rows: ‖XcΔW‖² ≤ RᵀA⁻¹R, and D replaces A; an estimate, no bound). It asks little of rare labels,
whose scores are small, and much of frequent ones: .55 to .75 of the products of a bound on ‖R‖/‖B‖ that
leaves as many of the best labels in place. A label that has reached the tolerance leaves the block. Energy
and residual are then computed anew from W; labels above the tolerance (the recurrence drifts by rounding)
go on from there, and the residual stated is the true one.
"""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.compiling import check_csr_indices, check_shape, compiled
from hyperlabel.solvers.operators import narrow_columns, weighted_row_mean
from hyperlabel.solvers.ridge.factored import RidgeResult

MARGIN = 0.95  # the recurrence goes a little further than asked, so that few labels are taken up again
CONTINUATIONS = 3  # starts from a freshly computed residual
_FAST = {"contract", "reassoc"}  # fused multiply-add, and sums along SIMD lanes


class ConjugateRidge:
    """Ridge of sparse rows by conjugate gradients, for blocks of labels one after the other."""

    def __init__(
        self, X: Any, alpha: float, *, sample_weight: np.ndarray | None = None, dtype: Any = np.float64
    ) -> None:
        if not alpha > 0:
            raise ValueError(f"Conjugate gradients need alpha above 0, got {alpha}: use the Krylov path.")
        n, d = X.shape
        check_csr_indices(X)
        self.alpha, self.dtype, self.n_iter = alpha, np.dtype(dtype), 0
        self.weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        check_shape("sample_weight", self.weight, (n,))
        self.total = float(self.weight.sum())
        self.x_mean = weighted_row_mean(X, sample_weight)
        self.order = np.argsort(-np.bincount(X.indices, minlength=d), kind="stable")
        self.mean = self.x_mean[self.order].astype(self.dtype)
        column_position = np.empty(d, dtype=np.int32)
        column_position[self.order] = np.arange(d, dtype=np.int32)
        weighted_entries = X.data.astype(self.dtype)
        if sample_weight is not None:
            weighted_entries *= np.repeat(np.sqrt(self.weight), np.diff(X.indptr)).astype(self.dtype)
        self.X = narrow_columns(
            sparse.csr_array((weighted_entries, column_position[X.indices], X.indptr), shape=X.shape)
        )
        self.X.sort_indices()
        column_squares = np.bincount(self.X.indices, weights=self.X.data.astype(np.float64) ** 2, minlength=d)
        gram_diagonal = np.maximum(column_squares - self.total * self.x_mean[self.order] ** 2, 0.0) + alpha
        self.inverse = (1 / gram_diagonal).astype(self.dtype)

    def solve(
        self, Y: sparse.csr_array, *, tol: float, max_iter: int = 300
    ) -> tuple[RidgeResult, np.ndarray]:
        """Solve for a block of labels, n×m; return the solution and ‖XcW‖² per label.

        `tol` bounds the estimated error of every label's scores.
        """
        check_csr_indices(Y, (self.X.shape[0], Y.shape[1]))
        y_mean = weighted_row_mean(Y, self.weight)
        B = self._form_right_hand_side(Y, y_mean)
        target_norms = np.linalg.norm(B, axis=0)
        W, R, products_left = np.zeros_like(B), B, max_iter
        for _ in range(CONTINUATIONS):
            score_errors = self._estimate_errors(R)
            unfinished_labels = np.flatnonzero(score_errors > tol)
            if not len(unfinished_labels) or not products_left:
                break
            products_left = self._iterate(
                W, R, unfinished_labels, (MARGIN * tol) ** 2 * self.total, products_left
            )
            R = B - self._times(W)
        score_errors = self._estimate_errors(R)
        if score_errors.max(initial=0.0) > tol:
            warnings.warn(
                f"Conjugate gradients stopped after {max_iter - products_left} products with scores off by "
                f"about {score_errors.max():.1e}, above tol = {tol:g}: raise tol or alpha.",
                RuntimeWarning,
                stacklevel=4,
            )
        relative_residuals = np.divide(
            np.linalg.norm(R, axis=0), target_norms, out=np.zeros_like(target_norms), where=target_norms > 0
        )
        coef = np.empty_like(W)
        coef[self.order] = W
        block_solution = RidgeResult(
            coef, y_mean - self.x_mean @ coef, float(relative_residuals.max(initial=0.0))
        )
        # XcᵀXcW = B − R − λW: no further product with the rows
        return block_solution, np.einsum(
            "ij,ij->j", W, B - R - self.dtype.type(self.alpha) * W, dtype=np.float64
        )

    def _estimate_errors(self, R: np.ndarray) -> np.ndarray:
        return np.sqrt(np.einsum("ij,ij,i->j", R, R, self.inverse, dtype=np.float64) / self.total)

    def _iterate(
        self, W: np.ndarray, R: np.ndarray, columns: np.ndarray, energy_goal: float, products_left: int
    ) -> int:
        """Add to the columns of W until their energy is below `energy_goal`; return the unused products."""
        weight_change = np.zeros((len(W), len(columns)), dtype=self.dtype)  # what is added to W
        R = np.ascontiguousarray(R[:, columns])
        P = self.inverse[:, None] * R
        energy = np.einsum("ij,ij->j", R, P, dtype=np.float64)
        while products_left:
            AP = self._times(P)
            products_left -= 1
            direction_energy = np.einsum("ij,ij->j", P, AP, dtype=np.float64)
            step_lengths = np.divide(
                energy, direction_energy, out=np.zeros_like(energy), where=direction_energy > 0
            )
            new_energy = np.zeros_like(energy)
            _cg_step(weight_change, R, P, AP, step_lengths.astype(self.dtype), self.inverse, new_energy)
            is_unfinished = new_energy > energy_goal
            if not is_unfinished.any():
                break
            _cg_direction(P, R, (new_energy / energy).astype(self.dtype), self.inverse)
            energy = new_energy
            if 4 * np.count_nonzero(is_unfinished) <= 3 * len(columns):  # a smaller block repays its copies
                W[:, columns[~is_unfinished]] += weight_change[:, ~is_unfinished]
                columns, energy = columns[is_unfinished], energy[is_unfinished]
                weight_change, R, P = (
                    np.ascontiguousarray(block[:, is_unfinished]) for block in (weight_change, R, P)
                )
        W[:, columns] += weight_change
        return products_left

    def _form_right_hand_side(self, Y: sparse.csr_array, y_mean: np.ndarray) -> np.ndarray:
        """Return XcᵀYc, d×m."""
        B = np.multiply.outer((-self.total * self.mean).astype(self.dtype), y_mean.astype(self.dtype))
        weighted_targets = Y.data * np.repeat(np.sqrt(self.weight), np.diff(Y.indptr))
        X = self.X
        _add_targets(X.indptr, X.indices, X.data, Y.indptr, Y.indices, weighted_targets.astype(self.dtype), B)
        return B

    def _times(self, V: np.ndarray) -> np.ndarray:
        """Return (XcᵀXc + λI)V."""
        self.n_iter += 1
        out = self.dtype.type(self.alpha) * V
        X = self.X
        _add_gram(X.indptr, X.indices, X.data, V, out, np.empty(V.shape[1], dtype=self.dtype))
        out -= np.multiply.outer((self.total * self.mean).astype(self.dtype), self.mean @ V)
        return out


@compiled(fastmath=_FAST)
def _add_gram(indptr, indices, data, V, out, u):
    """Add XᵀXV to out; four lines of V at a time, so that u is read and written a quarter as often."""
    m = V.shape[1]
    for i in range(len(indptr) - 1):
        row_start, row_stop = indptr[i], indptr[i + 1]
        unrolled_stop = row_start + (row_stop - row_start) // 4 * 4
        for j in range(m):
            u[j] = 0
        for t in range(row_start, unrolled_stop, 4):
            v0, v1, v2, v3 = data[t], data[t + 1], data[t + 2], data[t + 3]
            l0, l1, l2, l3 = V[indices[t]], V[indices[t + 1]], V[indices[t + 2]], V[indices[t + 3]]
            for j in range(m):
                u[j] += v0 * l0[j] + v1 * l1[j] + v2 * l2[j] + v3 * l3[j]
        for t in range(unrolled_stop, row_stop):
            value, block_row = data[t], V[indices[t]]
            for j in range(m):
                u[j] += value * block_row[j]
        for t in range(row_start, row_stop):
            value, block_row = data[t], out[indices[t]]
            for j in range(m):
                block_row[j] += value * u[j]


@compiled
def _add_targets(indptr, indices, data, y_indptr, y_indices, y_data, out):
    """Add XᵀY to out."""
    for i in range(len(indptr) - 1):
        for s in range(y_indptr[i], y_indptr[i + 1]):
            label, target = y_indices[s], y_data[s]
            for t in range(indptr[i], indptr[i + 1]):
                out[indices[t], label] += data[t] * target


@compiled(fastmath=_FAST)
def _cg_step(W, R, P, AP, step_lengths, inverse, energy):
    """W += step·P, R −= step·AP in one pass; the sum of D⁻¹R² per column, in double precision."""
    for i in range(len(W)):
        w, r, p, ap, inverse_diagonal = W[i], R[i], P[i], AP[i], inverse[i]
        for j in range(len(step_lengths)):
            w[j] += step_lengths[j] * p[j]
            r[j] -= step_lengths[j] * ap[j]
            energy[j] += inverse_diagonal * r[j] * r[j]


@compiled(fastmath=_FAST)
def _cg_direction(P, R, energy_ratio, inverse):
    """P = D⁻¹R + energy_ratio·P (Fletcher–Reeves)."""
    for i in range(len(P)):
        p, r, inverse_diagonal = P[i], R[i], inverse[i]
        for j in range(len(energy_ratio)):
            p[j] = inverse_diagonal * r[j] + energy_ratio[j] * p[j]

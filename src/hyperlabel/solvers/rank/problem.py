"""The label-ranking problem: what is minimised, and the exact measure of any solution.

Rank-SVM (Elisseeff & Weston 2001; CVPR'09 eq. 9) asks for scores f(x) = Wᵀx + b that put every
relevant label of a row above every irrelevant one by a margin of 1::

    P(W, b) = ½‖W‖² + ½‖b‖² + Σᵢ Σ_{p∈yᵢ, q∉yᵢ} u_ip [1 − f_p(xᵢ) + f_q(xᵢ)]₊
    D(α)    = Σα − ½‖W(α)‖² − ½‖b(α)‖²,   0 ≤ α_ipq ≤ u_ip                              (17)

The objective lives here and the solvers know nothing of its measure: whatever they return is
certified by the same `certify`, with W(α) rebuilt from α and every pair counted.

Notation
--------
code     meaning                                                       shape
X        rows as the solver sees them (scaled), dense or CSR           n×d
shift    m, subtracted from sparse rows without densifying them        d
W, b     weights and bias; the bias is the weight of a constant 1 (8)  d×k, k
indices  labels on, in CSR; a label p that nobody knows stands as ~p    nnz
alpha    α, one dual per (row, relevant, irrelevant) triple            Σ|y||ȳ|
beta     β (15): row and (negated) column sums of a row's α block      n×k
unit     sᵢ/(|yᵢ||ȳᵢ|), sᵢ the sample weight                           n
cost     per-label cost c; the box is u_ip = C · unit_i · c_p          k
norms    Aᵢᵢ = ‖xᵢ − m‖² + 1                                           n
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import BLOCK_BYTES, row_blocks
from hyperlabel.solvers.compiling import check_csr_indices, check_shape, compiled

# A float32 dual may round up past its box: the box is drawn in by more than that.
FLOAT32_SLACK = 2.5e-7


@dataclass(frozen=True, eq=False)
class RankProblem:
    """One ranking problem, shared by every solver, C and warm start; the bias weighs a constant 1 (8)."""

    X: Any
    shift: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    start: np.ndarray
    unit: np.ndarray
    cost: np.ndarray
    norms: np.ndarray

    @classmethod
    def build(
        cls,
        X: Any,
        Y: sparse.csr_array,
        *,
        sample_weight: np.ndarray | None = None,
        label_cost: np.ndarray | None = None,
        shift: np.ndarray | None = None,
    ) -> RankProblem:
        """Lay out the pairs of each row; rows with all, no, or weightless labels have none.

        NaN stored in Y is a label nobody knows: it is in no pair.
        """
        n, k = Y.shape
        check_csr_indices(Y)
        if sparse.issparse(X):
            check_csr_indices(X)
        Y = Y if Y.has_sorted_indices else Y.sorted_indices()
        if not Y.has_canonical_format:  # pairs are counted by stored entries, and visited by labels
            raise ValueError("Y must hold every label of a row once: call sum_duplicates() on it.")
        shift = np.zeros(X.shape[1]) if shift is None else shift
        row_weights = np.ones(n) if sample_weight is None else sample_weight
        cost = np.ones(k) if label_cost is None else np.asarray(label_cost, dtype=np.float64)
        check_shape("X", X, (n, X.shape[1]))
        check_shape("shift", shift, X.shape[1:])
        check_shape("sample_weight", row_weights, (n,))
        check_shape("label_cost", cost, (k,))
        if sparse.issparse(X):
            norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2.0 * (X @ shift) + shift @ shift
        else:
            X = np.ascontiguousarray(X, dtype=np.float64)
            norms = np.einsum("ij,ij->i", X, X)
        is_unknown = np.isnan(Y.data)
        n_relevant, n_irrelevant = count_relevant(Y)
        row_pairs = n_relevant * n_irrelevant
        labels = np.where(is_unknown, ~Y.indices, Y.indices) if is_unknown.any() else Y.indices
        row_pairs[row_weights <= 0] = 0
        unit = np.divide(row_weights, row_pairs, out=np.zeros(n), where=row_pairs > 0)
        pair_start = np.concatenate([[0], np.cumsum(row_pairs)])
        return cls(X, shift, Y.indptr, labels, pair_start, unit, cost, np.maximum(norms, 0.0) + 1.0)

    @property
    def n_pairs(self) -> int:
        """Number of duals, Σ|y||ȳ| over the rows that count."""
        return int(self.start[-1])

    @property
    def n_labels(self) -> int:
        """Number of labels k."""
        return len(self.cost)

    @property
    def trained_rows(self) -> np.ndarray:
        """Indices of the rows that have pairs."""
        return np.flatnonzero(np.diff(self.start)).astype(np.int64)

    def blocks(self) -> Iterator[slice]:
        """Row blocks whose n×k scores fit in a few megabytes."""
        return row_blocks(self.X.shape[0], 8 * self.n_labels)

    def _row_scratch(self) -> tuple[np.ndarray, np.ndarray]:
        """Return room for the labels of a row and for its scores: kernels that make none compile faster."""
        return np.empty((2, self.n_labels), dtype=np.int64), np.empty(self.n_labels)

    def scores(self, rows: slice, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Scores f of a block of rows."""
        return self.X[rows] @ W + (b - self.shift @ W)

    def primal(self, W: np.ndarray, b: np.ndarray, C: float) -> float:
        """P(W, b), every pair counted."""
        hinge_loss = 0.0
        for row_block in self.blocks():
            F = self.scores(row_block, W, b)
            hinge_loss += _sum_pair_losses(
                F, row_block.start, self.indptr, self.indices, self.unit, self.cost, *self._row_scratch()
            )
        return float(0.5 * (np.vdot(W, W) + b @ b) + C * hinge_loss)

    def weights_of(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """W(α) and b(α) of eq. (16), and Σα."""
        k, dual_sum = self.n_labels, 0.0
        W, b = np.zeros((self.X.shape[1], k)), np.zeros(k)
        for row_block in self.blocks():
            beta = np.zeros((row_block.stop - row_block.start, k))
            label_rows, _ = self._row_scratch()
            dual_sum += _sum_block_duals(
                row_block.start, self.indptr, self.indices, self.start, alpha, beta, label_rows
            )
            W += self.X[row_block].T @ beta
            b += beta.sum(axis=0)
        return W - np.outer(self.shift, b), b, dual_sum

    def certify(self, alpha: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray, float, float]:
        """W(α), b(α), P(W(α), b(α)) and D(α): an exact certificate for any feasible α."""
        W, b, dual_sum = self.weights_of(alpha)
        return W, b, self.primal(W, b, C), float(dual_sum - 0.5 * (np.vdot(W, W) + b @ b))


@dataclass(frozen=True, eq=False)
class RankResult:
    """A ranking model with its certificate: P, D and (P − D)/P over every pair; `alpha` where it was kept."""

    W: np.ndarray
    b: np.ndarray
    alpha: np.ndarray | None
    primal: float
    dual: float
    gap: float
    n_iter: int
    converged: bool
    trace: np.ndarray


def go_on() -> bool:
    """Answer after an epoch that nobody asks to stop."""
    return False


def relative_duality_gap(primal: float, dual: float) -> float:
    """(P − D)/P; a problem without pairs (P = 0) is solved."""
    return (primal - dual) / primal if primal > 0 else 0.0


def rank_memory(n: int, d: int, k: int, n_pairs: int, dual_dtype: Any = np.float64) -> int:
    """Bytes of the duals, the two copies of W and the score blocks of a solve."""
    block_bytes = min(8 * n * k, BLOCK_BYTES)
    return n_pairs * np.dtype(dual_dtype).itemsize + 4 * 8 * d * k + 2 * block_bytes + 5 * 8 * n


def count_relevant(Y: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return how many labels of each row are known to be on, and known to be off."""
    n_stored = np.diff(Y.indptr).astype(np.int64)
    rows = np.repeat(np.arange(Y.shape[0]), n_stored)
    n_unknown = np.bincount(rows[np.isnan(Y.data)], minlength=Y.shape[0])
    return n_stored - n_unknown, Y.shape[1] - n_stored


@compiled
def split_labels(i, indptr, indices, relevant_labels, irrelevant_labels):
    """List the relevant and irrelevant labels of row i; return how many of each."""
    k = irrelevant_labels.shape[0]
    n_relevant, n_irrelevant, t, row_end = 0, 0, indptr[i], indptr[i + 1]
    for p in range(k):
        if t < row_end and indices[t] == p:
            relevant_labels[n_relevant] = p
            n_relevant += 1
            t += 1
        elif t < row_end and indices[t] == ~p:  # nobody knows
            t += 1
        else:
            irrelevant_labels[n_irrelevant] = p
            n_irrelevant += 1
    return n_relevant, n_irrelevant


@compiled(fastmath={"reassoc", "contract"})
def _sum_hinges(margin_offset, irrelevant_scores, n_irrelevant):
    hinge_sum = 0.0
    for j in range(n_irrelevant):
        margin_miss = margin_offset + irrelevant_scores[j]
        hinge_sum += margin_miss if margin_miss > 0.0 else 0.0
    return hinge_sum


@compiled
def _sum_pair_losses(F, first_row, indptr, indices, unit, cost, label_rows, irrelevant_scores):
    """Σ unit_i c_p [1 − f_p + f_q]₊ over the rows of a score block that begins at `first_row`."""
    relevant_labels, irrelevant_labels = label_rows[0], label_rows[1]
    block_loss = 0.0
    for r in range(F.shape[0]):
        i = first_row + r
        if unit[i] == 0.0:
            continue
        n_relevant, n_irrelevant = split_labels(i, indptr, indices, relevant_labels, irrelevant_labels)
        for j in range(n_irrelevant):
            irrelevant_scores[j] = F[r, irrelevant_labels[j]]
        for a in range(n_relevant):
            p = relevant_labels[a]
            block_loss += unit[i] * cost[p] * _sum_hinges(1.0 - F[r, p], irrelevant_scores, n_irrelevant)
    return block_loss


@compiled
def _sum_block_duals(first_row, indptr, indices, start, alpha, beta, label_rows):
    """Fill β (15) of the rows from `first_row` on; return the sum of their α."""
    relevant_labels, irrelevant_labels = label_rows[0], label_rows[1]
    dual_sum = 0.0
    for r in range(beta.shape[0]):
        i = first_row + r
        t = start[i]
        if start[i + 1] == t:
            continue
        n_relevant, n_irrelevant = split_labels(i, indptr, indices, relevant_labels, irrelevant_labels)
        for a in range(n_relevant):
            label_sum = 0.0
            for j in range(n_irrelevant):
                label_sum += alpha[t]
                beta[r, irrelevant_labels[j]] -= alpha[t]
                t += 1
            beta[r, relevant_labels[a]] += label_sum
            dual_sum += label_sum
    return dual_sum

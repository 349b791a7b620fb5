"""Sparse recovery for whole batches: CoSaMP and orthogonal matching pursuit.

Given codes r ≈ P z of s-sparse vectors z, find each z. Both algorithms only ever need the
correlations c = Pᵀr and the Gram matrix G = PᵀP: after the first product no step touches
the M rows of P again, so one iteration costs s·K instead of M·K.

Notation
--------
code       meaning                           shape
P          sensing matrix, unit columns      M×K
codes      one r per row                     n×M
C          correlations, r P                 n×K
G          PᵀP                               K×K
s          sparsity                          scalar

References
----------
Needell & Tropp (2009), CoSaMP: iterative signal recovery from incomplete and inaccurate
samples. Rubinstein, Zibulevsky & Elad (2008), Batch-OMP.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hyperlabel.solvers.arrays import row_blocks
from hyperlabel.solvers.compiling import check_finite, check_shape, compiled

GRAM_MAX = 16_384  # labels; G is then 2 GB, and past it decoding every row is out of reach anyway
# CoSaMP solves least squares over up to 3s columns, which may be dependent (M < 3s): this much
# of the mean diagonal is added, which picks nearly the smallest solution instead of failing.
JITTER = 1e-9


@dataclass(frozen=True)
class SparseCodes:
    """Supports (ascending, −1 where fewer than s were needed), entries, and ‖r − Pz‖/‖r‖ of each row."""

    indices: np.ndarray
    values: np.ndarray
    residual: np.ndarray
    n_iter: np.ndarray
    n_columns: int

    @property
    def converged(self) -> np.ndarray:
        """Which rows are explained to 1e-6."""
        return self.residual < 1e-6

    def toarray(self) -> np.ndarray:
        """Return the recovered vectors, n×K."""
        dense_codes = np.zeros((len(self.indices), self.n_columns))
        row_index, entry_index = np.nonzero(self.indices >= 0)
        dense_codes[row_index, self.indices[row_index, entry_index]] = self.values[row_index, entry_index]
        return dense_codes


def solve_sparse_codes(
    P: np.ndarray,
    codes: np.ndarray,
    sparsity: int,
    *,
    method: Literal["cosamp", "omp"] = "cosamp",
    gram: np.ndarray | None = None,
    max_iter: int = 30,
    tol: float = 1e-7,
    patient: bool = False,
) -> SparseCodes:
    """Recover the s-sparse vector behind each code, to ‖r − Pz‖ ≤ tol·‖r‖.

    A `patient` CoSaMP takes all `max_iter` iterations and returns the last support, instead of stopping at
    the first that explains no more and returning the best. OMP takes at most s.
    """
    P = np.ascontiguousarray(P, dtype=np.float64)
    codes = np.ascontiguousarray(codes, dtype=np.float64)
    n, K = len(codes), P.shape[1]
    if K > GRAM_MAX:
        raise ValueError(f"Sparse decoding holds a K×K matrix and takes at most {GRAM_MAX} labels, got {K}.")
    s = max(1, min(sparsity, K))
    G = np.ascontiguousarray(P.T @ P if gram is None else gram, dtype=np.float64)
    check_shape("gram", G, (K, K))
    for array_name, array in (("P", P), ("codes", codes), ("gram", G)):
        check_finite(array_name, array)
    indices = np.full((n, s), -1, dtype=np.int64)
    values, residual = np.zeros((n, s)), np.zeros(n)
    n_iter = np.zeros(n, dtype=np.int64)
    recover_rows = _cosamp_rows if method == "cosamp" else _omp_rows
    scratch = np.empty((4, K)), np.empty((4, 3 * s)), np.empty((4, 3 * s), np.int64), np.empty((3 * s, 3 * s))
    in_support = np.zeros(K, dtype=np.bool_)
    for row_block in row_blocks(n, 8 * K):  # correlations a block at a time: n×K may not fit
        C = codes[row_block] @ P
        squared_norms = np.einsum("ij,ij->i", codes[row_block], codes[row_block])
        recover_rows(
            C,
            G,
            squared_norms,
            s,
            max_iter,
            tol,
            patient,
            indices[row_block],
            values[row_block],
            residual[row_block],
            n_iter[row_block],
            *scratch,
            in_support,
        )
    return SparseCodes(indices, values, residual, n_iter, K)


@compiled
def _list_largest_entries(a, n_entries, count, out, largest_entries):
    """Put the indices of the `count` largest entries of a ≥ 0 into `out`, ties to the first; return how many.

    Fewer than `count` if products of large numbers overflowed to NaN, which is never among the largest.
    """
    n_placed = 0
    for i in range(count):
        largest_entries[i] = -1.0
    for j in range(n_entries):
        if a[j] > largest_entries[count - 1]:
            i = count - 1
            while i > 0 and largest_entries[i - 1] < a[j]:
                largest_entries[i] = largest_entries[i - 1]
                out[i] = out[i - 1]
                i -= 1
            largest_entries[i] = a[j]
            out[i] = j
            n_placed = min(n_placed + 1, count)
    return n_placed


@compiled(fastmath={"reassoc", "contract", "nsz"})  # or the sums stay scalar
def _solve_support(G, c, support, m, z, L):
    """Least squares on the support: (G_TT + jitter) z = c_T by Cholesky, row by row of L."""
    trace = 0.0
    for i in range(m):
        trace += G[support[i], support[i]]
    jitter = JITTER * trace / m
    for i in range(m):
        gram_row = G[support[i]]
        for j in range(i + 1):
            v = gram_row[support[j]]
            for k in range(j):
                v -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = v / L[j, j]
            else:  # columns that depend on each other leave rounding: a pivot is at least the jitter
                L[i, i] = np.sqrt(max(v + jitter, jitter))
    for i in range(m):
        v = 0.0
        for k in range(i):
            v += L[i, k] * z[k]
        z[i] = (c[support[i]] - v) / L[i, i]
    for i in range(m - 1, -1, -1):  # by rows of L: columns would stride
        z[i] /= L[i, i]
        for k in range(i):
            z[k] -= L[i, k] * z[i]


@compiled(fastmath={"contract"})
def _correlate_residual(G, c, support, m, z, proxy):
    """Proxy = c − G z: the correlations of what is still unexplained."""
    for j in range(len(c)):
        proxy[j] = c[j]
    for i in range(m):
        v = z[i]
        gram_row = G[support[i]]
        for j in range(len(c)):
            proxy[j] -= v * gram_row[j]


@compiled
def _compute_residual_energy(c, support, m, z, proxy, squared_norm):
    """‖r − P z‖² = ‖r‖² − zᵀ(c + proxy) restricted to the support."""
    residual_energy = squared_norm
    for i in range(m):
        residual_energy -= z[i] * (c[support[i]] + proxy[support[i]])
    return max(residual_energy, 0.0)


@compiled
def _store_code(support, z, m, residual_energy, squared_norm, indices, values):
    """Write the support in ascending order and its entries; return ‖r − P z‖/‖r‖."""
    for i in range(len(indices)):
        indices[i] = -1
        values[i] = 0.0
    for i in range(m):
        position = i
        while position > 0 and indices[position - 1] > support[i]:
            indices[position] = indices[position - 1]
            values[position] = values[position - 1]
            position -= 1
        indices[position] = support[i]
        values[position] = z[i]
    return np.sqrt(residual_energy / squared_norm) if squared_norm > 0 else 0.0


@compiled
def _cosamp_rows(
    C, G, squared_norms, s, max_iter, tol, patient, indices, values, residual, n_iter, label_rows, entry_rows,
    support_rows, L, in_support,
):  # fmt: skip
    n, K = C.shape
    magnitude, proxy, largest_entries = label_rows[0], label_rows[1], label_rows[2]
    z, z_size, coefs, best_coefs = entry_rows[0], entry_rows[1], entry_rows[2], entry_rows[3]
    merged, picked, support, best_support = support_rows[0], support_rows[1], support_rows[2], support_rows[3]
    for row in range(n):
        c = C[row]
        m, best_m = 0, 0
        residual_energy = best_energy = squared_norms[row]
        _correlate_residual(G, c, support, 0, coefs, proxy)
        while n_iter[row] < max_iter and best_energy > tol * tol * squared_norms[row]:
            n_iter[row] += 1
            for j in range(K):
                magnitude[j] = abs(proxy[j])
            n_picked = _list_largest_entries(magnitude, K, min(2 * s, K), picked, largest_entries)  # identify
            t = 0
            for i in range(m):  # merge
                merged[t] = support[i]
                in_support[support[i]] = True
                t += 1
            for i in range(n_picked):
                if not in_support[picked[i]]:
                    merged[t] = picked[i]
                    t += 1
            for i in range(m):
                in_support[support[i]] = False
            if t == 0:
                break
            _solve_support(G, c, merged, t, z, L)  # estimate
            for i in range(t):
                z_size[i] = abs(z[i])
            m = _list_largest_entries(z_size, t, min(s, t), picked, largest_entries)  # prune
            for i in range(m):
                support[i] = merged[picked[i]]
                coefs[i] = z[picked[i]]
            _correlate_residual(G, c, support, m, coefs, proxy)
            residual_energy = _compute_residual_energy(c, support, m, coefs, proxy, squared_norms[row])
            # without progress the best support so far is the answer; 1e-9 is the rounding of the energy
            if not patient and residual_energy >= best_energy * (1.0 - 1e-9):
                break
            best_energy, best_m = residual_energy, m
            for i in range(m):
                best_support[i] = support[i]
                best_coefs[i] = coefs[i]
        residual[row] = _store_code(
            best_support, best_coefs, best_m, best_energy, squared_norms[row], indices[row], values[row]
        )


@compiled
def _omp_rows(
    C, G, squared_norms, s, max_iter, tol, patient, indices, values, residual, n_iter, label_rows, entry_rows,
    support_rows, L, in_support,
):  # fmt: skip
    proxy, z, support = label_rows[1], entry_rows[0], support_rows[2]
    for row in range(len(C)):
        c = C[row]
        m, residual_energy = 0, squared_norms[row]
        _correlate_residual(G, c, support, 0, z, proxy)
        while m < s and residual_energy > tol * tol * squared_norms[row]:
            n_iter[row] += 1
            j = 0
            for label in range(1, len(proxy)):
                if abs(proxy[label]) > abs(proxy[j]):
                    j = label
            is_new = True
            for i in range(m):
                is_new = is_new and support[i] != j
            if not is_new or abs(proxy[j]) <= 1e-12 * np.sqrt(squared_norms[row]):
                break  # nothing outside the support correlates with the rest
            support[m] = j
            m += 1
            _solve_support(G, c, support, m, z, L)
            _correlate_residual(G, c, support, m, z, proxy)
            residual_energy = _compute_residual_energy(c, support, m, z, proxy, squared_norms[row])
        residual[row] = _store_code(
            support, z, m, residual_energy, squared_norms[row], indices[row], values[row]
        )

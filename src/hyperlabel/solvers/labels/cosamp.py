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
# of the mean diagonal is added, so the smallest solution is found instead of none.
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
        out = np.zeros((len(self.indices), self.n_columns))
        row, at = np.nonzero(self.indices >= 0)
        out[row, self.indices[row, at]] = self.values[row, at]
        return out


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
    for name, array in (("P", P), ("codes", codes), ("gram", G)):
        check_finite(name, array)
    indices = np.full((n, s), -1, dtype=np.int64)
    values, residual = np.zeros((n, s)), np.zeros(n)
    n_iter = np.zeros(n, dtype=np.int64)
    kernel = _cosamp_rows if method == "cosamp" else _omp_rows
    for rows in row_blocks(n, 8 * K):  # correlations a block at a time: n×K may not fit
        C = codes[rows] @ P
        square = np.einsum("ij,ij->i", codes[rows], codes[rows])
        kernel(
            C, G, square, s, max_iter, tol, patient, indices[rows], values[rows], residual[rows], n_iter[rows]
        )
    return SparseCodes(indices, values, residual, n_iter, K)


@compiled
def _largest_entries(a, count, out):
    """Put the places of the `count` largest entries of a ≥ 0 into `out`, ties to the lowest; return how many.

    Fewer than `count` if products of large numbers overflowed to NaN, which is never among the largest.
    """
    best, n_placed = np.full(count, -1.0), 0
    for j in range(len(a)):
        if a[j] > best[count - 1]:
            i = count - 1
            while i > 0 and best[i - 1] < a[j]:
                best[i] = best[i - 1]
                out[i] = out[i - 1]
                i -= 1
            best[i] = a[j]
            out[i] = j
            n_placed = min(n_placed + 1, count)
    return n_placed


@compiled(fastmath={"reassoc", "contract", "nsz"})  # or the sums stay scalar
def _solve_support(G, c, support, m, z):
    """Least squares on the support: (G_TT + jitter) z = c_T by Cholesky (LAPACK)."""
    A = np.empty((m, m))
    trace = 0.0
    for i in range(m):
        at = support[i]
        for j in range(i + 1):
            A[i, j] = A[j, i] = G[at, support[j]]
        trace += A[i, i]
    for i in range(m):
        A[i, i] += JITTER * trace / m
    L = np.linalg.cholesky(A)
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
def _residual_correlation(G, c, support, m, z, proxy):
    """Proxy = c − G z: the correlations of what is still unexplained."""
    for j in range(len(c)):
        proxy[j] = c[j]
    for i in range(m):
        v = z[i]
        row = G[support[i]]
        for j in range(len(c)):
            proxy[j] -= v * row[j]


@compiled
def _unexplained_energy(c, support, m, z, proxy, square):
    """‖r − P z‖² = ‖r‖² − zᵀ(c + proxy) restricted to the support."""
    out = square
    for i in range(m):
        out -= z[i] * (c[support[i]] + proxy[support[i]])
    return max(out, 0.0)


@compiled
def _store_code(support, z, m, left, square, indices, values):
    order = np.argsort(support[:m])
    indices[:] = -1
    values[:] = 0.0
    for i in range(m):
        indices[i] = support[order[i]]
        values[i] = z[order[i]]
    return np.sqrt(left / square) if square > 0 else 0.0


@compiled
def _cosamp_rows(C, G, square, s, max_iter, tol, patient, indices, values, residual, n_iter):
    n, K = C.shape
    wide = min(3 * s, K)
    z = np.empty(wide)
    magnitude, proxy = np.empty(K), np.empty(K)
    merged, picked = np.empty(wide, np.int64), np.empty(min(2 * s, K), np.int64)
    keep = np.empty(s, np.int64)
    support, coefs = np.empty(s, np.int64), np.empty(s)
    best_support, best_coefs = np.empty(s, np.int64), np.empty(s)
    member = np.zeros(K, np.bool_)
    for row in range(n):
        c = C[row]
        m, best_m = 0, 0
        left = best = square[row]
        _residual_correlation(G, c, support, 0, coefs, proxy)
        while n_iter[row] < max_iter and best > tol * tol * square[row]:
            n_iter[row] += 1
            for j in range(K):
                magnitude[j] = abs(proxy[j])
            n_picked = _largest_entries(magnitude, len(picked), picked)  # identify
            t = 0
            for i in range(m):  # merge
                merged[t] = support[i]
                member[support[i]] = True
                t += 1
            for i in range(n_picked):
                if not member[picked[i]]:
                    merged[t] = picked[i]
                    t += 1
            for i in range(m):
                member[support[i]] = False
            if t == 0:
                break
            _solve_support(G, c, merged, t, z)  # estimate
            m = _largest_entries(np.abs(z[:t]), min(s, t), keep)  # prune
            for i in range(m):
                support[i] = merged[keep[i]]
                coefs[i] = z[keep[i]]
            _residual_correlation(G, c, support, m, coefs, proxy)
            left = _unexplained_energy(c, support, m, coefs, proxy, square[row])
            if not patient and left >= best * (1.0 - 1e-9):  # no progress: keep the best support seen
                break
            best, best_m = left, m
            best_support[:m] = support[:m]
            best_coefs[:m] = coefs[:m]
        residual[row] = _store_code(
            best_support, best_coefs, best_m, best, square[row], indices[row], values[row]
        )


@compiled
def _omp_rows(C, G, square, s, max_iter, tol, patient, indices, values, residual, n_iter):
    n, K = C.shape
    z, proxy, support = np.empty(s), np.empty(K), np.empty(s, np.int64)
    for row in range(n):
        c = C[row]
        m, left = 0, square[row]
        _residual_correlation(G, c, support, 0, z, proxy)
        while m < s and left > tol * tol * square[row]:
            n_iter[row] += 1
            j = np.argmax(np.abs(proxy))
            new = True
            for i in range(m):
                new = new and support[i] != j
            if not new or abs(proxy[j]) <= 1e-12 * np.sqrt(square[row]):
                break  # nothing outside the support correlates with the rest
            support[m] = j
            m += 1
            _solve_support(G, c, support, m, z)
            _residual_correlation(G, c, support, m, z, proxy)
            left = _unexplained_energy(c, support, m, z, proxy, square[row])
        residual[row] = _store_code(support, z, m, left, square[row], indices[row], values[row])

"""Principal directions of the label vertices: a truncated SVD of sparse Y − 1oᵀ, never densified.

The routes, by size: the K×K Gram when there are few labels, the n×n Gram when there are few
rows, and ARPACK on the implicit operator v ↦ (Y − 1oᵀ)ᵀ((Y − 1oᵀ)v) when both are many.

Notation
--------
code             Tai & Lin (2012)                       shape
Y                label-set vertices, one per row        n×K
offset           reference point o                      K
components       P = U_Mᵀ, eq. (7)                      M×K
singular_values  σ₁ ≥ … ≥ σ_M of Z = Y − 1oᵀ            M
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from hyperlabel.solvers.arrays import as_dense, rank_tolerance
from hyperlabel.solvers.moments.row_moments import CenteredMoments
from hyperlabel.solvers.ridge.factored import refuse_ill_conditioned

GRAM_MAX = 4096  # a Gram matrix of this order is 134 MB and decomposes within a minute


@dataclass(frozen=True)
class PrincipalDirections:
    """Orthonormal rows, largest σ first, sign fixed, and the largest ‖ZᵀZp − σ²p‖/σ₁² over them."""

    components: np.ndarray
    singular_values: np.ndarray
    residual: float
    converged: bool


def principal_directions(
    Y: Any, n_components: int | None = None, *, offset: np.ndarray | None = None
) -> PrincipalDirections:
    """Top right singular vectors of Y − 1oᵀ (all of the rank for None)."""
    n, K = Y.shape
    n_directions = min(n, K) if n_components is None else min(n_components, n, K)
    offset = np.zeros(K) if offset is None else offset
    if K <= GRAM_MAX:
        return directions_of_gram(label_gram(Y, offset), n_directions)
    if n <= GRAM_MAX:
        return _solve_sample_gram(Y, offset, n_directions)
    if n_directions > min(n, K) // 4:
        raise ValueError(
            f"{n_directions} directions of {K} labels × {n} rows need a dense decomposition that does not "
            f"fit: ask for at most {min(n, K) // 4}."
        )
    return _solve_by_arpack(Y, offset, n_directions)


def label_gram(Y: Any, offset: np.ndarray) -> np.ndarray:
    """Return (Y − 1oᵀ)ᵀ(Y − 1oᵀ) as a dense K×K array."""
    label_counts = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel()
    return shifted_gram(as_dense(Y.T @ Y), label_counts, float(Y.shape[0]), offset)


def shifted_gram(yy: np.ndarray, y_sum: np.ndarray, weight: float, offset: np.ndarray) -> np.ndarray:
    """YᵀY, Yᵀ1 and n, moved to the reference point o: what fold moments know suffices."""
    offset_cross = np.outer(y_sum, offset)
    return yy - offset_cross - offset_cross.T + weight * np.outer(offset, offset)


def directions_of_gram(gram: np.ndarray, n_components: int | None = None) -> PrincipalDirections:
    """Top eigenvectors of a K×K Gram matrix; directions of eigenvalue 0 are left out."""
    K = len(gram)
    n_directions = K if n_components is None else min(n_components, K)
    if n_directions <= K // 3:  # part of the spectrum: the tridiagonal reduction dominates either way
        values, vectors = linalg.eigh(gram, subset_by_index=(K - n_directions, K - 1), check_finite=False)
    else:
        values, vectors = linalg.eigh(gram, driver="evd", check_finite=False)
    values, vectors = values[::-1][:n_directions], vectors[:, ::-1][:, :n_directions]
    largest_eigenvalue = max(float(values[0]), 0.0)
    rank = int(np.count_nonzero(values > K * np.finfo(np.float64).eps * max(largest_eigenvalue, 1e-300)))
    rank = max(rank, 1)  # labels that never vary still get one (null) direction
    components = settle_directions(np.ascontiguousarray(vectors[:, :rank].T))
    values = np.maximum(values[:rank], 0.0)
    eigen_residual = components @ gram - values[:, None] * components
    relative_residual = (
        float(np.linalg.norm(eigen_residual, axis=1).max() / largest_eigenvalue)
        if largest_eigenvalue
        else 0.0
    )
    return PrincipalDirections(components, np.sqrt(values), relative_residual, True)


def predictable_directions(
    moments: CenteredMoments, alpha: float, n_components: int | None = None
) -> PrincipalDirections:
    """Top eigenvectors of YcᵀXc(XcᵀXc + λI)⁻¹XcᵀYc (Chen & Lin 2012).

    They are the right singular vectors of A = (XcᵀXc + λI)^(−1/2) XcᵀYc, computed from the
    smaller Gram matrix of A; `singular_values` are those of A.
    """
    values, Q = linalg.eigh(moments.gram, driver="evd", check_finite=False)
    shifted_eigenvalues = np.maximum(values, 0.0) + alpha
    zero_tolerance = rank_tolerance(shifted_eigenvalues)
    if alpha <= 0:
        refuse_ill_conditioned(shifted_eigenvalues[shifted_eigenvalues > zero_tolerance])
    inverse_root = np.divide(
        1.0,
        np.sqrt(shifted_eigenvalues),
        out=np.zeros_like(shifted_eigenvalues),
        where=shifted_eigenvalues > zero_tolerance,
    )
    A = inverse_root[:, None] * (Q.T @ moments.cross)
    if A.shape[0] >= A.shape[1]:
        return directions_of_gram(A.T @ A, n_components)
    left_directions = directions_of_gram(A @ A.T, n_components)
    V = linalg.qr((left_directions.components @ A).T, mode="economic")[0]
    components = settle_directions(np.ascontiguousarray(V.T))
    eigen_residual = (components @ A.T) @ A - left_directions.singular_values[:, None] ** 2 * components
    relative_residual = float(
        np.linalg.norm(eigen_residual, axis=1).max() / max(left_directions.singular_values[0] ** 2, 1e-300)
    )
    return PrincipalDirections(components, left_directions.singular_values, relative_residual, True)


def settle_directions(components: np.ndarray) -> np.ndarray:
    """Round each row, and make its entry of largest magnitude positive (first one on ties).

    Entries are rounded at the thirteenth decimal: labels that the data cannot tell apart then get
    the very same entry, and their scores tie instead of differing by rounding.
    """
    components = np.round(components, 13)
    largest_entry = np.abs(components).argmax(axis=1)
    return (
        components
        * np.where(components[np.arange(len(largest_entry)), largest_entry] < 0, -1.0, 1.0)[:, None]
    )


def _solve_sample_gram(Y: Any, offset: np.ndarray, n_directions: int) -> PrincipalDirections:
    """Few rows, many labels: eigenvectors u of ZZᵀ, then p = Zᵀu/σ."""
    offset_products = np.asarray(Y @ offset).ravel()
    sample_gram = (
        as_dense(Y @ Y.T) - offset_products[:, None] - offset_products[None, :] + float(offset @ offset)
    )
    left_directions = directions_of_gram(sample_gram, n_directions)
    U, sigma = left_directions.components.T, left_directions.singular_values
    V = as_dense(Y.T @ U) - np.outer(offset, U.sum(axis=0))
    # Zᵀu/σ loses orthogonality as (σ₁/σ)²ε; one QR restores it without turning the leading directions
    Q, R = linalg.qr(V / np.where(sigma > 0, sigma, 1.0), mode="economic")
    Q *= np.where(np.diag(R) < 0, -1.0, 1.0)
    return _certify_directions(Y, offset, np.ascontiguousarray(Q.T), sigma, converged=True)


def _solve_by_arpack(Y: Any, offset: np.ndarray, n_directions: int) -> PrincipalDirections:
    K = Y.shape[1]
    Yt = sparse.csr_array(Y.T)

    def apply_gram(v: np.ndarray) -> np.ndarray:
        z = Y @ v - offset @ v
        return Yt @ z - offset * z.sum()

    gram_operator = LinearOperator((K, K), matvec=apply_gram, dtype=np.float64)
    start_vector = np.random.default_rng(0).normal(size=K)
    converged = True
    try:
        values, vectors = eigsh(
            gram_operator, k=n_directions, v0=start_vector, tol=1e-6, maxiter=20 * n_directions
        )
    except ArpackNoConvergence as partial:  # keep the converged pairs; the certificate says how good they are
        values, vectors, converged = partial.eigenvalues, partial.eigenvectors, False
        if not len(values):
            raise ValueError("No principal direction converged: lower n_components.") from None
    descending_order = np.argsort(-values)
    components = np.ascontiguousarray(vectors[:, descending_order].T)
    return _certify_directions(
        Y, offset, components, np.sqrt(np.maximum(values[descending_order], 0.0)), converged=converged
    )


def _certify_directions(
    Y: Any, offset: np.ndarray, components: np.ndarray, sigma: np.ndarray, *, converged: bool
) -> PrincipalDirections:
    components = settle_directions(components)
    Z = as_dense(Y @ components.T) - components @ offset
    eigen_residual = as_dense(Y.T @ Z) - np.outer(offset, Z.sum(axis=0)) - components.T * sigma**2
    relative_residual = float(np.linalg.norm(eigen_residual, axis=0).max() / max(sigma[0] ** 2, 1e-300))
    return PrincipalDirections(components, sigma, relative_residual, converged)

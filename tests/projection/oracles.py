"""Textbook dense forms of the projections: n×n similarities, pseudo-inverses, full eigenproblems."""

from __future__ import annotations

import numpy as np
from scipy import linalg


def center(A: np.ndarray) -> np.ndarray:
    return A - A.mean(axis=0)


def factor(Y: np.ndarray, expansion: str, w: np.ndarray | None = None) -> np.ndarray:
    """H₀, dense, from the definitions of the table (not centred, except cca)."""
    w = np.ones(Y.shape[1]) if w is None else w
    size = Y.sum(axis=0)
    safe = np.where(size > 0, size, 1.0)
    if expansion == "cca":
        Yc = center(Y)
        s, V = linalg.eigh(Yc.T @ Yc)
        keep = s > 1e-10 * s[-1]
        return Yc @ (V[:, keep] / np.sqrt(s[keep])) @ V[:, keep].T
    D, right = {
        "clique": (Y @ (w * size), np.sqrt(w)),
        "star": (Y @ (w / safe), np.sqrt(w) / safe),
        "zhou": (Y @ w, np.sqrt(w / safe)),
    }[expansion]
    root = np.array([1 / np.sqrt(x) if x > 0 else 0.0 for x in D])
    return root[:, None] * Y * right


def generalised(X: np.ndarray, S: np.ndarray, alpha: float, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Top eigenvectors of (XcᵀXc + λI)⁺ XcᵀSXc, normalised in XcᵀXc + λI."""
    Xc = center(X)
    C = Xc.T @ Xc + alpha * np.eye(X.shape[1])
    s, Q = linalg.eigh(C)
    keep = s > (1e-12 * s[-1] if alpha else 1e-10 * s[-1])
    half = Q[:, keep] / np.sqrt(s[keep])  # C^(−1/2) on its range
    values, U = linalg.eigh(half.T @ Xc.T @ S @ Xc @ half)
    return values[::-1][:rank], (half @ U)[:, ::-1][:, :rank]


def least_squares(X: np.ndarray, F: np.ndarray, alpha: float, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Ridge on the left singular vectors of the centred factor, by stacking √λI (or pinv)."""
    Xc, Fc = center(X), center(F)
    U, sigma, _ = linalg.svd(Fc, full_matrices=False)
    rank = min(rank, int((sigma > 1e-7 * sigma[0]).sum()))
    H = U[:, :rank]
    if alpha == 0:
        return sigma[:rank] ** 2, linalg.pinv(Xc, rtol=1e-6) @ H
    stacked = np.vstack([Xc, np.sqrt(alpha) * np.eye(X.shape[1])])
    return sigma[:rank] ** 2, linalg.lstsq(stacked, np.vstack([H, np.zeros((X.shape[1], rank))]))[0]


def metric_error(W: np.ndarray, reference: np.ndarray) -> float:
    """‖WWᵀ − W̃W̃ᵀ‖ / ‖W̃W̃ᵀ‖."""
    truth = reference @ reference.T
    return float(np.linalg.norm(W @ W.T - truth) / np.linalg.norm(truth))


def separated(values: np.ndarray, gap: float = 1e-3) -> np.ndarray:
    """Which eigenvalues stand apart from their neighbours (relative to the largest)."""
    padded = np.concatenate([[np.inf], values, [-np.inf]]) / values[0]
    return (padded[:-2] - padded[1:-1] > gap) & (padded[1:-1] - padded[2:] > gap)

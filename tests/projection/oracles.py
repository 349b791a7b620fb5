"""Textbook dense forms of the projections: n×n similarities, pseudo-inverses, full eigenproblems."""

from __future__ import annotations

from typing import Any

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


def dense_projection(model: Any, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Products of the projected training rows, from dense matrices of the method's definition."""
    kind, Xc, Yc = type(model).__name__, center(X), center(Y)
    if kind not in DENSE_FORMS:
        raise LookupError(f"{kind} has no dense form in tests/projection/oracles.py.")
    return DENSE_FORMS[kind](model, _kernel_rows(Xc) if model.kernel == "rbf" else Xc, Yc, Y)


def _kernel_rows(X: np.ndarray) -> np.ndarray:
    """Rows whose inner products are the centred rbf kernel, at the default gamma of scikit-learn."""
    P = np.eye(len(X)) - 1 / len(X)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    s, U = linalg.eigh(P @ np.exp(-squares / X.shape[1]) @ P)
    return U[:, s > 1e-12] * np.sqrt(s[s > 1e-12])


def products(model: Any, rows: np.ndarray, S: np.ndarray, alpha: float) -> np.ndarray:
    values, W = generalised(rows, S, alpha, rows.shape[1])
    Z = rows @ W[:, values > 1e-9 * values[0]][:, : model.n_components]
    return Z @ Z.T


def _hypergraph(model: Any, Xc: np.ndarray, Yc: np.ndarray, Y: np.ndarray) -> np.ndarray:
    w = None
    if model.edge_weights == "compactness":
        members = [Xc[column > 0] for column in Y.T]
        pairs = np.array([((m[:, None] - m[None]) ** 2).sum() / (len(m) * (len(m) - 1)) for m in members])
        w = np.exp(-pairs / pairs.mean())
    F, rows = center(factor(Y, model.expansion, w)), Xc
    if model.form == "exact":
        return products(model, rows, F @ F.T, model.alpha)
    W = least_squares(rows, F, model.alpha, model.n_components or F.shape[1])[1]
    return rows @ W @ W.T @ rows.T


def _hopls(model: Any, Xc: np.ndarray, Yc: np.ndarray, Y: np.ndarray) -> np.ndarray:
    H = center(factor(Y, "clique"))
    weight = model.tradeoff * 4 * np.trace(Yc.T @ Yc) / np.trace(H.T @ H)
    return products(model, Xc, 4 * Yc @ Yc.T + weight * H @ H.T, model.alpha)


def _mddm(model: Any, Xc: np.ndarray, Yc: np.ndarray, Y: np.ndarray) -> np.ndarray:
    if model.variant == "feature":
        return products(model, Xc, Yc @ Yc.T, (1 - model.mu) / model.mu) / model.mu
    values, V = linalg.eigh(Xc.T @ Yc @ Yc.T @ Xc)
    Z = Xc @ V[:, values > 1e-9 * values[-1]][:, ::-1][:, : model.n_components]
    return Z @ Z.T


def _mlsi(model: Any, Xc: np.ndarray, Yc: np.ndarray, Y: np.ndarray) -> np.ndarray:
    K = (1 - model.beta) * Xc @ Xc.T + model.beta * Yc @ Yc.T
    if model.variant == "projection":
        return products(model, Xc, K, model.alpha)
    constraint = Xc.T @ linalg.pinvh(K, rtol=1e-10) @ Xc + model.alpha * np.eye(Xc.shape[1])
    values, W = linalg.eigh(Xc.T @ Xc, constraint)
    Z = (Xc @ W * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, : model.n_components]
    return Z @ Z.T


DENSE_FORMS = {
    "HypergraphSpectral": _hypergraph,
    "OPLS": lambda model, Xc, Yc, Y: products(model, Xc, Yc @ Yc.T, model.alpha),
    "HOPLS": _hopls,
    "MDDM": _mddm,
    "MLSI": _mlsi,
}

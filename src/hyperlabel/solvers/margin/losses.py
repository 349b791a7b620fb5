r"""Squared hinge or logistic loss for all labels together: L-BFGS preconditioned by one shared factor.

Each label j minimises, on targets t of ±1 (0 where the label of a row is unknown),

.. math:: \sum_i c_i\,\ell(t_{ij}(w_j^T x_i + b_j)) + \alpha \|w_j\|^2.

The Hessian of every label lies below κ·ZᵀCZ + 2αI, where Z has a column of ones and κ is 2 for the squared
hinge, ¼ for the logistic loss (Böhning 1992): one Cholesky factor of that bound serves all labels, and an
iteration is two products with the rows, whatever the number of labels. On wide sparse rows the squared hinge
goes through `solvers.margin.hinge_active_set` first.

Notation
--------
code      meaning                                 shape
X         rows                                    n×d
T         targets −1, 0, +1                       n×k
V         weights and intercept of each label     (d+1)×k
R         scores ZV                               n×k
g         gradient                                (d+1)×k
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.blas import product
from hyperlabel.solvers.compiling import check_csr_indices, check_shape, compiled
from hyperlabel.solvers.margin.hinge_active_set import solve_hinge_active_set

CURVATURE = {"squared_hinge": 2.0, "logistic": 0.25}
MEMORY = 6  # steps that L-BFGS remembers
MOST = 500  # iterations
FACTORED = 4096  # columns: above, the diagonal preconditions
BLOCK = 1 << 23  # scores at a time


class SignedWeights(NamedTuple):
    """Weights of each entry as a positive and as a negative, n×k: soft targets, and weights of entries."""

    on: np.ndarray
    off: np.ndarray

    def select(self, labels: Any) -> "SignedWeights":
        """Return some of the labels, side by side in memory."""
        return SignedWeights(
            np.ascontiguousarray(self.on[:, labels]), np.ascontiguousarray(self.off[:, labels])
        )


Targets = np.ndarray | SignedWeights
Pairs = list[tuple[np.ndarray, np.ndarray, np.ndarray]]


class MarginFit(NamedTuple):
    """Weights (d×k), intercepts, and the largest norm of a label's gradient over that at zero."""

    coef: np.ndarray
    intercept: np.ndarray
    residual: float


def solve_margins(
    X: Any,
    T: Targets,
    loss: str,
    alpha: float,
    *,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-3,
    start: MarginFit | None = None,
) -> MarginFit:
    """Minimise the loss of every label to a relative gradient of `tol`, from `start` or zero.

    T are targets of ±1 and 0, or `SignedWeights`, which multiply those of the samples.
    """
    n, d = X.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    check_shape("sample_weight", weight, (n,))
    for entries in T if isinstance(T, SignedWeights) else (T,):
        check_shape("T", entries, (n, entries.shape[1]))
    if sparse.issparse(X):
        check_csr_indices(X)
    if isinstance(T, SignedWeights):
        return _solve_preconditioned(X, T, loss, alpha, weight, tol, start)
    if loss == "squared_hinge" and sparse.issparse(X) and d > FACTORED and alpha > 0:
        return _solve_active_rows(X, T, alpha, weight, tol)
    return _solve_preconditioned(X, T, loss, alpha, weight, tol, start)


def _solve_active_rows(X: Any, T: np.ndarray, alpha: float, weight: np.ndarray, tol: float) -> MarginFit:
    """Solve by the rows inside each margin; labels that this leaves above `tol` go on from there."""
    coef, intercept, label_residuals = solve_hinge_active_set(X, T, alpha, weight, tol)
    is_unfinished = label_residuals > tol
    if is_unfinished.any():
        start_fit = MarginFit(coef[:, is_unfinished], intercept[is_unfinished], float(label_residuals.max()))
        remaining_fit = _solve_preconditioned(
            X, T[:, is_unfinished], "squared_hinge", alpha, weight, tol, start_fit
        )
        coef[:, is_unfinished], intercept[is_unfinished], label_residuals[is_unfinished] = (
            remaining_fit.coef,
            remaining_fit.intercept,
            remaining_fit.residual,
        )
    return MarginFit(coef, intercept, float(label_residuals.max(initial=0.0)))


def _solve_preconditioned(
    X: Any, T: Targets, loss: str, alpha: float, weight: np.ndarray, tol: float, start: MarginFit | None
) -> MarginFit:
    """Solve by L-BFGS, in blocks of labels."""
    (n, d), k = X.shape, T.on.shape[1] if isinstance(T, SignedWeights) else T.shape[1]
    typical_weight = weight
    if isinstance(T, SignedWeights) and k:  # one factor for all labels: steps correct its scale
        typical_weight = weight * (T.on + T.off).mean(axis=1)
    precondition = _make_preconditioner(X, typical_weight, CURVATURE[loss], alpha)
    start_weights = np.zeros((d + 1, k)) if start is None else np.vstack([start.coef, start.intercept])
    labels_per_block = max(1, BLOCK // n)
    block_fits = [
        _descend_block(
            X,
            _select_labels(T, slice(first_label, first_label + labels_per_block)),
            weight,
            loss,
            alpha,
            tol,
            precondition,
            start_weights[:, first_label : first_label + labels_per_block],
        )
        for first_label in range(0, k, labels_per_block)
    ]
    V = np.hstack([block_weights for block_weights, _ in block_fits]) if block_fits else start_weights
    return MarginFit(V[:-1], V[-1], max((residual for _, residual in block_fits), default=0.0))


def _make_preconditioner(
    X: Any, weight: np.ndarray, curvature: float, alpha: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Return g ↦ (κ·ZᵀCZ + 2αI)⁻¹g; of many columns the diagonal alone."""
    d = X.shape[1]
    if d > FACTORED:
        squared_entries = X.multiply(X) if sparse.issparse(X) else np.square(X)
        hessian_diagonal = curvature * np.r_[np.asarray(squared_entries.T @ weight).ravel(), weight.sum()]
        hessian_diagonal[:-1] += 2 * alpha
        hessian_diagonal = np.maximum(hessian_diagonal, 1e-12 * hessian_diagonal.max())[:, None]
        return lambda g: g / hessian_diagonal
    H = np.empty((d + 1, d + 1))
    weighted_rows = X.multiply(weight[:, None]).tocsr() if sparse.issparse(X) else X * weight[:, None]
    H[:-1, :-1] = as_dense(X.T @ weighted_rows)
    H[-1, :-1] = H[:-1, -1] = np.asarray(weighted_rows.sum(axis=0)).ravel()
    H[-1, -1] = weight.sum()
    H *= curvature
    # the trace keeps H positive definite at α = 0 on dependent columns
    H[np.arange(d), np.arange(d)] += 2 * alpha + 1e-12 * np.trace(H)
    hessian_factor = linalg.cho_factor(H, overwrite_a=True, check_finite=False)
    return lambda g: linalg.cho_solve(hessian_factor, g, check_finite=False)


def _descend_block(
    X: Any,
    T: Targets,
    weight: np.ndarray,
    loss: str,
    alpha: float,
    tol: float,
    precondition: Callable[[np.ndarray], np.ndarray],
    V: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Return the weights of a block of labels and its largest relative gradient; finished labels leave it."""
    evaluate_loss, k = LOSSES[loss, isinstance(T, SignedWeights)], V.shape[1]
    _, score_slopes = evaluate_loss(np.zeros((X.shape[0], k)), T, weight)
    start_norms = np.maximum(
        np.linalg.norm(_compute_gradient(X, score_slopes, 0 * V, alpha), axis=0), np.finfo(float).tiny
    )
    final_weights, label_residuals = V.copy(), np.zeros(k)
    live_labels, V = np.arange(k), V.copy()
    R = _compute_scores(X, V)
    label_losses, score_slopes = evaluate_loss(R, T, weight)
    label_losses += alpha * np.square(V[:-1]).sum(axis=0)
    g = _compute_gradient(X, score_slopes, V, alpha)
    step_pairs: Pairs = []
    for iteration in range(MOST + 1):
        relative_norms = np.linalg.norm(g, axis=0) / start_norms[live_labels]
        is_unfinished = relative_norms > tol
        final_weights[:, live_labels], label_residuals[live_labels] = V, relative_norms
        if iteration == MOST or not is_unfinished.any():
            break
        if 4 * is_unfinished.sum() < 3 * len(is_unfinished):  # a smaller block repays its copies
            live_labels, label_losses = live_labels[is_unfinished], label_losses[is_unfinished]
            T, R = _select_labels(T, is_unfinished), R[:, is_unfinished]
            V, g = V[:, is_unfinished], g[:, is_unfinished]
            step_pairs = [
                (s[:, is_unfinished], y[:, is_unfinished], rho[is_unfinished]) for s, y, rho in step_pairs
            ]
        D = -_apply_inverse_hessian(g, step_pairs, precondition)
        directional_slope = (g * D).sum(axis=0)
        dR, step_sizes = _compute_scores(X, D), np.ones(len(live_labels))
        for _ in range(30):
            trial_weights, trial_scores = V + step_sizes * D, R + step_sizes * dR
            trial_losses, score_slopes = evaluate_loss(trial_scores, T, weight)
            trial_losses += alpha * np.square(trial_weights[:-1]).sum(axis=0)
            # Armijo's condition, but for the rounding of the loss near its minimum
            loss_limits = label_losses + 1e-4 * step_sizes * directional_slope + 1e-12 * np.abs(label_losses)
            falls_too_little = trial_losses > loss_limits
            if not falls_too_little.any():
                break
            step_sizes = np.where(falls_too_little, step_sizes / 2, step_sizes)
        g_new = _compute_gradient(X, score_slopes, trial_weights, alpha)
        s, y = trial_weights - V, g_new - g
        step_curvature = (s * y).sum(axis=0)
        is_curved = step_curvature > 1e-14 * np.linalg.norm(s, axis=0) * np.linalg.norm(y, axis=0)
        # ρ = 0 drops the pair of a label whose curvature is rounding
        rho = np.where(is_curved, 1 / np.where(is_curved, step_curvature, 1.0), 0.0)
        step_pairs = [*step_pairs, (s, y, rho)][-MEMORY:]
        V, R, label_losses, g = trial_weights, trial_scores, trial_losses, g_new
    return final_weights, float(label_residuals.max(initial=0.0))


def _apply_inverse_hessian(
    g: np.ndarray, step_pairs: Pairs, precondition: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return H⁻¹g by the two-loop recursion of L-BFGS, with the shared factor as its initial H."""
    q, pair_shares = g.copy(), []
    for s, y, rho in reversed(step_pairs):
        pair_shares.append(rho * (s * q).sum(axis=0))
        q -= pair_shares[-1] * y
    r = precondition(q)
    if step_pairs:
        # the bound is loose for rare labels: scale it by the curvature of the last step
        _, y, rho = step_pairs[-1]
        curvature_ratio = rho * (y * precondition(y)).sum(axis=0)
        r *= np.where(curvature_ratio > 0, 1 / np.where(curvature_ratio > 0, curvature_ratio, 1.0), 1.0)
    for (s, y, rho), pair_share in zip(step_pairs, reversed(pair_shares), strict=True):
        r += s * (pair_share - rho * (y * r).sum(axis=0))
    return r


def _select_labels(T: Targets, labels: Any) -> Targets:
    return T.select(labels) if isinstance(T, SignedWeights) else np.ascontiguousarray(T[:, labels])


def _compute_scores(X: Any, V: np.ndarray) -> np.ndarray:
    return (np.asarray(X @ V[:-1]) if sparse.issparse(X) else product(X, V[:-1])) + V[-1]


def _compute_gradient(X: Any, score_slopes: np.ndarray, V: np.ndarray, alpha: float) -> np.ndarray:
    data_gradient = np.asarray(X.T @ score_slopes) if sparse.issparse(X) else product(X.T, score_slopes)
    return np.vstack([data_gradient + 2 * alpha * V[:-1], score_slopes.sum(axis=0)])


@compiled(fastmath=True)
def _evaluate_squared_hinge(R, T, weight):
    """Return the loss of each label and its derivative by each score."""
    n, k = R.shape
    label_losses, score_slopes = np.zeros(k), np.empty((n, k))
    for i in range(n):
        for j in range(k):
            t = np.float64(T[i, j])
            margin_gap = max(1.0 - t * R[i, j], 0.0) * abs(t)
            label_losses[j] += weight[i] * margin_gap * margin_gap
            score_slopes[i, j] = -2.0 * weight[i] * t * margin_gap
    return label_losses, score_slopes


@compiled
def _evaluate_logistic(R, T, weight):
    """Return the loss of each label and its derivative by each score."""
    n, k = R.shape
    label_losses, score_slopes = np.zeros(k), np.empty((n, k))
    for i in range(n):
        for j in range(k):
            t = np.float64(T[i, j])
            m = t * R[i, j]
            exp_margin = np.exp(-abs(m))  # of −|m| alone: nothing overflows
            label_losses[j] += weight[i] * abs(t) * (max(-m, 0.0) + np.log1p(exp_margin))
            score_slopes[i, j] = -weight[i] * t * (exp_margin if m > 0 else 1.0) / (1.0 + exp_margin)
    return label_losses, score_slopes


@compiled(fastmath=True)
def _evaluate_signed_hinge(R, T, weight):
    """Return the squared hinge of each label and its derivative by each score, entries weighed by sign."""
    on, off = T
    n, k = R.shape
    label_losses, score_slopes = np.zeros(k), np.empty((n, k))
    for i in range(n):
        for j in range(k):
            gap_on, gap_off = max(1.0 - R[i, j], 0.0), max(1.0 + R[i, j], 0.0)
            label_losses[j] += weight[i] * (on[i, j] * gap_on * gap_on + off[i, j] * gap_off * gap_off)
            score_slopes[i, j] = 2.0 * weight[i] * (off[i, j] * gap_off - on[i, j] * gap_on)
    return label_losses, score_slopes


@compiled
def _evaluate_signed_logistic(R, T, weight):
    """Return the cross-entropy of each label and its derivative by each score, entries weighed by sign."""
    on, off = T
    n, k = R.shape
    label_losses, score_slopes = np.zeros(k), np.empty((n, k))
    for i in range(n):
        for j in range(k):
            s = R[i, j]
            exp_score = np.exp(-abs(s))  # of −|s| alone: nothing overflows
            log_term = np.log1p(exp_score)
            label_losses[j] += weight[i] * (
                on[i, j] * (max(-s, 0.0) + log_term) + off[i, j] * (max(s, 0.0) + log_term)
            )
            p = (1.0 if s > 0 else exp_score) / (1.0 + exp_score)
            score_slopes[i, j] = weight[i] * (off[i, j] * p - on[i, j] * (1.0 - p))
    return label_losses, score_slopes


LOSSES: dict[tuple[str, bool], Any] = {
    ("squared_hinge", False): _evaluate_squared_hinge,
    ("logistic", False): _evaluate_logistic,
    ("squared_hinge", True): _evaluate_signed_hinge,
    ("logistic", True): _evaluate_signed_logistic,
}

"""Sigmoid calibration of many labels: p = σ(a·s + b) by Newton's method, a block of labels at a time.

The scores of a label are first gathered into bins, where Newton's method costs next to nothing; from
its solution at most a step or two on the scores themselves reach the optimum of the exact problem.

Notation
--------
code       meaning                                  shape
scores     s, one row for each label                k×n
slope      a ≥ 0                                    (k,)
intercept  b                                        (k,)
z, w       standardised scores, weights of sum 1    k×n, (n,)
tz, t1     Σwtz and Σwt: all that targets t add     (k,)

Every function below takes the labels of a block as rows; w is shared by them, or has a row for each.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import BLOCK_BYTES, row_blocks
from hyperlabel.solvers.compiling import check_csr_indices, check_shape

BINS = 512  # of standardised scores, from −REACH to REACH; the outer ones hold the tails
REACH = 8.0
TILE = 256  # rows transposed at a time
BLOCK_ENTRIES = 32768  # scores of a block of labels: the passes over them stay in the cache
BINS_TOL = 1e-7  # binning errs by more than this
LARGEST = float(np.finfo(np.float64).max) / 4  # a score whose distance from the mean is still a number
FLAT = 1e-12  # curvature that no solution has: probabilities are at least 1/(n + 2) on average


@dataclass(frozen=True, eq=False)
class PlattResult:
    """p = σ(slope·score + intercept); `gradient` is the projected one of the mean loss, 0 at the optimum."""

    slope: np.ndarray
    intercept: np.ndarray
    n_iter: np.ndarray
    gradient: np.ndarray
    converged: bool


def solve_platt(
    scores: np.ndarray,
    Y: sparse.csr_array,
    *,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> PlattResult:
    r"""Fit the sigmoid of each label by regularised maximum likelihood.

    .. math:: \min_{a_j \ge 0, b_j} -\sum_i w_i [t_{ij} \log p_{ij} + (1 - t_{ij}) \log(1 - p_{ij})],
              \quad p_{ij} = \sigma(a_j s_{ij} + b_j)

    where:

    - the targets are Platt's: :math:`t = (N_+ + 1)/(N_+ + 2)` for the :math:`N_+` positives and
      :math:`1/(N_- + 2)` for the :math:`N_-` negatives, so that separable labels stay finite;
    - the slope cannot be negative: scores that run against the label say nothing (slope 0).
    """
    n, k = scores.shape
    weights = np.ones(n) if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    check_csr_indices(Y, (n, k))
    check_shape("sample_weight", weights, (n,))
    if scores.size and not -LARGEST <= scores.min() <= scores.max() <= LARGEST:  # a NaN has no bin
        raise ValueError("Scores must be finite to be calibrated, and hold NaN or infinity.")
    if n and not 0 < weights.sum() < np.inf:
        raise ValueError("Sample weights must be finite and have a positive sum.")
    slope, intercept, gradient = np.zeros(k), np.zeros(k), np.zeros(k)
    n_iter = np.zeros(k, dtype=np.int64)
    label_columns = Y.tocsc()
    labels_together = BLOCK_ENTRIES // min(max(n, 64), 2 * BINS)
    for label_block in row_blocks(k, 8 * n):
        label_scores = np.empty((label_block.stop - label_block.start, n))
        # a tile stays in the cache while it is transposed
        for row_tile in row_blocks(n, BLOCK_BYTES // TILE):
            label_scores[:, row_tile] = scores[row_tile, label_block].T
        for first_label in range(label_block.start, label_block.stop, labels_together):
            labels = slice(first_label, min(first_label + labels_together, label_block.stop))
            block_scores = label_scores[labels.start - label_block.start : labels.stop - label_block.start]
            slope[labels], intercept[labels], n_iter[labels], gradient[labels] = _fit_labels(
                block_scores, label_columns[:, labels], weights, tol, max_iter
            )
    return PlattResult(slope, intercept, n_iter, gradient, bool((gradient <= tol).all()))


def _fit_labels(
    scores: np.ndarray, positives: sparse.csc_array, weights: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, ...]:
    """Return slopes, intercepts, steps and the largest projected gradients of a block of labels."""
    k = len(scores)
    n_all = weights.sum()
    w = weights / n_all
    score_mean = scores @ w
    z = scores - score_mean[:, None]
    score_variance = (z * z) @ w
    # rounding of the mean is no standard deviation
    score_std = np.where(score_variance > 1e-28 * score_mean**2, np.sqrt(score_variance), 1.0)
    z /= score_std[:, None]
    positive_labels = np.repeat(np.arange(k), np.diff(positives.indptr))
    positive_weight = np.bincount(positive_labels, w[positives.indices], k)
    positive_z = z[positive_labels, positives.indices] * w[positives.indices]
    n_positive = n_all * positive_weight
    positive_target, negative_target = (n_positive + 1) / (n_positive + 2), 1 / (n_all - n_positive + 2)
    # t is the negative target but for the positives (and Σwz = 0)
    t1 = negative_target + (positive_target - negative_target) * positive_weight
    tz = (positive_target - negative_target) * np.bincount(positive_labels, positive_z, k)
    a, b = np.zeros(k), np.log(t1 / (1 - t1))  # the optimum at slope 0
    n_steps = np.zeros(k, dtype=np.int64)
    if z.shape[1] > 2 * BINS:
        a, b, n_steps, _ = _damped_newton(*_two_nodes_per_bin(z, w), tz, t1, a, b, BINS_TOL, max_iter)
        a, b, exact_steps, largest_gradient = _plain_newton(z, w, tz, t1, a, b, tol, max_iter - n_steps)
        n_steps += exact_steps
        unsolved = np.flatnonzero((largest_gradient > tol) & (n_steps < max_iter))
    else:
        largest_gradient, unsolved = np.full(k, np.inf), np.arange(k)
    if len(unsolved):
        a[unsolved], b[unsolved], exact_steps, largest_gradient[unsolved] = _damped_newton(
            z[unsolved], w, tz[unsolved], t1[unsolved], a[unsolved], b[unsolved], tol,
            max_iter - n_steps[unsolved],
        )  # fmt: skip
        n_steps[unsolved] += exact_steps
    return a / score_std, b - a * score_mean / score_std, n_steps, largest_gradient


def _two_nodes_per_bin(z: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two nodes for each bin, with its weight, mean and variance."""
    k, is_weighted = len(z), w.min() < w.max()
    bin_weight, bin_sum, bin_square = np.empty((3, k, BINS))
    for j in range(k):
        bin_index = np.clip((z[j] + REACH) * (BINS / (2 * REACH)), 0, BINS - 1).astype(np.intp)
        wz = w * z[j]
        bin_weight[j] = (
            np.bincount(bin_index, w, BINS) if is_weighted else np.bincount(bin_index, None, BINS) * w[0]
        )
        bin_sum[j], bin_square[j] = np.bincount(bin_index, wz, BINS), np.bincount(bin_index, wz * z[j], BINS)
    bin_weight = np.maximum(bin_weight, 1e-300)
    bin_mean = bin_sum / bin_weight
    bin_std = np.sqrt(np.maximum(bin_square / bin_weight - bin_mean**2, 0.0))
    nodes = np.concatenate([bin_mean - bin_std, bin_mean + bin_std], axis=1)
    return nodes, np.concatenate([bin_weight, bin_weight], axis=1) / 2


def _sum_rows(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    return A @ w if w.ndim == 1 else np.einsum("ij,ij->i", A, w)


def _mean_loss(
    z: np.ndarray, w: np.ndarray, tz: np.ndarray, t1: np.ndarray, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Mean loss; t enters by Σwtz and Σwt alone."""
    u = a[:, None] * z + b[:, None]
    return _sum_rows(np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u))), w) - a * tz - b * t1


def _sum_derivatives(z: np.ndarray, w: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Σwpz, Σwp, Σwhz², Σwhz and Σwh with h = p(1 − p); few labels at a time stay in the cache."""
    sums = np.empty((5, len(z)))
    for first_label in range(0, len(z), labels_together := max(BLOCK_ENTRIES // z.shape[1], 1)):
        labels = slice(first_label, first_label + labels_together)
        z_block, w_block = z[labels], w if w.ndim == 1 else w[labels]
        p = z_block * -a[labels, None]
        p -= b[labels, None]
        with np.errstate(over="ignore"):  # e^∞: a probability of 0
            np.exp(p, out=p)
        p += 1.0
        np.reciprocal(p, out=p)
        h = p * p
        np.subtract(p, h, out=h)
        sums[1, labels], sums[4, labels] = _sum_rows(p, w_block), _sum_rows(h, w_block)
        p *= z_block
        h *= z_block
        sums[0, labels], sums[3, labels] = _sum_rows(p, w_block), _sum_rows(h, w_block)
        h *= z_block
        sums[2, labels] = _sum_rows(h, w_block)
    return sums


def _newton_step(
    z: np.ndarray, w: np.ndarray, tz: np.ndarray, t1: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Newton step at (a, b) and the largest component of the projected gradient (a ≥ 0)."""
    ga, gb, haa, hab, hbb = _sum_derivatives(z, w, a, b)
    ga, gb = ga - tz, gb - t1
    determinant = haa * hbb - hab * hab
    # scores vary nowhere, or only where probabilities are 0 or 1
    is_singular = determinant <= 1e-14 * haa * hbb
    safe_determinant = np.where(is_singular, 1.0, determinant)
    safe_haa, safe_hbb = np.where(haa > 0, haa, np.inf), np.maximum(hbb, FLAT)
    da = np.where(is_singular, -ga / safe_haa, -(hbb * ga - hab * gb) / safe_determinant)
    db = np.where(is_singular, -gb / safe_hbb, -(haa * gb - hab * ga) / safe_determinant)
    largest_gradient = np.maximum(np.abs(ga), np.abs(gb))
    at_bound = (a <= 0) & (ga > 0)  # only b moves
    is_flat = hbb < FLAT  # all probabilities round to 0 or 1: bound the curvature along b by 1/4
    da[at_bound | is_flat] = 0.0
    db = np.where(is_flat, -4.0 * gb, np.where(at_bound, -gb / safe_hbb, db))
    return da, db, np.where(at_bound & ~is_flat, np.abs(gb), largest_gradient)


def _plain_newton(
    z: np.ndarray, w: np.ndarray, tz: np.ndarray, t1: np.ndarray, a: np.ndarray, b: np.ndarray, tol: float,
    max_iter: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Full Newton steps while each at least halves the gradient: enough from a good start."""
    a, b, n_steps = a.copy(), b.copy(), np.zeros(len(a), dtype=np.int64)
    da, db, largest_gradient = _newton_step(z, w, tz, t1, a, b)
    active = np.flatnonzero((largest_gradient > tol) & (n_steps < max_iter))
    while len(active):
        n_steps[active] += 1
        z_active = z if len(active) == len(z) else z[active]
        new_a, new_b = np.maximum(0.0, a[active] + da[active]), b[active] + db[active]
        da[active], db[active], new_gradient = _newton_step(z_active, w, tz[active], t1[active], new_a, new_b)
        halved = new_gradient <= 0.5 * largest_gradient[active]
        active = active[halved]
        a[active], b[active], largest_gradient[active] = new_a[halved], new_b[halved], new_gradient[halved]
        active = active[(largest_gradient[active] > tol) & (n_steps[active] < max_iter[active])]
    return a, b, n_steps, largest_gradient


def _damped_newton(
    z: np.ndarray, w: np.ndarray, tz: np.ndarray, t1: np.ndarray, a: np.ndarray, b: np.ndarray, tol: float,
    max_iter: int | np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Newton with a line search on the loss; a stays at 0 if the loss rises from there."""
    a, b, n_steps = a.copy(), b.copy(), np.zeros(len(a), dtype=np.int64)
    max_iter = np.broadcast_to(max_iter, a.shape)
    loss, largest_gradient = _mean_loss(z, w, tz, t1, a, b), np.empty(len(a))
    active = np.arange(len(a))
    while len(active):
        da, db, largest_gradient[active] = _newton_step(z, w, tz, t1, a[active], b[active])
        moves = (largest_gradient[active] > tol) & (n_steps[active] < max_iter[active])
        if not moves.all():
            z, w, tz, t1 = z[moves], w if w.ndim == 1 else w[moves], tz[moves], t1[moves]
            active, da, db = active[moves], da[moves], db[moves]
        fell, new_a, new_b, new_loss = _search_line(
            (z, w, tz, t1), a[active], b[active], da, db, loss[active]
        )
        n_steps[active] += 1
        if not fell.all():  # the loss cannot fall by more than its rounding
            z, w, tz, t1 = z[fell], w if w.ndim == 1 else w[fell], tz[fell], t1[fell]
            active, new_a, new_b, new_loss = active[fell], new_a[fell], new_b[fell], new_loss[fell]
        a[active], b[active], loss[active] = new_a, new_b, new_loss
    return a, b, n_steps, largest_gradient


def _search_line(
    label_terms: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], a: np.ndarray, b: np.ndarray,
    da: np.ndarray, db: np.ndarray, loss: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Halve each step until its loss does not rise; return which do not, and the new points and losses."""
    # no farther than to where the slope is 0
    step_size = np.where((a > 0) & (a < -da), -a / np.where(da == 0, -1.0, da), 1.0)
    smallest_step = 1e-8 * step_size
    while True:
        new_a, new_b = np.maximum(0.0, a + step_size * da), b + step_size * db
        new_loss = _mean_loss(*label_terms, new_a, new_b)
        too_far = ~(new_loss <= loss) & (step_size >= smallest_step)
        if not too_far.any():
            return new_loss <= loss, new_a, new_b, new_loss
        step_size[too_far] *= 0.5

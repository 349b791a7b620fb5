"""Sigmoid calibration of many labels: p = σ(a·s + b) by Newton's method, label by label.

The scores of a label are first gathered into bins, where Newton's method costs next to nothing; from
its solution at most a step or two on the scores themselves reach the optimum of the exact problem.

Notation
--------
code       meaning                                  shape
scores     s, one row for each label                k×n
slope      a ≥ 0                                    (k,)
intercept  b                                        (k,)
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import BLOCK_BYTES, row_blocks
from hyperlabel.solvers.compiling import check_rows, check_shape, compiled

BINS = 512  # of standardised scores, from −REACH to REACH; the outer ones hold the tails
REACH = 8.0
TILE = 256  # rows transposed at a time
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
    check_rows(Y, (n, k))
    check_shape("sample_weight", weights, (n,))
    if scores.size and not -LARGEST <= scores.min() <= scores.max() <= LARGEST:  # a NaN has no bin
        raise ValueError("Scores must be finite to be calibrated, and hold NaN or infinity.")
    if n and not 0 < weights.sum() < np.inf:
        raise ValueError("Sample weights must be finite and have a positive sum.")
    slope, intercept, gradient = np.zeros(k), np.zeros(k), np.zeros(k)
    n_iter = np.zeros(k, dtype=np.int64)
    label_columns = Y.tocsc()
    for label_block in row_blocks(k, 8 * n):
        s = np.empty((label_block.stop - label_block.start, n))
        # a tile stays in the cache while it is transposed
        for row_tile in row_blocks(n, BLOCK_BYTES // TILE):
            s[:, row_tile] = scores[row_tile, label_block].T
        label_outputs = slope[label_block], intercept[label_block], n_iter[label_block], gradient[label_block]
        positive_rows = label_columns.indptr[label_block.start : label_block.stop + 1], label_columns.indices
        _fit_labels(s, *positive_rows, weights, tol, max_iter, *label_outputs)
    return PlattResult(slope, intercept, n_iter, gradient, bool((gradient <= tol).all()))


@compiled
def _mean_loss(z, w, tz, t1, a, b):
    """Mean loss; t enters by Σwtz and Σwt alone."""
    loss = -a * tz - b * t1
    for i in range(len(z)):
        u = a * z[i] + b
        loss += w[i] * (max(u, 0.0) + np.log1p(np.exp(-abs(u))))
    return loss


@compiled
def _loss_derivatives(z, w, tz, t1, a, b):
    """Gradient and Hessian at (a, b), one exponential for each row."""
    ga, gb, haa, hab, hbb = -tz, -t1, 0.0, 0.0, 0.0
    for i in range(len(z)):
        p = 1.0 / (1.0 + np.exp(-(a * z[i] + b)))
        r, h = w[i] * p, w[i] * p * (1.0 - p)
        ga += r * z[i]
        gb += r
        haa += h * z[i] * z[i]
        hab += h * z[i]
        hbb += h
    return ga, gb, haa, hab, hbb


@compiled
def _newton_step(a, ga, gb, haa, hab, hbb):
    """Return the Newton step and the largest component of the projected gradient (a ≥ 0)."""
    if hbb < FLAT:  # all probabilities round to 0 or 1: bound the curvature along b by 1/4
        return 0.0, -4.0 * gb, max(abs(ga), abs(gb))
    if a <= 0.0 and ga > 0.0:  # the slope sits at its bound: only b moves
        return 0.0, -gb / hbb, abs(gb)
    largest_gradient = max(abs(ga), abs(gb))
    determinant = haa * hbb - hab * hab
    if determinant <= 1e-14 * haa * hbb:  # scores vary nowhere, or only where probabilities are 0 or 1
        return -ga / haa if haa > 0.0 else 0.0, -gb / hbb, largest_gradient
    return -(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant, largest_gradient


@compiled
def _fit_labels(scores, indptr, indices, weights, tol, max_iter, slope, intercept, n_iter, gradient):
    k, n = scores.shape
    n_all = weights.sum()
    z, w = np.empty(n), weights / n_all
    bin_index = np.empty(n, np.int32)
    bin_sums = np.empty((BINS, 3))  # weight, Σwz, Σwz²
    bin_nodes = np.empty((2 * BINS, 2))  # z and weight: two for each bin, with its mean and variance
    for j in range(k):
        positive_rows = indices[indptr[j] : indptr[j + 1]]
        score_mean, score_std = 0.0, 0.0
        for i in range(n):
            score_mean += w[i] * scores[j, i]
        for i in range(n):
            score_std += w[i] * (scores[j, i] - score_mean) ** 2
        # rounding of the mean is no standard deviation
        score_std = np.sqrt(score_std) if score_std > 1e-28 * score_mean * score_mean else 1.0
        bin_sums[:] = 0.0
        for i in range(n):
            z[i] = (scores[j, i] - score_mean) / score_std
            bin_index[i] = int(min(max((z[i] + REACH) * (BINS / (2 * REACH)), 0.0), BINS - 1.0))
        for i in range(n):
            bin_sums[bin_index[i], 0] += w[i]
            bin_sums[bin_index[i], 1] += w[i] * z[i]
            bin_sums[bin_index[i], 2] += w[i] * z[i] * z[i]
        n_positive = weights[positive_rows].sum()
        positive_target, negative_target = (
            (n_positive + 1.0) / (n_positive + 2.0),
            1.0 / (n_all - n_positive + 2.0),
        )
        # Σwt and Σwtz: t is `low` but for the positives (and Σwz = 0)
        t1, tz = negative_target, 0.0
        for i in positive_rows:
            t1 += (positive_target - negative_target) * w[i]
            tz += (positive_target - negative_target) * w[i] * z[i]
        for c in range(BINS):
            bin_weight = max(bin_sums[c, 0], 1e-300)
            bin_mean = bin_sums[c, 1] / bin_weight
            bin_std = np.sqrt(max(bin_sums[c, 2] / bin_weight - bin_mean * bin_mean, 0.0))
            bin_nodes[2 * c] = bin_mean - bin_std, bin_weight / 2
            bin_nodes[2 * c + 1] = bin_mean + bin_std, bin_weight / 2
        start_intercept = np.log(t1 / (1.0 - t1))  # the optimum at slope 0
        a, b, n_steps, _ = _damped_newton(
            bin_nodes[:, 0], bin_nodes[:, 1], tz, t1, 0.0, start_intercept, BINS_TOL, max_iter
        )
        a, b, extra_steps, largest_gradient = _plain_newton(z, w, tz, t1, a, b, tol, max_iter - n_steps)
        n_steps += extra_steps
        if largest_gradient > tol and n_steps < max_iter:
            a, b, extra_steps, largest_gradient = _damped_newton(z, w, tz, t1, a, b, tol, max_iter - n_steps)
            n_steps += extra_steps
        slope[j], intercept[j] = a / score_std, b - a * score_mean / score_std
        n_iter[j], gradient[j] = n_steps, largest_gradient


@compiled
def _plain_newton(z, w, tz, t1, a, b, tol, max_iter):
    """Full Newton steps while each at least halves the gradient: enough from a good start."""
    da, db, largest_gradient = _newton_step(a, *_loss_derivatives(z, w, tz, t1, a, b))
    n_steps = 0
    while largest_gradient > tol and n_steps < max_iter:
        n_steps += 1
        new_a, new_b = max(0.0, a + da), b + db
        da, db, new_gradient = _newton_step(new_a, *_loss_derivatives(z, w, tz, t1, new_a, new_b))
        if not new_gradient <= 0.5 * largest_gradient:
            break
        a, b, largest_gradient = new_a, new_b, new_gradient
    return a, b, n_steps, largest_gradient


@compiled
def _damped_newton(z, w, tz, t1, a, b, tol, max_iter):
    """Newton with a line search on the loss; a stays at 0 if the loss rises from there."""
    loss = _mean_loss(z, w, tz, t1, a, b)
    n_steps = 0
    while True:
        da, db, largest_gradient = _newton_step(a, *_loss_derivatives(z, w, tz, t1, a, b))
        if largest_gradient <= tol or n_steps == max_iter:
            break
        step_size = -a / da if 0.0 < a < -da else 1.0  # no farther than to where the slope is 0
        smallest_step = 1e-8 * step_size
        while True:
            new_a, new_b = max(0.0, a + step_size * da), b + step_size * db
            new_loss = _mean_loss(z, w, tz, t1, new_a, new_b)
            if new_loss <= loss or step_size < smallest_step:
                break
            step_size *= 0.5
        n_steps += 1
        if new_loss > loss:  # the loss cannot fall by more than its rounding
            break
        a, b, loss = new_a, new_b, new_loss
    return a, b, n_steps, largest_gradient

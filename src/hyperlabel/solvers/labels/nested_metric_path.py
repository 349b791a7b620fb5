"""Held-out quality of nested models: every number of components M in one pass.

The points of a label-space model with M components are ỹ_M = o + Σ_{m≤M} r_m p_m. One matrix
product adds a leg of components to the scores of a block of rows. Within a leg a score moves by at
most ‖r‖·‖p_j‖ over the leg's components (Cauchy–Schwarz), so most labels can neither enter the top k
nor change sign there, and only the few that can are followed component by component.

Notation
--------
code      meaning                             shape
R         predicted codes r(x)                n×M
P         components                          M×K
base      o − ½: positive means predicted     K
Y         true labels                         n×K
grid      the M to score, ascending           G
leg_norms ‖p_j‖ over the leg's components     K

Scores are kept in single precision here: they only choose M. Up to `FEW` scores NumPy ranks all labels for
each M, which takes as long and compiles nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from hyperlabel.solvers.compiling import check_csr_indices, check_shape, compiled, csr_parts

Metric = Literal["ndcg", "precision", "f1_micro", "hamming_loss"]
ROWS = 256  # a block of scores that stays in cache
LEG = 96  # components followed from one matrix product, at most: the first move scores the most
JUMP = 6  # from so many new components on, a matrix product is cheaper than following them
STRETCH = 64  # labels looked at together
FEW = 5_000_000  # scores n·K·len(grid)
LARGEST = 1e18  # length of a code or component whose square and products single precision can hold
SLACK = 1 + 1e-4  # the bounds hold for rounded sums too


def score_nested(
    R: np.ndarray,
    P: np.ndarray,
    base: np.ndarray,
    Y: Any,
    grid: Sequence[int] | np.ndarray,
    *,
    metric: Metric | Callable[[Any, np.ndarray], float] = "ndcg",
    k: int = 5,
) -> np.ndarray:
    """Score the models with M = grid[0], grid[1], … components; larger is better.

    Each `metric` is as in `hyperlabel.metrics` (minus the Hamming loss), or ``metric(Y, scores) -> float``.
    """
    grid = np.asarray(grid, dtype=np.int64)
    R = np.ascontiguousarray(R[:, : grid[-1]], dtype=np.float32)
    P = np.ascontiguousarray(P[: grid[-1]], dtype=np.float32)
    by_label, base = np.ascontiguousarray(P.T), base.astype(np.float32)
    if callable(metric):
        return _score_callable(R, P, base, Y, grid, metric)
    n, K = Y.shape
    k = min(k, K)
    _check_inputs(R, P, base, Y, grid, k)
    rank_discounts = 1.0 / np.log2(np.arange(2.0, k + 2))
    ideal_gains = np.concatenate([[0.0], np.cumsum(rank_discounts)])
    metric_sums = np.zeros((4, len(grid)))  # nDCG, hits@k, predicted, predicted and true
    counts_labels = metric in ("f1_micro", "hamming_loss")
    if n * K * len(grid) <= FEW:
        _score_each(R, P, base, Y, grid, rank_discounts, ideal_gains, counts_labels, metric_sums)
        return _finish_metric(metric, metric_sums, Y, k)
    indptr, indices = csr_parts(Y)[:2]
    grid_legs = [
        (*grid_leg, _bound_score_moves(P, grid[grid_leg[1] : grid_leg[2]])) for grid_leg in _split_grid(grid)
    ]
    for first_row in range(0, n, ROWS):
        row_block = slice(first_row, min(first_row + ROWS, n))
        S = np.repeat(base[None, :], row_block.stop - first_row, axis=0)
        leading_labels = np.full((len(S), k), -1, dtype=np.int64)
        for (first_component, last_component), grid_start, grid_stop, leg_norms in grid_legs:
            S += R[row_block, first_component:last_component] @ P[first_component:last_component]
            label_rows = indptr[first_row : row_block.stop + 1], indices
            score_arrays = rank_discounts, ideal_gains, leading_labels, counts_labels, metric_sums, grid_start
            _score_path(
                S, R[row_block], by_label, grid[grid_start:grid_stop], leg_norms, *label_rows, *score_arrays,
                *_make_scratch(K, k, grid_stop - grid_start),
            )  # fmt: skip
    return _finish_metric(metric, metric_sums, Y, k)


def _make_scratch(K: int, k: int, n_grid: int) -> tuple[np.ndarray, ...]:
    """Return room for the labels followed in a row: a kernel that makes none itself compiles faster."""
    label_flags = np.zeros((2, K), dtype=np.bool_)
    best_scores, scores = np.empty(k, np.float32), np.empty(K, np.float32)
    tracks = np.empty((K, n_grid), np.float32)
    return best_scores, np.empty(k, np.int64), np.empty(K, np.int64), scores, tracks, *label_flags


def _score_each(
    R: np.ndarray,
    P: np.ndarray,
    base: np.ndarray,
    Y: Any,
    grid: np.ndarray,
    rank_discounts: np.ndarray,
    ideal_gains: np.ndarray,
    counts_labels: bool,
    metric_sums: np.ndarray,
) -> None:
    """Rank all labels of all rows for each M."""
    n = len(R)
    relevant = Y.toarray().astype(bool)
    ideal = ideal_gains[np.minimum(relevant.sum(axis=1), len(rank_discounts))]
    row_weights = np.divide(1.0, ideal, out=np.zeros(n), where=ideal > 0)
    S, n_added, row_index = np.repeat(base[None, :], n, axis=0), 0, np.arange(n)
    for g, M in enumerate(grid):
        S += R[:, n_added:M] @ P[n_added:M]
        n_added = M
        if counts_labels:
            positive = S > 0
            metric_sums[2, g], metric_sums[3, g] = positive.sum(), (positive & relevant).sum()
            continue
        remaining = S.copy()
        for rank_discount in rank_discounts:
            best = remaining.argmax(axis=1)  # ties go to the lowest index
            is_hit = relevant[row_index, best]
            metric_sums[0, g] += rank_discount * (row_weights @ is_hit)
            metric_sums[1, g] += is_hit.sum()
            remaining[row_index, best] = -np.inf


def _check_inputs(R: np.ndarray, P: np.ndarray, base: np.ndarray, Y: Any, grid: np.ndarray, k: int) -> None:
    """Refuse input that the kernel cannot score: of NaN scores it would list fewer than k."""
    n, K = Y.shape
    check_csr_indices(Y)
    check_shape("R", R, (n, grid[-1]))
    check_shape("P", P, (grid[-1], K))
    check_shape("base", base, (K,))
    if k < 1 or grid[0] < 0 or (np.diff(grid) <= 0).any():
        raise ValueError("The grid must ascend from 0 or more, and k must be at least 1.")
    longest_norms = [
        np.sqrt(np.einsum("ij,ij->i", A, A, dtype=np.float64)).max(initial=0.0) for A in (R, P.T)
    ]
    if not np.max([*longest_norms, *np.abs(base)]) < LARGEST:  # NaN is the largest, too
        raise ValueError(f"Codes, components and base must be finite and shorter than {LARGEST:g}.")


def _finish_metric(metric: str, metric_sums: np.ndarray, Y: Any, k: int) -> np.ndarray:
    n, K = Y.shape
    if metric == "ndcg":
        return metric_sums[0] / n
    if metric == "precision":
        return metric_sums[1] / (n * k)
    if metric == "f1_micro":
        return 2 * metric_sums[3] / np.maximum(metric_sums[2] + Y.nnz, 1)
    return -(metric_sums[2] + Y.nnz - 2 * metric_sums[3]) / (n * K)


def _split_grid(grid: np.ndarray) -> list[tuple[tuple[int, int], int, int]]:
    """Split the grid into legs: components to multiply in, then the slice of the grid to follow."""
    grid_legs, grid_start, last_component = [], 0, 0
    while grid_start < len(grid):
        first_component, last_component = last_component, int(grid[grid_start])
        grid_stop, leg_end = grid_start + 1, last_component + min(4 + last_component // 4, LEG)
        while (
            grid_stop < len(grid)
            and grid[grid_stop] - grid[grid_stop - 1] < JUMP
            and grid[grid_stop] < leg_end
        ):
            grid_stop += 1
        grid_legs.append(((first_component, last_component), grid_start, grid_stop))
        grid_start = grid_stop
    return grid_legs


def _bound_score_moves(P: np.ndarray, leg_grid: np.ndarray) -> np.ndarray:
    return np.float32(SLACK) * np.linalg.norm(P[leg_grid[0] : leg_grid[-1]], axis=0)


def _score_callable(
    R: np.ndarray, P: np.ndarray, base: np.ndarray, Y: Any, grid: np.ndarray, metric: Callable[..., float]
) -> np.ndarray:
    S = np.repeat(base[None, :], len(R), axis=0)
    grid_scores, n_added = np.empty(len(grid)), 0
    for g, M in enumerate(grid):
        S += R[:, n_added:M] @ P[n_added:M]
        grid_scores[g], n_added = metric(Y, S), M
    return grid_scores


@compiled
def _list_top_scores(scores, n_scores, best_scores, best_index):
    """Put the indices of the largest scores into `best_index`, largest first; ties go to the lowest index."""
    n_filled, k = 0, len(best_index)
    for c in range(n_scores):
        if n_filled < k or scores[c] > best_scores[k - 1]:
            i = min(n_filled, k - 1)
            while i > 0 and best_scores[i - 1] < scores[c]:
                best_scores[i] = best_scores[i - 1]
                best_index[i] = best_index[i - 1]
                i -= 1
            best_scores[i] = scores[c]
            best_index[i] = c
            n_filled = min(n_filled + 1, k)


@compiled
def _is_still_top(scores, n_scores, best_index):
    """Whether the listed labels still have the largest scores, in the same order and without a tie."""
    for t in range(1, len(best_index)):
        if scores[best_index[t - 1]] <= scores[best_index[t]]:
            return False
    n_reaching, kth_score = np.int32(0), scores[best_index[-1]]
    for c in range(n_scores):
        n_reaching += np.int32(scores[c] >= kth_score)
    return n_reaching == len(best_index)


@compiled
def _keeps_order(tracks, n_followed, best_index, is_best):
    """Whether the listed labels stay the best all along their tracks, in the same order and without a tie."""
    n_violations = np.int32(0)
    for c in range(n_followed):
        is_best[c] = False
    for t in range(len(best_index)):
        is_best[best_index[t]] = True
    for t in range(1, len(best_index)):
        higher_track, lower_track = tracks[best_index[t - 1]], tracks[best_index[t]]
        for g in range(len(higher_track)):
            n_violations += np.int32(higher_track[g] <= lower_track[g])
    kth_track = tracks[best_index[-1]]
    for c in range(n_followed):
        if not is_best[c]:
            for g in range(len(kth_track)):
                n_violations += np.int32(kth_track[g] <= tracks[c, g])
    return n_violations == 0


@compiled
def _find_kth_bound(s, radius, leg_norms, best_bounds):
    """Return the k-th largest of the lower bounds s − radius·leg_norms: no lower score is among the k."""
    k = len(best_bounds)
    for i in range(k):
        best_bounds[i] = -np.inf
    for j in range(len(s)):
        lower_bound = s[j] - radius * leg_norms[j]
        if lower_bound > best_bounds[k - 1]:
            i = k - 1
            while i > 0 and best_bounds[i - 1] < lower_bound:
                best_bounds[i] = best_bounds[i - 1]
                i -= 1
            best_bounds[i] = lower_bound
    return best_bounds[k - 1]


@compiled
def _bound_from_leaders(s, radius, leg_norms, leading_labels):
    """Bound the k-th largest score of the leg from below, by the k labels that were best before it."""
    kth_bound = np.float32(np.inf)
    for t in range(len(leading_labels)):
        j = leading_labels[t]
        kth_bound = min(kth_bound, s[j] - radius * leg_norms[j])
    return kth_bound


@compiled
def _list_reaching_labels(s, radius, leg_norms, kth_bound, names):
    """List the labels whose score may reach `kth_bound`; a vectorised count rules out whole stretches."""
    n_named = 0
    for first_label in range(0, len(s), STRETCH):
        stretch_scores, stretch_norms = (
            s[first_label : first_label + STRETCH],
            leg_norms[first_label : first_label + STRETCH],
        )
        n_reaching = np.int32(0)  # 32 bits, or the loop stays scalar
        for j in range(len(stretch_scores)):
            n_reaching += np.int32(stretch_scores[j] + radius * stretch_norms[j] >= kth_bound)
        if n_reaching > 0:
            for j in range(len(stretch_scores)):
                if stretch_scores[j] + radius * stretch_norms[j] >= kth_bound:
                    names[n_named] = first_label + j
                    n_named += 1
    return n_named


@compiled
def _compute_ndcg_gain(best_index, names, relevant, rank_discounts, ideal_gains, n_relevant):
    """Return nDCG@k and the hits of one row."""
    row_gain, n_hits = 0.0, 0
    for t in range(len(best_index)):
        if relevant[names[best_index[t]]]:
            row_gain += rank_discounts[t]
            n_hits += 1
    return (row_gain / ideal_gains[min(n_relevant, len(best_index))] if n_relevant > 0 else 0.0), n_hits


@compiled
def _compute_code_norm(r):
    """Return ‖r‖ over the leg: no score moves further than this times its `leg_norms`."""
    squared_norm = np.float32(0)
    for m in range(len(r)):
        squared_norm += r[m] * r[m]
    return np.sqrt(squared_norm)


@compiled
def _list_undecided_labels(s, radius, leg_norms, relevant, names):
    """List the labels whose score may change sign; count the certain positives, and the true ones of them."""
    n_undecided, n_sure, sure_hits = 0, 0, 0
    for j in range(len(s)):
        if abs(s[j]) <= radius * leg_norms[j]:
            names[n_undecided] = j
            n_undecided += 1
        elif s[j] > 0:
            n_sure += 1
            sure_hits += relevant[j]
    return n_undecided, n_sure, sure_hits


@compiled
def _track_scores(s, r, P, names, n_followed, grid, tracks):
    """Put the score of each label followed at every M of the leg into its track; P is label by label here."""
    for c in range(n_followed):
        score, p = s[names[c]], P[names[c]]
        tracks[c, 0] = score
        for g in range(1, len(grid)):
            for m in range(grid[g - 1], grid[g]):
                score += r[m] * p[m]
            tracks[c, g] = score


@compiled
def _count_positive(scores, n_followed, names, relevant):
    """Count the positive scores, and the true ones of them."""
    n_positive, n_hits = 0, 0
    for c in range(n_followed):
        if scores[c] > 0:
            n_positive += 1
            n_hits += relevant[names[c]]
    return n_positive, n_hits


@compiled
def _score_path(
    S, R, P, grid, leg_norms, indptr, indices, rank_discounts, ideal_gains, leading_labels, counts_labels,
    metric_sums, grid_start, best_scores, best_index, names, scores, tracks, relevant, is_best,
):  # fmt: skip
    """Score grid[0] (the components in S), then follow the labels that count up to grid[-1]."""
    for i in range(len(S)):
        s, n_relevant = S[i], indptr[i + 1] - indptr[i]
        for t in range(indptr[i], indptr[i + 1]):
            relevant[indices[t]] = True
        radius = _compute_code_norm(R[i, grid[0] : grid[-1]])
        if counts_labels:
            n_followed, n_sure, sure_hits = _list_undecided_labels(s, radius, leg_norms, relevant, names)
        else:
            has_leaders = leading_labels[i, 0] >= 0
            kth_bound = (
                _bound_from_leaders(s, radius, leg_norms, leading_labels[i])
                if has_leaders
                else _find_kth_bound(s, radius, leg_norms, best_scores)
            )
            n_followed = _list_reaching_labels(s, radius, leg_norms, kth_bound, names)
        _track_scores(s, R[i], P, names, n_followed, grid, tracks)
        keeps_order, row_gain, n_hits = False, 0.0, 0
        for g in range(len(grid)):
            if keeps_order:
                metric_sums[0, grid_start + g] += row_gain
                metric_sums[1, grid_start + g] += n_hits
                continue
            for c in range(n_followed):
                scores[c] = tracks[c, g]
            if counts_labels:
                n_positive, n_true = _count_positive(scores, n_followed, names, relevant)
                metric_sums[2, grid_start + g] += n_sure + n_positive
                metric_sums[3, grid_start + g] += sure_hits + n_true
                continue
            if g == 0 or not _is_still_top(scores, n_followed, best_index):
                _list_top_scores(scores, n_followed, best_scores, best_index)
                row_gain, n_hits = _compute_ndcg_gain(
                    best_index, names, relevant, rank_discounts, ideal_gains, n_relevant
                )
            keeps_order = g == 0 and _keeps_order(tracks, n_followed, best_index, is_best)
            metric_sums[0, grid_start + g] += row_gain
            metric_sums[1, grid_start + g] += n_hits
        if not counts_labels:
            for t in range(len(best_index)):
                leading_labels[i, t] = names[best_index[t]]
        for t in range(indptr[i], indptr[i + 1]):
            relevant[indices[t]] = False

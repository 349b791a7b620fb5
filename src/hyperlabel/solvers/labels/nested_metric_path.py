"""Held-out quality of nested models: every number of components M in one walk.

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
reach     ‖p_j‖ over the leg's components     K

Scores are kept in single precision here: they only choose M.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from hyperlabel.solvers.compiling import check_rows, check_shape, compiled, csr_parts

Metric = Literal["ndcg", "precision", "f1_micro", "hamming_loss"]
ROWS = 256  # a block of scores that stays in cache
LEG = 96  # components followed from one matrix product, at most: the first move scores the most
JUMP = 6  # from so many new components on, a matrix product is cheaper than following them
STRETCH = 64  # labels looked at together
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
    _check_walk(R, P, base, Y, grid, k)
    discount = 1.0 / np.log2(np.arange(2.0, k + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discount)])
    sums = np.zeros((4, len(grid)))  # nDCG, hits@k, predicted, predicted and true
    indptr, indices = csr_parts(Y)[:2]
    counting = metric in ("f1_micro", "hamming_loss")
    legs = [(*leg, _score_bounds(P, grid[leg[1] : leg[2]])) for leg in _split_grid(grid)]
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        S = np.repeat(base[None, :], rows.stop - start, axis=0)
        leaders = np.full((len(S), k), -1, dtype=np.int64)
        for (done, at), first, last, reach in legs:
            S += R[rows, done:at] @ P[done:at]
            labels = indptr[start : rows.stop + 1], indices
            score = discount, ideal, leaders, counting, sums[:, first:last]
            _score_path(S, R[rows], by_label, grid[first:last], reach, *labels, *score)
    return _finish_metric(metric, sums, Y, k)


def _check_walk(R: np.ndarray, P: np.ndarray, base: np.ndarray, Y: Any, grid: np.ndarray, k: int) -> None:
    """Refuse what the walk cannot follow: of scores that are NaN it would find fewer than k best."""
    n, K = Y.shape
    check_rows(Y)
    check_shape("R", R, (n, grid[-1]))
    check_shape("P", P, (grid[-1], K))
    check_shape("base", base, (K,))
    if k < 1 or grid[0] < 0 or (np.diff(grid) <= 0).any():
        raise ValueError("The grid must ascend from 0 or more, and k must be at least 1.")
    longest = [np.sqrt(np.einsum("ij,ij->i", A, A, dtype=np.float64)).max(initial=0.0) for A in (R, P.T)]
    if not np.max([*longest, *np.abs(base)]) < LARGEST:  # NaN is the largest, too
        raise ValueError(f"Codes, components and base must be finite and shorter than {LARGEST:g}.")


def _finish_metric(metric: str, sums: np.ndarray, Y: Any, k: int) -> np.ndarray:
    n, K = Y.shape
    if metric == "ndcg":
        return sums[0] / n
    if metric == "precision":
        return sums[1] / (n * k)
    if metric == "f1_micro":
        return 2 * sums[3] / np.maximum(sums[2] + Y.nnz, 1)
    return -(sums[2] + Y.nnz - 2 * sums[3]) / (n * K)


def _split_grid(grid: np.ndarray) -> list[tuple[tuple[int, int], int, int]]:
    """Cut the grid into legs: components to multiply in, up to grid[first]; grid[first:last] to follow."""
    legs, first, at = [], 0, 0
    while first < len(grid):
        done, at = at, int(grid[first])
        last, end = first + 1, at + min(4 + at // 4, LEG)
        while last < len(grid) and grid[last] - grid[last - 1] < JUMP and grid[last] < end:
            last += 1
        legs.append(((done, at), first, last))
        first = last
    return legs


def _score_bounds(P: np.ndarray, leg: np.ndarray) -> np.ndarray:
    return np.float32(SLACK) * np.linalg.norm(P[leg[0] : leg[-1]], axis=0)


def _score_callable(
    R: np.ndarray, P: np.ndarray, base: np.ndarray, Y: Any, grid: np.ndarray, metric: Callable[..., float]
) -> np.ndarray:
    S = np.repeat(base[None, :], len(R), axis=0)
    values, at = np.empty(len(grid)), 0
    for g, M in enumerate(grid):
        S += R[:, at:M] @ P[at:M]
        values[g], at = metric(Y, S), M
    return values


@compiled
def _top_places(scores, n_scores, values, best):
    """Put the places of the largest scores into `best`, largest first; of equals the first comes first."""
    filled, k = 0, len(best)
    for c in range(n_scores):
        if filled < k or scores[c] > values[k - 1]:
            i = min(filled, k - 1)
            while i > 0 and values[i - 1] < scores[c]:
                values[i] = values[i - 1]
                best[i] = best[i - 1]
                i -= 1
            values[i] = scores[c]
            best[i] = c
            filled = min(filled + 1, k)


@compiled
def _still_top(scores, n_scores, best):
    """Whether the listed places still hold the largest scores, in the same order and without a tie."""
    for t in range(1, len(best)):
        if scores[best[t - 1]] <= scores[best[t]]:
            return False
    reached, bar = np.int32(0), scores[best[-1]]
    for c in range(n_scores):
        reached += np.int32(scores[c] >= bar)
    return reached == len(best)


@compiled
def _keep_order(tracks, rank_one_factor, best, is_best):
    """Whether the listed labels stay the best all along their tracks, in the same order and without a tie."""
    lost, is_best[:rank_one_factor] = np.int32(0), False
    is_best[best] = True
    for t in range(1, len(best)):
        above, below = tracks[best[t - 1]], tracks[best[t]]
        for g in range(len(above)):
            lost += np.int32(above[g] <= below[g])
    bar = tracks[best[-1]]
    for c in range(rank_one_factor):
        if not is_best[c]:
            for g in range(len(bar)):
                lost += np.int32(bar[g] <= tracks[c, g])
    return lost == 0


@compiled
def _kth_largest(s, radius, reach, values):
    """Return the k-th largest of the lower bounds s − radius·reach: the bar of a place among the best."""
    k = len(values)
    values[:] = -np.inf
    for j in range(len(s)):
        low = s[j] - radius * reach[j]
        if low > values[k - 1]:
            i = k - 1
            while i > 0 and values[i - 1] < low:
                values[i] = values[i - 1]
                i -= 1
            values[i] = low
    return values[k - 1]


@compiled
def _lower_bound(s, radius, reach, leaders):
    """Bound the k-th largest score of the leg from below, by the k labels that were best before it."""
    low = np.float32(np.inf)
    for j in leaders:
        low = min(low, s[j] - radius * reach[j])
    return low


@compiled
def _may_reach(s, radius, reach, bar, names):
    """Name the labels whose score may reach the bar; whole stretches are ruled out by a vectorised count."""
    found = 0
    for start in range(0, len(s), STRETCH):
        part, width = s[start : start + STRETCH], reach[start : start + STRETCH]
        some = np.int32(0)  # 32 bits, or the loop stays scalar
        for j in range(len(part)):
            some += np.int32(part[j] + radius * width[j] >= bar)
        if some > 0:
            for j in range(len(part)):
                if part[j] + radius * width[j] >= bar:
                    names[found] = start + j
                    found += 1
    return found


@compiled
def _ndcg_gain(best, names, relevant, discount, ideal, size):
    """Return nDCG@k and the hits of one row."""
    gain, hits = 0.0, 0
    for t in range(len(best)):
        if relevant[names[best[t]]]:
            gain += discount[t]
            hits += 1
    return (gain / ideal[min(size, len(best))] if size > 0 else 0.0), hits


@compiled
def _row_radius(r):
    """Length of a row's part of the leg: no score can move further than this times its reach."""
    square = np.float32(0)
    for m in range(len(r)):
        square += r[m] * r[m]
    return np.sqrt(square)


@compiled
def _undecided_labels(s, radius, reach, relevant, names):
    """Name the labels whose score may change its sign; count those on for sure, and the true ones of them."""
    found, sure, sure_hits = 0, 0, 0
    for j in range(len(s)):
        if abs(s[j]) <= radius * reach[j]:
            names[found] = j
            found += 1
        elif s[j] > 0:
            sure += 1
            sure_hits += relevant[j]
    return found, sure, sure_hits


@compiled
def _track_scores(s, r, P, names, rank_one_factor, grid, tracks):
    """Put the score of each label followed at every M of the leg into its track; P is label by label here."""
    for c in range(rank_one_factor):
        score, p = s[names[c]], P[names[c]]
        tracks[c, 0] = score
        for g in range(1, len(grid)):
            for m in range(grid[g - 1], grid[g]):
                score += r[m] * p[m]
            tracks[c, g] = score


@compiled
def _count_positive(scores, rank_one_factor, names, relevant):
    """Count the positive scores, and the true ones of them."""
    positive, hits = 0, 0
    for c in range(rank_one_factor):
        if scores[c] > 0:
            positive += 1
            hits += relevant[names[c]]
    return positive, hits


@compiled
def _score_path(S, R, P, grid, reach, indptr, indices, discount, ideal, leaders, counting, sums):
    """Score grid[0] (the components in S), then follow the labels that count up to grid[-1]."""
    n, K = S.shape
    k = len(discount)
    values, best = np.empty(k, np.float32), np.empty(k, np.int64)
    names, scores = np.empty(K, np.int64), np.empty(K, np.float32)
    tracks = np.empty((K, len(grid)), np.float32)
    relevant, is_best = np.zeros(K, np.bool_), np.zeros(K, np.bool_)
    for i in range(n):
        s, size = S[i], indptr[i + 1] - indptr[i]
        relevant[indices[indptr[i] : indptr[i + 1]]] = True
        radius = _row_radius(R[i, grid[0] : grid[-1]])
        if counting:
            rank_one_factor, sure, sure_hits = _undecided_labels(s, radius, reach, relevant, names)
        else:
            known = leaders[i, 0] >= 0
            bar = (
                _lower_bound(s, radius, reach, leaders[i])
                if known
                else _kth_largest(s, radius, reach, values)
            )
            rank_one_factor = _may_reach(s, radius, reach, bar, names)
        _track_scores(s, R[i], P, names, rank_one_factor, grid, tracks)
        keeps, gain, hits = False, 0.0, 0
        for g in range(len(grid)):
            if keeps:
                sums[0, g] += gain
                sums[1, g] += hits
                continue
            for c in range(rank_one_factor):
                scores[c] = tracks[c, g]
            if counting:
                positive, found = _count_positive(scores, rank_one_factor, names, relevant)
                sums[2, g] += sure + positive
                sums[3, g] += sure_hits + found
                continue
            if g == 0 or not _still_top(scores, rank_one_factor, best):
                _top_places(scores, rank_one_factor, values, best)
                gain, hits = _ndcg_gain(best, names, relevant, discount, ideal, size)
            keeps = g == 0 and _keep_order(tracks, rank_one_factor, best, is_best)
            sums[0, g] += gain
            sums[1, g] += hits
        if not counting:
            leaders[i] = names[best]
        relevant[indices[indptr[i] : indptr[i + 1]]] = False

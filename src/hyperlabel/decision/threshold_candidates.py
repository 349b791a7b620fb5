"""Every threshold worth trying, of every label at once, with what it would find.

A threshold is worth trying just below the score of a positive row: anywhere between two of them only
false positives are added. So a label with P positives has P candidates however many rows there
are, and all of them come from one sort of its column.

Notation
--------
code                  meaning                                             shape
scores                scores of all rows and labels                       n×k
right                 weight of positives above the threshold, tp         (m,)
found                 weight of rows above the threshold, tp + fp         (m,)
positives             weight of all positives of the label, tp + fn       (k,)
grid                  thresholds shared by all labels                     (t,)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from hyperlabel.decision.known_entries import is_complete, known_column, known_labels
from hyperlabel.solvers.arrays import BLOCK_BYTES

SORTED_BYTES = 32  # of a score while its column is sorted: value, order, tail, count


@dataclass(frozen=True, eq=False)
class Candidates:
    """Thresholds just below the positive scores, by label, the highest first (see the module).

    `above` is a threshold higher than every score of the label; `grid_right` and `grid_found` are what
    the shared thresholds of `grid` find, k×t.
    """

    label: np.ndarray
    threshold: np.ndarray
    right: np.ndarray
    found: np.ndarray
    positives: np.ndarray
    above: np.ndarray
    grid: np.ndarray
    grid_right: np.ndarray
    grid_found: np.ndarray

    def best(self, value: np.ndarray, *, none: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the index and the threshold of the candidate of greatest value of each label.

        Of equals the highest; none of them (-1, threshold `above`) where `none` is worth as much.
        """
        index = np.full(len(self.positives), -1)
        if len(value) == 0:
            return index, self.above
        label_starts = np.flatnonzero(np.r_[True, self.label[1:] != self.label[:-1]])
        best_of_label = np.repeat(
            np.maximum.reduceat(value, label_starts), np.diff(np.r_[label_starts, len(value)])
        )
        winners = np.flatnonzero((value == best_of_label) & (value > none))[::-1]
        index[self.label[winners]] = winners  # the last one written stays: the first of equals
        return index, np.where(index >= 0, self.threshold[index], self.above)

    def take(self, value: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return the value of the candidate picked for each label, 0 where none was."""
        return np.where(index >= 0, value[index], 0.0) if len(value) else np.zeros(len(index))


def find_candidates(
    scores: np.ndarray,
    Y: sparse.csr_array,
    sample_weight: np.ndarray | None = None,
    *,
    n_grid: int = 0,
) -> Candidates:
    """Collect the candidates of every label.

    `n_grid` shared thresholds are counted as well: quantiles of the positive scores of all labels. Y may hold
    NaN where nobody knows, and weights may be n×k: each label is then searched on the rows that know it.
    """
    n, k = scores.shape
    if not is_complete(Y, sample_weight):
        return _find_known_candidates(scores, Y, sample_weight, n_grid)
    columns = Y.tocsc()
    grid = _score_grid(scores, columns, n_grid)
    candidate_blocks = [
        _block_candidates(scores, columns, block.start, block.stop, sample_weight, grid)
        for block in gen_batches(k, max(1, BLOCK_BYTES // (SORTED_BYTES * max(n, 1))))
    ]
    positives = Y.T @ (np.ones(n) if sample_weight is None else sample_weight)
    return _join_candidates(candidate_blocks, positives, grid)


def _join_candidates(candidate_blocks: list[Any], positives: np.ndarray, grid: np.ndarray) -> Candidates:
    label, threshold, n_true_positives, n_predicted, above, grid_right, grid_found = (
        np.concatenate(candidate_column) for candidate_column in zip(*candidate_blocks, strict=True)
    )
    return Candidates(
        label, threshold, n_true_positives, n_predicted, positives, above, grid, grid_right, grid_found
    )


def _find_known_candidates(
    scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None, n_grid: int
) -> Candidates:
    """Collect the candidates label by label, each from the rows that know it."""
    known = list(known_labels(Y, sample_weight))
    on_scores = [scores[rows[target > 0], j] for j, rows, target, _ in known]
    grid = _grid_of(np.concatenate(on_scores), n_grid)
    candidate_blocks: list[Any] = []
    positives = np.zeros(len(known))
    for j, rows, target, weight in known:
        if not len(rows):  # nobody knows the label: no candidate, and a threshold above all scores
            empty, no_grid = np.zeros(0), np.zeros((1, len(grid)))
            above = np.array([scores[:, j].max(initial=0.0) + 1.0])
            candidate_blocks.append((empty.astype(np.int64), empty, empty, empty, above, no_grid, no_grid))
            continue
        column = known_column(target).tocsc()
        label, *counts = _block_candidates(scores[rows, j][:, None], column, 0, 1, weight, grid)
        candidate_blocks.append((label + j, *counts))
        positives[j] = target.sum() if weight is None else target @ weight
    return _join_candidates(candidate_blocks, positives, grid)


def _score_grid(scores: np.ndarray, Y: sparse.csc_array, size: int) -> np.ndarray:
    if size == 0 or Y.nnz == 0:
        return np.zeros(0)
    entries = Y.tocoo()
    return _grid_of(scores[entries.row, entries.col], size)


def _grid_of(values: np.ndarray, size: int) -> np.ndarray:
    """Return thresholds just below quantiles of the scores of positives."""
    if size == 0 or len(values) == 0:
        return np.zeros(0)
    steps = np.linspace(0.0, 1.0, size)
    if len(values) > size:
        values = np.quantile(values, steps, method="lower")
    return np.nextafter(np.unique(values), -np.inf)  # just below the positive itself


def _block_candidates(
    scores: np.ndarray,
    Y: sparse.csc_array,
    start: int,
    stop: int,
    sample_weight: np.ndarray | None,
    grid: np.ndarray,
) -> tuple[np.ndarray, ...]:
    n = scores.shape[0]
    entries = slice(Y.indptr[start], Y.indptr[stop])
    positive_rows = Y.indices[entries]
    label = np.repeat(np.arange(stop - start), np.diff(Y.indptr[start : stop + 1]))
    positive_score = scores[positive_rows, label + start]
    entry_weight = np.ones(len(positive_rows)) if sample_weight is None else sample_weight[positive_rows]
    ranked, tail, score_step = sort_columns(scores[:, start:stop], sample_weight)
    grid_right, grid_found = _count_grid(ranked, tail, label, positive_score, entry_weight, grid)

    score_order = np.lexsort((-positive_score, label))
    label, positive_score, entry_weight = (
        label[score_order],
        positive_score[score_order],
        entry_weight[score_order],
    )
    n_true_positives = np.cumsum(entry_weight)
    label_start = np.searchsorted(label, label)  # where the label begins
    n_true_positives = n_true_positives - n_true_positives[label_start] + entry_weight[label_start]
    is_last = np.ones(len(label), dtype=bool)  # of its ties
    is_last[:-1] = (label[1:] != label[:-1]) | (positive_score[1:] != positive_score[:-1])
    label, positive_score, n_true_positives = (
        label[is_last],
        positive_score[is_last],
        n_true_positives[is_last],
    )
    score_position = search_rows(ranked, label, positive_score)
    lower_score = np.where(
        score_position > 0,
        ranked[label, np.maximum(score_position - 1, 0)],
        positive_score - score_step[label],
    )
    threshold = lower_score + (positive_score - lower_score) / 2
    threshold = np.where(
        threshold < positive_score, threshold, lower_score
    )  # neighbouring floats have no middle
    above = ranked[:, -1] + score_step
    return (
        label + start,
        threshold,
        n_true_positives,
        _count_at_or_above(tail, label, score_position, n),
        above,
        grid_right,
        grid_found,
    )


def sort_columns(
    scores: np.ndarray, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Sort each column upwards (given back as rows).

    With it come the weight from each position to the end (None without weights: it is a count), and the mean
    distance of neighbours, 1 where all scores are equal.
    """
    ranked, tail = np.array(scores.T, order="C"), None  # a copy also of one column, sorted in place
    if sample_weight is None:
        ranked.sort(axis=1)  # several times faster than sorting indices
    else:
        ascending = np.argsort(ranked, axis=1)
        ranked = np.take_along_axis(ranked, ascending, axis=1)
        tail = _sum_from_right(sample_weight[ascending])
    score_step = (ranked[:, -1] - ranked[:, 0]) / len(scores)
    return ranked, tail, np.where(score_step > 0, score_step, 1.0)


def _count_grid(
    ranked: np.ndarray,
    tail: np.ndarray | None,
    label: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    grid: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Count what the shared thresholds find in each label: right and found, k×t."""
    k, t = len(ranked), len(grid)
    if t == 0:
        return np.zeros((k, 0)), np.zeros((k, 0))
    n_below = np.searchsorted(grid, value)  # number of thresholds below the positive
    n_true_positives = np.bincount(label * (t + 1) + n_below, weight, k * (t + 1)).reshape(k, t + 1)
    n_true_positives = _sum_from_right(n_true_positives)[:, 1:]
    label_index = np.repeat(np.arange(k), t)
    score_position = search_rows(ranked, label_index, np.tile(np.nextafter(grid, np.inf), k))
    return n_true_positives, _count_at_or_above(tail, label_index, score_position, ranked.shape[1]).reshape(
        k, t
    )


def _sum_from_right(values: np.ndarray) -> np.ndarray:
    """Sum each row from every position to its end."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


def _count_at_or_above(
    tail: np.ndarray | None, row: np.ndarray, score_position: np.ndarray, n: int
) -> np.ndarray:
    if tail is None:
        return (n - score_position).astype(np.float64)
    return np.where(score_position < n, tail[row, np.minimum(score_position, n - 1)], 0.0)


def search_rows(ranked: np.ndarray, row: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the first position not below each value in its sorted row: binary search, all at once."""
    low, high = np.zeros(len(row), dtype=np.int64), np.full(len(row), ranked.shape[1])
    while (is_open := low < high).any():
        middle_index = (low + high) // 2
        is_below = ranked[row, np.minimum(middle_index, ranked.shape[1] - 1)] < value
        low = np.where(is_open & is_below, middle_index + 1, low)
        high = np.where(is_open & ~is_below, middle_index, high)
    return low


def lowest_useful_score(flat_scores: np.ndarray, positive_scores: np.ndarray, scoring: str) -> float | None:
    """Return a score below which the best threshold cannot lie (None: anywhere).

    With P positives no threshold that finds r entries has F1 above 2P/(r + P), nor a gain above 2P − r. So r
    is bounded by what the threshold at r = P already reaches, and only the top of the column must be sorted.
    """
    N, P = flat_scores.size, len(positive_scores)
    if P == 0 or P >= N:
        return None
    if scoring == "hamming_loss":
        rank_bound: float = 2 * P
    else:
        threshold = np.partition(flat_scores, N - P)[N - P]
        reached_f1 = (
            2
            * np.count_nonzero(positive_scores >= threshold)
            / (np.count_nonzero(flat_scores >= threshold) + P)
        )
        rank_bound = P * (2 / reached_f1 - 1) if reached_f1 > 0 else N
    rank = int(min(N, np.ceil(rank_bound) + 1))
    return None if rank >= N else float(np.partition(flat_scores, N - rank)[N - rank])

"""Measures of the order of labels within each row, and of rows within each label.

Every measure here follows from the rows sorted best first (`ranked_blocks`); with top-k lists
the labels outside the list form one more group of ties at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hyperlabel._topk import top_k
from hyperlabel.metrics.label_auc import auc_by_label
from hyperlabel.metrics.validation import (
    TopK,
    Truth,
    bounded_blocks,
    contains_columns,
    mean_over_labels,
    mean_where_defined,
    read_scored,
    row_entries,
    weighted_mean,
    with_shared_arguments,
)


@dataclass(frozen=True, eq=False)
class RankedRows:
    """A block of rows, the m listed labels of each best first."""

    indices: np.ndarray  # rows × m
    scores: np.ndarray
    hits: np.ndarray  # relevant
    counted: np.ndarray  # known, no padding; those that are not come last
    n_relevant: np.ndarray  # of each row, listed or not
    n_labels: np.ndarray  # known ones


def ranked_blocks(
    truth: Truth, scores: np.ndarray | TopK, *, depth: int | None = None
) -> Iterator[RankedRows]:
    """Sort the labels of each row, block by block; only the best `depth` of them if given."""
    n, n_labels = truth.shape
    is_list = isinstance(scores, TopK)
    n_relevant, n_known = np.diff(truth.Y.indptr), truth.n_known(axis=1)
    for rows in bounded_blocks(n, scores[0].shape[1] if is_list else n_labels):
        Y = truth.Y[rows]
        missing = None if truth.missing is None else truth.missing[rows]
        counted: Any
        if isinstance(scores, TopK):
            indices, values = scores.indices[rows], scores.scores[rows]
            counted = indices >= 0
            if missing is not None:
                counted &= ~contains_columns(missing, indices)
        else:
            values, indices = scores[rows], None
            counted = None if missing is None else ~missing.toarray()
        if counted is not None and not counted.all():
            # what does not count goes last, below even a known label scored -inf
            values = np.where(counted, np.maximum(values, np.finfo(values.dtype).min), -np.inf)
        if indices is None and depth is not None:
            indices, values = top_k(values, depth)
            hits = np.take_along_axis(Y.toarray() > 0, indices, axis=1)
            counted = None if counted is None else np.take_along_axis(counted, indices, axis=1)
        else:
            order, values = _sort_best_first(values)
            counted = None if counted is None else np.take_along_axis(counted, order, axis=1)
            if indices is None:
                indices = order
                hits = np.take_along_axis(Y.toarray() > 0, order, axis=1)
            else:
                indices = np.take_along_axis(indices, order, axis=1)
                hits = contains_columns(Y, indices)
        if counted is None:
            counted = np.broadcast_to(True, values.shape)
        yield RankedRows(indices, values, hits, counted, n_relevant[rows], n_known[rows])


def _sort_best_first(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort each row downwards, ties to the lowest index; the stable sort only where there are ties."""
    order = np.argsort(-values, axis=1)
    ranked_values = np.take_along_axis(values, order, axis=1)
    if (ranked_values[:, 1:] == ranked_values[:, :-1]).any():
        order = np.argsort(-values, axis=1, kind="stable")
        ranked_values = np.take_along_axis(values, order, axis=1)
    return order, ranked_values


def rank_measures(block: RankedRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranking loss (NaN for a row without pairs), coverage and average precision of each row."""
    n = len(block.hits)
    n_relevant, n_labels = block.n_relevant, block.n_labels
    n_wrong = n_labels - n_relevant
    row_index, hit_rank = np.nonzero(block.hits)
    first_tie, last_tie = _tie_bounds(block.scores, row_index, hit_rank)
    labels_so_far = np.cumsum(block.counted, axis=1, dtype=np.int32)
    relevant_so_far = np.cumsum(block.hits, axis=1, dtype=np.int32)
    n_listed, n_listed_relevant = labels_so_far[:, -1], relevant_so_far[:, -1]
    n_unlisted_relevant = n_relevant - n_listed_relevant  # relevant labels outside the list, tied below it
    labels_incl, relevant_incl = labels_so_far[row_index, last_tie], relevant_so_far[row_index, last_tie]
    # irrelevant labels above the ties of each hit: all up to its first tie, itself left out
    n_wrong_above = (
        labels_so_far[row_index, first_tie]
        - relevant_so_far[row_index, first_tie]
        - (block.counted & ~block.hits)[row_index, first_tie]
    )
    # a pair counts 1 if the irrelevant label is above, ½ if tied: the mean of the counts above and up to ties
    wrong_pairs = np.bincount(row_index, n_wrong_above + labels_incl - relevant_incl, n) / 2
    wrong_pairs += n_unlisted_relevant * (n_listed - n_listed_relevant + n_wrong) / 2
    n_pairs = n_relevant.astype(np.float64) * n_wrong
    loss = np.divide(wrong_pairs, n_pairs, out=np.full(n, np.nan), where=n_pairs > 0)

    coverage = np.zeros(n)
    np.maximum.at(coverage, row_index, labels_incl)
    coverage = np.where(n_unlisted_relevant > 0, n_labels, coverage)

    precision_sum = np.bincount(
        row_index, relevant_incl / labels_incl, n
    ) + n_unlisted_relevant * n_relevant / np.maximum(n_labels, 1)
    is_trivial = (n_relevant == 0) | (n_wrong == 0)
    return loss, coverage, np.where(is_trivial, 1.0, precision_sum / np.maximum(n_relevant, 1))


def _tie_bounds(
    scores: np.ndarray, row_index: np.ndarray, hit_rank: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last rank tied with each entry of the sorted rows."""
    m = scores.shape[1]
    is_new = np.ones(scores.shape, dtype=bool)
    is_new[:, 1:] = scores[:, 1:] != scores[:, :-1]
    if is_new.all():
        return hit_rank, hit_rank
    rank_index = np.arange(m, dtype=np.int32)
    first_tie = np.maximum.accumulate(np.where(is_new, rank_index, 0), axis=1)
    is_last = np.ones(scores.shape, dtype=bool)
    is_last[:, :-1] = is_new[:, 1:]
    last_tie = np.minimum.accumulate(np.where(is_last, rank_index, m - 1)[:, ::-1], axis=1)[:, ::-1]
    return first_tie[row_index, hit_rank], last_tie[row_index, hit_rank]


def _rank_rows(y_true: Any, y_score: Any, sample_weight: Any) -> tuple[list[np.ndarray], np.ndarray | None]:
    truth, scores, weights = read_scored(y_true, y_score, sample_weight)
    block_measures = [rank_measures(block) for block in ranked_blocks(truth, scores)]
    return [np.concatenate(measure_blocks) for measure_blocks in zip(*block_measures, strict=True)], weights


def _loss_of_rows(truth: Truth, scores: np.ndarray, n_known: np.ndarray, rows: slice) -> np.ndarray:
    """Ranking loss of each row from the mean ranks of its relevant labels; NaN for a row without pairs.

    m labels of mean ranks r (from 0, ties share theirs) are below Σr − m(m−1)/2 others, ties counted half.
    """
    if truth.missing is not None:  # what nobody knows goes last, below even a label scored -inf
        is_missing, lowest = truth.missing[rows].toarray(), np.finfo(scores.dtype).min
        scores = np.where(is_missing, -np.inf, np.maximum(scores, lowest))
    n, n_labels = scores.shape
    n_relevant, labels = row_entries(truth.Y, rows)
    row_index = np.repeat(np.arange(n), n_relevant)
    row_start = n_labels * row_index
    hit_scores = scores.ravel().take(row_start + labels)
    sorted_scores = np.sort(scores, axis=1).ravel()
    n_below = _count_below(sorted_scores, row_start, hit_scores, n_labels)
    n_up_to = n_below + 1
    is_tied = sorted_scores[row_start + np.minimum(n_up_to, n_labels - 1)] == hit_scores
    tied = np.flatnonzero(is_tied & (n_up_to < n_labels))
    n_up_to[tied] = _count_below(
        sorted_scores, row_start[tied], hit_scores[tied], n_labels, is_below=np.less_equal
    )
    mean_rank = n_labels - (n_below + n_up_to + 1) / 2
    wrong_pairs = np.bincount(row_index, mean_rank, n) - n_relevant * (n_relevant - 1) / 2
    n_pairs = n_relevant.astype(np.float64) * (n_known - n_relevant)
    return np.divide(wrong_pairs, n_pairs, out=np.full(n, np.nan), where=n_pairs > 0)


def _count_below(
    sorted_scores: np.ndarray,
    row_start: np.ndarray,
    values: np.ndarray,
    n_labels: int,
    is_below: np.ufunc = np.less,
) -> np.ndarray:
    """Count the scores of a sorted row below a value, by bisection for all values at once."""
    step = 1 << (n_labels.bit_length() - 1)
    n_below = np.where(is_below(sorted_scores.take(row_start + (step - 1)), values), n_labels - step, 0)
    while step > 1:
        step //= 2
        n_below += step * is_below(sorted_scores.take(row_start + n_below + (step - 1)), values)
    return n_below + is_below(sorted_scores.take(row_start + n_below), values)


@with_shared_arguments
def ranking_loss(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Share of (relevant, irrelevant) label pairs of a row in the wrong order, mean over rows.

    ``loss(row) = Σ_{p ∈ y, q ∉ y} ( [f_p < f_q] + ½[f_p = f_q] ) / (|y| |ȳ|)``

    where:

    * y, ȳ are the relevant and the irrelevant labels of the row, f its scores;
    * rows with all or no labels have no pairs and are left out of the mean.

    **Differences from** :func:`sklearn.metrics.label_ranking_loss`, which counts a tie as a whole
    error and a row without pairs as a perfect 0.

    Returns
    -------
    loss : float
        Between 0 (best) and 1; NaN if no row has pairs.

    References
    ----------
    Schapire & Singer, *BoosTexter: A boosting-based system for text categorization*, 2000.

    Examples
    --------
    >>> from hyperlabel.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 0, 0]], [[0.5, 0.5, 0.9], [1, 2, 3]])  # one wrong pair, one tie
    0.75
    """
    truth, scores, weights = read_scored(y_true, y_score, sample_weight)
    if isinstance(scores, TopK):
        loss = np.concatenate([rank_measures(block)[0] for block in ranked_blocks(truth, scores)])
    else:
        n_known, blocks = truth.n_known(axis=1), bounded_blocks(*truth.shape)
        loss = np.concatenate([_loss_of_rows(truth, scores[rows], n_known[rows], rows) for rows in blocks])
    return mean_where_defined(loss, weights)


@with_shared_arguments
def coverage_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """How far down the list one must go to reach every relevant label, mean over rows.

    ``coverage(row) = max_{p ∈ y} |{q : f_q ≥ f_p}|``, 0 for a row without labels (:func:`evaluate` leaves it
    out).

    The definition of :func:`sklearn.metrics.coverage_error`, which takes no sparse y and no lists.

    Returns
    -------
    coverage : float
        At best the mean number of labels per row.

    Examples
    --------
    >>> from hyperlabel.metrics import coverage_error
    >>> coverage_error([[1, 0, 0]], [[0.5, 0.1, 0.9]])
    2.0
    """
    (_, coverage, _), weights = _rank_rows(y_true, y_score, sample_weight)
    return weighted_mean(coverage, weights)


@with_shared_arguments
def label_ranking_average_precision(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Share of relevant labels among those ranked at or above each relevant one.

    ``LRAP(row) = (1/|y|) Σ_{p ∈ y} |{q ∈ y : f_q ≥ f_p}| / |{q : f_q ≥ f_p}|``, and 1 for a row with
    all or no labels: the definition of :func:`sklearn.metrics.label_ranking_average_precision_score`,
    which takes no lists and works row by row in Python. (:func:`evaluate` leaves rows without labels out.)

    Returns
    -------
    lrap : float

    Examples
    --------
    >>> from hyperlabel.metrics import label_ranking_average_precision
    >>> label_ranking_average_precision([[1, 0, 0]], [[0.5, 0.1, 0.9]])
    0.5
    """
    (_, _, average_precision), weights = _rank_rows(y_true, y_score, sample_weight)
    return weighted_mean(average_precision, weights)


@with_shared_arguments
def roc_auc_score(
    y_true: Any, y_score: Any, *, average: Literal["macro"] | None = "macro", sample_weight: Any = None
) -> Any:
    """Area under the ROC curve of each label over the rows, or its mean over labels.

    AUC(label) = P(f(x⁺) > f(x⁻)) + ½P(f(x⁺) = f(x⁻)), x⁺ and x⁻ drawn from the rows with and without it.

    **Difference from** :func:`sklearn.metrics.roc_auc_score`, whose macro mean is NaN as soon as one
    label has one class only: here such labels are left out of the mean; with ``average=None`` they are
    NaN, and `evaluate` counts them.

    Returns
    -------
    auc : float, or ndarray of shape (n_labels,) if `average` is None
        NaN where it is not defined.

    Examples
    --------
    >>> from hyperlabel.metrics import roc_auc_score
    >>> y = [[1, 0], [0, 0], [1, 0]]
    >>> roc_auc_score(y, [[0.9, 0.1], [0.4, 0.2], [0.4, 0.3]])
    0.75
    """
    return mean_over_labels(auc_by_label(*read_scored(y_true, y_score, sample_weight)), average)


@with_shared_arguments
def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["micro", "macro"] | None = "macro",
    sample_weight: Any = None,
) -> Any:
    """Area under the precision-recall curve (AUPRC) of each label over the rows, or of all entries pooled.

    AP(label) = Σ_t (R_t − R_{t−1}) P_t over the distinct scores t from above, without interpolation: as
    :func:`sklearn.metrics.average_precision_score`, which takes no lists. **Difference from scikit-learn**:
    a label without positives has no recall and is NaN (there 0); like a label of one class in
    :func:`roc_auc_score` it is left out of the macro mean. ``"micro"`` sorts all entries at once.

    Parameters
    ----------
    average : {"micro", "macro"} or None, default="macro"
        ``"micro"`` pools the entries of all labels, ``"macro"`` is the mean over labels.

    Returns
    -------
    average_precision : float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from hyperlabel.metrics import average_precision_score
    >>> average_precision_score([[1, 0], [0, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.2], [0.4, 0.3]])
    0.833...
    """
    truth, scores, weights = read_scored(y_true, y_score, sample_weight)
    if average == "micro":
        return float(_average_precisions(truth, scores, weights, pooled=True)[0])
    return mean_over_labels(_average_precisions(truth, scores, weights), average)


def _average_precisions(
    truth: Truth, scores: np.ndarray | TopK, weights: np.ndarray | None, *, pooled: bool = False
) -> np.ndarray:
    """Average precision of each label, or (one value) of all entries; NaN where there is no positive."""
    n, n_labels = truth.shape
    w = np.ones(n) if weights is None else weights
    positive = truth.Y.T @ w
    known_weight = np.full(n_labels, w.sum()) - (0.0 if truth.missing is None else truth.missing.T @ w)
    if pooled:
        positive, known_weight = positive.sum(keepdims=True), known_weight.sum(keepdims=True)
    precision_sums, listed_positive = np.zeros(len(positive)), positive
    if isinstance(scores, TopK):
        hits, counted = contains_columns(truth.Y, scores.indices), scores.indices >= 0
        if truth.missing is not None:
            counted &= ~contains_columns(truth.missing, scores.indices)
        row_index, list_index = np.nonzero(counted)
        label, value, hit = (a[row_index, list_index] for a in (scores.indices, scores.scores, hits))
        label = np.zeros_like(label) if pooled else label
        listed_positive = np.bincount(label, w[row_index] * hit, len(positive))
        precision_sums = _sum_precisions(label, value, w[row_index] * hit, w[row_index], len(positive))
        # rows whose list lacks the label are tied below all others, where all positives are above
        share = np.divide(positive, known_weight, out=np.zeros(len(positive)), where=known_weight > 0)
        precision_sums += (positive - listed_positive) * share
    else:
        Y, missing = truth.Y.tocsc(), None if truth.missing is None else truth.missing.tocsc()
        for columns in [slice(0, n_labels)] if pooled else bounded_blocks(n_labels, n):
            block = scores[:, columns].T
            row_weight = np.broadcast_to(w, block.shape)
            if missing is not None:
                row_weight = np.where(missing[:, columns].T.toarray() > 0, 0.0, row_weight)
            hit = Y[:, columns].T.toarray() > 0
            label = np.repeat(np.arange(len(block)) * (not pooled), n)
            sums = _sum_precisions(
                label, block.ravel(), (row_weight * hit).ravel(), row_weight.ravel(), label[-1] + 1
            )
            precision_sums[slice(0, 1) if pooled else columns] = sums
    return np.divide(precision_sums, positive, out=np.full(len(positive), np.nan), where=positive > 0)


def _sum_precisions(
    label: np.ndarray, value: np.ndarray, positive: np.ndarray, weight: np.ndarray, n_labels: int
) -> np.ndarray:
    """Sum over the positive entries of each label the precision at their score, ties included."""
    if len(label) == 0:
        return np.zeros(n_labels)
    order = np.lexsort((-value, label))
    label, value = label[order], value[order]
    is_new = np.ones(len(label), dtype=bool)
    is_new[1:] = (label[1:] != label[:-1]) | (value[1:] != value[:-1])
    group_start = np.flatnonzero(is_new)
    group_label = label[group_start]
    group_positive, group_weight = (np.add.reduceat(a[order], group_start) for a in (positive, weight))
    label_start = np.searchsorted(group_label, group_label)
    above = []
    for masses in (group_positive, group_weight):
        mass_so_far = np.cumsum(masses)
        above.append(mass_so_far - (mass_so_far - masses)[label_start])  # counted within the label
    precision = np.divide(above[0], above[1], out=np.zeros(len(group_label)), where=above[1] > 0)
    return np.bincount(group_label, group_positive * precision, n_labels)

"""The area under the ROC curve of each label, of complete scores or top-k lists."""

import numpy as np

from hyperlabel.metrics.validation import TopK, Truth, bounded_blocks, contains_columns


def auc_by_label(truth: Truth, scores: np.ndarray | TopK, weights: np.ndarray | None) -> np.ndarray:
    """Area under the ROC curve of each label; NaN where all its known rows are of one class."""
    n, n_labels = truth.shape
    w = np.ones(n) if weights is None else weights
    positive = truth.Y.T @ w
    known_weight = np.full(n_labels, w.sum()) - (0.0 if truth.missing is None else truth.missing.T @ w)
    negative = known_weight - positive
    ordered_pairs = np.zeros(n_labels)
    if isinstance(scores, TopK):
        hits, counted = contains_columns(truth.Y, scores.indices), scores.indices >= 0
        if truth.missing is not None:
            counted &= ~contains_columns(truth.missing, scores.indices)
        row_index, list_index = np.nonzero(counted)
        label, value, hit = (a[row_index, list_index] for a in (scores.indices, scores.scores, hits))
        order = np.lexsort((value, label))
        label, value, hit, row_weight = label[order], value[order], hit[order], w[row_index[order]]
        # rows whose list lacks the label are tied below all others
        bottom_negative = negative - np.bincount(label, row_weight * ~hit, n_labels)
        bottom_positive = positive - np.bincount(label, row_weight * hit, n_labels)
        ordered_pairs = _weigh_ordered_pairs(label, value, row_weight * hit, row_weight * ~hit, n_labels)
        ordered_pairs += (
            bottom_negative * (positive - bottom_positive) + bottom_negative * bottom_positive / 2
        )
    else:
        Y = truth.Y.tocsc()
        missing = None if truth.missing is None else truth.missing.tocsc()
        for columns in bounded_blocks(n_labels, n):
            block = scores[:, columns].T
            order = np.argsort(block, axis=1)
            hit = np.take_along_axis(Y[:, columns].T.toarray() > 0, order, axis=1)
            row_weight = w[order]
            if missing is not None:
                row_weight[np.take_along_axis(missing[:, columns].T.toarray() > 0, order, axis=1)] = 0.0
            label = np.repeat(np.arange(len(block)), n)
            value = np.take_along_axis(block, order, axis=1)
            masses = ((row_weight * hit).ravel(), (row_weight * ~hit).ravel())
            ordered_pairs[columns] = _weigh_ordered_pairs(label, value.ravel(), *masses, len(block))
    n_pairs = positive * negative
    return np.divide(ordered_pairs, n_pairs, out=np.full(n_labels, np.nan), where=n_pairs > 0)


def _weigh_ordered_pairs(
    label: np.ndarray, value: np.ndarray, positive: np.ndarray, negative: np.ndarray, n_labels: int
) -> np.ndarray:
    """Weight of the (positive, negative) pairs of each label in the right order, ties half.

    Entries are sorted by label, then by ascending value.
    """
    if len(label) == 0:
        return np.zeros(n_labels)
    is_new = np.ones(len(label), dtype=bool)
    is_new[1:] = (label[1:] != label[:-1]) | (value[1:] != value[:-1])
    group_start = np.flatnonzero(is_new)
    group_label = label[group_start]
    group_positive, group_negative = (
        np.add.reduceat(positive, group_start),
        np.add.reduceat(negative, group_start),
    )
    negative_below = np.cumsum(group_negative) - group_negative
    negative_below -= negative_below[np.searchsorted(group_label, group_label)]  # counted within the label
    return np.bincount(group_label, group_positive * (negative_below + group_negative / 2), n_labels)

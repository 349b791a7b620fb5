"""Thresholds fitted on given scores, and the label sets they give.

A label is predicted where its score is greater than its threshold. Scores should be out-of-fold: on the
rows a model was fitted on, its scores are too sure and the thresholds too high.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._missing_labels import harden, split_missing
from hyperlabel.decision.known_entries import entry_weights, is_complete, known_column, known_labels
from hyperlabel.decision.threshold_candidates import (
    SORTED_BYTES,
    Candidates,
    find_candidates,
    lowest_useful_score,
    search_rows,
    sort_columns,
)
from hyperlabel.metrics.measures import find_measure, list_measures
from hyperlabel.metrics.ranking import ranked_blocks
from hyperlabel.metrics.validation import Truth, leave_out_unknown
from hyperlabel.solvers.arrays import row_blocks

GRID = 256
# Objectives (`Measure.threshold_objective`) that the searches below know.
_OF_EACH_LABEL = ("f1_macro", "f1_micro", "hamming_loss")
_SHARED = (*_OF_EACH_LABEL, "f1_samples")


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Fitted thresholds.

    Parameters
    ----------
    thresholds : ndarray of shape (n_labels,)
        Predict where score > threshold.
    value : float
        The objective they reach on the scores they were fitted on, before shrinking (of a Jaccard index the
        F1 that it grows with).
    shared : float
        The shared threshold that labels with few positives are drawn to (the threshold itself if global).

    Examples
    --------
    >>> Y = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]])
    >>> fitted = global_threshold(np.array([[2.0, 1.0], [0.0, 3.0]]), Y)
    >>> fitted.value, bool(1.0 <= fitted.shared < 2.0)
    (1.0, True)
    """

    thresholds: np.ndarray
    value: float
    shared: float


def per_label_thresholds(
    scores: np.ndarray,
    Y: sparse.csr_array,
    *,
    scoring: str = "f1_macro",
    shrinkage: float = 10.0,
    sample_weight: np.ndarray | None = None,
) -> Thresholds:
    """Fit one threshold for each label; labels with few positives are drawn to a shared threshold.

    threshold_j = (P_j ĉ_j + m c₀) / (P_j + m)

    where:

    * ĉ_j is the best threshold of label j on its own and P_j its number of positives;
    * c₀ is the best shared threshold (of 256 quantiles of the positive scores), m the `shrinkage`.

    ``"f1_macro"`` maximises the F1 of each label, ``"hamming_loss"`` the entries right, and
    ``"f1_micro"`` the F1 of the pooled counts, by Dinkelbach's iteration: for a guess F the labels
    part and each maximises 2tp − F·predicted; F = 2Σtp/(Σpredicted + ΣP) is the next guess, and the fixed
    point is the optimum.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
        Finite scores.
    Y : csr_array of shape (n, k)
        True labels; NaN is stored where nobody knows, and shares count as the likelier answer.
    scoring : {"f1_macro", "f1_micro", "hamming_loss"}, default="f1_macro"
        What the thresholds maximise: one of these, or another measure with such a `threshold_objective`
        (:class:`hyperlabel.metrics.Measure`), like ``"jaccard_micro"``.
    shrinkage : float, default=10.0
        m, in positives; 0 leaves every label to itself.
    sample_weight : ndarray of shape (n,) or (n, k), default=None
        Weights of the rows, or of their entries.

    Returns
    -------
    thresholds : Thresholds
        Labels without positives get the shared threshold (with no shrinkage: a threshold above their scores).

    References
    ----------
    W. Dinkelbach, *On nonlinear fractional programming*, Management Science, 1967.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import per_label_thresholds
    >>> scores = np.array([[0.9, 0.1], [0.5, 0.3], [0.1, 0.2]])
    >>> Y = sparse.csr_array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> per_label_thresholds(scores, Y, shrinkage=0.0).thresholds
    array([0.3 , 0.15])
    """
    scoring = find_objective(scoring, "per_label")
    c = find_candidates(scores, Y, sample_weight, n_grid=GRID)
    P = c.positives
    if scoring == "f1_macro":
        f1 = 2 * c.right / (c.found + P[c.label])
        index, thresholds = c.best(f1, none=0.0)
        value = float(c.take(f1, index).mean())
    elif scoring == "hamming_loss":
        gain = 2 * c.right - c.found
        index, thresholds = c.best(gain, none=0.0)
        known_weight = float(entry_weights(Y, sample_weight).sum())
        value = _hamming_score(float(c.take(gain, index).sum()), float(P.sum()), known_weight)
    else:
        thresholds, value = _best_by_dinkelbach(c)
    shared = _best_on_grid(c, scoring)[0]
    if shrinkage > 0:
        label_share = P / (P + shrinkage)
        thresholds = label_share * thresholds + (1.0 - label_share) * shared
    return Thresholds(thresholds, value, shared)


def global_threshold(
    scores: np.ndarray,
    Y: sparse.csr_array,
    *,
    scoring: str = "f1_micro",
    sample_weight: np.ndarray | None = None,
) -> Thresholds:
    """Fit one threshold for all labels.

    Exact for ``"f1_micro"`` and ``"hamming_loss"``, whose counts pool; for ``"f1_macro"`` and
    ``"f1_samples"`` the best of 256 quantiles of the positive scores.

    Parameters
    ----------
    scores, Y, sample_weight
        As in :func:`per_label_thresholds`.
    scoring : {"f1_micro", "f1_macro", "f1_samples", "hamming_loss"}, default="f1_micro"
        What the threshold maximises.

    Returns
    -------
    thresholds : Thresholds

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import global_threshold
    >>> scores = np.array([[0.9, 0.1], [0.5, 0.3], [0.1, 0.2]])
    >>> Y = sparse.csr_array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> global_threshold(scores, Y).thresholds
    array([0.15, 0.15])
    """
    scoring = find_objective(scoring, "global")
    k = scores.shape[1]
    if scoring in ("f1_micro", "hamming_loss"):
        return _best_pooled(scores, harden(Y), scoring, sample_weight)
    if scoring == "f1_macro":
        threshold, value = _best_on_grid(find_candidates(scores, Y, sample_weight, n_grid=GRID), scoring)
    else:  # the F1 of rows is the F1 of labels of the transposed problem
        if sample_weight is not None and sample_weight.ndim == 2:
            raise ValueError("'f1_samples' is a mean over rows: it takes one weight for each row.")
        truth = Truth.of_targets(Y)
        known_rows = slice(None) if truth.rows_known is None else truth.rows_known
        Y, scores = Y[known_rows], scores[known_rows]
        row_weights = None if sample_weight is None else sample_weight[known_rows]
        rows = find_candidates(np.ascontiguousarray(scores.T), sparse.csr_array(Y.T), n_grid=GRID)
        threshold, value = _best_on_grid(rows, "f1_macro", row_weights, empty=1.0)
    return Thresholds(np.full(k, threshold), value, threshold)


def proportional_thresholds(
    scores: np.ndarray, Y: sparse.csr_array, *, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Fit thresholds that predict each label as often as it is true.

    Parameters
    ----------
    scores, Y, sample_weight
        As in :func:`per_label_thresholds`.

    Returns
    -------
    thresholds : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import proportional_thresholds
    >>> proportional_thresholds(np.array([[0.9], [0.5], [0.1]]), sparse.csr_array([[0.0], [1.0], [0.0]]))
    array([0.7])
    """
    n, k = scores.shape
    thresholds = np.empty(k)
    if not is_complete(Y, sample_weight):
        for j, rows, target, weight in known_labels(Y, sample_weight):
            column = np.ascontiguousarray(scores[rows, j][:, None])
            known = proportional_thresholds(column, known_column(target), sample_weight=weight)
            thresholds[j] = known[0] if len(rows) else np.inf
        return thresholds
    label_weights = Y.T @ (np.ones(n) if sample_weight is None else sample_weight)
    for label_block in row_blocks(k, SORTED_BYTES * n):
        ranked, tail, score_step = sort_columns(scores[:, label_block], sample_weight)
        label_index = np.arange(len(ranked))
        if tail is None:
            score_position = n - label_weights[label_block].astype(np.int64)
        else:  # the first tail that weighs no more than wanted, rounding aside
            score_position = search_rows(-tail, label_index, -label_weights[label_block] - 1e-9 * tail[:, 0])
        upper_score = np.where(
            score_position < n,
            ranked[label_index, np.minimum(score_position, n - 1)],
            ranked[:, -1] + 2 * score_step,
        )
        lower_score = np.where(
            score_position > 0,
            ranked[label_index, np.maximum(score_position - 1, 0)],
            ranked[:, 0] - score_step,
        )
        thresholds[label_block] = lower_score + (upper_score - lower_score) / 2
    return thresholds


def best_k(
    scores: np.ndarray,
    Y: sparse.csr_array,
    *,
    scoring: str = "f1_micro",
    max_k: int | None = None,
    sample_weight: np.ndarray | None = None,
) -> tuple[int, float]:
    """Find how many labels to predict for every row.

    Parameters
    ----------
    scores, Y, scoring, sample_weight
        As in :func:`global_threshold`.
    max_k : int, default=None
        The most that is tried; None: the largest label set in Y.

    Returns
    -------
    best, value : int, float
        The number, and the measure it reaches.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.decision import best_k
    >>> best_k(np.array([[3.0, 2.0, 1.0]]), sparse.csr_array([[1.0, 1.0, 0.0]]))
    (2, 1.0)
    """
    scoring = find_objective(scoring, "top_k")
    if sample_weight is not None and sample_weight.ndim == 2:
        raise ValueError(
            "The number of labels of a row is one for the row: it takes one weight for each row."
        )
    truth, scores, sample_weight = leave_out_unknown(Truth.of_targets(Y), scores, sample_weight)
    Y = truth.Y
    n, n_labels = scores.shape
    set_sizes = np.diff(Y.indptr)
    depth = min(n_labels, max(1, int(set_sizes.max(initial=1)) if max_k is None else max_k))
    w = np.ones(n) if sample_weight is None else sample_weight
    ks = np.arange(1, depth + 1)
    n_true_positives, n_predicted = np.zeros((n_labels, depth)), np.zeros((n_labels, depth))
    by_row, start = np.zeros(depth), 0
    for block in ranked_blocks(truth, scores, depth=depth):
        rows = slice(start, start := start + len(block.hits))
        weight = w[rows, None] * block.counted  # a label nobody knows is neither right nor wrong
        entry_index = (block.indices * depth + ks - 1).ravel()
        n_predicted += np.bincount(entry_index, weight.ravel(), n_labels * depth).reshape(n_labels, depth)
        hits = weight * block.hits
        n_true_positives += np.bincount(entry_index, hits.ravel(), n_labels * depth).reshape(n_labels, depth)
        n_listed = np.cumsum(block.counted, axis=1)
        by_row += w[rows] @ (2 * np.cumsum(block.hits, axis=1) / (n_listed + block.n_relevant[:, None]))
    n_true_positives, n_predicted = np.cumsum(n_true_positives, axis=1), np.cumsum(n_predicted, axis=1)
    positives = Y.T @ w
    unknown_weight = 0.0 if truth.missing is None else float((truth.missing.T @ w).sum())
    known_weight = float(w.sum()) * n_labels - unknown_weight
    if scoring == "f1_micro":
        value = 2 * n_true_positives.sum(axis=0) / (n_predicted.sum(axis=0) + positives.sum())
    elif scoring == "f1_macro":
        f1_denominator = n_predicted + positives[:, None]
        value = np.divide(
            2 * n_true_positives, f1_denominator, out=np.zeros_like(f1_denominator), where=f1_denominator > 0
        ).mean(axis=0)
    elif scoring == "f1_samples":
        value = by_row / w.sum()
    else:
        gain = 2 * n_true_positives.sum(axis=0) - n_predicted.sum(axis=0)
        value = np.array([_hamming_score(g, positives.sum(), known_weight) for g in gain])
    best = int(value.round(12).argmax())  # of equals the fewest labels, however their sums were rounded
    return best + 1, float(value[best])


def can_tune_each_label(scoring: Any) -> bool:
    """Whether thresholds of each label can maximise this measure."""
    measure = find_measure(scoring)
    return measure is not None and measure.threshold_objective in _OF_EACH_LABEL


def list_tunable(strategy: str = "per_label") -> list[str]:
    """Return the measures that thresholds, or the `k` of "top_k", can maximise."""
    objectives = _OF_EACH_LABEL if strategy == "per_label" else _SHARED
    return sorted(measure.name for measure in list_measures() if measure.threshold_objective in objectives)


def find_objective(scoring: Any, strategy: str) -> str:
    """Return what a strategy maximises for this measure; refuse a measure that it cannot."""
    objectives = _OF_EACH_LABEL if strategy == "per_label" else _SHARED
    if scoring in objectives:  # an objective is the measure of the same name
        return str(scoring)
    measure = find_measure(scoring)
    if measure is None or measure.threshold_objective not in objectives:
        raise ValueError(
            f"The strategy {strategy!r} can maximise {', '.join(list_tunable(strategy))}; "
            f"got scoring={scoring!r}."
        )
    return str(measure.threshold_objective)


def _hamming_score(gain: float, n_positives: float, known_weight: float) -> float:
    """Negative Hamming loss, so that greater is better: the loss of predicting nothing less the gain."""
    return (gain - n_positives) / known_weight


def _best_on_grid(
    c: Candidates, scoring: str, weights: np.ndarray | None = None, *, empty: float = 0.0
) -> tuple[float, float]:
    """Return the shared threshold of greatest value (of the mean F1 over labels, or of pooled counts)."""
    if len(c.grid) == 0:
        return float(c.above.max(initial=0.0)), empty
    if scoring == "f1_macro":
        f1_denominator = c.grid_found + c.positives[:, None]
        f1 = np.divide(
            2 * c.grid_right,
            f1_denominator,
            out=np.full_like(f1_denominator, empty),
            where=f1_denominator > 0,
        )
        value = np.average(f1, axis=0, weights=weights)
    else:
        n_true_positives, n_predicted = c.grid_right.sum(axis=0), c.grid_found.sum(axis=0)
        value = (
            2 * n_true_positives / (n_predicted + c.positives.sum())
            if scoring == "f1_micro"
            else 2 * n_true_positives - n_predicted
        )
    return float(c.grid[value.argmax()]), float(value.max())


def _best_by_dinkelbach(c: Candidates) -> tuple[np.ndarray, float]:
    n_positives = c.positives.sum()
    f1_guess = 0.0
    while True:
        index, thresholds = c.best(2 * c.right - f1_guess * c.found, none=0.0)
        n_true_positives, n_predicted = c.take(c.right, index).sum(), c.take(c.found, index).sum()
        reached_f1 = 2 * n_true_positives / max(n_predicted + n_positives, np.finfo(float).tiny)
        if reached_f1 <= f1_guess * (1 + 1e-12):  # it grows until it is the optimum
            return thresholds, float(reached_f1)
        f1_guess = reached_f1


def _best_pooled(
    scores: np.ndarray, Y: sparse.csr_array, scoring: str, sample_weight: np.ndarray | None
) -> Thresholds:
    """Return the best threshold of all entries as one long column."""
    k = scores.shape[1]
    known, missing = split_missing(Y)
    entries = known.tocoo()
    flat_scores = scores.ravel()
    positive_scores = scores[entries.row, entries.col]
    is_plain = sample_weight is None and missing is None
    score_limit = lowest_useful_score(flat_scores, positive_scores, scoring) if is_plain else None
    is_kept = np.ones(flat_scores.size, dtype=bool) if score_limit is None else flat_scores >= score_limit
    entry_weight = sample_weight
    if sample_weight is not None:
        by_entry = sample_weight if sample_weight.ndim == 2 else np.repeat(sample_weight, k)
        entry_weight = by_entry.ravel()
        is_kept &= entry_weight > 0 if sample_weight.ndim == 2 else True
    if missing is not None:
        gaps = missing.tocoo()
        is_kept[gaps.row.astype(np.int64) * k + gaps.col] = False
    is_positive = np.zeros(flat_scores.size, dtype=bool)
    is_positive[entries.row.astype(np.int64) * k + entries.col] = True
    if sample_weight is not None and sample_weight.ndim == 2:
        n_positives = float(sample_weight.ravel()[is_positive].sum())
    else:
        n_positives = float(
            (known.T @ (np.ones(len(scores)) if sample_weight is None else sample_weight)).sum()
        )
    weights = None if entry_weight is None else entry_weight[is_kept]
    c = find_candidates(flat_scores[is_kept, None], sparse.csr_array(is_positive[is_kept, None]), weights)
    if scoring == "f1_micro":
        objective = 2 * c.right / (c.found + n_positives)
        index, threshold = c.best(objective, none=0.0)
        value = float(c.take(objective, index)[0])
    else:
        gain = 2 * c.right - c.found
        index, threshold = c.best(gain, none=0.0)
        known_weight = float(entry_weights(Y, sample_weight).sum())
        value = _hamming_score(float(c.take(gain, index)[0]), n_positives, known_weight)
    return Thresholds(np.full(k, threshold[0]), value, float(threshold[0]))


def decide(scores: np.ndarray, thresholds: Any) -> np.ndarray:
    """Label sets as a boolean array: where the score is greater than the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.decision import decide
    >>> decide(np.array([[0.5, 0.5]]), np.array([0.4, 0.6]))
    array([[ True, False]])
    """
    return scores > thresholds

"""Measures of probabilities, entry by entry: are they honest?"""

from typing import Any, Literal

import numpy as np

from hyperlabel.metrics.validation import (
    TopK,
    Truth,
    bounded_blocks,
    contains_columns,
    leave_out_unknown,
    mean_over_labels,
    mean_where_defined,
    read_scores,
    read_truth,
    read_weights,
    with_shared_arguments,
)


@with_shared_arguments
def log_loss(
    y_true: Any, y_proba: Any, *, average: Literal["macro"] | None = "macro", sample_weight: Any = None
) -> Any:
    """Logarithmic loss of each label over the rows, or its mean over labels.

    loss(label) = −(1/n) Σ_i [ y_i log p_i + (1 − y_i) log(1 − p_i) ]

    **Difference from** :func:`sklearn.metrics.log_loss`, which takes an indicator for one-hot classes:
    it divides each row by its sum and drops the (1 − y) terms. Probabilities are clipped to
    [ε, 1 − ε], ε the precision of their dtype, as scikit-learn does.

    Returns
    -------
    loss : float, or ndarray of shape (n_labels,) if `average` is None
        0 is best; NaN for a label no entry of which is known.

    Examples
    --------
    >>> from hyperlabel.metrics import log_loss
    >>> round(log_loss([[1, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5]]), 4)
    0.6931
    """
    return _averaged_cost(y_true, y_proba, average, sample_weight, _negative_and_positive_log_loss)


@with_shared_arguments
def brier_score(
    y_true: Any, y_proba: Any, *, average: Literal["macro"] | None = "macro", sample_weight: Any = None
) -> Any:
    """Mean squared error of the probabilities of each label, or its mean over labels.

    brier(label) = (1/n) Σ_i (y_i − p_i)²: for each label
    :func:`sklearn.metrics.brier_score_loss`, which takes one label at a time.

    Returns
    -------
    brier : float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from hyperlabel.metrics import brier_score
    >>> brier_score([[1, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5]])
    0.25
    """
    return _averaged_cost(y_true, y_proba, average, sample_weight, _square_costs)


def probability_table(truth: Truth, proba: np.ndarray | TopK, weights: np.ndarray | None) -> dict[str, float]:
    """Both measures, mean over labels."""
    return {
        "log_loss": mean_where_defined(
            _mean_label_costs(truth, proba, weights, _negative_and_positive_log_loss)
        ),
        "brier_score": mean_where_defined(_mean_label_costs(truth, proba, weights, _square_costs)),
    }


def read_probabilities(y_proba: Any, truth: Truth) -> np.ndarray | TopK:
    """Read scores that must lie in [0, 1]."""
    proba = read_scores(y_proba, truth, "y_proba")
    listed_values = proba.scores[proba.indices >= 0] if isinstance(proba, TopK) else proba
    if listed_values.size and not (listed_values.min() >= 0 and listed_values.max() <= 1):
        raise ValueError("y_proba must hold probabilities between 0 and 1; scores go into y_score.")
    return proba


def _negative_and_positive_log_loss(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of probability p for a negative and for a positive entry."""
    eps = np.finfo(p.dtype).eps
    p = np.clip(p, eps, 1.0 - eps)
    return -np.log1p(-p), -np.log(p)


def _square_costs(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return p**2, (1.0 - p) ** 2


def _averaged_cost(y_true: Any, y_proba: Any, average: Any, sample_weight: Any, costs: Any) -> Any:
    truth = read_truth(y_true, y_proba)
    answers = read_probabilities(y_proba, truth), read_weights(sample_weight, truth)
    truth, proba, weights = leave_out_unknown(truth, *answers)
    return mean_over_labels(_mean_label_costs(truth, proba, weights, costs), average)


def _mean_label_costs(
    truth: Truth, proba: np.ndarray | TopK, weights: np.ndarray | None, costs: Any
) -> np.ndarray:
    """Return the mean cost of each label: that of all entries negative, corrected at the positive ones."""
    n, n_labels = truth.shape
    w = np.ones(n) if weights is None else weights
    known_weight = np.full(n_labels, w.sum()) - (0.0 if truth.missing is None else truth.missing.T @ w)
    if isinstance(proba, TopK):
        total_cost = _sum_list_costs(truth, proba, w, known_weight, costs)
    else:
        total_cost = np.zeros(n_labels)
        for rows in bounded_blocks(n, n_labels):
            negative_cost, positive_cost = costs(proba[rows])
            Y = truth.Y[rows].tocoo()
            if truth.missing is not None:
                negative_cost[truth.missing[rows].toarray() > 0] = 0.0
            total_cost += w[rows] @ negative_cost
            cost_change = positive_cost[Y.row, Y.col].astype(np.float64) - negative_cost[Y.row, Y.col]
            total_cost += np.bincount(Y.col, w[rows][Y.row] * cost_change, n_labels)
    return np.divide(total_cost, known_weight, out=np.full(n_labels, np.nan), where=known_weight > 0)


def _sum_list_costs(
    truth: Truth, proba: TopK, w: np.ndarray, known_weight: np.ndarray, costs: Any
) -> np.ndarray:
    """Total cost of each label when only listed labels have a probability above 0."""
    n_labels = truth.shape[1]
    negative_at_0, positive_at_0 = (float(cost[0]) for cost in costs(np.zeros(1)))
    positive_weight = truth.Y.T @ w
    total_cost = negative_at_0 * (known_weight - positive_weight) + positive_at_0 * positive_weight
    is_counted, is_hit = proba.indices >= 0, contains_columns(truth.Y, proba.indices)
    if truth.missing is not None:
        is_counted &= ~contains_columns(truth.missing, proba.indices)
    row_index, list_index = np.nonzero(is_counted)
    negative_cost, positive_cost = costs(proba.scores[row_index, list_index])
    cost_change = np.where(
        is_hit[row_index, list_index], positive_cost - positive_at_0, negative_cost - negative_at_0
    )
    return total_cost + np.bincount(
        proba.indices[row_index, list_index], w[row_index] * cost_change, n_labels
    )

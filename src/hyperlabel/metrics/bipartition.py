"""Measures of label sets: predicted against true, each entry yes or no."""

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn import metrics as sk

from hyperlabel._tables import Table
from hyperlabel.metrics.validation import (
    Truth,
    leave_out_unknown,
    read_label_sets,
    read_truth,
    read_weights,
    weighted_mean,
    with_shared_arguments,
)

Average = Literal["micro", "macro", "weighted", "samples"] | None
MEASURES = ("precision", "recall", "f1", "jaccard")


@with_shared_arguments
def hamming_loss(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of (row, label) entries that are wrong.

    As :func:`sklearn.metrics.hamming_loss`; where y_true holds NaN, of the known entries.

    Returns
    -------
    loss : float
        Between 0 (best) and 1.

    Examples
    --------
    >>> from hyperlabel.metrics import hamming_loss
    >>> hamming_loss([[1, 0, 1], [0, 0, 1]], [[1, 1, 1], [0, 0, 0]])
    0.333...
    """
    return _compute_hamming_loss(*_read_inputs(y_true, y_pred, sample_weight))


@with_shared_arguments
def subset_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of rows whose whole label set is right.

    Equal to :func:`sklearn.metrics.accuracy_score` of an indicator, which is called. Where y_true
    holds NaN, a row counts as right if all its known entries are; rows without any are left out.

    Returns
    -------
    accuracy : float
        Between 0 and 1 (best).

    Examples
    --------
    >>> from hyperlabel.metrics import subset_accuracy
    >>> subset_accuracy([[1, 0], [0, 0]], [[1, 1], [0, 0]])
    0.5
    """
    return _compute_subset_accuracy(*_read_inputs(y_true, y_pred, sample_weight))


@with_shared_arguments
def precision_score(
    y_true: Any, y_pred: Any, *, average: Average = "macro", sample_weight: Any = None
) -> Any:
    """Precision, tp / (tp + fp): how much of what was predicted is right.

    Returns
    -------
    precision : float, or ndarray of shape (n_labels,)

    Examples
    --------
    >>> from hyperlabel.metrics import precision_score
    >>> precision_score([[1, 0], [0, 1]], [[1, 1], [0, 1]], average="micro")
    0.666...
    """
    return _averaged_score(y_true, y_pred, sample_weight, average)[0]


@with_shared_arguments
def recall_score(y_true: Any, y_pred: Any, *, average: Average = "macro", sample_weight: Any = None) -> Any:
    """Recall, tp / (tp + fn): how much of what is true was predicted.

    Returns
    -------
    recall : float, or ndarray of shape (n_labels,)

    Examples
    --------
    >>> from hyperlabel.metrics import recall_score
    >>> recall_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="micro")
    0.666...
    """
    return _averaged_score(y_true, y_pred, sample_weight, average)[1]


@with_shared_arguments
def f1_score(y_true: Any, y_pred: Any, *, average: Average = "macro", sample_weight: Any = None) -> Any:
    """F1, the harmonic mean of precision and recall: 2tp / (2tp + fp + fn).

    where:

    * tp, fp, fn count the entries rightly predicted, wrongly predicted and missed;
    * ``"micro"`` pools the counts of all labels, ``"macro"`` is the mean over labels, ``"weighted"``
      the mean weighted by each label's number of positives, ``"samples"`` the mean over rows.

    Micro, macro and weighted are scikit-learn's, which is called, with ``zero_division=0`` and no
    warning: a label absent from truth and prediction counts 0 in the macro mean (`evaluate` says how
    many there are). **Difference from scikit-learn**: in ``"samples"`` a row that has no labels and
    gets none is right and counts 1, where scikit-learn counts 0.

    Parameters
    ----------
    average : {"micro", "macro", "weighted", "samples"} or None, default="macro"
        None gives one value for each label.

    Returns
    -------
    f1 : float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from hyperlabel.metrics import f1_score
    >>> y_true, y_pred = [[1, 0], [0, 0]], [[1, 1], [0, 0]]
    >>> f1_score(y_true, y_pred, average="samples")  # the empty row is right
    0.833...
    """
    return _averaged_score(y_true, y_pred, sample_weight, average)[2]


@with_shared_arguments
def jaccard_score(y_true: Any, y_pred: Any, *, average: Average = "macro", sample_weight: Any = None) -> Any:
    """Jaccard index, tp / (tp + fp + fn): what truth and prediction share of what either has.

    ``"samples"``, the mean over rows, is the *accuracy* of example-based evaluation (Godbole & Sarawagi,
    2004). Averages are those of :func:`f1_score` and its conventions: a label absent from truth and
    prediction counts 0 in the macro mean. **Difference from** :func:`sklearn.metrics.jaccard_score`: in
    ``"samples"`` a row that has no labels and gets none is right and counts 1.

    Returns
    -------
    jaccard : float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from hyperlabel.metrics import jaccard_score
    >>> jaccard_score([[1, 0], [0, 0]], [[1, 1], [0, 0]], average="samples")  # the empty row is right
    0.75
    """
    return _averaged_score(y_true, y_pred, sample_weight, average)[3]


def bipartition_table(truth: Truth, P: sparse.csr_array, weights: np.ndarray | None) -> dict[str, float]:
    """Every measure of this module, from one count over labels and one over rows."""
    measures = {
        "hamming_loss": _compute_hamming_loss(truth, P, weights),
        "subset_accuracy": _compute_subset_accuracy(truth, P, weights),
    }
    per_label = _score_labels(truth, P, weights, None)
    averaged_scores = {
        "micro": _score_labels(truth, P, weights, "micro")[:-1],
        "macro": _score_labels(truth, P, weights, "macro")[:-1],
        "weighted": _score_labels(truth, P, weights, "weighted")[:-1],
        "samples": _score_rows(truth, P, weights),
    }
    for average, values in averaged_scores.items():
        measures |= {f"{name}_{average}": float(value) for name, value in zip(MEASURES, values, strict=True)}
    positives = np.asarray(truth.Y.sum(axis=0)).ravel()
    is_absent = (positives == 0) & (P.sum(axis=0) == 0)
    is_present = positives > 0
    if is_present.any():
        for name, values in zip(MEASURES, per_label[:-1], strict=True):
            measures[f"{name}_macro_present"] = float(values[is_present].mean())
    return measures | {
        "n_labels_absent": int(is_absent.sum()),
        "n_labels_without_positives": int((~is_present).sum()),
    }


def label_table(truth: Truth, P: sparse.csr_array, weights: np.ndarray | None) -> Table:
    """Precision, recall, F1 and counts of each label, in the order of the columns."""
    precision, recall, f1, *_ = _score_labels(truth, P, weights, None)
    label_counts = (np.asarray(A.sum(axis=0)).ravel() for A in (truth.Y, P, truth.Y.multiply(P)))
    n_positives, n_predicted, n_true_positives = label_counts
    label_names = truth.names or [f"label{j}" for j in range(truth.shape[1])]
    return Table(
        {
            "label": str(name),
            "rows": int(n_positives[j]),
            "predicted": int(n_predicted[j]),
            "right": int(n_true_positives[j]),
            "precision": float(precision[j]),
            "recall": float(recall[j]),
            "f1": float(f1[j]),
        }
        for j, name in enumerate(label_names)
    )


def _read_inputs(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> tuple[Truth, sparse.csr_array, np.ndarray | None]:
    truth = read_truth(y_true, y_pred)
    P, weights = read_label_sets(y_pred, truth), read_weights(sample_weight, truth)
    known: tuple[Truth, sparse.csr_array, np.ndarray | None] = leave_out_unknown(truth, P, weights)
    return known


def _averaged_score(y_true: Any, y_pred: Any, sample_weight: Any, average: Average) -> Any:
    truth, P, weights = _read_inputs(y_true, y_pred, sample_weight)
    if average == "samples":
        return _score_rows(truth, P, weights)
    if average not in (None, "micro", "macro", "weighted"):
        raise ValueError(f"average must be micro, macro, weighted, samples or None, got {average!r}.")
    averaged_scores = _score_labels(truth, P, weights, average)[:-1]
    return averaged_scores if average is None else [float(value) for value in averaged_scores]


def _for_sklearn(truth: Truth, P: sparse.csr_array) -> tuple[Any, Any]:
    """Return the pair as scikit-learn wants it: it takes one label only as a vector."""
    if truth.shape[1] > 1:
        return truth.Y, P
    return truth.Y.toarray().ravel().astype(int), P.toarray().ravel().astype(int)


def _score_labels(truth: Truth, P: sparse.csr_array, weights: np.ndarray | None, average: Any) -> Any:
    """Precision, recall, F1, Jaccard index and number of positives, from three counts of each label."""
    row_weights = np.ones(truth.shape[0]) if weights is None else weights
    n_true_positives, n_positives, n_predicted = (
        np.asarray(A.T @ row_weights) for A in (truth.Y.multiply(P).tocsr(), truth.Y, P)
    )
    if average == "micro":
        n_true_positives, n_positives, n_predicted = (
            count.sum() for count in (n_true_positives, n_positives, n_predicted)
        )
    measures = [
        _safe_ratio(n_true_positives, n_predicted),
        _safe_ratio(n_true_positives, n_positives),
        _safe_ratio(2 * n_true_positives, n_positives + n_predicted),
        _safe_ratio(n_true_positives, n_positives + n_predicted - n_true_positives),
    ]
    if average == "macro":
        measures = [values.mean() for values in measures]
    elif average == "weighted":
        measures = [_safe_ratio(values @ n_positives, n_positives.sum()) for values in measures]
    return *measures, n_positives


def _score_rows(truth: Truth, P: sparse.csr_array, weights: np.ndarray | None) -> list[float]:
    """Precision, recall, F1 and Jaccard index of each row's label set; two empty sets agree."""
    n_true_positives, n_positives, n_predicted = (A.sum(axis=1) for A in (truth.Y.multiply(P), truth.Y, P))
    both_empty = (n_positives == 0) & (n_predicted == 0)
    measure_rows = (
        _safe_ratio(n_true_positives, n_predicted),
        _safe_ratio(n_true_positives, n_positives),
        _safe_ratio(2 * n_true_positives, n_positives + n_predicted),
        _safe_ratio(n_true_positives, n_positives + n_predicted - n_true_positives),
    )
    return [weighted_mean(np.where(both_empty, 1.0, row_scores), weights) for row_scores in measure_rows]


def _compute_hamming_loss(truth: Truth, P: sparse.csr_array, weights: np.ndarray | None) -> float:
    n_wrong, n_known = abs(truth.Y - P).sum(axis=1), truth.n_known(axis=1)
    row_weights = 1.0 if weights is None else weights
    return float(_safe_ratio((n_wrong * row_weights).sum(), (n_known * row_weights).sum()))


def _compute_subset_accuracy(truth: Truth, P: sparse.csr_array, weights: np.ndarray | None) -> float:
    Y, P = _for_sklearn(truth, P)
    return float(sk.accuracy_score(Y, P, sample_weight=weights))


def _safe_ratio(numerator: Any, denominator: Any) -> Any:
    """Return numerator / denominator, 0 where the denominator is 0."""
    denominator = np.asarray(denominator, dtype=np.float64)
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator > 0)

"""`evaluate`: every measure the input allows, each row sorted once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyperlabel.metrics import at_k
from hyperlabel.metrics.bipartition import bipartition_table, label_table
from hyperlabel.metrics.label_auc import auc_by_label
from hyperlabel.metrics.measures import list_measures
from hyperlabel.metrics.probability import probability_table, read_probabilities
from hyperlabel.metrics.ranking import rank_measures, ranked_blocks
from hyperlabel.metrics.validation import (
    TopK,
    Truth,
    leave_out_unknown,
    mean_where_defined,
    name_columns,
    read_label_sets,
    read_scores,
    read_truth,
    read_weights,
)


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    y_score: Any = None,
    *,
    y_proba: Any = None,
    ks: Sequence[int] = (1, 3, 5),
    propensities: Any = None,
    sample_weight: Any = None,
    per_label: bool = False,
    label_names: Any = None,
) -> dict[str, Any]:
    """Measure predictions in every way they allow, in one pass.

    The truth is read once and each row is sorted once; every value equals that of the function of the
    same name in :mod:`hyperlabel.metrics`. A row without labels has none to rank first: all measures of the
    order of a row's labels leave such rows out alike, so that here ``precision_at_1 + one_error == 1``. The
    functions themselves count them by scikit-learn's conventions; in the table they see the other rows.

    Parameters
    ----------
    y_true, y_pred, sample_weight
        As in :func:`f1_score`; y_pred gives the Hamming loss, subset accuracy, precision, recall, F1 and the
        Jaccard index.
    y_score : array-like of shape (n_samples, n_labels), or tuple (indices, scores), default=None
        As in :func:`ranking_loss`: gives the ranking measures, the ROC AUC and AUPRC. Default: `y_proba`.
    y_proba : array-like of shape (n_samples, n_labels), or tuple (indices, scores), default=None
        As in :func:`log_loss`: gives the log loss and the Brier score.
    ks : sequence of int, default=(1, 3, 5)
        The k of precision_at_k and ndcg_at_k; those beyond the number of labels are left out.
    propensities : array-like of shape (n_labels,), default=None
        Gives psp_at_k; see :func:`hyperlabel.metrics.propensities`.
    per_label : bool, default=False
        Add ``per_label``: a table with precision, recall, F1 and counts of each label of `y_pred`.
    label_names : sequence of str, default=None
        Names of the columns of arrays (`label_names_` of the model), needed where y_true names its labels. A
        label of y_true that is not among them counts as not predicted, ranked below all others (several such
        tie) and of probability 0.

    Returns
    -------
    values : dict of str to float
        Measures by name. What a mean leaves out is counted beside it: ``n_unknown`` (entries of y_true that
        nobody knows, where there are some; rows without any known label are not in n_rows),
        ``n_labels_absent`` (from truth
        and prediction; F1 0), ``n_labels_without_positives`` (from truth: 0 in the macro averages, not in
        ``f1_macro_present`` and its like), ``n_rows_without_labels`` (not in one_error, coverage_error,
        label_ranking_average_precision, precision_at_k and ndcg_at_k), ``n_rows_without_pairs`` (those and
        rows with all labels: not in ranking_loss), ``n_labels_one_class`` (not in roc_auc_macro).
        Measures that users registered (:func:`register_measure`) are among them.

    Examples
    --------
    >>> from hyperlabel.metrics import evaluate
    >>> values = evaluate([[1, 0], [0, 1]], y_pred=[[1, 0], [1, 1]], y_score=[[0.9, 0.1], [0.6, 0.7]])
    >>> values["hamming_loss"], values["f1_micro"], values["ranking_loss"]
    (0.25, 0.8, 0.0)
    >>> evaluate([["red"], ["blue", "new"]], [[0, 1], [1, 0]], label_names=["blue", "red"])["recall_micro"]
    0.6666666666666666
    """
    if y_pred is None and y_score is None and y_proba is None:
        raise ValueError("Nothing to evaluate: give y_pred, y_score or y_proba.")
    if label_names is not None:
        y_pred = name_columns(y_pred, label_names, "y_pred")
        y_score = name_columns(y_score, label_names, "y_score")
        y_proba = name_columns(y_proba, label_names, "y_proba")
    truth = read_truth(y_true, y_pred, y_score, y_proba)
    weights = read_weights(sample_weight, truth)
    P = None if y_pred is None else read_label_sets(y_pred, truth)
    proba = None if y_proba is None else read_probabilities(y_proba, truth)
    scores = proba if y_score is None else read_scores(y_score, truth)
    n_unknown = 0 if truth.missing is None else truth.missing.nnz
    truth, P, proba, scores, weights = leave_out_unknown(truth, P, proba, scores, weights)
    values: dict[str, Any] = {"n_rows": truth.shape[0], "n_labels": truth.shape[1]}
    if n_unknown:
        values["n_unknown"] = n_unknown
    if P is not None:
        values |= bipartition_table(truth, P, weights)
        if per_label:
            values["per_label"] = label_table(truth, P, weights)
    if scores is not None:
        values |= _ranking_table(truth, scores, weights, ks, propensities)
    if proba is not None:
        values |= probability_table(truth, proba, weights)
    answers = {
        "label_sets": y_pred,
        "scores": y_proba if y_score is None else y_score,
        "probabilities": y_proba,
    }
    return values | _measure_the_rest(values, y_true, answers, sample_weight)


def _measure_the_rest(
    values: dict[str, Any], y_true: Any, answers: dict[str, Any], sample_weight: Any
) -> dict[str, float]:
    """Return the registered measures that no table holds; those of a k are in the table of `ks`."""
    return {
        measure.name: measure(y_true, answers[measure.reads], sample_weight)
        for measure in list_measures()
        if measure.name not in values and "k" not in measure.options and answers[measure.reads] is not None
    }


def _ranking_table(
    truth: Truth, scores: np.ndarray | TopK, weights: np.ndarray | None, ks: Sequence[int], p: Any
) -> dict[str, float]:
    depth = scores.indices.shape[1] if isinstance(scores, TopK) else truth.shape[1]
    ks = [k for k in ks if k <= depth]
    label_gains = None if p is None else at_k.read_gain(p, truth)
    measure_blocks: dict[str, list[np.ndarray]] = {}
    for block in ranked_blocks(truth, scores):
        loss, coverage, average_precision = rank_measures(block)
        row_measures = {
            "ranking_loss": loss,
            "one_error": at_k.one_error_rows(block),
            "coverage_error": coverage,
            "label_ranking_average_precision": average_precision,
        }
        for k in ks:
            row_measures[f"precision_at_{k}"] = at_k.hits_at(block, k) / k
            row_measures[f"ndcg_at_{k}"] = at_k.ndcg_rows(block, k)
            if label_gains is not None:
                row_measures[f"psp_at_{k}"] = at_k.gain_rows(block, label_gains, k)
        without_labels = block.n_relevant == 0
        for name, row_values in row_measures.items():
            measure_blocks.setdefault(name, []).append(np.where(without_labels, np.nan, row_values))
    by_row = {name: np.concatenate(value_blocks) for name, value_blocks in measure_blocks.items()}
    mean_measures = {name: mean_where_defined(row_values, weights) for name, row_values in by_row.items()}
    if label_gains is not None:
        for k in ks:
            best_gains = at_k.best_gain_rows(truth, label_gains, k)
            row_gains = np.nan_to_num(
                by_row[f"psp_at_{k}"]
            )  # pooled over rows: one without labels adds nothing
            mean_measures[f"psp_at_{k}"] = at_k.gain_ratio(row_gains, best_gains, weights)
    label_aucs = auc_by_label(truth, scores, weights)
    return mean_measures | {
        "roc_auc_macro": mean_where_defined(label_aucs),
        "n_rows_without_pairs": int(np.isnan(by_row["ranking_loss"]).sum()),
        "n_rows_without_labels": int(np.isnan(by_row["one_error"]).sum()),
        "n_labels_one_class": int(np.isnan(label_aucs).sum()),
    }

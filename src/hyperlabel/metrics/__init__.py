"""Measures of multi-label predictions: label sets, rankings, probabilities.

All take y_true dense or sparse, and scores as an n×K array or as lists of the best labels
``(indices, scores)``; nothing of size n×K is formed that was not given.
"""

from hyperlabel.metrics.at_k import ndcg_at_k, one_error, precision_at_k, propensities, psp_at_k
from hyperlabel.metrics.bipartition import (
    f1_score,
    hamming_loss,
    jaccard_score,
    precision_score,
    recall_score,
    subset_accuracy,
)
from hyperlabel.metrics.calibration import Reliability, reliability
from hyperlabel.metrics.evaluation import evaluate
from hyperlabel.metrics.measures import Measure, register_measure
from hyperlabel.metrics.probability import brier_score, log_loss
from hyperlabel.metrics.ranking import (
    average_precision_score,
    coverage_error,
    label_ranking_average_precision,
    ranking_loss,
    roc_auc_score,
)
from hyperlabel.metrics.scorers import get_scorer, get_scorer_names

__all__ = [
    "evaluate",
    "hamming_loss",
    "subset_accuracy",
    "precision_score",
    "recall_score",
    "f1_score",
    "jaccard_score",
    "ranking_loss",
    "one_error",
    "coverage_error",
    "label_ranking_average_precision",
    "roc_auc_score",
    "average_precision_score",
    "precision_at_k",
    "ndcg_at_k",
    "psp_at_k",
    "propensities",
    "log_loss",
    "brier_score",
    "reliability",
    "Reliability",
    "get_scorer",
    "get_scorer_names",
    "Measure",
    "register_measure",
]

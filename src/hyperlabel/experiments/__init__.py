"""Experiments: what to run (protocol), running it (runner), keeping it (store), judging it (statistics)."""

from hyperlabel.experiments.comparison import Comparison
from hyperlabel.experiments.protocol import Method, Protocol, Splits
from hyperlabel.experiments.runner import Cell, Outcome, Value, run
from hyperlabel.experiments.store import Store
from hyperlabel.metrics.statistics import (
    bayesian_correlated_t,
    corrected_resampled_t,
    friedman,
    holm,
    indistinguishable_groups,
    wilcoxon_holm,
)

__all__ = [
    "Protocol",
    "Method",
    "Splits",
    "Cell",
    "Outcome",
    "Value",
    "run",
    "Store",
    "Comparison",
    "corrected_resampled_t",
    "bayesian_correlated_t",
    "friedman",
    "wilcoxon_holm",
    "holm",
    "indistinguishable_groups",
]

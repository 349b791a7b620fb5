"""Experiments: what to run (protocol), running it (runner), keeping it (store), judging it (statistics)."""

from hyperlabel.apps.comparison.comparison import Comparison
from hyperlabel.apps.comparison.protocol import Method, Protocol, Splits
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement, run
from hyperlabel.apps.comparison.store import Store
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
    "Job",
    "JobResult",
    "Measurement",
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

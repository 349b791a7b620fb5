"""Pure decision rules: scores in, label sets out."""

from hyperlabel.decision.calibration_curves import Sigmoid, expected_f1_sets
from hyperlabel.decision.guarantee_table import Guarantees
from hyperlabel.decision.label_noise import LabelErrors, label_errors
from hyperlabel.decision.label_set_size import LabelSetSize, set_size_targets
from hyperlabel.decision.risk_control import guarantee_precision, guarantee_recall
from hyperlabel.decision.thresholds import (
    Thresholds,
    best_k,
    decide,
    global_threshold,
    per_label_thresholds,
    proportional_thresholds,
)

__all__ = [
    "Thresholds",
    "Guarantees",
    "per_label_thresholds",
    "global_threshold",
    "proportional_thresholds",
    "guarantee_precision",
    "guarantee_recall",
    "best_k",
    "decide",
    "Sigmoid",
    "expected_f1_sets",
    "LabelSetSize",
    "set_size_targets",
    "LabelErrors",
    "label_errors",
]

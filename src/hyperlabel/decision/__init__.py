"""Pure decision rules: scores in, label sets out."""

from hyperlabel.decision.calibration import Sigmoid, expected_f1_sets
from hyperlabel.decision.cuts import Cuts, best_k, decide, global_cut, per_label_cuts, proportional_cuts
from hyperlabel.decision.label_set_size import LabelSetSize, set_size_targets
from hyperlabel.decision.promise import promise_precision, promise_recall
from hyperlabel.decision.promise_table import Promises
from hyperlabel.decision.quality import LabelQuality, label_quality

__all__ = [
    "Cuts",
    "Promises",
    "per_label_cuts",
    "global_cut",
    "proportional_cuts",
    "promise_precision",
    "promise_recall",
    "best_k",
    "decide",
    "Sigmoid",
    "expected_f1_sets",
    "LabelSetSize",
    "set_size_targets",
    "LabelQuality",
    "label_quality",
]

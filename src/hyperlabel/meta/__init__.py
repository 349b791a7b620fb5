"""Estimators that wrap estimators: searching, thresholds, calibration, automatic choice.

Names are loaded on first use: a model that only predicts needs no catalogue of all methods.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperlabel.meta.auto import AutoMultiLabel
    from hyperlabel.meta.calibrator import MultiLabelCalibrator
    from hyperlabel.meta.explanation import Explanation, Share, explain
    from hyperlabel.meta.free_search import FreeSearchCV
    from hyperlabel.meta.threshold import ThresholdTuner
    from hyperlabel.meta.updating import update

__all__ = [
    "ThresholdTuner",
    "MultiLabelCalibrator",
    "FreeSearchCV",
    "AutoMultiLabel",
    "update",
    "explain",
    "Explanation",
    "Share",
]
_HOMES = {
    "ThresholdTuner": "hyperlabel.meta.threshold",
    "MultiLabelCalibrator": "hyperlabel.meta.calibrator",
    "FreeSearchCV": "hyperlabel.meta.free_search",
    "AutoMultiLabel": "hyperlabel.meta.auto",
    "update": "hyperlabel.meta.updating",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hyperlabel.meta' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "hyperlabel.meta.explanation")), name)

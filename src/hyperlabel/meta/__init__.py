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
_HOMES = ("threshold", "calibrator", "free_search", "auto", "updating", *3 * ("explanation",))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hyperlabel.meta' has no attribute {name!r}")
    home = _HOMES[__all__.index(name)]
    return getattr(importlib.import_module(f"hyperlabel.meta.{home}"), name)

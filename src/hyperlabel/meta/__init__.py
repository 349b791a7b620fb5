"""Estimators that wrap estimators: searching, thresholds, calibration, automatic choice."""

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

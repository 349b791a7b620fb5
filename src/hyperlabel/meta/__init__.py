"""Estimators that wrap estimators: searching, thresholds, calibration, automatic choice.

Names are loaded on first use: a model that only predicts needs no catalogue of all methods.
"""

import importlib
from typing import Any

_HOMES = {
    "ThresholdTuner": "hyperlabel.meta.threshold",
    "MultiLabelCalibrator": "hyperlabel.meta.calibrator",
    "ClosedFormSearchCV": "hyperlabel.meta.closed_form_search",
    "AutoMultiLabel": "hyperlabel.meta.auto",
    "update": "hyperlabel.meta.updating",
    "predict_labels": "hyperlabel.meta.label_names",
    **dict.fromkeys(("explain", "Explanation", "Share"), "hyperlabel.meta.explanation"),
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hyperlabel.meta' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Estimators that wrap estimators: searching, thresholds, calibration, automatic choice."""

from hyperlabel.meta.free_search import FreeSearchCV

__all__ = ["FreeSearchCV"]

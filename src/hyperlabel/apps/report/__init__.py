"""Reports: results → figures → one self-contained HTML file; the figures also as Display classes."""

from hyperlabel.apps.report.curve_displays import PathDisplay, ReliabilityDisplay
from hyperlabel.apps.report.displays import CostDisplay, CriticalDifferenceDisplay, DifferenceDisplay
from hyperlabel.apps.report.html import comparison_report
from hyperlabel.apps.report.label_displays import (
    CooccurrenceDisplay,
    EmbeddingDisplay,
    LabelScoresDisplay,
    SpectrumDisplay,
)

__all__ = [
    "comparison_report",
    "PathDisplay",
    "CriticalDifferenceDisplay",
    "DifferenceDisplay",
    "CostDisplay",
    "ReliabilityDisplay",
    "LabelScoresDisplay",
    "CooccurrenceDisplay",
    "SpectrumDisplay",
    "EmbeddingDisplay",
]

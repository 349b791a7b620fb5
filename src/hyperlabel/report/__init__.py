"""Reports: results → figures → one self-contained HTML file; the figures also as Display classes."""

from hyperlabel.report.data_displays import (
    CooccurrenceDisplay,
    EmbeddingDisplay,
    LabelScoresDisplay,
    SpectrumDisplay,
)
from hyperlabel.report.displays import (
    CostDisplay,
    CriticalDifferenceDisplay,
    DifferenceDisplay,
    PathDisplay,
    ReliabilityDisplay,
)
from hyperlabel.report.html import comparison_report, reproduction_report

__all__ = [
    "comparison_report",
    "reproduction_report",
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

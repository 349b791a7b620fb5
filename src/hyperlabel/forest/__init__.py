"""Trees over rows whose leaves hold label sets."""

from hyperlabel.forest._label_forest import LabelForest

__all__ = ["LabelForest"]

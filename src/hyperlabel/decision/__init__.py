"""Pure decision rules: scores in, label sets out."""

from hyperlabel.decision.label_set_size import LabelSetSize, set_size_targets

__all__ = ["LabelSetSize", "set_size_targets"]

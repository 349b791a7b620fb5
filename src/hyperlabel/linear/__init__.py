"""Linear models on shared moments: the baseline everything else leans on."""

from hyperlabel.linear.binary_relevance import BinaryRelevance

__all__ = ["BinaryRelevance"]

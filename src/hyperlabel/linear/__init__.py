"""Linear models: one ridge for all labels on shared moments, and classifier chains."""

from hyperlabel.linear.binary_relevance import BinaryRelevance
from hyperlabel.linear.chain_ensemble import ChainEnsemble

__all__ = ["BinaryRelevance", "ChainEnsemble"]

"""Linear models on shared moments: the baseline everything else leans on."""

from hyperlabel.linear.binary_relevance import BinaryRelevance
from hyperlabel.linear.chain_ensemble import ChainEnsemble

__all__ = ["BinaryRelevance", "ChainEnsemble"]

"""A label set as geometry: hyperedges over samples, and the thin factors they turn into."""

from hyperlabel.geometry.hypergraph import EdgeSums, LabelHypergraph, edge_weights
from hyperlabel.geometry.similarity import EXPANSIONS, LabelFactor, label_factor

__all__ = ["LabelHypergraph", "EdgeSums", "edge_weights", "LabelFactor", "label_factor", "EXPANSIONS"]

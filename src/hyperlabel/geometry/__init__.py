"""A label set as geometry: hyperedges over samples, and the thin factors they turn into."""

from hyperlabel.geometry.edges import EdgeMoments, Edges, edge_weights
from hyperlabel.geometry.factor import ExpansionFactor, LabelFactor, PlainFactor
from hyperlabel.geometry.hypergraph import LabelHypergraph
from hyperlabel.geometry.label_tree import LabelTree
from hyperlabel.geometry.similarity import EXPANSIONS, ThinFactor

__all__ = [
    "LabelHypergraph",
    "LabelTree",
    "LabelFactor",
    "PlainFactor",
    "ExpansionFactor",
    "ThinFactor",
    "Edges",
    "EdgeMoments",
    "edge_weights",
    "EXPANSIONS",
]

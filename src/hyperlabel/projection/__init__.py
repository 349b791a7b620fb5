"""Supervised projections of X: each method chooses a thin label factor and a constraint."""

from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral

__all__ = ["HypergraphSpectral"]

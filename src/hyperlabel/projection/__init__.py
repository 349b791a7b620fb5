"""Supervised projections of X: each method chooses a thin label factor and a constraint."""

from hyperlabel.projection.cv import HypergraphSpectralCV
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.projection.path import SpectralModel, SpectralPath, hypergraph_spectral_path
from hyperlabel.projection.readout import ProjectionClassifier

__all__ = [
    "HypergraphSpectral",
    "HypergraphSpectralCV",
    "ProjectionClassifier",
    "hypergraph_spectral_path",
    "SpectralPath",
    "SpectralModel",
]

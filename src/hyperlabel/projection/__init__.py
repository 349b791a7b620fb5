"""Supervised projections of X: each method chooses a thin label factor and a constraint."""

from hyperlabel.projection.cv import HypergraphSpectralCV
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.projection.lpp import LPP
from hyperlabel.projection.mddm import MDDM
from hyperlabel.projection.mlsi import MLSI
from hyperlabel.projection.opls import HOPLS, OPLS
from hyperlabel.projection.path import (
    ProjectionModel,
    ProjectionPath,
    SpectralPath,
    hypergraph_spectral_path,
    projection_path,
)
from hyperlabel.projection.readout import ProjectionClassifier

__all__ = [
    "HypergraphSpectral",
    "HypergraphSpectralCV",
    "ProjectionClassifier",
    "hypergraph_spectral_path",
    "OPLS",
    "HOPLS",
    "MDDM",
    "MLSI",
    "LPP",
    "projection_path",
    "ProjectionPath",
    "ProjectionModel",
    "SpectralPath",
]

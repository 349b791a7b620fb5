"""Supervised projections of X: each method chooses a thin label factor and a constraint."""

from hyperlabel.projection._base import LabelProjection, Projection
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.projection.lpp import LPP
from hyperlabel.projection.mddm import MDDM
from hyperlabel.projection.mlsi import MLSI
from hyperlabel.projection.opls import HOPLS, OPLS
from hyperlabel.projection.path import ProjectionModel, ProjectionPath, projection_path
from hyperlabel.projection.readout import ProjectionClassifier

__all__ = [
    "HypergraphSpectral",
    "OPLS",
    "HOPLS",
    "MDDM",
    "MLSI",
    "LPP",
    "ProjectionClassifier",
    "projection_path",
    "ProjectionPath",
    "ProjectionModel",
    "LabelProjection",
    "Projection",
]

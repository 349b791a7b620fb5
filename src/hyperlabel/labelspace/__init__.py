"""Label-space transformations: learn a few directions of the label cube instead of K labels."""

from hyperlabel.labelspace.classifier import ErrorDecomposition, LabelSpaceClassifier
from hyperlabel.labelspace.encoders import (
    AffineEncoder,
    ConditionalPrincipalEncoder,
    Encoder,
    FrequentLabelsEncoder,
    IdentityEncoder,
    PrincipalEncoder,
    ideal_scores,
)
from hyperlabel.labelspace.hadamard import HadamardEncoder
from hyperlabel.labelspace.kernel_dependency import KernelDependencyEstimation
from hyperlabel.labelspace.plst import CPLST, PLST, CompressedSensing, PartialBinaryRelevance
from hyperlabel.labelspace.powerset import LabelPowerset
from hyperlabel.labelspace.topics import LabelTopicModel

__all__ = [
    "LabelSpaceClassifier",
    "PLST",
    "CPLST",
    "PartialBinaryRelevance",
    "CompressedSensing",
    "LabelPowerset",
    "LabelTopicModel",
    "KernelDependencyEstimation",
    "Encoder",
    "AffineEncoder",
    "IdentityEncoder",
    "FrequentLabelsEncoder",
    "PrincipalEncoder",
    "ConditionalPrincipalEncoder",
    "HadamardEncoder",
    "ErrorDecomposition",
    "ideal_scores",
]

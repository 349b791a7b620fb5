"""Multi-label learning for scikit-learn users.

The public names are loaded on first use (PEP 562), so that ``import hyperlabel``
costs next to nothing and pulls in neither scikit-learn nor numba.
"""

import importlib
from typing import Any

__version__ = "0.2.0"

# Where each public name lives; one line per room of the architecture (docs/architecture.md).
_PACKAGES: dict[str, tuple[str, ...]] = {
    "geometry": ("LabelHypergraph",),
    "moments": ("Moments",),
    "linear": ("BinaryRelevance",),
    "labelspace": (
        "LabelSpaceClassifier",
        "PLST",
        "CPLST",
        "PartialBinaryRelevance",
        "CompressedSensing",
        "LabelPowerset",
        "LabelTopicModel",
        "KernelDependencyEstimation",
    ),
    "ranking": ("RankSVM", "HypergraphRankSVM", "CalibratedLabelRanking", "rank_svm_path"),
    "projection": (
        "HypergraphSpectral",
        "ProjectionClassifier",
        "projection_path",
        "OPLS",
        "HOPLS",
        "MDDM",
        "MLSI",
        "LPP",
    ),
    "neighbors": ("MLkNN", "NystroemRBF"),
    "forest": ("LabelForest",),
    "meta": (
        "ThresholdTuner",
        "MultiLabelCalibrator",
        "AutoMultiLabel",
        "ClosedFormSearchCV",
        "update",
        "explain",
        "predict_labels",
    ),
    "persistence": ("save", "load", "export_onnx"),
}
_MODULES = (
    "datasets",
    "metrics",
    "model_selection",
    "decision",
    "geometry",
    "linear",
    "labelspace",
    "outofcore",
    "distributed",
    "persistence",
    "tabular",
)
# Applications stand in the reference but are loaded by their full names: nothing here imports them.
_APPS = ("apps.comparison", "apps.report")
_HOME = {name: package_name for package_name, names in _PACKAGES.items() for name in names}

__all__ = ["__version__", *_MODULES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"hyperlabel.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"hyperlabel.{_HOME[name]}"), name)
    raise AttributeError(f"module 'hyperlabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

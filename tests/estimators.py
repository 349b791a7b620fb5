"""The one table of estimator instances: both test batteries run over it; join by one line."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from hyperlabel import (
    CPLST,
    HOPLS,
    LPP,
    MDDM,
    MLSI,
    OPLS,
    PLST,
    AutoMultiLabel,
    BinaryRelevance,
    CalibratedLabelRanking,
    ChainEnsemble,
    CompressedSensing,
    FreeSearchCV,
    HypergraphRankSVM,
    HypergraphSpectral,
    KernelDependencyEstimation,
    LabelPowerset,
    LabelSpaceClassifier,
    LabelTopicModel,
    MLkNN,
    MultiLabelCalibrator,
    PartialBinaryRelevance,
    ProjectionClassifier,
    RankSVM,
    ThresholdTuner,
)
from hyperlabel.labelspace import PrincipalEncoder

CLASSIFIERS: list[Any] = [
    BinaryRelevance(),
    BinaryRelevance(LogisticRegression()),
    BinaryRelevance(DecisionTreeClassifier(random_state=0)),
    LabelSpaceClassifier(),
    LabelSpaceClassifier(regressor=LinearRegression()),
    PLST(),
    PLST(3),
    LabelSpaceClassifier(PrincipalEncoder(2)),
    PLST(None, reference="origin"),
    CPLST(None),
    PartialBinaryRelevance(reference="mean"),
    CompressedSensing(),
    CompressedSensing(decoder="omp", reference="best_vertex"),
    RankSVM(tol=1e-13, max_iter=20000, random_state=0),
    RankSVM(kernel="rbf", tol=1e-13, max_iter=20000, random_state=0),
    HypergraphRankSVM(tol=1e-13, max_iter=20000, random_state=0),
    CalibratedLabelRanking(),
    ChainEnsemble(n_chains=2, random_state=0),
    ProjectionClassifier(HypergraphSpectral(alpha=1e-3)),
    FreeSearchCV(BinaryRelevance(), {"alpha": [1.0, 10.0]}, cv=3),
    AutoMultiLabel(methods=("ridge",), cv=3),
    LabelPowerset(),
    LabelPowerset(DecisionTreeClassifier(random_state=0)),
    LabelTopicModel(n_init=1),
    KernelDependencyEstimation(),
    KernelDependencyEstimation(label_kernel="linear", decoder="round", kernel="rbf"),
    MLkNN(),
    ThresholdTuner(BinaryRelevance()),
    ThresholdTuner(BinaryRelevance(LogisticRegression()), strategy="precision_at_least", precision=0.5, cv=2),
    MultiLabelCalibrator(BinaryRelevance()),
    MultiLabelCalibrator(BinaryRelevance(), method="isotonic", cv=3),
]

TRANSFORMERS: list[Any] = [
    HypergraphSpectral(),
    HypergraphSpectral(expansion="cca", form="least_squares"),
    HypergraphSpectral(expansion="zhou", edge_weights="compactness"),
    HypergraphSpectral(expansion="star", kernel="rbf"),
    OPLS(),
    HOPLS(),
    MDDM(),
    MDDM(variant="feature"),
    MLSI(),
    MLSI(reading="projection"),
]

# Transformers that take y and ignore it: scikit-learn's checks only.
UNSUPERVISED: list[Any] = [LPP()]

# How far results may move when the same problem is posed in another order: the default is the
# rounding of a direct solve; iterative solvers state their own tolerance, with the reason.
LOOSER: dict[str, float] = {
    "LabelTopicModel": 1e-4,  # L-BFGS stops at a gradient of 1e-7 per row
}

# Properties that cannot hold for an estimator, by class name, with the reason.
NOT_LABEL_EQUIVARIANT: dict[str, str] = {
    "ChainEnsemble": "the chains take the labels in random orders",
    "CompressedSensing": "each label gets a random code",
    "LabelTopicModel": "latent Dirichlet allocation starts at random",
    "MultiLabelCalibrator": "its folds are dealt label by label",
}
NOT_ROW_EQUIVARIANT: dict[str, str] = {
    "DecisionTreeClassifier": "equal splits are broken by row order",
    "AutoMultiLabel": "the method is chosen on folds of the rows",
    "FreeSearchCV": "the setting is chosen on folds of the rows",
    "LabelTopicModel": "latent Dirichlet allocation starts at random",
    "PLST": "its default number of components is chosen on folds of the rows",
    "MultiLabelCalibrator": "its folds are dealt in the order of the rows",
}
# Estimators whose `predict` is not `decision_function > 0`.
PREDICTS_BY_CUTS: dict[str, str] = {
    "ThresholdTuner": "scores pass through unchanged; the cuts are tuned",
    "AutoMultiLabel": "scores pass through unchanged; the cuts are tuned",
}

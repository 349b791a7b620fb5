"""The one table of estimator instances: both test batteries run over it; join by one line.

A property that cannot hold for an instance is named with it, and the tests that ask for it skip with
that reason: ``but(PLST(), row_order="…")``.
"""

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
    ClosedFormSearchCV,
    CompressedSensing,
    HypergraphRankSVM,
    HypergraphSpectral,
    KernelDependencyEstimation,
    LabelForest,
    LabelPowerset,
    LabelSpaceClassifier,
    LabelTopicModel,
    MLkNN,
    MultiLabelCalibrator,
    NystroemRBF,
    PartialBinaryRelevance,
    ProjectionClassifier,
    RankSVM,
    ThresholdTuner,
)
from hyperlabel.labelspace import (
    ConditionalPrincipalEncoder,
    FrequentLabelsEncoder,
    HadamardEncoder,
    IdentityEncoder,
    PrincipalEncoder,
)
from hyperlabel.linear import ChainEnsemble

EXCUSES: dict[int, dict[str, str]] = {}
TOLERANCES: dict[int, float] = {}

DEALT_BY_LABEL = "its folds are dealt label by label"
DEALT_BY_ROW = "its folds are dealt in the order of the rows"
CHOSEN_ON_FOLDS = "it chooses on folds of the rows"
TREE = "equal splits are broken by row order"
RANDOM_START = "latent Dirichlet allocation starts at random"
TUNED_THRESHOLDS = "scores pass through unchanged; the thresholds are tuned"
CALIBRATED = "predict cuts the scores at 0; probabilities are calibrated"


def but(model: Any, *, tolerance: float | None = None, **excuses: str) -> Any:
    """Note what does not hold for this one instance: ``row_order``, ``label_order``, ``sign_of_score`` or
    ``half_probability``.

    ``tolerance`` is how far results may move when the same problem is posed in another order; the
    rounding of a direct solve unless an iterative solver stops earlier.
    """
    EXCUSES[id(model)] = excuses
    if tolerance is not None:
        TOLERANCES[id(model)] = tolerance
    return model


CLASSIFIERS: list[Any] = [
    BinaryRelevance(),
    BinaryRelevance(loss="logistic", alpha=1.0, tol=1e-9),
    BinaryRelevance(loss="squared_hinge", alpha=1.0, tol=1e-9),
    BinaryRelevance(LogisticRegression()),
    but(BinaryRelevance(DecisionTreeClassifier(random_state=0)), row_order=TREE),
    but(
        ChainEnsemble(n_chains=2, random_state=0),
        label_order="the chains' orders are drawn over the columns",
    ),
    LabelSpaceClassifier(),
    LabelSpaceClassifier(IdentityEncoder()),
    LabelSpaceClassifier(PrincipalEncoder(2)),
    LabelSpaceClassifier(ConditionalPrincipalEncoder(2)),
    LabelSpaceClassifier(FrequentLabelsEncoder(3)),
    but(LabelSpaceClassifier(HadamardEncoder()), label_order="each label gets a random code"),
    LabelSpaceClassifier(regressor=LinearRegression()),
    but(PLST(), row_order=CHOSEN_ON_FOLDS),
    PLST(3),
    PLST(None, reference="origin"),
    CPLST(None),
    PartialBinaryRelevance(reference="mean"),
    but(CompressedSensing(), label_order="each label gets a random code"),
    but(
        CompressedSensing(decoder="omp", reference="best_vertex"), label_order="each label gets a random code"
    ),
    RankSVM(1.0, tol=1e-13, max_iter=20000, random_state=0),
    RankSVM(1.0, kernel="rbf", tol=1e-13, max_iter=20000, random_state=0),
    HypergraphRankSVM(1.0, tol=1e-13, max_iter=20000, random_state=0),
    CalibratedLabelRanking(),
    ProjectionClassifier(HypergraphSpectral(alpha=1e-3)),
    but(
        ClosedFormSearchCV(BinaryRelevance(), {"alpha": [1.0, 10.0]}, cv=3),
        row_order=CHOSEN_ON_FOLDS,
        half_probability=CALIBRATED,
    ),
    but(
        ClosedFormSearchCV(ProjectionClassifier(HypergraphSpectral()), {"alpha": [1.0, 10.0]}, cv=3),
        row_order=CHOSEN_ON_FOLDS,
        half_probability=CALIBRATED,
    ),
    but(AutoMultiLabel(methods=("ridge",), cv=3), row_order=CHOSEN_ON_FOLDS, sign_of_score=TUNED_THRESHOLDS),
    LabelPowerset(),
    but(LabelPowerset(DecisionTreeClassifier(random_state=0)), row_order=TREE),
    # L-BFGS stops at a gradient of 1e-7 per row.
    but(LabelTopicModel(n_init=1), tolerance=1e-4, row_order=RANDOM_START, label_order=RANDOM_START),
    KernelDependencyEstimation(),
    KernelDependencyEstimation(label_kernel="linear", decoder="round", kernel="rbf"),
    MLkNN(),
    but(LabelForest(20, random_state=0), row_order=TREE),
    but(LabelForest(20, splits="means", random_state=0), row_order=TREE),
    but(ThresholdTuner(), sign_of_score=TUNED_THRESHOLDS),
    but(
        ThresholdTuner(
            BinaryRelevance(LogisticRegression()), strategy="precision_at_least", precision=0.5, cv=2
        ),
        sign_of_score=TUNED_THRESHOLDS,
        row_order=DEALT_BY_ROW,
    ),
    but(MultiLabelCalibrator(), row_order=DEALT_BY_ROW, label_order=DEALT_BY_LABEL),
    but(
        MultiLabelCalibrator(BinaryRelevance(), method="isotonic", cv=3),
        row_order=DEALT_BY_ROW,
        label_order=DEALT_BY_LABEL,
    ),
]

TRANSFORMERS: list[Any] = [
    HypergraphSpectral(),
    HypergraphSpectral(expansion="cca", form="least_squares"),
    HypergraphSpectral(expansion="zhou", edge_weights="compactness"),
    HypergraphSpectral(expansion="star"),
    HypergraphSpectral(expansion="star", kernel="rbf"),
    OPLS(),
    HOPLS(),
    MDDM(),
    MDDM(variant="feature"),
    MLSI(),
    MLSI(variant="projection"),
]

# Transformers that take y and ignore it: scikit-learn's checks only.
UNSUPERVISED: list[Any] = [LPP(), NystroemRBF(random_state=0)]

# Public estimators that no battery can run, with the reason.
NOT_FIT_ON_ROWS_AND_LABELS: dict[str, str] = {
    "LabelSetSize": "it learns from the rows, their labels and the scores of a ranker",
}

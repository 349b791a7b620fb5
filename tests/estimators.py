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
PURE_LEAVES = (
    "leaves of single rows are pure whatever they weigh; scikit-learn's own tree is checked with larger"
)
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
    but(BinaryRelevance(DecisionTreeClassifier(random_state=0)), row_order=TREE, class_weight=PURE_LEAVES),
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
    # scikit-learn solves sparse rows by LSQR, to 1e-6.
    but(KernelDependencyEstimation(regressor=LinearRegression()), tolerance=1e-4),
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
    HOPLS(kernel="rbf"),
    MDDM(),
    MDDM(variant="feature"),
    MLSI(),
    MLSI(variant="projection"),
]

# Transformers that take y and ignore it: scikit-learn's checks only.
UNSUPERVISED: list[Any] = [LPP(), NystroemRBF(random_state=0)]

# Where each method is compared with independent code; tests/test_oracles.py asks for it.
ORACLES: dict[type, tuple[str, ...]] = {
    BinaryRelevance: (
        "linear/test_binary_relevance.py::test_scores_equal_the_ridge_classifier",
        "linear/test_losses.py::test_the_logistic_loss_equals_scikit_learns_per_label",
    ),
    ChainEnsemble: ("test_oracles.py::test_a_chain_ensemble_is_the_mean_of_scikit_learns_chains",),
    LabelSpaceClassifier: ("labelspace/test_classifier.py::test_any_regressor",),
    PLST: ("labelspace/test_plst.py::test_scores_equal_algorithms_7_and_8_word_for_word",),
    CPLST: ("labelspace/test_plst.py::test_scores_equal_algorithms_7_and_8_word_for_word",),
    PartialBinaryRelevance: ("labelspace/test_plst.py::test_scores_equal_algorithms_7_and_8_word_for_word",),
    CompressedSensing: ("labelspace/test_hadamard.py::test_compressed_sensing_is_a_ridge_of_random_codes",),
    RankSVM: ("ranking/test_rank_svm.py::test_two_classes_are_a_support_vector_machine",),
    HypergraphRankSVM: ("ranking/test_rank_svm.py::test_hypergraph_form_equals_equation_27",),
    CalibratedLabelRanking: (
        "ranking/test_calibrated.py::test_every_pair_is_its_own_ridge",
        "ranking/test_calibrated.py::test_votes_are_counted_as_defined",
    ),
    ProjectionClassifier: ("test_oracles.py::test_a_projection_classifier_is_a_ridge_on_the_projected_rows",),
    ClosedFormSearchCV: ("meta/test_closed_form_search.py::test_free_scores_equal_refits",),
    AutoMultiLabel: ("meta/test_auto.py::test_a_blend_is_the_weighted_mean_of_calibrated_scores",),
    LabelPowerset: ("labelspace/test_powerset.py::test_power_set_predicts_the_best_seen_set",),
    LabelTopicModel: (
        "labelspace/test_topics.py::test_topics_may_come_from_any_clustering_of_the_label_sets",
    ),
    KernelDependencyEstimation: (
        "labelspace/test_kernel_dependency.py::test_components_equal_kernel_pca_of_all_rows",
        "labelspace/test_kernel_dependency.py::test_regression_is_scikit_learns_kernel_ridge",
    ),
    MLkNN: ("neighbors/test_mlknn.py::test_duplicates_and_ties_as_published",),
    LabelForest: ("forest/test_label_forest.py::test_scores_are_mean_label_frequencies_of_the_leaves",),
    ThresholdTuner: ("meta/test_threshold.py::test_label_set_size_is_the_rule_on_out_of_fold_scores",),
    MultiLabelCalibrator: ("meta/test_calibrator.py::test_sigmoid_is_fitted_on_out_of_fold_scores",),
    HypergraphSpectral: ("projection/test_hypergraph_spectral.py::test_equals_the_textbook_form",),
    OPLS: ("projection/test_opls.py::test_opls_equals_the_dense_eigenproblem",),
    HOPLS: ("projection/test_opls.py::test_hopls_equals_the_dense_eigenproblem",),
    MDDM: (
        "projection/test_mddm.py::test_mddm_projection_is_the_top_eigenvectors_of_the_cross_covariance",
        "projection/test_mddm.py::test_mddm_feature_variant",
    ),
    MLSI: (
        "projection/test_mlsi.py::test_mlsi_projection_reading",
        "projection/test_mlsi.py::test_mlsi_latent_reading",
    ),
    LPP: ("projection/test_lpp.py::test_lpp_equals_the_dense_eigenproblem",),
    NystroemRBF: (
        "neighbors/test_nystroem_rbf.py::test_dot_products_are_those_of_scikit_learn_with_the_same_landmarks",
    ),
}

# Public estimators that no battery can run, with the reason.
NOT_FIT_ON_ROWS_AND_LABELS: dict[str, str] = {
    "LabelSetSize": "it learns from the rows, their labels and the scores of a ranker",
}

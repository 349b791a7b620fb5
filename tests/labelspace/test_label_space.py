"""Label-space classifiers: against binary relevance, Theorem 1, brute force over M."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from hyperlabel import (
    CPLST,
    PLST,
    BinaryRelevance,
    ClosedFormSearchCV,
    CompressedSensing,
    LabelSpaceClassifier,
    PartialBinaryRelevance,
)
from hyperlabel.labelspace import (
    ConditionalPrincipalEncoder,
    FrequentLabelsEncoder,
    HadamardEncoder,
    IdentityEncoder,
    PrincipalEncoder,
    ideal_scores,
)
from hyperlabel.metrics import get_scorer, ndcg_at_k
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold

X, Y = make_multilabel_classification(n_samples=240, n_features=15, n_classes=12, n_labels=3, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        LabelSpaceClassifier(alpha=2.0),
        PLST(None, alpha=2.0),
        PLST(None, alpha=2.0, reference="origin"),
        CPLST(None, alpha=2.0),
        PartialBinaryRelevance(alpha=2.0),
        PartialBinaryRelevance(alpha=2.0, reference="mean"),
    ],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_full_dimension_is_binary_relevance(model, container):
    want = BinaryRelevance(alpha=2.0).fit(container(X), Y).decision_function(container(X))
    assert_allclose(model.fit(container(X), Y).decision_function(container(X)), want, atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), M=st.integers(1, 6), reference=st.sampled_from(["mean", "origin"]))
def test_theorem_1_bounds_the_hamming_loss(seed, M, reference):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(60, 4))
    B = (A @ rng.normal(size=(4, 6)) + rng.normal(size=(60, 6)) > rng.normal()).astype(int)
    model = PLST(M, reference=reference).fit(A[:40], B[:40])
    found = model.error_decomposition(A[40:], B[40:])
    assert found.hamming_loss <= found.bound + 1e-12
    P, o = model.encoder_.components_, model.encoder_.offset_
    h = (B[40:] - o) @ P.T
    prediction = 4 / 6 * ((model.predict_codes(A[40:]) - h) ** 2).sum(axis=1).mean()
    encoding = 4 / 6 * ((B[40:] - o - h @ P) ** 2).sum(axis=1).mean()
    assert_allclose(found.prediction_error, prediction, rtol=1e-9)
    assert_allclose(found.encoding_error, encoding, atol=1e-12)
    assert_allclose(found.bound, prediction + encoding, rtol=1e-9)


def test_decomposition_without_orthonormal_rows_reports_lemma_1_alone():
    found = CompressedSensing(9).fit(X, Y).error_decomposition(X, Y)
    assert found.prediction_error is None
    assert found.encoding_error is None
    assert found.hamming_loss <= found.bound


def test_more_components_lose_less():
    losses = [PLST(M).fit(X, Y).error_decomposition(X, Y).encoding_error for M in (1, 4, 8, 12)]
    assert (np.diff(losses) < 0).all()
    # eq. (6): the lost part is what the discarded singular values hold
    sigma = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False)
    assert_allclose(losses[1], 4 / 12 * (sigma[4:] ** 2).sum() / len(Y), rtol=1e-9)


def test_conditional_directions_fit_better_than_principal_ones():
    def squared_error(model):
        return ((model.fit(X, Y).decision_function(X) + 1) / 2 - Y).__pow__(2).sum()

    assert squared_error(CPLST(3, alpha=1e-6)) < squared_error(PLST(3, alpha=1e-6))


def test_partial_binary_relevance_keeps_the_frequent_labels():
    frequent = np.argsort(-Y.sum(axis=0), kind="stable")[:4]
    rest = np.setdiff1d(np.arange(12), frequent)
    model = PartialBinaryRelevance(4, alpha=1.0).fit(X, Y)
    want = BinaryRelevance(alpha=1.0).fit(X, Y).decision_function(X)
    assert_allclose(model.decision_function(X)[:, frequent], want[:, frequent], atol=1e-9)
    assert_array_equal(model.predict(X)[:, rest], 0)
    by_mean = PartialBinaryRelevance(4, reference="mean", alpha=1.0).fit(X, Y).decision_function(X)
    assert_allclose(by_mean[:, rest], np.tile(2 * Y.mean(axis=0)[rest] - 1, (len(X), 1)))


@pytest.mark.parametrize("regressor", [LinearRegression(), DecisionTreeRegressor(random_state=0)])
def test_any_regressor(regressor):
    model = LabelSpaceClassifier(PrincipalEncoder(5), regressor).fit(X, Y)
    H = PrincipalEncoder(5).fit_transform(Y)
    want = H.mean(axis=0) + regressor.fit(X, H).predict(X) - H.mean(axis=0)
    assert_allclose(model.predict_codes(X), want, atol=1e-9)


def test_default_regressor_is_scikit_learns_ridge():
    by_ours = PLST(5, alpha=3.0).fit(X, Y).decision_function(X)
    by_theirs = PLST(5, regressor=Ridge(alpha=3.0)).fit(X, Y).decision_function(X)
    assert_allclose(by_ours, by_theirs, atol=1e-9)


@pytest.mark.parametrize(
    "encoder",
    [
        IdentityEncoder(),
        FrequentLabelsEncoder(12),
        PrincipalEncoder(),
        HadamardEncoder(),
        ConditionalPrincipalEncoder(),
    ],
    ids=str,
)
def test_ideal_learner_with_everything_kept_makes_no_error(encoder):
    fitted = encoder.fit(Y, X)
    assert_array_equal(ideal_scores(fitted, Y) > 0, Y)
    assert_array_equal(ideal_scores(fitted, sparse.csr_array(Y)) > 0, Y)


@pytest.mark.parametrize("decoder", ["cosamp", "omp"])
def test_compressed_sensing_recovers_sparse_sets_from_perfect_codes(decoder):
    rng = np.random.default_rng(0)
    K, s = 500, 4
    sets = np.zeros((300, K), dtype=int)
    for row in sets:
        row[rng.choice(K, rng.integers(0, s + 1), replace=False)] = 1
    encoder = HadamardEncoder(int(np.ceil(6 * s * np.log(K))), decoder=decoder, random_state=1).fit(sets)
    assert encoder.sparsity_ == s
    assert_array_equal(ideal_scores(encoder, sets) > 0, sets)


def test_best_vertex_counts_sparsity_after_the_flip():
    dense_sets = 1 - np.eye(6, dtype=int)
    assert HadamardEncoder(4).fit(dense_sets).sparsity_ == 5
    encoder = HadamardEncoder(reference="best_vertex").fit(dense_sets)
    assert encoder.sparsity_ == 1
    assert_array_equal(ideal_scores(encoder, dense_sets) > 0, dense_sets)


# -- the number of components ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [PLST, CPLST])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_dimension_path_equals_refitting_every_fold(make, container):
    A = container(X)
    model = make(n_components_grid="all", cv=3).fit(A, Y)
    path = model.dimension_path_
    assert_array_equal(path["n_components"], np.arange(1, 13))
    folds = IterativeStratifiedKFold(3).split(X, Y)
    want = [
        [
            ndcg_at_k(Y[out], make(M).fit(A[kept], Y[kept]).decision_function(A[out]), k=5)
            for M in range(1, 13)
        ]
        for kept, out in folds
    ]
    assert_allclose(path["fold_scores"], want, atol=1e-6)
    assert_allclose(path["mean"], np.mean(want, axis=0), atol=1e-6)
    assert_allclose(path["std"], np.std(want, axis=0, ddof=1), atol=1e-6)
    assert model.encoder_.n_components_ == path["chosen"]


def test_dimension_path_by_rows_equals_that_by_moments():
    by_moments = PLST(alpha=1.0).fit(X, Y).dimension_path_
    by_rows = PLST(regressor=Ridge(alpha=1.0)).fit(X, Y).dimension_path_
    assert_allclose(by_rows["fold_scores"], by_moments["fold_scores"], atol=1e-6)


@pytest.mark.parametrize("scoring", ["f1_micro", "ranking_loss", "precision_at_3", "f1_macro"])
def test_dimension_by_any_metric(scoring):
    path = PLST(scoring=scoring, n_components_grid=[2, 6, 12]).fit(X, Y).dimension_path_
    assert path["fold_scores"].shape == (3, 3)
    assert path["mean"][2] > path["mean"][0]


def test_dimension_by_a_callable():
    seen = []

    def scorer(estimator, rows, truth):
        seen.append((rows.shape[1], truth.shape[1]))
        return -float(estimator.decision_function(rows).shape[1])

    path = PLST(scoring=scorer, n_components_grid=[3, 5]).fit(X, Y).dimension_path_
    assert path["chosen"] == 3  # all equal: the smallest
    assert set(seen) == {(15, 12)}
    by_name = PLST(scoring="ndcg_at_5", cv=KFold(4), n_components_grid=[2, 6]).fit(X, Y).dimension_path_
    by_scorer = (
        PLST(scoring=get_scorer("ndcg_at_5"), cv=KFold(4), n_components_grid=[2, 6]).fit(X, Y).dimension_path_
    )
    assert_allclose(by_scorer["fold_scores"], by_name["fold_scores"], atol=1e-6)


def test_folds_keep_groups_together():
    groups = np.arange(240) // 12
    cv = list(IterativeStratifiedGroupKFold(3).split(X, Y, groups))
    by_groups = PLST(n_components_grid=[2, 6]).fit(X, Y, groups=groups).dimension_path_
    assert_allclose(
        by_groups["mean"], PLST(n_components_grid=[2, 6], cv=cv).fit(X, Y).dimension_path_["mean"]
    )


@pytest.mark.parametrize("make", [PLST, CPLST, PartialBinaryRelevance, CompressedSensing])
def test_more_components_than_there_are_mean_all(make):
    assert_allclose(make(99).fit(X, Y).decision_function(X), make(None).fit(X, Y).decision_function(X))


def test_codes_that_are_no_sums_have_no_choices_to_make():
    assert not {"threshold", "scoring", "n_components_grid", "cv"} & set(CompressedSensing().get_params())


# -- the encoder decides what a classifier can do ---------------------------------------------------

TWINS = [
    (PLST, PrincipalEncoder, {}),
    (PLST, PrincipalEncoder, {"reference": "origin"}),
    (CPLST, ConditionalPrincipalEncoder, {}),
    (PartialBinaryRelevance, FrequentLabelsEncoder, {"reference": "mean"}),
]


@pytest.mark.parametrize(("named", "encoder", "options"), TWINS)
def test_naming_the_encoder_gives_the_same_bits(named, encoder, options):
    def same(a, b):
        assert_array_equal(a.decision_function(X), b.decision_function(X))
        assert_array_equal(a.coef_, b.coef_)

    ridge = {"alpha": 1.0} if named is CPLST else {}  # the encoder's own λ is a number

    def twins(M):
        return named(M, **options, **ridge), LabelSpaceClassifier(encoder(M, **options), **ridge)

    for M in (3, None, "auto"):
        same(*(model.fit(X, Y) for model in twins(M)))
    models = twins(3)
    for model in models:
        model.partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])
    same(*models)
    same(*(model.forget(X[:30], Y[:30]) for model in models))
    same(*(model.slide(X[:30], Y[:30], X[50:90], Y[50:90]) for model in models))
    same(*(model.merge(clone(model).partial_fit(X[50:90], Y[50:90])) for model in models))
    same(*(model.edit_labels(drop=["label4"], rename={"label0": "first"}) for model in models))
    grid = {"n_components": [2, 5]} if named is CPLST else {"n_components": [2, 5], "alpha": [0.1, 10.0]}
    same(*(ClosedFormSearchCV(clone(model), grid, cv=3).fit(X, Y).estimator_ for model in models))


def test_a_label_space_classifier_has_five_classes_of_ours():
    ours = [kind.__name__ for kind in PLST.__mro__ if kind.__module__.startswith("hyperlabel")]
    assert ours == [
        "PLST",
        "EncodedClassifier",
        "MultiLabelClassifier",
        "DocumentedEstimator",
        "MomentsModel",
    ]


@pytest.mark.parametrize(
    "model",
    [PLST(3), PLST(2, reference="origin"), LabelSpaceClassifier(), PartialBinaryRelevance(4)],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_coef_is_labels_by_features_and_gives_the_scores(model, container):
    A = container(np.where(np.abs(X) > 3, X, 0.0))
    model = clone(model).fit(A, Y)
    assert model.coef_.shape == (12, 15)
    assert_allclose(A @ model.coef_.T + model.intercept_, model.decision_function(A), atol=1e-12)


def test_a_map_too_large_to_multiply_out_stays_factored(monkeypatch):
    whole = PLST(5).fit(X, Y)
    monkeypatch.setattr("hyperlabel.moments.linear_map.PRODUCT_MAX_BYTES", 0)
    model = PLST(5).fit(X, Y)
    assert model._linear_map().product is None
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-12)
    assert_allclose(model.coef_, whole.coef_, atol=1e-12)


def test_what_is_not_linear_has_no_coefficients():
    for model in (CompressedSensing(9), PLST(3, regressor=Ridge())):
        assert not hasattr(model.fit(X, Y), "coef_")
        with pytest.raises(ValueError, match="not linear in its features"):
            model._linear_map()


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (PLST(0), "n_components must be a whole number of at least 1"),
        (PLST("best"), "'auto'"),
        (PLST(alpha=-1.0), "alpha"),
        (PLST(2, reference="corner"), "'mean' or 'origin'"),
        (PLST(scoring="beauty"), "no scorer 'beauty'"),
        (PLST(n_components_grid=[0, 3]), "from 1 to the number of labels"),
        (PLST(n_components_grid="some"), "'all'"),
        (CompressedSensing(decoder="guess"), "'cosamp' or 'omp'"),
        (CompressedSensing(reference="mean"), "'best_vertex'"),
    ],
)
def test_bad_parameters_get_one_sentence(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y)


def test_encoders_check_what_they_are_given():
    encoder = PrincipalEncoder(2).fit(Y)
    with pytest.raises(ValueError, match="11 labels"):
        encoder.transform(Y[:, :11])
    with pytest.raises(ValueError, match="3 columns"):
        encoder.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"fit\(y, X\)"):
        ConditionalPrincipalEncoder(2).fit(Y)

"""PLST, CPLST and partial binary relevance: against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import Ridge

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
    PrincipalEncoder,
)

X, Y = make_multilabel_classification(n_samples=240, n_features=15, n_classes=12, n_labels=3, random_state=0)


TWINS = [
    (PLST, PrincipalEncoder, {}),
    (PLST, PrincipalEncoder, {"reference": "origin"}),
    (CPLST, ConditionalPrincipalEncoder, {}),
    (PartialBinaryRelevance, FrequentLabelsEncoder, {"reference": "mean"}),
]


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


def test_default_regressor_is_scikit_learns_ridge():
    by_ours = PLST(5, alpha=3.0).fit(X, Y).decision_function(X)
    by_theirs = PLST(5, regressor=Ridge(alpha=3.0)).fit(X, Y).decision_function(X)
    assert_allclose(by_ours, by_theirs, atol=1e-9)


@pytest.mark.parametrize("make", [PLST, CPLST, PartialBinaryRelevance, CompressedSensing])
def test_more_components_than_there_are_mean_all(make):
    assert_allclose(make(99).fit(X, Y).decision_function(X), make(None).fit(X, Y).decision_function(X))


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


@pytest.mark.parametrize(
    "model", [PLST(3, alpha=0.7), CPLST(3, alpha=0.7), PartialBinaryRelevance(4, alpha=0.7)], ids=str
)
def test_scores_equal_algorithms_7_and_8_word_for_word(model):
    """Encode by P around o, a ridge for each code, decode: with nothing of the library."""
    Xc, mean = X - X.mean(axis=0), Y.mean(axis=0)
    hat = Xc @ np.linalg.solve(Xc.T @ Xc + 0.7 * np.eye(X.shape[1]), Xc.T)
    if isinstance(model, PartialBinaryRelevance):
        P, o = np.eye(12)[np.argsort(-mean, kind="stable")[:4]], np.zeros(12)
    elif isinstance(model, CPLST):
        P, o = np.linalg.eigh((Y - mean).T @ hat @ (Y - mean))[1][:, ::-1][:, :3].T, mean
    else:
        P, o = np.linalg.svd(Y - mean)[2][:3], mean
    H = (Y - o) @ P.T
    points = o + (H.mean(axis=0) + hat @ (H - H.mean(axis=0))) @ P
    assert_allclose(model.fit(X, Y).decision_function(X), 2 * points - 1, atol=1e-9)

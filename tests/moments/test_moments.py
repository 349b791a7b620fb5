"""Public moments: models fitted from them equal models fitted on the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tests.optional import optional

import hyperlabel
from hyperlabel import (
    CPLST,
    HOPLS,
    MDDM,
    OPLS,
    PLST,
    BinaryRelevance,
    HypergraphSpectral,
    LabelSpaceClassifier,
    Moments,
    PartialBinaryRelevance,
)
from hyperlabel.labelspace import PrincipalEncoder
from hyperlabel.moments.model import MomentsModel
from hyperlabel.persistence import ModelFileError

pd = optional("pandas")

FACTORS = [
    HypergraphSpectral(expansion="clique"),
    HypergraphSpectral(expansion="star", form="least_squares"),
    HypergraphSpectral(expansion="zhou"),
    HypergraphSpectral(expansion="clique", edge_weights="compactness"),
    HypergraphSpectral(expansion="zhou", edge_weights=[1.0, 2.0, 0.5, 1.0, 3.0]),
    HOPLS(tradeoff=0.5),
]
LABELS = [
    BinaryRelevance(alpha=0.3),
    BinaryRelevance(max_nonzero_coefs=4),
    PLST(3),
    PLST(None, reference="origin"),
    CPLST(3, alpha=2.0),
    PartialBinaryRelevance(3),
    LabelSpaceClassifier(PrincipalEncoder(3), alpha=0.5),
    OPLS(3),
    MDDM(2),
    MDDM(2, variant="feature"),
    HypergraphSpectral(expansion="cca", alpha=0.1),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 9)) + 20.0
    likely = (X - 20.0) @ rng.normal(size=(9, 5)) > 0
    return X, (rng.random((240, 5)) < np.where(likely, 0.6, 0.1)).astype(int)


def outcome(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.transform(X)


def named(model):
    return str(model)[:60]


@pytest.mark.parametrize("model", LABELS + FACTORS, ids=named)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_model_from_moments_equals_its_fit(data, model, container):
    X, Y = container(data[0]), data[1]
    moments = Moments.from_rows(X, Y, factor=model if model in FACTORS else None)
    got = type(model).from_moments(moments, **model.get_params(deep=False))
    assert_allclose(
        outcome(got, X), outcome(type(model)(**model.get_params(deep=False)).fit(X, Y), X), atol=1e-8
    )
    assert got.n_features_in_ == 9


@pytest.mark.parametrize("model", LABELS, ids=named)
def test_parts_add_and_subtract(data, model):
    X, Y = data
    parts = [Moments.from_rows(X[i : i + 80], Y[i : i + 80]) for i in (0, 80, 160)]
    before = parts[0].row_moments.gram.copy()
    whole = parts[0] + parts[1] + parts[2]
    assert whole.n == 240
    got = type(model).from_moments(whole - parts[0], **model.get_params(deep=False))
    assert_allclose(outcome(got, X), outcome(model.fit(X[80:], Y[80:]), X), atol=1e-8)
    assert_array_equal(parts[0].row_moments.gram, before)


@pytest.mark.parametrize("model", [*LABELS, HypergraphSpectral(expansion="zhou")], ids=named)
def test_streaming_merging_and_forgetting_go_on_from_moments(data, model):
    X, Y = data
    factor = model if model.get_params(deep=False).get("expansion") == "zhou" else None
    moments = Moments.from_rows(X[:100], Y[:100], factor=factor)
    kept = moments.row_moments.gram.copy()

    def fitted():
        return type(model).from_moments(moments, **model.get_params(deep=False))

    on_all = outcome(type(model)(**model.get_params(deep=False)).fit(X, Y), X)
    assert_allclose(outcome(fitted().partial_fit(X[100:], Y[100:]), X), on_all, atol=1e-8)
    other = type(model).from_moments(
        Moments.from_rows(X[100:], Y[100:], factor=factor), **model.get_params(deep=False)
    )
    assert_allclose(outcome(fitted().merge(other), X), on_all, atol=1e-8)
    fewer = type(model)(**model.get_params(deep=False)).fit(X[:60], Y[:60])
    assert_allclose(outcome(fitted().forget(X[60:100], Y[60:100]), X), outcome(fewer, X), atol=1e-8)
    assert_array_equal(moments.row_moments.gram, kept)  # models work on a copy


@pytest.mark.parametrize("model", LABELS + FACTORS, ids=named)
def test_weights_count_as_repetitions(data, model):
    X, Y = data
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    heavy = Moments.from_rows(X, Y, sample_weight=weights, factor=model if model in FACTORS else None)
    rows = np.repeat(np.arange(len(X)), weights)
    got = type(model).from_moments(heavy, **model.get_params(deep=False))
    expected = type(model)(**model.get_params(deep=False)).fit(X[rows], Y[rows])
    assert_allclose(outcome(got, X), outcome(expected, X), atol=1e-8)


def test_names_are_remembered_and_given_to_models(data):
    X = pd.DataFrame(data[0], columns=[f"x{j}" for j in range(9)])
    Y = pd.DataFrame(data[1], columns=list("abcde"))
    moments = Moments.from_rows(X, Y)
    model = BinaryRelevance.from_moments(moments)
    fitted = BinaryRelevance().fit(X, Y)
    assert_array_equal(model.feature_names_in_, fitted.feature_names_in_)
    assert list(model.label_names_) == list(moments.label_names) == list("abcde")
    assert_array_equal(model.predict(X), fitted.predict(X))
    with pytest.raises(ValueError, match="same features"):
        moments + Moments.from_rows(X.rename(columns={"x0": "other"}), Y)
    with pytest.raises(ValueError, match="same labels"):
        moments + Moments.from_rows(X, Y.rename(columns={"a": "other"}))


@pytest.mark.parametrize("classes", [["no", "yes"], ["red", "green", "blue"], [3, 5, 9]])
def test_one_dimensional_y(data, classes):
    X = data[0]
    y = np.asarray(classes)[np.random.default_rng(1).integers(len(classes), size=len(X))]
    model = BinaryRelevance.from_moments(Moments.from_rows(X, y))
    assert_array_equal(model.predict(X), BinaryRelevance().fit(X, y).predict(X))


def test_sparse_y_gives_sparse_predictions(data):
    X, Y = data
    model = PLST.from_moments(Moments.from_rows(X, sparse.csr_array(Y)), n_components=3)
    assert sparse.issparse(model.predict(X))


def test_moments_that_do_not_suit_a_model_are_refused_with_what_to_do(data):
    X, Y = data
    labels = Moments.from_rows(X, Y)
    for model in FACTORS:
        with pytest.raises(ValueError, match=r"own label factor.*factor="):
            type(model).from_moments(labels, **model.get_params(deep=False))
    clique = Moments.from_rows(X, Y, factor=HypergraphSpectral())
    with pytest.raises(ValueError, match="own label factor"):
        HypergraphSpectral.from_moments(clique, expansion="star")
    with pytest.raises(ValueError, match="own label factor"):
        BinaryRelevance.from_moments(clique)
    with pytest.raises(ValueError, match="cooccurrence=True"):
        PLST.from_moments(Moments.from_rows(X, Y, cooccurrence=False), n_components=2)
    with pytest.raises(ValueError, match="give the number"):
        PLST.from_moments(labels)
    with pytest.raises(ValueError, match="all rows at once"):
        HypergraphSpectral.from_moments(labels, kernel="rbf")
    with pytest.raises(ValueError, match="all rows at once"):
        BinaryRelevance.from_moments(labels, estimator=LogisticRegression())


def test_sums_over_different_label_sizes_do_not_add(data):
    X, Y = data
    model = HypergraphSpectral(expansion="star")
    first, second = (Moments.from_rows(X[p], Y[p], factor=model) for p in (slice(0, 120), slice(120, 240)))
    with pytest.raises(ValueError, match="different label factors"):
        first + second
    with pytest.raises(ValueError, match="different label factors"):
        first + Moments.from_rows(X, Y)


def test_wrong_subtractions_are_refused(data):
    X, Y = data
    part = Moments.from_rows(X[:10], Y[:10])
    with pytest.raises(ValueError, match="not all summed here.*'label2' would have fewer than 0 rows"):
        part - Moments.from_rows(X[:5], np.ones((5, 5), dtype=int))
    with pytest.raises(ValueError, match="not all summed here"):
        Moments.from_rows(X, Y) - Moments.from_rows(X[:5] + 1e3, Y[:5])
    with pytest.raises(TypeError, match="Only other Moments"):
        part + 3
    far = Moments.from_rows(np.vstack([X, 1e6 * X]), np.vstack([Y, Y])) - Moments.from_rows(1e6 * X, Y)
    with pytest.raises(ValueError, match="correct digits"):
        BinaryRelevance.from_moments(far)
    assert part.n == 10


@pytest.mark.parametrize("factor", [None, HypergraphSpectral(expansion="star")])
def test_moments_are_saved_and_loaded_without_pickle(data, factor, tmp_path):
    X = pd.DataFrame(data[0], columns=[f"x{j}" for j in range(9)])
    Y = pd.DataFrame(data[1], columns=list("abcde"))
    moments = Moments.from_rows(X, Y, factor=factor)
    path = tmp_path / "week.hyper"
    hyperlabel.save(moments, path)
    again = hyperlabel.load(path)
    assert isinstance(again, Moments)
    assert list(again.feature_names) == list(X.columns)
    model = BinaryRelevance() if factor is None else factor
    one, other = (type(model).from_moments(m, **model.get_params(deep=False)) for m in (moments, again))
    assert_array_equal(outcome(one, X), outcome(other, X))
    assert (again + moments).n == 480
    hyperlabel.save(one, path)  # a model made from moments is a model like any other
    assert_array_equal(outcome(hyperlabel.load(path), X), outcome(one, X))


def test_a_damaged_file_of_moments_is_refused(data, tmp_path):
    X, Y = data
    path = tmp_path / "week.hyper"
    moments = Moments.from_rows(X, Y)
    hyperlabel.save(moments, path)
    content = bytearray(path.read_bytes())
    content[content.index(moments.row_moments.cross.tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        hyperlabel.load(path)
    torn = Moments.from_rows(X, Y)
    torn.row_moments.cross = torn.row_moments.cross[:-1]
    hyperlabel.save(torn, path)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        hyperlabel.load(path)


def test_models_on_moments_must_say_how_they_solve():
    class Forgetful(MomentsModel):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Forgetful()

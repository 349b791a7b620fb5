"""Every estimator of the table, and pipelines with listed scikit-learn parts, come back bit for bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn import decomposition as dec
from sklearn import linear_model as lin
from sklearn import preprocessing as pre
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC
from tests.estimators import CLASSIFIERS, TRANSFORMERS
from tests.optional import optional

import hyperlabel
from hyperlabel import BinaryRelevance, MLkNN
from hyperlabel.persistence import ModelFileError, describe, register

pd = optional("pandas")

METHODS = ("decision_function", "predict_proba", "predict", "transform")


def make_data(n=60, d=6, k=4):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(n, d)))
    Y = (X @ rng.normal(size=(d, k)) + 0.5 * rng.normal(size=(n, k)) > 0).astype(int)
    return X, Y


def assert_bit_equal(model, again, X):
    asked = [name for name in METHODS if hasattr(model, name)]
    assert asked
    for name in asked:
        a, b = getattr(model, name)(X), getattr(again, name)(X)
        if sparse.issparse(a):
            assert type(a) is type(b)
            a, b = a.toarray(), b.toarray()
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def back(model, tmp_path, **kwargs):
    path = tmp_path / "model.hyper"
    hyperlabel.save(model, path, **kwargs)
    return hyperlabel.load(path)


def uses_tree(model):
    return any("DecisionTree" in repr(value) for value in model.get_params().values())


@pytest.mark.parametrize("model", [*CLASSIFIERS, *TRANSFORMERS], ids=str)
def test_every_estimator_of_the_table(model, tmp_path):
    X, Y = make_data()
    Y = sparse.csr_array(Y)
    fitted = clone(model).fit(X, Y)
    if uses_tree(model):
        with pytest.raises(ModelFileError, match="not on the list of parts"):
            hyperlabel.save(fitted, tmp_path / "tree.hyper")
        assert not list(tmp_path.iterdir())
        return
    again = back(fitted, tmp_path)
    assert_bit_equal(fitted, again, X[:20] + 0.1)
    assert repr(again) == repr(fitted)
    clone(again)


@pytest.mark.parametrize(
    "part",
    [
        pre.StandardScaler(),
        pre.MinMaxScaler(),
        pre.MaxAbsScaler(),
        pre.RobustScaler(),
        pre.Normalizer(),
        pre.Binarizer(),
        pre.PolynomialFeatures(2),
        pre.PowerTransformer(),
        pre.QuantileTransformer(n_quantiles=10),
        SimpleImputer(),
        dec.PCA(3),
        dec.TruncatedSVD(3, random_state=0),
        dec.NMF(2, init="nndsvda", max_iter=2000),
        SelectKBest(chi2, k=3),
        make_union(pre.StandardScaler(), dec.PCA(2)),
    ],
    ids=lambda part: type(part).__name__,  # a repr may hold an address
)
def test_listed_preprocessors(part, tmp_path):
    X, Y = make_data()
    model = make_pipeline(part, MLkNN(5)).fit(X, Y)
    assert_bit_equal(model, back(model, tmp_path), X[:20] + 0.1)


@pytest.mark.parametrize(
    "part",
    [
        lin.LogisticRegression(),
        lin.RidgeClassifier(),
        lin.SGDClassifier(random_state=0),
        LinearSVC(),
        MultinomialNB(),
    ],
    ids=lambda part: type(part).__name__,  # a repr may hold an address
)
def test_listed_classifiers(part, tmp_path):
    X, Y = make_data()
    for model in (OneVsRestClassifier(part), BinaryRelevance(part)):
        fitted = model.fit(X, Y)
        assert_bit_equal(fitted, back(fitted, tmp_path), X[:20] + 0.1)


TEXTS = ["red apple pie", "green apple", "blue sky over sea", "deep blue sea", "red sky", "apple cake"] * 4
TAGS = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [1, 0]] * 4)


@pytest.mark.parametrize(
    "vectorizer",
    [
        TfidfVectorizer(),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), dtype=np.float32),
        CountVectorizer(stop_words=["over"]),
        HashingVectorizer(n_features=2**12),
        make_union(TfidfVectorizer(), CountVectorizer(analyzer="char")),
    ],
    ids=lambda part: type(part).__name__,  # a repr may hold an address
)
def test_text_pipelines(vectorizer, tmp_path):
    model = make_pipeline(vectorizer, BinaryRelevance()).fit(TEXTS, TAGS)
    assert_bit_equal(model, back(model, tmp_path, X=TEXTS), ["a red apple", "the sea", ""])
    again = back(model, tmp_path)  # with made-up texts to check by
    assert_bit_equal(model, again, ["a red apple", "the sea", ""])


def test_frames_names_and_column_transformer(tmp_path):
    X, Y = make_data()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]).assign(colour=["red", "blue", "green"] * 20)
    labels = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    columns = ColumnTransformer(
        [("numbers", pre.StandardScaler(), ["x0", "x1"]), ("words", pre.OneHotEncoder(), ["colour"])]
    )
    model = make_pipeline(columns, BinaryRelevance()).fit(frame, labels)
    again = back(model, tmp_path, X=frame)
    assert_bit_equal(model, again, frame)
    assert again[-1].label_names_.tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "y",
    [np.arange(60) % 2, np.array(list("abc"))[np.arange(60) % 3], np.array(list("ab") * 30, dtype=object)],
)
def test_classes(y, tmp_path):
    X, _ = make_data()
    model = MLkNN(3).fit(X, y)
    assert_bit_equal(model, back(model, tmp_path), X)


def test_wide_sparse_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((50, 5000), density=0.01, format="csr", rng=rng)
    Y = sparse.csr_array((rng.random((50, 3)) < 0.4).astype(np.uint8))
    model = MLkNN().fit(X, Y)
    assert_bit_equal(model, back(model, tmp_path), X)


def test_shared_parts_stay_shared_and_requests_are_kept(tmp_path):
    X, Y = make_data()
    model = BinaryRelevance().fit(X, Y)
    model.friend_ = [model._layout, model._layout]
    again = back(model, tmp_path)
    assert again.friend_[0] is again.friend_[1] is again._layout
    with config_context(enable_metadata_routing=True):
        asking = BinaryRelevance().set_fit_request(sample_weight=True).fit(X, Y)
        assert str(back(asking, tmp_path).get_metadata_routing()) == str(asking.get_metadata_routing())


def test_a_loaded_model_learns_on(tmp_path):
    X, Y = make_data()
    first, second = BinaryRelevance().fit(X[:30], Y[:30]), BinaryRelevance().fit(X[30:], Y[30:])
    merged = back(first, tmp_path).merge(back(second, tmp_path))
    np.testing.assert_array_equal(merged.decision_function(X), first.merge(second).decision_function(X))


def test_another_process_predicts_the_same_bits(tmp_path):
    X, Y = make_data()
    model = make_pipeline(pre.StandardScaler(), BinaryRelevance()).fit(X, Y)
    hyperlabel.save(model, tmp_path / "m.hyper", metadata={"by": "me"})
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, hyperlabel\n"
        "m = hyperlabel.load(sys.argv[1]); X = np.load(sys.argv[2])\n"
        "print(m.decision_function(X).tobytes().hex())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.hyper", tmp_path / "X.npy"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == model.decision_function(X).tobytes().hex()
    assert describe(tmp_path / "m.hyper")["metadata"] == {"by": "me"}
    assert describe(tmp_path / "m.hyper")["model_type"] == "Pipeline"


def test_the_same_model_gives_the_same_bytes(tmp_path):
    X, Y = make_data()
    for name in ("a", "b"):
        hyperlabel.save(BinaryRelevance().fit(X, Y), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * X


def test_own_parts_by_registration(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.persistence._registry._registered", {})
    X, Y = make_data()
    model = make_pipeline(Doubler(), BinaryRelevance()).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"steps\[0\]\[1\] is a Doubler"):
        hyperlabel.save(model, tmp_path / "m")
    register(Doubler, "my.Doubler")
    assert_bit_equal(model, back(model, tmp_path), X)
    monkeypatch.setattr("hyperlabel.persistence._registry._registered", {})
    with pytest.raises(ModelFileError, match=r"my.Doubler, which is not on the list .* install that version"):
        hyperlabel.load(tmp_path / "model.hyper")


def test_what_cannot_be_saved_says_so(tmp_path):
    X, Y = make_data()
    path = tmp_path / "m.hyper"
    with pytest.raises(NotFittedError):
        hyperlabel.save(BinaryRelevance(), path)
    with pytest.raises(ModelFileError, match="metric is the function <lambda>"):
        hyperlabel.save(MLkNN(metric=lambda a, b: abs(a - b).sum()).fit(X, Y), path)
    reads = make_pipeline(CountVectorizer(input="filename"), BinaryRelevance()).fit([__file__] * 4, np.eye(4))
    with pytest.raises(ModelFileError, match="input='content' only"):
        hyperlabel.save(reads, path)
    with pytest.raises(ModelFileError, match="metadata must be"):
        hyperlabel.save(BinaryRelevance().fit(X, Y), path, metadata={"a": object()})
    assert not list(tmp_path.iterdir())


def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    X, Y = make_data()
    path = tmp_path / "m.hyper"
    hyperlabel.save(BinaryRelevance().fit(X, Y), path)
    before = path.read_bytes()

    def fails(self, manifest):
        raise KeyboardInterrupt

    monkeypatch.setattr("hyperlabel.persistence._container.Writer.finish", fails)
    with pytest.raises(KeyboardInterrupt):
        hyperlabel.save(MLkNN().fit(X, Y), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m.hyper"]


def test_wide_models_are_saved_with_nothing_newer_than_the_oldest_scipy_allowed(tmp_path, monkeypatch):
    X = sparse.csr_array(np.eye(20, 2500))
    model = BinaryRelevance().fit(X, np.eye(20, 3, dtype=int))
    monkeypatch.delattr(sparse, "random_array")  # takes rng= only from scipy 1.15 on
    assert_bit_equal(model, back(model, tmp_path), X)


def test_a_slim_file_holds_no_moments_and_the_model_keeps_its_own(tmp_path):
    X, Y = np.random.default_rng(0).normal(size=(80, 200)), np.tile([[0, 1], [1, 0]], (40, 1))
    model = make_pipeline(pre.StandardScaler(), hyperlabel.ThresholdTuner(hyperlabel.BinaryRelevance(), cv=2))
    model.fit(X, Y)
    model[-1].estimator_ = hyperlabel.BinaryRelevance(solver="gram").fit(X, Y)
    for slim, path in ((False, tmp_path / "whole"), (True, tmp_path / "slim")):
        hyperlabel.save(model, path, slim=slim)
    assert (tmp_path / "whole").stat().st_size - (tmp_path / "slim").stat().st_size > 8 * 200 * 200
    loaded = hyperlabel.load(tmp_path / "slim")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert not hasattr(loaded[-1].estimator_, "moments_")
    assert model[-1].estimator_.moments_.n == 80
    with pytest.raises(ValueError, match="keeps no sums"):
        hyperlabel.update(loaded, (X, Y))


@pytest.mark.parametrize(
    "array",
    [
        np.array(3.5),
        np.zeros((0, 3)),
        np.zeros((3, 0), order="F"),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
        np.arange(10)[::-2],
        np.array(["ä", "bcd"]),
        np.array(["", ""]),
        np.array([], dtype="U5"),
        np.array(["2026-11-18"], dtype="datetime64[D]"),
        np.arange(3, dtype=">i4"),
        np.array([True, False]),
        np.array([1 + 2j]),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_every_array_is_written_as_numpy_writes_it_and_comes_back_alike(array):
    """The oracle is NumPy's own writer and reader."""
    import io
    import zipfile

    from hyperlabel.persistence._container import Writer, _parse_npy

    expected, file = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(expected, array, version=(1, 0), allow_pickle=False)
    with Writer(file) as writer:
        name = writer.store(array)
    with zipfile.ZipFile(file) as archive:
        written = archive.read(name)
    assert written == expected.getvalue()
    back = _parse_npy(np.frombuffer(bytearray(written), np.uint8), "here")
    assert (back.dtype, back.shape, back.flags.writeable) == (array.dtype, array.shape, True)
    assert back.flags.f_contiguous == np.load(io.BytesIO(written)).flags.f_contiguous
    assert np.array_equal(back, array)

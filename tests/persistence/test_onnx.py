"""ONNX files answer in onnxruntime as the model does in Python: scores to 1e-5, labels, names."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.optional import optional

from hyperlabel import (
    CPLST,
    OPLS,
    PLST,
    AutoMultiLabel,
    BinaryRelevance,
    HypergraphSpectral,
    MLkNN,
    MultiLabelCalibrator,
    PartialBinaryRelevance,
    RankSVM,
    ThresholdTuner,
    export_onnx,
)

onnx = optional("onnx")
onnxruntime = optional("onnxruntime")
pd = optional("pandas")

MODELS = {
    "ridge": BinaryRelevance(),
    "few weights": BinaryRelevance(max_nonzero_coefs=5),
    "logistic regressions": BinaryRelevance(LogisticRegression()),
    "tuned thresholds": ThresholdTuner(BinaryRelevance(), cv=3),
    "one tuned threshold": ThresholdTuner(BinaryRelevance(), strategy="global", cv=3),
    "scaled": make_pipeline(StandardScaler(), MinMaxScaler(), BinaryRelevance()),
    "scaled inside the tuner": ThresholdTuner(make_pipeline(StandardScaler(), PLST(3)), cv=3),
    "calibrated": MultiLabelCalibrator(BinaryRelevance(), method="sigmoid", cv=3),
    "label space": PLST(3),
    "conditional label space": CPLST(2),
    "some labels": PartialBinaryRelevance(3),
    "projection": make_pipeline(StandardScaler(), OPLS(), BinaryRelevance()),
    "hypergraph": make_pipeline(HypergraphSpectral(), BinaryRelevance()),
    "ranker": RankSVM(),
}


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(
        n_samples=300, n_features=30, n_classes=9, n_labels=3, random_state=0
    )
    return X / 10, Y


def run(path, X):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["scores", "labels"], {"features": np.asarray(X, dtype=np.float32)})


def check_same(model, path, X):
    X = np.asarray(X, dtype=np.float32)
    scores, labels = run(path, X)
    expected = model.decision_function(X)
    assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    wanted = model.predict(X)
    wanted = (wanted.toarray() if sparse.issparse(wanted) else wanted) > 0
    thresholds = getattr(model, "thresholds_", 0.0)
    clear = np.abs(expected - thresholds) > 1e-5
    assert clear.mean() > 0.95
    assert (labels == wanted)[clear].all()


@pytest.mark.parametrize("name", MODELS)
def test_scores_and_labels_are_those_of_the_model(name, data, tmp_path):
    X, Y = data
    model = MODELS[name].fit(X, Y)
    export_onnx(model, tmp_path / "model.onnx")
    check_same(model, tmp_path / "model.onnx", X)


@pytest.mark.parametrize("model", [BinaryRelevance(), ThresholdTuner(PLST(3), cv=3)])
def test_labels_that_never_varied_keep_their_places(model, data, tmp_path):
    X, Y = data
    Y = np.hstack([Y[:, :5], np.zeros((300, 1), int), np.ones((300, 1), int)])
    model.fit(X, Y)
    export_onnx(model, tmp_path / "model.onnx")
    check_same(model, tmp_path / "model.onnx", X)
    scores, labels = run(tmp_path / "model.onnx", X)
    assert (scores.argmin(axis=1) == 5).all()
    assert (scores.argmax(axis=1) == 6).all()
    assert labels[:, 6].all()
    assert not labels[:, 5].any()


def test_calibrated_scores_end_where_those_of_the_model_do(data, tmp_path):
    X, Y = data
    model = MultiLabelCalibrator(BinaryRelevance(alpha=1.0), method="sigmoid", cv=3).fit(X, Y)
    export_onnx(model, tmp_path / "model.onnx")
    far = 100 * X.astype(np.float32)
    scores, _ = run(tmp_path / "model.onnx", far)
    assert_allclose(scores, model.decision_function(far), rtol=1e-4)
    assert_allclose(np.abs(scores).max(), 15.94, atol=0.01)


def test_labels_none_of_which_varies(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = BinaryRelevance().fit(X, np.tile([1, 0], (20, 1)))
    export_onnx(model, tmp_path / "model.onnx")
    check_same(model, tmp_path / "model.onnx", X)


def test_what_auto_chose_can_be_exported_where_it_is_linear(data, tmp_path):
    X, Y = data
    model = AutoMultiLabel(methods=["ridge"], cv=3).fit(X, Y)
    export_onnx(model, tmp_path / "model.onnx")
    check_same(model, tmp_path / "model.onnx", X)


def test_names_are_in_the_metadata_and_operators_are_plain(data, tmp_path):
    X, Y = data
    frame = pd.DataFrame(X, columns=[f"word {i}" for i in range(30)])
    model = BinaryRelevance().fit(frame, pd.DataFrame(Y, columns=list("äbcdefghi")))
    export_onnx(model, tmp_path / "model.onnx")
    written = onnx.load(tmp_path / "model.onnx")
    facts = {entry.key: json.loads(entry.value) for entry in written.metadata_props}
    assert facts["label_names"] == list("äbcdefghi")
    assert facts["feature_names"] == list(frame.columns)
    assert {node.op_type for node in written.graph.node} == {"MatMul", "Add", "Greater"}
    assert [opset.domain for opset in written.opset_import] == [""]


def test_text_stays_outside(tmp_path):
    texts = ["red apple", "green pear", "red car", "green tree"] * 5
    Y = np.array([[1, 1], [0, 1], [1, 0], [0, 0]] * 5)
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), BinaryRelevance()).fit(texts, Y)
    with pytest.raises(ValueError, match=r"TfidfVectorizer stays outside ONNX: .*model\[1:\]"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    export_onnx(model[1:], tmp_path / "model.onnx")
    scores, _ = run(tmp_path / "model.onnx", model[0].transform(texts).toarray())
    assert_allclose(scores, model.decision_function(texts), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (MLkNN(), "MLkNN is not linear"),
        (ThresholdTuner(BinaryRelevance(), strategy="top_k", cv=3), "no threshold for each label"),
        (make_pipeline(MinMaxScaler(clip=True), BinaryRelevance()), "MinMaxScaler stays outside"),
        (
            MultiLabelCalibrator(BinaryRelevance(), method="isotonic", cv=3),
            "Isotonic calibration is not linear",
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), "no classifier of hyperlabel"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_linear_map_with_thresholds_is_refused(model, sentence, data, tmp_path):
    X, Y = data
    model.fit(X, Y[:, 0] if "hyperlabel" in sentence else Y)
    with pytest.raises(ValueError, match=sentence):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_classes_of_a_one_dimensional_y_are_refused(data, tmp_path):
    X, Y = data
    with pytest.raises(ValueError, match="1-D y"):
        export_onnx(BinaryRelevance().fit(X, Y[:, 0]), tmp_path / "model.onnx")


def test_without_onnx_one_sentence_says_what_to_install(data, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'hyperlabel\[onnx\]'"):
        export_onnx(BinaryRelevance().fit(*data), tmp_path / "model.onnx")

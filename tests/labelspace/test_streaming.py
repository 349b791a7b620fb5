"""PLST, CPLST and PBR from sums: streamed, merged, forgotten and relabelled like a fit from scratch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from hyperlabel import CPLST, PLST, PartialBinaryRelevance
from hyperlabel.persistence import load, save

MODELS = [
    PLST(3),
    PLST(None),
    PLST(2, reference="origin"),
    CPLST(3),
    PartialBinaryRelevance(3),
    PartialBinaryRelevance(3, reference="mean"),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(240, 8)) + 5.0
    Y = (X[:, :6] - 5.0 + rng.normal(size=(240, 6)) > np.linspace(0.2, 1.2, 6)).astype(int)
    return X, Y


def streamed(model, X, Y, size=60):
    model = clone(model)
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], Y[start : start + size])
    return model


def fitted(model, X, Y):
    return clone(model).fit(X, Y)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_chunks_equal_the_whole(model, data):
    X, Y = data
    want = fitted(model, X, Y).decision_function(X)
    assert_allclose(streamed(model, X, Y).decision_function(X), want, atol=1e-8)
    sparse_chunks = streamed(model, sparse.csr_array(X), sparse.csr_array(Y), size=100)
    assert_allclose(sparse_chunks.decision_function(X), want, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_merge_forget_and_slide_equal_a_fit_without_the_old_rows(model, data):
    X, Y = data
    merged = streamed(model, X[:100], Y[:100]).merge(streamed(model, X[100:], Y[100:]))
    assert_allclose(merged.decision_function(X), fitted(model, X, Y).decision_function(X), atol=1e-8)
    merged.forget(X[200:], Y[200:])
    want = fitted(model, X[:200], Y[:200]).decision_function(X)
    assert_allclose(merged.decision_function(X), want, atol=1e-8)
    merged.slide(X[200:], Y[200:], X[:40], Y[:40])
    assert_allclose(
        merged.decision_function(X), fitted(model, X[40:], Y[40:]).decision_function(X), atol=1e-8
    )


@pytest.mark.parametrize("alpha", ["auto", 2.0, 0.0])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_fit_keeps_what_later_rows_need(model, alpha, data):
    X, Y = data
    model = clone(model).set_params(alpha=alpha)
    first, rest = fitted(model, X[:200], Y[:200]), (X[200:], Y[200:])
    want = fitted(model, X, Y).decision_function(X)
    assert_allclose(first.partial_fit(*rest).decision_function(X), want, atol=1e-8)
    want = fitted(model, X[:200], Y[:200]).decision_function(X)
    assert_allclose(first.forget(*rest).decision_function(X), want, atol=1e-7)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_labels_come_and_go(model, data):
    X, Y = data
    on = Y[:, 5] == 1
    grown = streamed(model, X, Y[:, :5]).edit_labels(add={"new": (X[on], Y[on][:, :5])})
    assert_allclose(grown.decision_function(X), fitted(model, X, Y).decision_function(X), atol=1e-8)
    assert grown.label_names_[-1] == "new"
    dropped = grown.edit_labels(rename={grown.label_names_[0]: "first"}, drop=["new"])
    assert_allclose(dropped.decision_function(X), fitted(model, X, Y[:, :5]).decision_function(X), atol=1e-8)
    assert dropped.label_names_[0] == "first"


def test_a_label_first_seen_in_a_later_chunk_is_learned(data):
    X, Y = data
    order = np.argsort(Y[:, 2], kind="stable")
    model = PLST(None).partial_fit(X[order[:80]], Y[order[:80]])
    assert (model.decision_function(X)[:, 2] < 0).all()
    model.partial_fit(X[order[80:]], Y[order[80:]])
    assert_allclose(model.decision_function(X), PLST(None).fit(X, Y).decision_function(X), atol=1e-8)


def test_what_cannot_stream_says_so(data):
    X, Y = data
    with pytest.raises(AttributeError) as refused:
        PLST().partial_fit(X, Y)
    assert "give the number" in str(refused.value.__cause__ or refused.value)
    wide = np.hstack([X, np.zeros((len(X), 300))])
    with pytest.raises(ValueError, match="train by partial_fit"):
        PLST(2).fit(wide, Y).forget(wide[:3], Y[:3])
    streaming = PLST(2).partial_fit(wide, Y)
    assert not hasattr(streaming.fit(wide, Y), "moments_")  # a fit from scratch drops the old sums
    many = sparse.csr_array(([1.0], ([0], [0])), shape=(4, 10_000_000))
    with pytest.raises(ValueError, match="GB allowed"):
        PLST(2).partial_fit(X[:4], many)


def test_a_streaming_model_survives_its_file(data, tmp_path):
    X, Y = data
    save(PLST(3).partial_fit(X[:200], Y[:200]), tmp_path / "m.hyper")
    model = load(tmp_path / "m.hyper").partial_fit(X[200:], Y[200:])
    assert_allclose(model.decision_function(X), PLST(3).fit(X, Y).decision_function(X), atol=1e-8)

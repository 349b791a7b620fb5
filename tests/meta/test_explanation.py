"""Shares add up to the score, whatever the way from rows to scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hyperlabel as hl
from hyperlabel.datasets import make_multilabel

DATA = make_multilabel(150, 7, 5, random_state=3)
MODELS = {
    "ridge": hl.BinaryRelevance(),
    "logistic": hl.BinaryRelevance(LogisticRegression()),
    "scaled, tuned": make_pipeline(StandardScaler(), hl.ThresholdTuner(hl.BinaryRelevance())),
    "tuned pipeline": hl.ThresholdTuner(make_pipeline(StandardScaler(), hl.BinaryRelevance())),
    "calibrated": hl.MultiLabelCalibrator(hl.BinaryRelevance(), method="sigmoid"),
    "plst": hl.PLST(3),
    "identity": hl.LabelSpaceClassifier(),
    "projection": hl.ProjectionClassifier(),
    "projection, ridge": make_pipeline(
        StandardScaler(), hl.HypergraphSpectral(), hl.BinaryRelevance(alpha=1e-3)
    ),
    "ranks": hl.RankSVM(tol=1e-2),
    "auto": hl.AutoMultiLabel(methods=["ridge", "plst"], cv=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_shares_add_up_to_the_score(name):
    model = MODELS[name].fit(DATA.X, DATA.Y.toarray())
    rows = DATA.X[:3]
    scores = model.decision_function(rows)
    found = hl.explain(model, rows, labels=[0, 3], top=4)
    assert [(e.row, e.label) for e in found] == [(i, j) for i in range(3) for j in ("label0", "label3")]
    for e in found:
        total = e.base + sum(share.share for share in e.features) + e.rest
        assert total == pytest.approx(scores[e.row, int(e.label[-1])], abs=1e-8)
        assert e.score == pytest.approx(total, abs=1e-8)
        sizes = [abs(share.share) for share in e.features]
        assert sizes == sorted(sizes, reverse=True)
        assert all(share.share == pytest.approx(share.weight * share.value) for share in e.features)


@pytest.mark.parametrize("name", ["plst", "projection", "projection, ridge"])
def test_directions_add_up_too(name):
    model = MODELS[name].fit(DATA.X, DATA.Y.toarray())
    rows = DATA.X[:4]
    by_all = hl.explain(model, rows, labels=[2], top=100)
    # shares of directions differ from the score by the same constant in every row
    gaps = [e.score - sum(d.share for d in e.directions) for e in by_all]
    assert np.ptp(gaps) < 1e-7
    assert all(len(d.labels) == 4 for e in by_all for d in e.directions)


def test_words_name_themselves_and_labels_alone_are_explained():
    texts = ["red apple", "green apple", "red car", "green car"] * 3
    Y = sparse.csr_array(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]] * 3))
    model = make_pipeline(TfidfVectorizer(), hl.ThresholdTuner(hl.BinaryRelevance())).fit(texts, Y)
    (why,) = hl.explain(model, labels=[1], top=2)
    assert (why.row, why.score) == (None, None)
    assert {share.name: share.weight > 0 for share in why.features} == {"car": True, "apple": False}
    best = hl.explain(model, ["an apple"])
    assert best[0].label == "label0"
    assert best[0].threshold is not None
    assert hl.explain(model, ["an apple"], labels=[2])[0].note == "never seen in training"


def test_refusals():
    model = hl.MLkNN().fit(DATA.X, DATA.Y)
    with pytest.raises(ValueError, match="MLkNN is not linear"):
        hl.explain(model, DATA.X[:1])
    ridge = hl.BinaryRelevance().fit(DATA.X, DATA.Y)
    with pytest.raises(ValueError, match="no label 'x'"):
        hl.explain(ridge, DATA.X[:1], labels=["x"])
    with pytest.raises(ValueError, match="Name the labels"):
        hl.explain(ridge)

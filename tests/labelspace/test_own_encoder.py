"""An encoder of one's own in one short class: what any classifier can then do, unasked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from hyperlabel import ClosedFormSearchCV, LabelSpaceClassifier, explain, outofcore
from hyperlabel.datasets import make_multilabel
from hyperlabel.labelspace import AffineEncoder, classifier
from hyperlabel.persistence import load, register, save


@register
class LabelGroupsEncoder(AffineEncoder):
    """One direction per group of labels that come together; the largest groups first.

    A label joins the first more frequent label whose rows it shares: cosine ≥ `similarity`.

    Parameters
    ----------
    n_components : int, None or "auto", default=None
        Groups kept; None keeps all.
    similarity : float, default=0.5
    """

    def __init__(self, n_components=None, *, similarity=0.5):
        self.n_components = n_components
        self.similarity = similarity

    def fit_moments(self, moments):
        counts = moments.sum_targets
        scale = np.sqrt(np.maximum(counts, 1.0))
        cosine = moments.target_gram / np.outer(scale, scale)
        groups = []
        for label in np.argsort(-counts, kind="stable"):
            home = next((group for group in groups if cosine[label, group[0]] >= self.similarity), None)
            if home is None:
                groups.append([label])
            else:
                home.append(label)
        groups.sort(key=lambda group: -counts[group].sum())
        self.offset_ = counts / moments.weight
        self.components_ = np.zeros((len(groups[: self.n_components]), len(counts)))
        for row, group in enumerate(groups[: self.n_components]):
            self.components_[row, group] = len(group) ** -0.5
        return self


DATA = make_multilabel(300, 12, 10, random_state=0)
X, Y = DATA.X, DATA.Y.toarray().astype(int)
MODEL = LabelSpaceClassifier(LabelGroupsEncoder(3, similarity=0.3))


def test_it_fits_predicts_and_decomposes_its_error():
    model = clone(MODEL).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.coef_.shape == (10, 12)
    found = model.error_decomposition(X, Y)
    assert found.hamming_loss <= found.bound
    assert found.encoding_error > 0


def test_it_streams_merges_forgets_and_relabels():
    whole = clone(MODEL).fit(X, Y)
    model = clone(MODEL).partial_fit(X[:100], Y[:100])
    model.merge(clone(MODEL).partial_fit(X[100:], Y[100:]))
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-8)
    model.forget(X[:50], Y[:50])
    assert_allclose(model.coef_, clone(MODEL).fit(X[50:], Y[50:]).coef_, atol=1e-8)
    model.edit_labels(drop=["label2"])
    assert_allclose(model.coef_, clone(MODEL).fit(X[50:], np.delete(Y[50:], 2, axis=1)).coef_, atol=1e-8)


def test_it_fits_in_blocks_and_survives_its_file(tmp_path):
    blocks = [(X[i : i + 75], Y[i : i + 75]) for i in range(0, 300, 75)]
    model = outofcore.fit(clone(MODEL), blocks)
    assert_allclose(model.decision_function(X), clone(MODEL).fit(X, Y).decision_function(X), atol=1e-8)
    save(model, tmp_path / "groups.hyper")
    assert_array_equal(load(tmp_path / "groups.hyper").decision_function(X), model.decision_function(X))


def test_it_chooses_its_dimension_and_is_searched_freely():
    auto = clone(MODEL).set_params(encoder__n_components="auto", n_components_grid=[1, 2, 4]).fit(X, Y)
    path = auto.dimension_path_
    assert auto.encoder_.n_components_ == path["chosen"]
    assert len(np.unique(path["mean"])) > 1
    search = ClosedFormSearchCV(clone(MODEL), {"n_components": [1, 2, 4], "alpha": [1.0, 100.0]}, cv=3).fit(
        X, Y
    )
    assert search.estimator_.encoder.n_components == search.best_params_["n_components"]


def test_it_is_explained():
    model = clone(MODEL).fit(X, Y)
    (why,) = explain(model, X[:1], labels=[0])
    assert why.score == pytest.approx(why.base + sum(s.share for s in why.features) + why.rest)
    assert len(why.directions) == 3


def test_on_its_own_it_sees_labels_and_no_features():
    seen = []

    class Watching(LabelGroupsEncoder):
        def fit_moments(self, moments):
            seen.append((moments.gram.shape, moments.cross.shape, moments.sum_targets.shape))
            return super().fit_moments(moments)

    Watching(3).fit(Y, X)
    assert seen == [((0, 0), (0, 10), (10,))]


@pytest.mark.parametrize(("n", "max_kept", "formed"), [(60, 0, False), (30, 0, True), (30, 1000, False)])
def test_codes_of_the_rows_are_formed_only_where_they_are_fewer_than_the_sums(
    n, max_kept, formed, monkeypatch
):
    """d·K = 120 sums of features and labels, n·M codes; sums that are kept are there anyway."""
    monkeypatch.setattr(classifier, "MAX_KEPT", max_kept)
    calls = []

    class Watching(LabelGroupsEncoder):
        def transform(self, y):
            calls.append(len(y.shape))
            return super().transform(y)

    model = LabelSpaceClassifier(Watching(3, similarity=0.9), alpha=1.0).fit(X[:n], Y[:n])
    assert model.encoder_.n_components_ == 3
    assert bool(calls) == formed
    assert hasattr(model, "moments_") == (max_kept > 0)

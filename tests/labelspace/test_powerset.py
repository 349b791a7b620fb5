"""Label powerset: against classifiers of the distinct label sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from hyperlabel import LabelPowerset
from hyperlabel.geometry.hypercube import distinct_vertices
from hyperlabel.labelspace.powerset import prune_vertices

X, Y = make_multilabel_classification(n_samples=150, n_features=8, n_classes=6, n_labels=2, random_state=0)


X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_power_set_predicts_the_best_seen_set():
    model = LabelPowerset(LogisticRegression(max_iter=500)).fit(X, Y)
    found = distinct_vertices(sparse.csr_array(Y))
    twin = LogisticRegression(max_iter=500).fit(X, found.codes)
    assert_array_equal(model.predict(X), found.Y.toarray()[twin.predict(X)])


def test_default_power_set_is_a_ridge_classifier():
    found = distinct_vertices(sparse.csr_array(Y))
    twin = RidgeClassifier(alpha=2.0).fit(X, found.codes)
    assert_array_equal(
        LabelPowerset(alpha=4.0 / 2.0).fit(X, Y).predict(X), found.Y.toarray()[twin.predict(X)]
    )


def test_one_label_set_alone_needs_no_classifier():
    """Logistic regression refuses a single class; the one set seen is the answer."""
    X, Y = np.random.default_rng(0).normal(size=(8, 2)), np.tile([1, 0, 1], (8, 1))
    model = LabelPowerset(LogisticRegression()).fit(X, Y)
    assert_array_equal(model.predict(X), Y)
    assert not hasattr(model, "estimator_")


def test_pruned_rows_go_to_the_nearest_kept_set():
    sets = np.array([[1, 1, 0, 0]] * 3 + [[0, 0, 1, 1]] * 2 + [[1, 1, 1, 0]] + [[0, 0, 0, 1]])
    pruned = prune_vertices(distinct_vertices(sparse.csr_array(sets.astype(float))), 2)
    assert_array_equal(pruned.Y.toarray(), [[1, 1, 0, 0], [0, 0, 1, 1]])
    assert_array_equal(pruned.codes, [0, 0, 0, 1, 1, 0, 1])
    assert_array_equal(pruned.counts, [4, 3])
    model = LabelPowerset(min_count=4).fit(X, Y)
    assert model.counts_.sum() == len(X)
    predicted = {tuple(row) for row in model.predict(X)}
    assert predicted <= {tuple(row) for row in model.vertices_.toarray().astype(int)}


@pytest.mark.parametrize(("count", "sentence"), [(1000, "lower min_count"), (0, "at least 1")])
def test_power_set_refuses(count, sentence):
    with pytest.raises(ValueError, match=sentence):
        LabelPowerset(min_count=count).fit(X, Y)


def test_rows_of_rare_label_sets_are_moved_or_dropped():
    X = np.arange(7.0)[:, None]
    Y = np.array([[1, 0, 0]] * 3 + [[0, 1, 1]] * 3 + [[1, 1, 1]])
    moved = LabelPowerset(min_count=2).fit(X, Y)
    dropped = LabelPowerset(min_count=2, rare="drop").fit(X, Y)
    assert moved.counts_.tolist() == [3, 4]
    assert dropped.counts_.tolist() == [3, 3]
    assert_allclose(dropped.coef_, LabelPowerset().fit(X[:6], Y[:6]).coef_)
    assert not np.allclose(dropped.coef_, moved.coef_)

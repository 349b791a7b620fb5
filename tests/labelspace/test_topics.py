"""Label topics: blocks of labels come back, whoever finds them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

from hyperlabel import LabelTopicModel

X, Y = make_multilabel_classification(n_samples=150, n_features=8, n_classes=6, n_labels=2, random_state=0)


X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_topics_find_blocks_of_labels():
    rng = np.random.default_rng(0)
    block = rng.integers(0, 3, size=300)
    A = np.eye(3)[block] + 0.1 * rng.normal(size=(300, 3))
    sets = np.zeros((300, 9), dtype=int)
    for row, b in zip(sets, block, strict=True):
        row[3 * b : 3 * b + 3] = rng.random(3) < 0.9
    model = LabelTopicModel(3).fit(A, sets)
    assert (model.predict(A) == sets).mean() > 0.93
    assert ((model.components_ >= 0) & (model.components_ <= 1)).all()
    assert_allclose(model.decision_function(A), 2 * model.predict_proba(A) - 1, atol=1e-6)
    by_rows = LabelTopicModel(3, classifier=LogisticRegression()).fit(A, sets)
    assert (by_rows.predict(A) == sets).mean() > 0.93


def test_topics_may_come_from_any_clustering_of_the_label_sets():
    from sklearn.cluster import DBSCAN, KMeans
    from sklearn.decomposition import NMF, PCA
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(0)
    Y = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], 40, axis=0)
    X = Y + 0.1 * rng.normal(size=Y.shape)
    for clustering in (
        KMeans(random_state=0),
        GaussianMixture(random_state=0),
        NMF(init="random", random_state=0),
    ):
        model = LabelTopicModel(3, clustering=clustering, alpha=0.01).fit(X, Y)
        assert np.mean(model.predict(X) == Y) > 0.95, clustering
    centres = LabelTopicModel(3, clustering=KMeans(random_state=0)).fit(X, Y).components_
    assert sorted(map(tuple, centres.round(9))) == sorted(map(tuple, np.unique(Y, axis=0)))
    with pytest.raises(ValueError, match="n_components or n_clusters, not so DBSCAN"):
        LabelTopicModel(3, clustering=DBSCAN()).fit(X, Y)
    with pytest.raises(ValueError, match="must not be negative"):
        LabelTopicModel(2, clustering=PCA()).fit(X, Y)

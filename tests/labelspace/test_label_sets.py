"""Models of whole label sets: power-set, topics, kernel dependency estimation."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse, special
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from hyperlabel import PLST, KernelDependencyEstimation, LabelPowerset, LabelTopicModel
from hyperlabel.geometry.hypercube import distinct_vertices
from hyperlabel.labelspace import HadamardEncoder
from hyperlabel.labelspace.powerset import prune_vertices
from hyperlabel.solvers.labels.vertex_decode import best_with_and_without, label_margins
from hyperlabel.solvers.margin.soft_logistic import _column_scale, solve_soft_logistic

X, Y = make_multilabel_classification(n_samples=150, n_features=8, n_classes=6, n_labels=2, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0)


# -- power-set ------------------------------------------------------------------------------------


def test_margins_equal_the_definition():
    rng = np.random.default_rng(0)
    V = sparse.csr_array((rng.random((9, 5)) < 0.4).astype(float))
    S = rng.normal(size=(20, 9))
    on, off = best_with_and_without(S, V)
    D = V.toarray() > 0
    for k in range(5):
        assert_allclose(on[:, k], S[:, D[:, k]].max(axis=1, initial=-np.inf))
        assert_allclose(off[:, k], S[:, ~D[:, k]].max(axis=1, initial=-np.inf))
    chosen = D[S.argmax(axis=1)]
    assert_array_equal(label_margins(on, off, chosen) > 0, chosen)


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


# -- topics -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_soft_logistic_minimises_its_objective(container):
    rng = np.random.default_rng(0)
    H = rng.dirichlet(np.ones(3), size=len(X))
    found = solve_soft_logistic(container(X), H, alpha=2.0)
    assert found.converged

    def objective(flat):
        W, b = flat[:24].reshape(8, 3), flat[24:]
        return -np.sum(H * special.log_softmax(X @ W + b, axis=1)) + np.sum(W**2)

    best = optimize.minimize(objective, np.zeros(27), options={"maxiter": 400})
    ours = np.concatenate([found.coef.ravel(), found.intercept])  # columns of X have unit variance
    assert objective(ours) <= best.fun + 1e-6


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


# -- kernel dependency estimation -------------------------------------------------------------------


@pytest.mark.parametrize("M", [1, 3, 6])
def test_linear_kernels_and_rounding_are_plst(M):
    model = KernelDependencyEstimation(M, label_kernel="linear", decoder="round", alpha=0.5).fit(X, Y)
    assert_allclose(model.decision_function(X), PLST(M, alpha=0.5).fit(X, Y).decision_function(X), atol=1e-8)


def test_components_equal_kernel_pca_of_all_rows():
    model = KernelDependencyEstimation(4, label_gamma=0.3).fit(X, Y)
    twin = KernelPCA(4, kernel="rbf", gamma=0.3).fit(Y)
    codes = distinct_vertices(sparse.csr_array(Y)).codes
    assert_allclose(model.eigenvalues_, twin.eigenvalues_, rtol=1e-9)
    H, want = model.codes_[codes], twin.transform(Y)
    assert_allclose(H @ H.T, want @ want.T, atol=1e-9)  # up to signs


def test_regression_is_scikit_learns_kernel_ridge():
    model = KernelDependencyEstimation(3, kernel="rbf", gamma=0.1, alpha=0.7).fit(X, Y)
    H = model.codes_[distinct_vertices(sparse.csr_array(Y)).codes]
    K = model._centerer_.transform(model._compute_row_kernel(X))
    twin = KernelRidge(alpha=0.7, kernel="precomputed").fit(K, H - H.mean(axis=0))
    assert_allclose(K @ model._coef_, twin.predict(K), atol=1e-9)


@pytest.mark.parametrize("label_kernel", ["rbf", "linear", "poly"])
def test_preimage_is_no_worse_than_any_seen_set_and_any_flip(label_kernel):
    model = KernelDependencyEstimation(5, label_kernel=label_kernel).fit(X, Y)
    every = np.array(list(itertools.product([0, 1], repeat=6)), dtype=float)
    inner, sizes = every @ model.vertices_.toarray().T, every.sum(axis=1)
    images = model._map_label_sets(inner, sizes)
    at = {tuple(row): i for i, row in enumerate(every.astype(int))}
    codes = model._centerer_.transform(model._compute_row_kernel(X)) @ model._coef_ + model._mean_
    distance = ((codes[:, None, :] - images) ** 2).sum(axis=2)
    seen = [at[tuple(row)] for row in model.vertices_.toarray().astype(int)]
    for i, row in enumerate(model.predict(X)):
        mine = distance[i, at[tuple(row)]]
        assert mine <= distance[i, seen].min() + 1e-9
        flipped = [at[tuple(np.where(np.arange(6) == k, 1 - row, row))] for k in range(6)]
        assert mine <= distance[i, flipped].min() + 1e-9


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"label_kernel": "cosine"}, "label_kernel"),
        ({"decoder": "guess"}, "decoder"),
        ({"decoder": "round"}, "needs label_kernel='linear'"),
        ({"alpha": -1.0}, "alpha"),
    ],
)
def test_kernel_dependency_refuses(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelDependencyEstimation(**parameters).fit(X, Y)


def test_rows_of_rare_label_sets_are_moved_or_dropped():
    X = np.arange(7.0)[:, None]
    Y = np.array([[1, 0, 0]] * 3 + [[0, 1, 1]] * 3 + [[1, 1, 1]])
    moved = LabelPowerset(min_count=2).fit(X, Y)
    dropped = LabelPowerset(min_count=2, rare="drop").fit(X, Y)
    assert moved.counts_.tolist() == [3, 4]
    assert dropped.counts_.tolist() == [3, 3]
    assert_allclose(dropped.coef_, LabelPowerset().fit(X[:6], Y[:6]).coef_)
    assert not np.allclose(dropped.coef_, moved.coef_)


@pytest.mark.parametrize("sensing", ["hadamard", "bernoulli", "gaussian"])
def test_sparse_sets_come_back_from_enough_codes_of_every_sensing_matrix(sensing):
    rng = np.random.default_rng(0)
    Y = np.zeros((40, 64), dtype=int)
    for row in Y:
        row[rng.choice(64, 2, replace=False)] = 1
    encoder = HadamardEncoder(48, sensing=sensing, random_state=1).fit(Y)
    assert_allclose(np.linalg.norm(encoder.components_, axis=0), 1.0)
    assert np.array_equal(encoder.inverse_transform(encoder.transform(Y)) > 0.5, Y)


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


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_soft_logistic_does_not_see_the_units_of_the_columns(container):
    """Weights are penalised in units of each column's spread, so the probabilities stay."""
    H = np.random.default_rng(0).dirichlet(np.ones(3), size=len(X))
    units = np.geomspace(0.01, 100.0, X.shape[1])
    plain, scaled = (solve_soft_logistic(container(A), H, alpha=2.0) for A in (X, X * units))
    np.testing.assert_allclose(scaled.coef * units[:, None], plain.coef, atol=1e-5)
    np.testing.assert_allclose(scaled.intercept, plain.intercept, atol=1e-5)


def test_columns_have_the_same_spread_dense_and_sparse():
    A = np.abs(X) + 3.0 * np.eye(1, X.shape[1])
    mean, std = _column_scale(sparse.csr_array(A))
    np.testing.assert_allclose(mean, A.mean(axis=0))
    np.testing.assert_allclose(std, A.std(axis=0))

"""Kernel dependency estimation: against kernel PCA, kernel ridge, PLST and an exhaustive pre-image."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from hyperlabel import PLST, KernelDependencyEstimation
from hyperlabel.geometry.hypercube import distinct_vertices

X, Y = make_multilabel_classification(n_samples=150, n_features=8, n_classes=6, n_labels=2, random_state=0)


X = (X - X.mean(axis=0)) / X.std(axis=0)


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


def test_any_regressor_takes_the_place_of_kernel_ridge():
    plain = KernelDependencyEstimation(3, alpha=0.7).fit(X, Y)
    by_ridge = KernelDependencyEstimation(3, regressor=Ridge(alpha=0.7)).fit(X, Y)
    assert_allclose(by_ridge.decision_function(X), plain.decision_function(X), atol=1e-7)
    model = KernelDependencyEstimation(3, regressor=KNeighborsRegressor(3)).fit(X, Y)
    twin = KNeighborsRegressor(3).fit(X, model.codes_[distinct_vertices(sparse.csr_array(Y)).codes])
    nearest = cdist(twin.predict(X), model.codes_)
    sizes, inner = model.predict(X).sum(axis=1), (model.vertices_ @ model.predict(X).T).T
    images = model._map_label_sets(inner, sizes.astype(float))
    chosen = np.linalg.norm(images - twin.predict(X), axis=1)
    assert (chosen <= nearest.min(axis=1) + 1e-8).all()  # no seen set is nearer


def test_one_component_reaches_regressors_as_a_column():
    model = KernelDependencyEstimation(1, regressor=GradientBoostingRegressor(n_estimators=3)).fit(X, Y)
    assert model.predict(X).shape == Y.shape

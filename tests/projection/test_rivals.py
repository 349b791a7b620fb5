"""OPLS, HOPLS, MDDM, MLSI and LPP against independent dense forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from tests.projection import oracles
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import HOPLS, LPP, MDDM, MLSI, OPLS, HypergraphSpectral, outofcore, projection_path
from hyperlabel.geometry.edges import Edges
from hyperlabel.projection import lpp
from hyperlabel.projection.opls import GuidedFactor

SHAPES = [(60, 12), (25, 40)]
ROUTES = ("gram", "samples", "krylov")


def check(model, values, W, tol=1e-8):
    assert model.components_.T.shape == W.shape
    assert oracles.metric_error(model.components_.T, W) < tol
    assert_allclose(model.eigenvalues_, values, rtol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_opls_equals_the_dense_eigenproblem(shape, alpha):
    X, Y = make_data(30, *shape)
    Yc = oracles.center(Y)
    for solver in ROUTES:
        for given in (X, sparse.csr_array(X)):
            for c in (None, 2):
                model = OPLS(c, alpha=alpha, solver=solver, tol=1e-13).fit(given, Y)
                check(model, *oracles.generalised(X, Yc @ Yc.T, alpha, c or 4))
                assert model.solver_ == solver


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0, 100.0])
def test_opls_is_cca_at_full_rank_and_only_there(shape, alpha):
    X, Y = make_data(31, *shape)
    opls, cca = OPLS(alpha=alpha).fit(X, Y), HypergraphSpectral(expansion="cca", alpha=alpha).fit(X, Y)
    assert oracles.metric_error(opls.components_.T, cca.components_.T) < 1e-8
    opls, cca = OPLS(2, alpha=alpha).fit(X, Y), HypergraphSpectral(2, expansion="cca", alpha=alpha).fit(X, Y)
    assert oracles.metric_error(opls.components_.T, cca.components_.T) > 1e-2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", ["trace", "literal"])
@pytest.mark.parametrize("tradeoff", [0.3, 1.0])
def test_hopls_equals_the_dense_eigenproblem(shape, scale, tradeoff):
    X, Y = make_data(32, *shape)
    coded = oracles.center(2 * Y - 1)
    H = oracles.center(oracles.factor(Y, "clique"))
    weight = tradeoff * (np.trace(coded.T @ coded) / np.trace(H.T @ H) if scale == "trace" else 1.0)
    for given, solver in ((X, "auto"), (sparse.csr_array(X), "gram"), (X, "samples"), (X, "krylov")):
        for c in (3, None):
            model = HOPLS(c, tradeoff=tradeoff, alpha=0.5, scale=scale, solver=solver, tol=1e-13).fit(
                given, Y
            )
            target = oracles.generalised(X, coded @ coded.T + weight * H @ H.T, 0.5, model.n_components_)
            check(model, *target, tol=1e-7)
    assert model.n_components_ == 8  # four labels' worth of columns, twice


def test_hopls_without_the_hypergraph_is_opls():
    X, Y = make_data(33)
    for c in (None, 2):
        hopls, opls = HOPLS(c, tradeoff=0.0, alpha=0.3).fit(X, Y), OPLS(c, alpha=0.3).fit(X, Y)
        assert_allclose(hopls.components_, opls.components_, atol=1e-10)
        assert_allclose(hopls.eigenvalues_, 4 * opls.eigenvalues_)


@pytest.mark.parametrize("shape", SHAPES)
def test_mddm_projection_is_the_top_eigenvectors_of_the_cross_covariance(shape):
    X, Y = make_data(34, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    values, V = linalg.eigh(Xc.T @ Yc @ Yc.T @ Xc)
    for given in (X + 100.0, sparse.csr_array(X)):
        for c in (None, 2):
            model = MDDM(c).fit(given, Y)
            check(model, values[::-1][: c or 4], V[:, ::-1][:, : c or 4])
            assert model.solver_ == "none"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_mddm_feature_variant(shape, mu):
    X, Y = make_data(35, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    C = mu * Xc.T @ Xc + (1 - mu) * np.eye(X.shape[1])
    s, Q = linalg.eigh(C)
    half = Q[:, s > 1e-10 * s[-1]] / np.sqrt(s[s > 1e-10 * s[-1]])
    values, V = linalg.eigh(half.T @ Xc.T @ Yc @ Yc.T @ Xc @ half)
    check(MDDM(variant="feature", mu=mu).fit(X, Y), values[::-1][:4], (half @ V)[:, ::-1][:, :4])


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_mlsi_projection_reading(shape, beta):
    X, Y = make_data(36, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    K = (1 - beta) * Xc @ Xc.T + beta * Yc @ Yc.T
    for given, solver in ((X, "auto"), (sparse.csr_array(X), "gram"), (X, "samples")):
        model = MLSI(3, beta=beta, alpha=0.5, variant="projection", solver=solver).fit(given, Y)
        check(model, *oracles.generalised(X, K, 0.5, 3))


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [(60, 12), (25, 40), (14, 12)])
def test_mlsi_latent_reading(shape, beta):
    X, Y = make_data(37, *shape)
    Xc, Yc = oracles.center(X), oracles.center(Y)
    K = (1 - beta) * Xc @ Xc.T + beta * Yc @ Yc.T
    right = Xc.T @ linalg.pinvh(K, rtol=1e-10) @ Xc + 0.5 * np.eye(X.shape[1])
    values, W = linalg.eigh(Xc.T @ Xc, right)
    values, W = values[::-1][:3], W[:, ::-1][:, :3]
    for given, solver in ((X, "auto"), (sparse.csr_array(X), "gram"), (X, "samples")):
        model = MLSI(3, beta=beta, alpha=0.5, solver=solver).fit(given, Y)
        check(model, values, W * np.sqrt(values), tol=1e-7)


def test_mlsi_latent_reading_is_pca_when_rows_are_many():
    X, Y = make_data(38, n=200)
    W = MLSI(3, beta=0.7).fit(X, Y).components_
    pca = PCA(3).fit(X).components_
    cosines = linalg.svdvals((W / np.linalg.norm(W, axis=1, keepdims=True)) @ pca.T)
    assert_allclose(cosines, 1.0, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_lpp_equals_the_dense_eigenproblem(shape, alpha):
    X, _ = make_data(39, *shape)
    n = len(X)
    squared = pairwise_distances(X) ** 2
    near = np.argsort(squared + np.diag(np.full(n, np.inf)), axis=1)[:, :4]
    linked = np.zeros((n, n), dtype=bool)
    linked[np.repeat(np.arange(n), 4), near.ravel()] = True
    width = squared[np.repeat(np.arange(n), 4), near.ravel()].mean()
    A = np.where(linked | linked.T, np.exp(-squared / width), 0.0)
    D = A.sum(axis=1)
    Xc = X - D @ X / D.sum()
    s, Q = linalg.eigh(Xc.T @ (D[:, None] * Xc))
    s, Q = s[s > 1e-10 * s[-1]], Q[:, s > 1e-10 * s[-1]]
    half = Q / np.sqrt(s + alpha)
    values, V = linalg.eigh(half.T @ Xc.T @ A @ Xc @ half)
    for given in (X, sparse.csr_array(X)):
        model = LPP(3, n_neighbors=4, alpha=alpha).fit(given)
        assert_allclose(model.width_, width)
        check(model, values[::-1][:3], (half @ V)[:, ::-1][:, :3])
    assert np.abs(LPP(n_neighbors=4, alpha=0.0).fit(X).eigenvalues_).max() <= 1 + 1e-10
    nearest = squared[np.arange(n), near[:, 0]].mean()
    assert_allclose(LPP(n_neighbors=1).fit(1e-3 * X).width_, 1e-6 * nearest)


@pytest.mark.parametrize(
    "model", [OPLS(alpha=0.2), MDDM(), MDDM(variant="feature"), MLSI(), HOPLS()], ids=str
)
def test_blocks_of_rows_equal_one_fit(model):
    X, Y = make_data(40, n=90)
    whole = model.fit(X, Y).components_
    again = outofcore.fit(type(model)(**model.get_params()), [(X[:50], Y[:50]), (X[50:], Y[50:])])
    assert_allclose(again.components_.T @ again.components_, whole.T @ whole, atol=1e-8)
    if not isinstance(model, HOPLS):
        parts = type(model)(**model.get_params()).partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
        assert_allclose(parts.components_.T @ parts.components_, whole.T @ whole, atol=1e-8)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (HOPLS(scale="free"), "scale must be"),
        (HOPLS(tradeoff=-1.0), "tradeoff must be"),
        (OPLS(alpha=-1.0), "alpha must be"),
        (MDDM(variant="third"), "variant must be"),
        (MDDM(variant="feature", mu=2.0), "mu must be"),
        (MLSI(beta=2.0), "beta must be"),
        (MLSI(variant="aloud"), "variant must be"),
        (MLSI(solver="krylov"), "solver must be"),
        (LPP(width=-1.0), "width must be"),
        (LPP(n_neighbors=0), "n_neighbors must be"),
    ],
    ids=str,
)
def test_bad_choices_get_one_sentence(model, sentence):
    X, Y = make_data(41)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y)


def test_methods_share_one_path():
    X, Y = make_data(42)
    methods = {"opls": OPLS(3), "cca": HypergraphSpectral(3, expansion="cca")}
    methods |= {t: HOPLS(3, tradeoff=t) for t in (0.1, 1.0)}
    path = projection_path(X, Y, methods=methods, alphas=[0.1, 10.0])
    assert len(path.path.f_mean) == 18  # Y once, [Y, H₀] once
    assert len(list(path)) == len(path) == 8
    for model in path:
        single = methods[model.name].set_params(alpha=model.alpha).fit(X, Y)
        assert_allclose(model.components, single.components_, atol=1e-9)
        assert_allclose(path.model(model.name, model.alpha).components, single.components_, atol=1e-9)


def test_labels_and_their_hypergraph_weigh_the_same_at_tradeoff_1():
    edges, gram = Edges(np.array([3.0, 2.0, 4.0]), np.array([1.0, 2.0, 5.0])), np.diag(np.arange(1.0, 7.0))
    mix = GuidedFactor().right(edges, gram, np.ones(6))
    assert_allclose((mix[:3] ** 2 * np.diag(gram)[:3]).sum(), (mix[3:] ** 2 * np.diag(gram)[3:]).sum())


def test_lpp_names_the_side_it_solved_on():
    X = np.random.default_rng(0).normal(size=(12, 8))
    assert [LPP(2, n_neighbors=3).fit(rows).solver_ for rows in (X, X.T)] == ["gram", "samples"]


@pytest.mark.parametrize("shape", [(12, 8), (8, 12), (10, 10)])
def test_lpp_factors_no_matrix_larger_than_the_smaller_side(shape, monkeypatch):
    sizes = []
    spectrum = lpp._range_basis
    monkeypatch.setattr(lpp, "_range_basis", lambda gram: (sizes.append(gram.shape), spectrum(gram))[1])
    LPP(2, n_neighbors=3).fit(np.random.default_rng(0).normal(size=shape))
    assert sizes == [(min(shape), min(shape))]


@pytest.mark.parametrize("kind", [OPLS, HOPLS, MDDM, MLSI])
def test_what_projections_share_has_the_same_defaults(kind):
    known, own = HypergraphSpectral().get_params(), kind().get_params()
    shared = {"tol", "max_iter", "cross_fit"} & set(own)
    assert "tol" in shared or kind is MLSI
    assert {name: own[name] for name in shared} == {name: known[name] for name in shared}

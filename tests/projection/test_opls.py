"""OPLS and HOPLS: against the dense eigenproblem."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from tests.projection import oracles
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import HOPLS, OPLS, HypergraphSpectral, NystroemRBF
from hyperlabel.geometry.edges import Edges
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


def test_labels_and_their_hypergraph_weigh_the_same_at_tradeoff_1():
    edges, gram = Edges(np.array([3.0, 2.0, 4.0]), np.array([1.0, 2.0, 5.0])), np.diag(np.arange(1.0, 7.0))
    mix = GuidedFactor().right(edges, gram, np.ones(6))
    assert_allclose((mix[:3] ** 2 * np.diag(gram)[:3]).sum(), (mix[3:] ** 2 * np.diag(gram)[3:]).sum())


@pytest.mark.parametrize("kind", [OPLS, HOPLS])
def test_a_kernel_equals_the_eigenproblem_in_feature_space(kind):
    X, Y = make_data(50, n=40)
    P = np.eye(40) - 1 / 40
    s, U = np.linalg.eigh(P @ rbf_kernel(X, gamma=0.1) @ P)
    features = U[:, s > 1e-12] * np.sqrt(s[s > 1e-12])  # rows whose products are the centred kernel
    coded, H = oracles.center(2 * Y - 1), oracles.center(oracles.factor(Y, "clique"))
    S = coded @ coded.T
    if kind is HOPLS:
        S = S + np.trace(S) / np.trace(H.T @ H) * H @ H.T
    _, W = oracles.generalised(features, S, 0.3, 3)
    how = {"kernel": "rbf", "kernel_params": {"gamma": 0.1}, "alpha": 0.3}
    model = kind(3, **how).fit(X, Y)
    assert_allclose(pdist(model.transform(X)), pdist(features @ W), rtol=1e-6)
    gram = rbf_kernel(X, gamma=0.1)
    given = kind(3, kernel="precomputed", alpha=0.3).fit(gram, Y)
    assert_allclose(given.transform(gram), model.transform(X), atol=1e-8)
    by_landmarks = kind(3, n_landmarks=40, random_state=0, **how).fit(X, Y)
    assert_allclose(pdist(by_landmarks.transform(X)), pdist(model.transform(X)), rtol=1e-4)
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(X, Y)


def test_nystroem_features_before_hopls_are_kernel_hopls():
    X, Y = make_data(51, n=60, d=4)
    pipeline = make_pipeline(NystroemRBF(60, random_state=0), HOPLS(3, alpha=0.3)).fit(X, Y)
    gamma = pipeline[0].gamma_
    exact = HOPLS(3, alpha=0.3, kernel="rbf", kernel_params={"gamma": gamma}).fit(X, Y)
    new = np.random.default_rng(0).normal(size=(20, 4))
    assert_allclose(pdist(pipeline.transform(new)), pdist(exact.transform(new)), rtol=2e-3, atol=1e-4)


def test_hyperedge_weights_are_those_of_the_cvpr_paper():
    X, Y = make_data(52, d=3)
    members = [X[column > 0] for column in Y[:, :5].T]
    d_bar = [((m[:, None] - m[None]) ** 2).sum() / (len(m) * (len(m) - 1)) for m in members]  # (30)
    w = np.append(np.exp(-0.2 * np.array(d_bar)), 1.0)  # (29); the empty label has no distance
    model = HOPLS(3, edge_weights="compactness-literal", nu=0.2, scale="literal", alpha=0.5).fit(X, Y)
    assert_allclose(model.edge_weights_, w)
    coded, H = oracles.center(2 * Y - 1), oracles.center(oracles.factor(Y, "clique", w))
    check(model, *oracles.generalised(X, coded @ coded.T + H @ H.T, 0.5, 3), tol=1e-7)

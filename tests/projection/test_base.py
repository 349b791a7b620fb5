"""What all projections share."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import HOPLS, LPP, MDDM, MLSI, OPLS, HypergraphSpectral, outofcore, projection_path


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


@pytest.mark.parametrize("kind", [OPLS, HOPLS, MDDM, MLSI])
def test_what_projections_share_has_the_same_defaults(kind):
    known, own = HypergraphSpectral().get_params(), kind().get_params()
    shared = {"tol", "max_iter", "cross_fit"} & set(own)
    assert "tol" in shared or kind is MLSI
    assert {name: own[name] for name in shared} == {name: known[name] for name in shared}

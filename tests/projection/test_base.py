"""What all projections share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import (
    HOPLS,
    LPP,
    MDDM,
    MLSI,
    OPLS,
    ClosedFormSearchCV,
    HypergraphSpectral,
    ProjectionClassifier,
    outofcore,
    projection_path,
)
from hyperlabel.metrics import get_scorer


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


@pytest.mark.parametrize(
    "model",
    [
        HypergraphSpectral(),
        OPLS(),
        HOPLS(),
        MDDM(variant="feature"),
        MLSI(),
        MLSI(variant="projection"),
        LPP(),
    ],
    ids=str,
)
def test_unit_directions_are_those_of_the_metric_at_length_1(model):
    X, Y = make_data(40, 60, 12)
    metric, unit = clone(model).fit(X, Y), clone(model).set_params(normalize="unit").fit(X, Y)
    lengths = np.linalg.norm(metric.components_, axis=1)
    assert abs(np.log(lengths)).max() > 0.1  # or there is nothing to tell apart
    assert_allclose(unit.components_, metric.components_ / lengths[:, None], rtol=1e-12)
    assert_allclose(unit.transform(X), metric.transform(X) / lengths, rtol=1e-9, atol=1e-12)
    assert_allclose(unit.eigenvalues_, metric.eigenvalues_, rtol=1e-12)


def test_unit_directions_on_a_path_in_moments_and_in_a_search():
    X, Y = make_data(41, 60, 12)
    model = OPLS(2, alpha=3.0, normalize="unit")
    fitted = clone(model).fit(X, Y)
    (on_path,) = projection_path(X, Y, methods={"OPLS": model}, alphas=[3.0])
    assert_allclose(on_path.components, fitted.components_, rtol=1e-9)
    streamed = clone(model).partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    assert_allclose(streamed.components_, fitted.components_, rtol=1e-8)
    # the read-out has a ridge, which sees lengths: closed form and refits must see the same ones
    classifier = ProjectionClassifier(model, readout_alpha=5.0)
    search = ClosedFormSearchCV(classifier, {"alpha": [3.0]}, cv=KFold(3), scoring="f1_micro").fit(X, Y)
    refitted = cross_val_score(classifier, X, Y, cv=KFold(3), scoring=get_scorer("f1_micro"))
    assert_allclose(search.cv_results_["mean_test_score"], refitted.mean(), rtol=1e-9)


def test_unit_directions_need_features():
    X, Y = make_data(42, 40, 6)
    with pytest.raises(ValueError, match="normalize='unit' needs directions over features"):
        HOPLS(kernel="rbf", normalize="unit").fit(X, Y)
    landmarks = HOPLS(kernel="rbf", n_landmarks=10, random_state=0, normalize="unit").fit(X, Y)
    assert_allclose(np.linalg.norm(landmarks.components_, axis=1), 1.0, rtol=1e-12)

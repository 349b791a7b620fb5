"""A path of projections: every model is the single fit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import LPP, MDDM, MLSI, OPLS, HypergraphSpectral, projection_path

ALPHAS = (0.1, 1.0, 30.0)


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_every_model_of_the_path_is_the_single_fit(solver):
    X, Y = make_data(20)
    X = sparse.csr_array(X)
    path = projection_path(X, Y, alphas=ALPHAS, solver=solver, tol=1e-12)
    seen = 0
    for model in path:
        expansion, form = model.name
        single = HypergraphSpectral(expansion=expansion, form=form, alpha=model.alpha).fit(X, Y)
        truth = single.components_.T @ single.components_
        assert_allclose(model.components.T @ model.components, truth, atol=1e-8 * np.abs(truth).max())
        assert_allclose(model.eigenvalues, single.eigenvalues_, rtol=1e-7)
        again = path.model(model.name, model.alpha)
        assert_allclose(again.components, model.components, atol=1e-8)
        Z = single.transform(X)
        assert_allclose(model.transform(X) @ model.transform(X).T, Z @ Z.T, atol=1e-7)
        assert path.path.residual(model.alpha) < 1e-8
        seen += 1
    assert seen == len(path) == 24
    assert path.path.solver == solver


def test_the_path_refuses_what_it_does_not_know():
    X, Y = make_data(21)
    for method, sentence in [
        (HypergraphSpectral(expansion="square"), "expansion must be 'clique', 'star', 'zhou' or 'cca'"),
        (HypergraphSpectral(form="round"), "form must be"),
        (HypergraphSpectral(kernel="rbf"), "on the rows themselves"),
        (MDDM(), "MDDM as given does not"),
        (LPP(), "label factor, such as OPLS, not LPP"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            projection_path(X, Y, alphas=[1.0], methods={"x": method})
    with pytest.raises(ValueError, match="alphas must be"):
        projection_path(X, Y, alphas=[])
    with pytest.raises(ValueError, match="no method"):
        projection_path(X, Y, methods={}, alphas=[1.0])
    with pytest.raises(ValueError, match="not made for"):
        projection_path(X, Y, alphas=[1.0], methods={"opls": OPLS()}).model("star", 1.0)
    with pytest.raises(ValueError, match="all singular vectors"):
        projection_path(X, Y, alphas=[1.0], methods={"mlsi": MLSI()}, solver="krylov").model("mlsi", 1.0)


@pytest.mark.parametrize("solver", ["gram", "samples"])
def test_whoever_has_a_factor_can_be_on_a_path(solver):
    X, Y = make_data(24)
    methods = {"mlsi": MLSI(3, variant="projection"), "opls": OPLS(3)}
    for model in projection_path(X, Y, methods=methods, alphas=ALPHAS, solver=solver):
        single = methods[model.name].set_params(alpha=model.alpha).fit(X, Y)
        assert_allclose(model.components, single.components_, atol=1e-8)

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import LinearSVC
from tests.projection.test_hypergraph_spectral import make_data

from hyperlabel import HypergraphSpectral, HypergraphSpectralCV, hypergraph_spectral_path
from hyperlabel.metrics import roc_auc_score
from hyperlabel.model_selection import IterativeStratifiedKFold

ALPHAS = (0.1, 1.0, 30.0)


@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_every_model_of_the_path_is_the_single_fit(solver):
    X, Y = make_data(20)
    X = sparse.csr_array(X)
    path = hypergraph_spectral_path(X, Y, alphas=ALPHAS, solver=solver, tol=1e-12)
    seen = 0
    for model in path:
        single = HypergraphSpectral(expansion=model.expansion, form=model.form, alpha=model.alpha).fit(X, Y)
        truth = single.components_.T @ single.components_
        assert_allclose(model.components.T @ model.components, truth, atol=1e-8 * np.abs(truth).max())
        assert_allclose(model.eigenvalues, single.eigenvalues_, rtol=1e-7)
        again = path.model(model.expansion, model.form, model.alpha)
        assert_allclose(again.components, model.components, atol=1e-8)
        Z = single.transform(X)
        assert_allclose(model.transform(X) @ model.transform(X).T, Z @ Z.T, atol=1e-7)
        assert path.residual(model.alpha) < 1e-8
        seen += 1
    assert seen == len(path) == 24
    assert path.solver == solver


def test_the_path_refuses_what_it_does_not_know():
    X, Y = make_data(21)
    with pytest.raises(ValueError, match="Unknown expansion"):
        hypergraph_spectral_path(X, Y, alphas=[1.0], expansions=["square"])
    with pytest.raises(ValueError, match="Unknown form"):
        hypergraph_spectral_path(X, Y, alphas=[1.0], forms=["round"])
    with pytest.raises(ValueError, match="alphas must be"):
        hypergraph_spectral_path(X, Y, alphas=[])
    with pytest.raises(ValueError, match="not made for"):
        hypergraph_spectral_path(X, Y, alphas=[1.0], expansions=["zhou"]).model("star", "exact", 1.0)


@pytest.mark.parametrize("expansion", ["clique", "cca"])
@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_folds_from_sums_equal_folds_from_rows(expansion, solver):
    X, Y = make_data(22, n=90)
    cv = IterativeStratifiedKFold(3)
    model = HypergraphSpectralCV(alphas=ALPHAS, expansion=expansion, cv=cv, solver=solver, tol=1e-11)
    model.fit(X + 5.0, Y)
    for fold, (train, test) in enumerate(cv.split(X, Y)):
        for i, alpha in enumerate(ALPHAS):
            one = HypergraphSpectral(expansion=expansion, alpha=alpha).fit(X[train] + 5.0, Y[train])
            Z, Z_test = one.transform(X[train] + 5.0), one.transform(X[test] + 5.0)
            scores = Z_test @ np.linalg.pinv(Z) @ Y[train]
            assert_allclose(model.cv_scores_[i, fold], roc_auc_score(Y[test], scores), atol=1e-9)
    assert model.alpha_ == ALPHAS[int(np.argmax(model.cv_scores_.mean(axis=1)))]
    final = HypergraphSpectral(expansion=expansion, alpha=model.alpha_).fit(X + 5.0, Y)
    assert_allclose(model.components_, final.components_, atol=1e-8)


def test_the_downstream_classifier_and_score_are_yours_to_choose():
    X, Y = make_data(23, n=90)
    chosen = HypergraphSpectralCV(
        alphas=ALPHAS, estimator=LinearSVC(), scoring=lambda y, s: -float(np.abs(s).mean())
    ).fit(X, Y)
    assert (chosen.cv_scores_ < 0).all()
    assert not hasattr(chosen, "partial_fit")
    with pytest.raises(ValueError, match="alphas must be"):
        HypergraphSpectralCV(alphas=[-1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="rows of every fold"):
        chosen.fit_chunks([(X, Y)])
    Z = HypergraphSpectralCV(alphas=ALPHAS, cross_fit=True).fit_transform(X, Y)
    assert Z.shape == (90, 4)

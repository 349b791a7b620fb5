"""alpha='auto' of projections: the evidence of their own label factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from hyperlabel import (
    HOPLS,
    MLSI,
    OPLS,
    ClosedFormSearchCV,
    HypergraphSpectral,
    ProjectionClassifier,
    outofcore,
)
from hyperlabel.solvers.ridge.evidence import alpha_grid

MODELS = [
    OPLS(3, alpha="auto"),
    HOPLS(3, alpha="auto"),
    MLSI(3, alpha="auto"),
    *(HypergraphSpectral(3, expansion=e, alpha="auto") for e in ("clique", "star", "zhou", "cca")),
    HypergraphSpectral(3, form="least_squares", alpha="auto"),
]


def table(n=200, d=12, k=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.3, 4, d) + 2
    scores = (X - 2) @ rng.normal(size=(d, k)) / 4 + 2 * rng.normal(size=(n, k))
    return X, (scores > scores.std(axis=0) * norm.ppf(np.linspace(0.6, 0.9, k))).astype(int)


def evidence_choice(X, F):
    Xc, Fc = X - X.mean(axis=0), F - F.mean(axis=0)
    grid = alpha_grid(np.sum(Xc**2))
    K = Xc @ Xc.T
    E = []
    for a in grid:
        C = np.eye(len(X)) + K / a
        E.append((len(X) - 1) * np.log(np.sum(Fc * np.linalg.solve(C, Fc))) + np.linalg.slogdet(C)[1])
    return grid[np.array(E) <= min(E) + 0.005 * (len(X) - 1)][0]


def literal_factor(model, Y):
    if isinstance(model, (OPLS, MLSI)):
        return Y
    size = Y.sum(axis=0)
    degree = {"clique": Y @ size, "star": Y @ (1 / size), "zhou": Y.sum(axis=1)}
    power = {"clique": 0, "star": 1, "zhou": 0.5}
    if model.expansion == "cca":
        Yc = Y - Y.mean(axis=0)
        values, V = np.linalg.eigh(Yc.T @ Yc)
        return Yc @ (V / np.sqrt(values)) @ V.T
    root = np.sqrt(np.where(degree[model.expansion] > 0, degree[model.expansion], 1.0))
    return Y / root[:, None] / size ** power[model.expansion]


@pytest.mark.parametrize("shape", [(200, 12), (50, 90)], ids=["tall", "wide"])
@pytest.mark.parametrize("model", [m for m in MODELS if not isinstance(m, HOPLS)], ids=str)
def test_lambda_is_that_of_the_projection_s_own_factor(model, shape):
    X, Y = table(*shape)
    found = clone(model).fit(X, Y)
    assert found.alpha_ == evidence_choice(X, literal_factor(model, Y.astype(float)))


@pytest.mark.parametrize("shape", [(200, 12), (50, 90)], ids=["tall", "wide"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_projection_is_the_one_at_the_number_chosen(model, shape):
    X, Y = table(*shape)
    found = clone(model).fit(X, Y)
    given = clone(model).set_params(alpha=found.alpha_).fit(X, Y)
    metric = found.components_.T @ found.components_
    assert_allclose(metric, given.components_.T @ given.components_, atol=1e-8 * np.abs(metric).max())


@pytest.mark.parametrize("solver", ["samples", "krylov"])
def test_every_route_chooses_the_same(solver):
    X, Y = table()
    for model in (OPLS(2, alpha="auto"), HypergraphSpectral(2, alpha="auto")):
        whole = clone(model).fit(X, Y)
        routed = clone(model).set_params(solver=solver).fit(sparse.csr_array(X), Y)
        assert routed.alpha_ == whole.alpha_


@pytest.mark.parametrize("model", [OPLS(3, alpha="auto"), HypergraphSpectral(3, alpha="auto")], ids=str)
def test_chunks_choose_as_rows_in_memory_do(model):
    X, Y = table()
    chunked = outofcore.fit(clone(model), lambda: iter([(X[:80], Y[:80]), (X[80:], Y[80:])]))
    assert chunked.alpha_ == clone(model).fit(X, Y).alpha_


def test_streaming_merging_and_forgetting_choose_the_same():
    X, Y = table()
    whole = OPLS(3, alpha="auto").fit(X, Y)
    first = OPLS(3, alpha="auto").partial_fit(X[:90], Y[:90])
    assert first.merge(OPLS(3, alpha="auto").partial_fit(X[90:], Y[90:])).alpha_ == whole.alpha_
    longer = OPLS(3, alpha="auto").partial_fit(np.vstack([X, X[:20]]), np.vstack([Y, 1 - Y[:20]]))
    assert longer.forget(X[:20], 1 - Y[:20]).alpha_ == whole.alpha_


def test_free_search_over_auto_equals_refits():
    X, Y = table()
    folds = KFold(3)
    model = ProjectionClassifier(OPLS(3))
    search = ClosedFormSearchCV(model, {"alpha": ["auto"]}, scoring="ndcg_at_5", cv=folds).fit(X, Y)
    again = ProjectionClassifier(OPLS(3, alpha="auto"))
    refits = cross_val_predict(again, X, Y, cv=folds, method="decision_function")
    assert_allclose(search.oof_scores_, refits, atol=1e-7)

"""Every setting's out-of-fold scores equal refitting that setting on each training fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit

from hyperlabel import (
    CPLST,
    HOPLS,
    LPP,
    MDDM,
    MLSI,
    OPLS,
    PLST,
    BinaryRelevance,
    ClosedFormSearchCV,
    HypergraphSpectral,
    LabelSpaceClassifier,
    PartialBinaryRelevance,
    ProjectionClassifier,
    RankSVM,
)
from hyperlabel.labelspace import PrincipalEncoder
from hyperlabel.meta.closed_form_search import set_closed_form_params
from hyperlabel.metrics import label_ranking_average_precision

ALPHAS = [0.5, 20.0]
# no label factor under a ridge, so nothing is free: the same answer by refits
REFITTED = [
    (ProjectionClassifier(LPP()), {"alpha": ALPHAS, "n_components": [2, 4]}),
    (ProjectionClassifier(MLSI()), {"alpha": ALPHAS, "n_components": [2, None]}),
    (ProjectionClassifier(MDDM()), {"n_components": [1, 3]}),
    (ProjectionClassifier(MDDM(variant="feature")), {"mu": [0.1, 0.9], "n_components": [2, 4]}),
]
MEMBERS = [
    (BinaryRelevance(), {"alpha": ALPHAS}),
    (BinaryRelevance(max_nonzero_coefs=3), {"alpha": ALPHAS}),
    (PLST(), {"alpha": ALPHAS, "n_components": [2, 5]}),
    (PLST(reference="origin"), {"n_components": [1, 3]}),
    (CPLST(), {"alpha": ALPHAS, "n_components": [2, 4]}),
    (PartialBinaryRelevance(reference="mean"), {"alpha": ALPHAS, "n_components": [2, 6]}),
    (PartialBinaryRelevance(3), {"alpha": ALPHAS}),
    (LabelSpaceClassifier(PrincipalEncoder()), {"alpha": ALPHAS, "n_components": [2, 5]}),
    (LabelSpaceClassifier(), {"alpha": ALPHAS}),
    (PLST(), {"alpha": ALPHAS}),  # its dimension is chosen anew in every fold
    (ProjectionClassifier(OPLS()), {"alpha": ALPHAS, "n_components": [2, 4]}),
    (ProjectionClassifier(HOPLS(tradeoff=0.5)), {"alpha": ALPHAS, "n_components": [2, None]}),
    *[
        (
            ProjectionClassifier(HypergraphSpectral(expansion=expansion, form=form)),
            # all singular values of the cca factor are 1: its least-squares form has no order to cut by
            {"alpha": ALPHAS, "n_components": [None] if expansion == "cca" else [2, 4]},
        )
        for expansion in ("clique", "star", "zhou", "cca")
        for form in ("exact", "least_squares")
    ],
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 8)) * (rng.random((120, 8)) < 0.8) + 1.0
    latent = X @ rng.normal(size=(8, 3)) @ rng.normal(size=(3, 6))
    Y = (latent + rng.normal(size=(120, 6)) > latent.mean(axis=0) + 1).astype(int)
    Y[:, 5] = 0
    Y[40:44, 5] = 1
    return X, Y


@pytest.mark.parametrize(("model", "grid"), MEMBERS + REFITTED, ids=lambda value: repr(value))
@pytest.mark.parametrize("cv", [KFold(3), TimeSeriesSplit(2)], ids=["folds", "time"])
def test_free_scores_equal_refits(data, model, grid, cv):
    X, Y = data
    search = ClosedFormSearchCV(model, grid, cv=cv).fit(X, Y)
    for row, setting in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(cv.split(X)):
            fresh = set_closed_form_params(clone(model), setting).fit(X[train], Y[train])
            scores = fresh.decision_function(X[test])
            want = label_ranking_average_precision(Y[test], scores)
            assert_allclose(search.cv_results_[f"split{fold}_test_score"][row], want, atol=1e-9)
            if setting == search.best_params_:
                assert_allclose(search.oof_scores_[test], scores, atol=1e-8)
    final = set_closed_form_params(clone(model), search.best_params_).fit(X, Y)
    assert_allclose(search.decision_function(X), final.decision_function(X), atol=1e-10)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_groups_and_sparse_rows(data):
    X, Y = data
    groups = np.arange(120) // 5
    dense_fit = ClosedFormSearchCV(PLST(), {"n_components": [1, 4]}, cv=3).fit(X, Y, groups=groups)
    sparse_fit = ClosedFormSearchCV(PLST(), {"n_components": [1, 4]}, cv=3)
    sparse_fit.fit(sparse.csr_array(X), sparse.csr_array(Y), groups=groups)
    assert_allclose(dense_fit.oof_scores_, sparse_fit.oof_scores_, atol=1e-8)


def test_what_is_not_free_is_refitted_to_the_same_answer(data):
    X, Y = data
    free = ClosedFormSearchCV(PLST(alpha=2.0), {"n_components": [2, 4]}, cv=KFold(3)).fit(X, Y)
    slow = ClosedFormSearchCV(PLST(regressor=Ridge(alpha=2.0)), {"n_components": [2, 4]}, cv=KFold(3)).fit(
        X, Y
    )
    assert_allclose(free.oof_scores_, slow.oof_scores_, atol=1e-8)


def test_other_parameters_are_refused(data):
    X, Y = data
    with pytest.raises(ValueError, match="searches alpha of BinaryRelevance, not n_components"):
        ClosedFormSearchCV(BinaryRelevance(), {"n_components": [1]}).fit(X, Y)
    with pytest.raises(ValueError, match="not C"):
        ClosedFormSearchCV(RankSVM(), {"C": [1]}).fit(X, Y)
    with pytest.raises(ValueError, match="searches mu and n_components of MDDM, not alpha"):
        ClosedFormSearchCV(ProjectionClassifier(MDDM()), {"alpha": [1.0]}).fit(X, Y)

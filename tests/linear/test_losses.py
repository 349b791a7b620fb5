"""`BinaryRelevance(loss=…)`: the estimator around the solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import hyperlabel as hl
from hyperlabel.datasets import make_multilabel

DATA = make_multilabel(150, 6, 4, random_state=2)
X, Y = DATA.X, DATA.Y.toarray()
LOSSES = ("squared_hinge", "logistic")


def test_the_logistic_loss_equals_scikit_learns_per_label():
    ours = hl.BinaryRelevance(loss="logistic", alpha=0.5, tol=1e-8).fit(X, Y)
    theirs = hl.BinaryRelevance(LogisticRegression(C=1.0, tol=1e-9, max_iter=5000)).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert (ours.solver_, ours.threshold_, ours.alpha_) == ("lbfgs", 0.0, 0.5)
    assert ours.residual_ <= 1e-8


@pytest.mark.parametrize("loss", LOSSES)
def test_lambda_is_chosen_on_folds_fitted_anew(loss):
    folds = KFold(3, shuffle=True, random_state=0)
    model = hl.BinaryRelevance(loss=loss, alpha=[0.01, 1.0, 1000.0], cv=folds, tol=1e-7).fit(X, Y)
    for train, test in folds.split(X):
        alone = hl.BinaryRelevance(loss=loss, alpha=model.alpha_, tol=1e-7).fit(X[train], Y[train])
        np.testing.assert_allclose(model.oof_scores_[test], alone.decision_function(X[test]), atol=1e-4)
    assert model.cv_results_["mean_test_score"].argmax() == [0.01, 1.0, 1000.0].index(model.alpha_)


@pytest.mark.parametrize("loss", LOSSES)
def test_lambda_by_evidence_follows_the_curvature_of_the_loss(loss):
    ridge, other = hl.BinaryRelevance().fit(X, Y), hl.BinaryRelevance(loss=loss).fit(X, Y)
    share = {"squared_hinge": 1.0, "logistic": 1 / 8}[loss]
    assert other.alpha_ == pytest.approx(share * ridge.alpha_)


def test_unknown_labels_constant_labels_and_weights():
    half = Y.astype(float)
    half[:50, 1] = np.nan
    whole = np.column_stack([half, np.zeros(len(Y)), np.ones(len(Y))])
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = hl.BinaryRelevance(loss="logistic", alpha=1.0, tol=1e-8).fit(X, whole, sample_weight=weight)
    alone = LogisticRegression(C=0.5, tol=1e-9, max_iter=5000).fit(
        X[50:], Y[50:, 1], sample_weight=weight[50:]
    )
    np.testing.assert_allclose(model.decision_function(X)[:, 1], alone.decision_function(X), atol=1e-4)
    assert not model.predict(X)[:, 4].any()
    assert model.predict(X)[:, 5].all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 4:], np.tile([0.0, 1.0], (len(X), 1)), atol=1e-6)


def test_one_column_of_classes_and_a_threshold():
    model = hl.BinaryRelevance(loss="logistic", alpha=1.0, threshold=0.3).fit(X, Y[:, 0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X) + 0.3))
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_needs_sums_refuses_in_a_sentence(loss):
    model = hl.BinaryRelevance(loss=loss)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match=f"loss='{loss}'.* needs all rows at once"):
        hl.BinaryRelevance.from_moments(hl.Moments.from_rows(X, Y), loss=loss)
    with pytest.raises(ValueError, match="needs all rows at once"):
        hl.update(model.fit(X, Y), (X, Y))
    with pytest.raises(ValueError, match="threshold='auto' is read off the shared ridge"):
        hl.BinaryRelevance(loss=loss, threshold="auto").fit(X, Y)


def test_tuners_search_and_explanations_take_it_like_any_linear_model(tmp_path):
    tuned = hl.ThresholdTuner(hl.BinaryRelevance(loss="squared_hinge", alpha=1.0)).fit(X, Y)
    assert tuned.cv_score_ > 0.5
    few = hl.BinaryRelevance(loss="squared_hinge", alpha=1.0, max_nonzero_coefs=3).fit(X, Y)
    assert np.diff(few.coef_.indptr).max() <= 3
    hl.save(tuned, tmp_path / "m.hyper")
    np.testing.assert_array_equal(hl.load(tmp_path / "m.hyper").predict(X), tuned.predict(X))
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(
        hl.BinaryRelevance(loss="logistic", alpha=1.0, tol=1e-7).fit(rows, Y).coef_,
        hl.BinaryRelevance(loss="logistic", alpha=1.0, tol=1e-7).fit(X, Y).coef_,
        atol=1e-5,
    )


def test_a_loss_that_is_not_minimised_warns(monkeypatch):
    monkeypatch.setattr("hyperlabel.solvers.margin.losses.MOST", 1)
    with pytest.warns(ConvergenceWarning, match="not minimised to tol=1e-09"):
        hl.BinaryRelevance(loss="logistic", alpha=1e-3, tol=1e-9).fit(X, Y)

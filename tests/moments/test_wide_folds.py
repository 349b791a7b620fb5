"""Out-of-fold scores on wide sparse rows: one factorisation gives what a fit on each training fold gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.moments import wide_folds
from hyperlabel.solvers.ridge.held_out import leave_out_tests_alone, shares_factor

N_ROWS = 120


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, 400), density=0.05, rng=rng, format="csr")
    Y = (np.asarray(X[:, :60] @ rng.normal(size=(60, 5))) + 0.3 * rng.normal(size=(N_ROWS, 5)) > 0.3) * 1.0
    return X, sparse.csr_array(Y)


def ridge(**options):
    return BinaryRelevance(**{"alpha": 0.3, "cv": 4, "solver": "krylov", "tol": 1e-8} | options)


def count_solves(monkeypatch):
    calls = []
    solve = wide_folds.solve_label_blocks
    monkeypatch.setattr(wide_folds, "solve_label_blocks", lambda *a, **k: calls.append(a) or solve(*a, **k))
    return calls


@pytest.mark.parametrize("weighted", [False, True])
def test_one_factorisation_gives_the_scores_of_a_fit_on_each_training_fold(texts, weighted, monkeypatch):
    X, Y = texts
    weights = 1.0 + np.arange(N_ROWS) % 3 if weighted else None
    calls = count_solves(monkeypatch)
    shared = ridge().fit(X, Y, sample_weight=weights)
    assert not calls
    refitted = ridge(solver="samples").fit(X, Y, sample_weight=weights)
    assert_allclose(shared.oof_scores_, refitted.oof_scores_, atol=1e-10)
    monkeypatch.setattr(wide_folds, "shares_factor", lambda *a, **k: False)
    by_fold = ridge().fit(X, Y, sample_weight=weights)
    assert len(calls) == 4
    assert_allclose(by_fold.oof_scores_, refitted.oof_scores_, atol=1e-5)


def test_alpha_is_chosen_on_all_rows_and_a_tuner_needs_no_fit_of_a_fold(texts, monkeypatch):
    X, Y = texts
    calls = count_solves(monkeypatch)
    tuner = ThresholdTuner(BinaryRelevance(solver="krylov", tol=1e-8)).fit(X, Y)
    assert not calls
    folds = BinaryRelevance(alpha=tuner.estimator_.alpha_, cv=10, solver="samples").fit(X, Y)
    same = ThresholdTuner(BinaryRelevance(alpha=tuner.estimator_.alpha_, cv=10, solver="samples")).fit(X, Y)
    assert_allclose(tuner.thresholds_, same.thresholds_, atol=1e-6)
    assert folds.oof_scores_.shape == (N_ROWS, 5)
    assert tuner.cv_score_ == pytest.approx(same.cv_score_)


def test_single_precision_is_left_where_rows_are_ill_conditioned(texts):
    X, Y = texts
    scale = sparse.diags_array(np.where(np.arange(400) < 3, 1e4, 1.0))
    rough = ridge(tol=5e-4).fit(X @ scale, Y)
    exact = ridge(solver="samples").fit(X @ scale, Y)
    assert_allclose(rough.oof_scores_, exact.oof_scores_, atol=1e-6)


def test_folds_that_leave_out_other_rows_are_fitted_one_by_one(texts, monkeypatch):
    X, Y = texts
    calls = count_solves(monkeypatch)
    rows = np.arange(N_ROWS)
    later = ridge(cv=[(rows[:60], rows[60:90]), (rows[:90], rows[90:])]).fit(X, Y)
    assert len(calls) == 2
    first = ridge(cv=None, solver="samples").fit(X[:60], Y[:60])
    assert_allclose(later.oof_scores_[60:90], first.decision_function(X[60:90]), atol=1e-5)
    ridge(memory_limit=1).fit(X, Y)  # the n×n Gram would not fit
    assert len(calls) == 6
    ridge(threshold="auto").fit(X, Y)  # a threshold of each fold needs its coefficients
    assert len(calls) == 10


def test_one_factorisation_is_for_many_labels_and_folds():
    options = {"itemsize": 4, "memory_limit": 2**30}
    assert shares_factor(2000, 20_000, 300, 10, **options)
    assert not shares_factor(2000, 20_000, 1, 10, **options)
    assert not shares_factor(2000, 20_000, 300, 10, itemsize=4, memory_limit=2**20)


def test_only_folds_of_all_other_rows_follow_from_it():
    rows = np.arange(20)
    splits = [(np.setdiff1d(rows, test), test) for test in np.array_split(rows, 4)]
    assert leave_out_tests_alone(20, splits)
    assert not leave_out_tests_alone(20, [(np.r_[train[:-1], train[0]], test) for train, test in splits])
    assert not leave_out_tests_alone(20, [(train[1:], test) for train, test in splits])

"""alpha="auto" and threshold="auto": one λ and one threshold from the sums, whichever way they were
summed.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.model_selection import KFold, cross_val_predict

from hyperlabel import BinaryRelevance, ClosedFormSearchCV, Moments, outofcore
from hyperlabel.solvers.ridge.evidence import alpha_grid

AUTO = BinaryRelevance(alpha="auto", threshold="auto")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12)) * np.geomspace(0.3, 5, 12) + 3
    scores = (X - 3) @ rng.normal(size=(12, 7)) / 4 + 2 * rng.normal(size=(400, 7))
    Y = (scores > scores.std(axis=0) * norm.ppf(np.linspace(0.6, 0.97, 7))).astype(int)
    Y[:, 2] = 0
    return X, Y


def same(one, other, X):
    assert one.alpha_ == other.alpha_
    assert_allclose(one.threshold_, other.threshold_, rtol=0, atol=1e-9)
    assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-9)


def test_the_largest_evidence_is_where_scikit_learn_s_bayesian_ridge_finds_it(monkeypatch):
    """One label: the two maximise the same evidence but for its prior and the free intercept."""
    monkeypatch.setattr("hyperlabel.solvers.ridge.evidence.SLACK", 0.0)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 20))
    y = (X @ rng.normal(size=20) / 3 + rng.normal(size=500) > 0).astype(int)
    flat = {"alpha_1": 1e-12, "alpha_2": 1e-12, "lambda_1": 1e-12, "lambda_2": 1e-12}
    other = BayesianRidge(tol=1e-10, max_iter=1000, **flat).fit(X, y)
    found = BinaryRelevance(alpha="auto").fit(X, y[:, None])
    assert abs(np.log10(found.alpha_ / (other.lambda_ / other.alpha_))) <= 0.13  # half a grid step


def test_streaming_merging_forgetting_and_chunks_choose_the_same(data):
    X, Y = data
    whole = clone(AUTO).fit(X, Y)
    streamed = clone(AUTO)
    for rows in np.array_split(np.arange(400), 6):
        streamed.partial_fit(X[rows], Y[rows])
    same(streamed, whole, X)
    same(clone(AUTO).fit(X[:150], Y[:150]).merge(clone(AUTO).fit(X[150:], Y[150:])), whole, X)
    extra = clone(AUTO).partial_fit(np.vstack([X, X[:50] + 1]), np.vstack([Y, 1 - Y[:50]]))
    same(extra.forget(X[:50] + 1, 1 - Y[:50]), whole, X)
    chunks = [(X[i : i + 90], Y[i : i + 90]) for i in range(0, 400, 90)]
    same(outofcore.fit(clone(AUTO), lambda: iter(chunks)), whole, X)
    same(BinaryRelevance.from_moments(Moments.from_rows(X, Y), alpha="auto", threshold="auto"), whole, X)


def test_dask_chooses_the_same(data):
    da = pytest.importorskip("dask.array")
    from hyperlabel import distributed

    X, Y = data
    found = distributed.fit(clone(AUTO), da.from_array(X, chunks=(70, -1)), da.from_array(Y, chunks=(70, -1)))
    same(found, clone(AUTO).fit(X, Y), X)


@pytest.mark.parametrize("solver", ["samples", "krylov"])
def test_every_route_chooses_the_same(data, solver):
    X, Y = data
    routed = clone(AUTO).set_params(solver=solver).fit(X, Y)
    whole = clone(AUTO).fit(X, Y)
    assert routed.alpha_ == whole.alpha_
    assert_allclose(routed.threshold_, whole.threshold_, atol=1e-5)
    assert_allclose(routed.decision_function(X), whole.decision_function(X), atol=1e-4)


def test_labels_solved_in_blocks_share_lambda_and_threshold(data):
    X, Y = data
    rows = sparse.csr_array(X)
    blocks = clone(AUTO).set_params(solver="krylov", memory_limit=1).fit(rows, Y)
    once = clone(AUTO).set_params(solver="krylov").fit(rows, Y)
    assert blocks.alpha_ == once.alpha_
    assert_allclose(blocks.threshold_, once.threshold_, atol=1e-5)


def test_lambda_is_on_the_grid_and_scores_are_the_ridge_there_less_the_threshold(data):
    X, Y = data
    model = clone(AUTO).fit(X, Y)
    assert model.alpha_ in alpha_grid(np.sum((X - X.mean(axis=0)) ** 2))
    ridge = Ridge(alpha=model.alpha_).fit(X, 2.0 * Y - 1).predict(X)
    varies = [j for j in range(7) if j != 2]
    assert_allclose(
        model.decision_function(X)[:, varies], ridge[:, varies] - model.threshold_, rtol=1e-8, atol=1e-10
    )


def test_the_threshold_solves_its_equation_on_the_training_scores_themselves(data):
    X, Y = data
    model = clone(AUTO).fit(X, Y)
    varies = [j for j in range(7) if j != 2]
    raw = Ridge(alpha=model.alpha_).fit(X, Y[:, varies]).predict(X)
    t = (model.threshold_ + 1) / 2
    expected = norm.sf(t, loc=raw.mean(axis=0), scale=raw.std(axis=0)).sum()
    assert_allclose(expected, Y.mean(axis=0).sum(), rtol=1e-8)
    assert abs(model.predict(X).sum() - Y.sum()) < 0.1 * Y.sum()


def test_a_threshold_leaves_every_ranking_and_predicts_where_scores_are_positive(data):
    X, Y = data
    plain, threshold = (
        BinaryRelevance(alpha=3.0).fit(X, Y),
        BinaryRelevance(alpha=3.0, threshold=-0.4).fit(X, Y),
    )
    assert (plain.threshold_, threshold.threshold_) == (0.0, -0.4)
    varies = [j for j in range(7) if j != 2]
    a, b = plain.decision_function(X), threshold.decision_function(X)
    assert_allclose(b[:, varies], a[:, varies] + 0.4)
    assert_allclose(threshold.intercept_, plain.intercept_ + 0.4)
    assert (np.argsort(a, axis=1) == np.argsort(b, axis=1)).all()
    assert ((b > 0) == threshold.predict(X)).all()
    assert label_ranking_average_precision_score(Y, a) == label_ranking_average_precision_score(Y, b)


def test_out_of_fold_scores_are_those_of_models_fitted_on_the_folds(data):
    X, Y = data
    folds = KFold(4)
    for params in ({"alpha": "auto", "threshold": "auto"}, {"alpha": [1.0, 300.0], "threshold": "auto"}):
        model = BinaryRelevance(**params, cv=folds).fit(X, Y)
        single = "auto" if params["alpha"] == "auto" else model.alpha_
        again = BinaryRelevance(alpha=single, threshold="auto")
        other = cross_val_predict(again, X, Y, cv=folds, method="decision_function")
        assert_allclose(model.oof_scores_, other, rtol=1e-7, atol=1e-9)


def test_free_search_compares_auto_with_numbers(data):
    X, Y = data
    folds = KFold(4)
    search = ClosedFormSearchCV(clone(AUTO), {"alpha": [1e5, "auto"]}, scoring="f1_micro", cv=folds).fit(X, Y)
    assert search.best_params_ == {"alpha": "auto"}
    other = cross_val_predict(clone(AUTO), X, Y, cv=folds, method="decision_function")
    assert_allclose(search.oof_scores_, other, rtol=1e-7, atol=1e-9)


def test_leave_one_out_is_at_the_lambda_and_threshold_of_all_rows(data):
    X, Y = data
    auto = clone(AUTO).set_params(cv="loo").fit(X, Y)
    given = BinaryRelevance(alpha=auto.alpha_, threshold=auto.threshold_, cv="loo").fit(X, Y)
    assert_allclose(auto.oof_scores_, given.oof_scores_, atol=1e-9)


def test_a_row_of_weight_two_is_two_rows_also_for_lambda_and_threshold(data):
    X, Y = data
    times = np.random.default_rng(0).integers(0, 3, size=400)
    weighted = clone(AUTO).fit(X, Y, sample_weight=times)
    same(weighted, clone(AUTO).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)), X)


def test_unknown_labels_count_as_their_frequency_when_lambda_is_chosen(data):
    X, Y = data
    gaps = np.random.default_rng(0).random(Y.shape) < 0.1
    holes = np.where(gaps, np.nan, Y)
    model = clone(AUTO).fit(X, holes)
    filled = np.where(gaps, np.nanmean(holes, axis=0), Y)
    Xc, Fc = X - X.mean(axis=0), filled - filled.mean(axis=0)
    w, V = np.linalg.eigh(Xc.T @ Xc)
    A = V.T @ Xc.T @ Fc
    grid = alpha_grid(w.sum())
    E = [
        399 * np.log(np.sum(Fc**2) - np.sum(A**2 / (w + a)[:, None])) + np.sum(np.log1p(w / a)) for a in grid
    ]
    assert model.alpha_ == grid[np.array(E) <= min(E) + 0.005 * 399][0]
    raw = BinaryRelevance(alpha=model.alpha_).fit(X, holes)
    assert_allclose(model.intercept_, raw.intercept_ - model.threshold_)
    assert 0.8 < model.predict(X).sum() / (np.nanmean(holes, axis=0).sum() * 400) < 1.2


def test_nothing_known_of_any_label_still_fits():
    X = np.arange(6.0).reshape(3, 2)
    model = clone(AUTO).fit(X, np.array([[1.0, np.nan], [0.0, np.nan], [1.0, np.nan]]))
    assert np.isfinite(model.decision_function(X)).all()


def test_constant_labels_zero_columns_and_constant_rows_have_a_defined_choice(data):
    X, Y = data
    plain = clone(AUTO).fit(X, Y)
    wide = clone(AUTO).fit(np.hstack([X, np.zeros((400, 5))]), np.column_stack([Y, np.ones(400, dtype=int)]))
    assert wide.alpha_ == plain.alpha_
    assert_allclose(wide.threshold_, plain.threshold_, atol=1e-12)
    still = clone(AUTO).fit(np.ones((10, 3)), Y[:10])
    assert still.alpha_ == 1.0
    empty = clone(AUTO).fit(X, np.zeros_like(Y))
    assert empty.threshold_ == 0.0
    assert not empty.predict(X).any()


def test_classes_of_a_1d_y_keep_the_threshold_at_zero(data):
    X, Y = data
    for y in (Y[:, 0], np.where(Y[:, 0], "a", np.where(Y[:, 1], "b", "c"))):
        model = clone(AUTO).fit(X, y)
        assert model.threshold_ == 0.0
        assert (model.predict(X) == BinaryRelevance(alpha=model.alpha_).fit(X, y).predict(X)).all()


def test_wrong_words_are_refused_in_a_sentence(data):
    X, Y = data
    with pytest.raises(ValueError, match="alpha must be .* or 'auto'"):
        BinaryRelevance(alpha="best").fit(X, Y)
    with pytest.raises(ValueError, match="threshold must be a finite number or .auto. or None"):
        BinaryRelevance(threshold="best").fit(X, Y)


def test_a_number_for_lambda_keeps_the_threshold_at_zero_unless_one_is_asked_for(data):
    X, Y = data
    assert BinaryRelevance(alpha=2.0).fit(X, Y).threshold_ == 0.0
    assert BinaryRelevance(alpha=[1.0, 5.0], cv=3).fit(X, Y).threshold_ == 0.0
    both, by_default = clone(AUTO).fit(X, Y), BinaryRelevance(alpha="auto").fit(X, Y)
    assert by_default.threshold_ == both.threshold_ != 0.0
    placed = BinaryRelevance(alpha=both.alpha_, threshold="auto").fit(X, Y)
    assert_allclose(placed.threshold_, both.threshold_, atol=1e-9)

"""AutoMultiLabel: honest values, honest cuts, honest reporting, and a budget that is kept."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from hyperlabel import AutoMultiLabel, BinaryRelevance
from hyperlabel.decision import global_cut, per_label_cuts
from hyperlabel.meta import portfolio
from hyperlabel.meta.catalogue import CATALOGUE
from hyperlabel.meta.portfolio import PROBED, OutOfTime, Task, _stop_if_labels_take_too_long
from hyperlabel.metrics import f1_score, label_ranking_average_precision
from hyperlabel.model_selection import TimeOrderedSplit


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 6))
    Y = (np.hstack([X[:, :3], X[:, :2] * X[:, 1:3]]) + 0.5 * rng.normal(size=(240, 5)) > 0.6).astype(int)
    return X, Y


@pytest.fixture(scope="module")
def fitted(data):
    X, Y = data
    return AutoMultiLabel(time_budget=60.0, cv=KFold(3)).fit(X[:160], Y[:160])


def test_every_part_of_the_portfolio_is_tried_or_explained(fitted):
    listed = {part for row in fitted.leaderboard_ for part in row["method"].split()}
    for candidate in portfolio.PORTFOLIO:
        assert candidate.name.split()[0] in listed, candidate.name
    for row in fitted.leaderboard_:
        assert "left_out" in row or {"score", "spread", "behind", "low", "high", "seconds"} <= row.keys()


def test_the_portfolio_is_of_the_catalogue():
    names = [method.name for method in CATALOGUE]
    for candidate in portfolio.PORTFOLIO:
        assert candidate.name in names
        assert f"``{candidate.name}``" in AutoMultiLabel.__doc__


def test_leaderboard_is_ordered_and_says_how_sure(fitted):
    rows = [row for row in fitted.leaderboard_ if "score" in row]
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    for row in rows[1:]:
        assert row["low"] <= row["behind"] <= row["high"]
        assert_allclose(row["behind"], scores[0] - row["score"], atol=1e-12)
    assert rows[0]["method"] in fitted.summary_


def test_it_finds_the_products_that_linear_models_cannot_see(data, fitted):
    X, Y = data
    linear = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(X[:160], Y[:160])
    values = [f1_score(Y[160:], model.predict(X[160:]), average="macro") for model in (fitted, linear)]
    assert values[0] > values[1] + 0.05


def test_values_come_from_cuts_that_never_saw_the_fold(data):
    X, Y = data
    model = AutoMultiLabel(methods=["ridge"], cv=KFold(4), scoring="f1_micro").fit(X, Y)
    (row,) = model.leaderboard_
    fit_cuts = per_label_cuts if row["rule"] == "per-label" else global_cut

    values = []
    for train, test in KFold(4).split(X):
        cuts = fit_cuts(model.oof_scores_[train], sparse.csr_array(Y[train]), scoring="f1_micro").cuts
        values.append(f1_score(Y[test], (model.oof_scores_[test] > cuts).astype(int), average="micro"))
    assert_allclose(row["score"], np.mean(values), atol=1e-12)
    assert_array_equal(model.predict(X), (model.decision_function(X) > model.thresholds_).astype(int))


def test_oof_scores_are_those_of_the_winner(data):
    X, Y = data
    model = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(X, Y)
    Z = model.scaler_.transform(X)
    alpha = model.leaderboard_[0]["params"][0]["alpha"]
    for train, test in KFold(3).split(X):
        fresh = BinaryRelevance(alpha=alpha).fit(Z[train], Y[train])
        assert_allclose(model.oof_scores_[test], fresh.decision_function(Z[test]), atol=1e-8)


def test_ranking_measures_and_time_ordered_folds(data):
    X, Y = data
    model = AutoMultiLabel(
        "label_ranking_average_precision", methods=["ridge", "plst"], cv=TimeOrderedSplit(3), blend=False
    ).fit(X, Y)
    assert np.isnan(model.oof_scores_).any(axis=1).any()  # the first block is never tested
    best = model.leaderboard_[0]["score"]
    folds = TimeOrderedSplit(3).split(X)
    values = [label_ranking_average_precision(Y[t], model.oof_scores_[t]) for _, t in folds]
    assert_allclose(best, np.mean(values), atol=1e-12)


def test_what_does_not_fit_in_the_budget_is_listed(data, monkeypatch):
    class Sleeper(BinaryRelevance):
        def fit(self, X, y):
            time.sleep(5.0)
            return super().fit(X, y)

    def slow(task, deadline):
        yield portfolio._refitted("slow", {}, Sleeper(), task, deadline)

    X, Y = data
    names = [portfolio.PORTFOLIO[0], portfolio.Candidate("slow", slow)]
    monkeypatch.setattr("hyperlabel.meta.auto.PORTFOLIO", names)
    model = AutoMultiLabel(time_budget=12.0, cv=5).fit(X, Y)  # the sleeper would need five times 5 s
    assert [row["method"] for row in model.leaderboard_] == ["ridge", "slow"]
    assert "would take about" in model.leaderboard_[-1]["left_out"]


def test_unknown_methods_are_refused(data):
    with pytest.raises(ValueError, match="methods must name some of: ridge"):
        AutoMultiLabel(methods=["magic"]).fit(*data)


def test_many_labels_are_timed_on_a_few_before_a_fold_is_spent():
    fits = []

    class Slow(LogisticRegression):
        def fit(self, X, y):
            fits.append(len(y))
            time.sleep(0.02)
            return super().fit(X, y)

    X, Y = make_multilabel_classification(n_samples=60, n_classes=40, n_labels=8, random_state=0)
    Y = sparse.csr_array(Y.astype(float))
    splits = list(KFold(3).split(X))
    task = Task(X, Y, None, splits, None, None, 0)
    model = BinaryRelevance(Slow())
    with pytest.raises(OutOfTime, match="would take about"):
        _stop_if_labels_take_too_long(model, task, time.perf_counter() + 1.0)  # 40 labels: 3.4 s and more
    assert len(fits) <= PROBED


def test_a_candidate_that_refuses_is_a_row_with_its_reason(data):
    _, Y = data
    constant = np.ones((len(Y), 3))  # nothing to project on
    model = AutoMultiLabel(methods=["ridge", "spectral", "plst"], cv=KFold(3)).fit(constant, Y)
    rows = {row["method"]: row for row in model.leaderboard_}
    assert "nothing to project on" in rows["spectral"]["left_out"]
    assert "score" in rows["ridge"]
    assert model.predict(constant).shape == Y.shape


def test_two_rows_are_enough_for_those_who_can(data):
    X, Y = data
    model = AutoMultiLabel().fit(X[:2], Y[:2])
    assert model.predict(X).shape == Y.shape
    left_out = [row["left_out"] for row in model.leaderboard_ if "left_out" in row]
    assert left_out
    assert all(left_out)


def test_a_scorer_that_fails_is_reported_once_with_the_first_reason(data):
    X, Y = data

    def broken(estimator, X, y):
        raise RuntimeError("no such measure")

    with pytest.raises(ValueError, match="could be fitted; ridge: no such measure"):
        AutoMultiLabel(broken, methods=["ridge", "plst"], cv=KFold(3)).fit(X, Y)


def test_a_method_that_does_not_suit_the_rows_says_so(data):
    _, Y = data
    texts = sparse.random_array((len(Y), 50), density=0.05, rng=np.random.default_rng(0), format="csr")
    model = AutoMultiLabel(methods=["ridge", "kernel-ridge"], cv=KFold(3)).fit(texts, Y)
    assert model.leaderboard_[-1] == {
        "method": "kernel-ridge",
        "left_out": "wants dense rows of at most 2000 columns",
    }
    with pytest.raises(ValueError, match="kernel-ridge: wants dense rows"):
        AutoMultiLabel(methods=["kernel-ridge"], cv=KFold(3)).fit(texts, Y)

"""AutoMultiLabel: honest values, honest thresholds, honest reporting, and a budget that is kept."""

import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import hyperlabel
from hyperlabel import AutoMultiLabel, BinaryRelevance, LabelForest, explain
from hyperlabel._validation import TargetLayout
from hyperlabel.decision import Sigmoid, global_threshold, per_label_thresholds
from hyperlabel.meta import portfolio
from hyperlabel.meta.candidate_selection import (
    AttainableScore,
    CandidateScore,
    MemberCalibrator,
    Selector,
)
from hyperlabel.meta.catalogue import CATALOGUE
from hyperlabel.meta.portfolio import (
    PROBED,
    CandidateRun,
    OutOfTime,
    Task,
    _stop_if_labels_take_too_long,
    grow_landmarks,
)
from hyperlabel.meta.wrapper_base import iter_nested_estimators
from hyperlabel.metrics import f1_score, get_scorer, label_ranking_average_precision, ranking_loss
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
        assert (
            "skipped" in row or {"score", "std", "score_difference", "low", "high", "seconds"} <= row.keys()
        )


def test_the_portfolio_is_of_the_catalogue():
    names = [method.name for method in CATALOGUE]
    for candidate in portfolio.PORTFOLIO:
        assert candidate.name in names
        assert f"``{candidate.name}``" in AutoMultiLabel.__doc__


def test_leaderboard_is_ordered_and_says_how_sure(fitted):
    rows = [row for row in fitted.leaderboard_ if "score" in row]
    scores = [row["score"] for row in rows]
    assert scores[1:] == sorted(scores[1:], reverse=True)
    for row in rows[1:]:
        assert row["score"] <= scores[0] + max(row["std"], rows[0]["std"])
        assert row["low"] <= row["score_difference"] <= row["high"]
        assert_allclose(row["score_difference"], scores[0] - row["score"], atol=1e-12)
    assert rows[0]["method"] in fitted.summary_


def test_it_finds_the_products_that_linear_models_cannot_see(data, fitted):
    X, Y = data
    linear = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(X[:160], Y[:160])
    values = [f1_score(Y[160:], model.predict(X[160:]), average="macro") for model in (fitted, linear)]
    assert values[0] > values[1] + 0.05


def test_values_come_from_thresholds_that_never_saw_the_fold(data):
    X, Y = data
    model = AutoMultiLabel(methods=["ridge"], cv=KFold(4), scoring="f1_micro").fit(X, Y)
    (row,) = model.leaderboard_
    fit_thresholds = per_label_thresholds if row["threshold_strategy"] == "per_label" else global_threshold

    values = []
    for train, test in KFold(4).split(X):
        thresholds = fit_thresholds(
            model.oof_scores_[train], sparse.csr_array(Y[train]), scoring="f1_micro"
        ).thresholds
        values.append(f1_score(Y[test], (model.oof_scores_[test] > thresholds).astype(int), average="micro"))
    assert_allclose(row["score"], np.mean(values), atol=1e-12)
    assert_array_equal(model.predict(X), (model.decision_function(X) > model.thresholds_).astype(int))


def test_oof_scores_are_those_of_the_winner(data):
    X, Y = data
    model = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(X, Y)
    Z = model.preprocessor_.transform(X)
    alpha = model.leaderboard_[0]["params"][0]["alpha"]
    for train, test in KFold(3).split(X):
        fresh = BinaryRelevance(alpha=alpha).fit(Z[train], Y[train])
        assert_allclose(model.oof_scores_[test], fresh.decision_function(Z[test]), atol=1e-8)


def test_ranking_measures_and_time_ordered_folds(data):
    X, Y = data
    model = AutoMultiLabel(
        "label_ranking_average_precision", methods=["ridge"], cv=TimeOrderedSplit(3), blend=False
    ).fit(X, Y)
    assert np.isnan(model.oof_scores_).any(axis=1).any()  # the first block is never tested
    Z, folds = model.preprocessor_.transform(X), list(TimeOrderedSplit(3).split(X))
    ridge = BinaryRelevance(alpha=model.leaderboard_[0]["params"][0]["alpha"])
    scores = np.vstack([clone(ridge).fit(Z[a], Y[a]).decision_function(Z[b]) for a, b in folds])
    known, values = np.concatenate([b for _, b in folds]), []
    for _, test in folds:  # what reads the scores of a fold is taught by the others
        here = np.isin(known, test)
        found = MemberCalibrator.fit(scores[~here], sparse.csr_array(Y[known[~here]].astype(float)))
        slope, intercept = found.linear()
        values.append(label_ranking_average_precision(Y[test], scores[here] * slope + intercept))
    assert_allclose(model.leaderboard_[0]["score"], np.mean(values), atol=1e-9)


def test_what_does_not_fit_in_the_budget_is_listed(data, monkeypatch):
    class Sleeper(BinaryRelevance):
        def fit(self, X, y):
            time.sleep(5.0)
            return super().fit(X, y)

    def slow(task, deadline):
        yield portfolio._run_refits("slow", {}, Sleeper(), task, deadline)

    X, Y = data
    names = [portfolio.PORTFOLIO[0], portfolio.Candidate("slow", slow)]
    monkeypatch.setattr("hyperlabel.meta.auto.PORTFOLIO", names)
    model = AutoMultiLabel(time_budget=12.0, cv=5).fit(X, Y)  # the sleeper would need five times 5 s
    assert [row["method"] for row in model.leaderboard_] == ["ridge", "slow"]
    assert "would take about" in model.leaderboard_[-1]["skipped"]


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
        _stop_if_labels_take_too_long(model, task, task.clock() + 1.0)  # 40 labels: 3.4 s and more
    assert len(fits) <= PROBED


def test_a_candidate_that_refuses_is_a_row_with_its_reason(data):
    _, Y = data
    constant = np.ones((len(Y), 3))  # nothing to project on
    model = AutoMultiLabel(methods=["ridge", "spectral", "plst"], cv=KFold(3)).fit(constant, Y)
    rows = {row["method"]: row for row in model.leaderboard_}
    assert "nothing to project on" in rows["spectral"]["skipped"]
    assert "score" in rows["ridge"]
    assert model.predict(constant).shape == Y.shape


def test_two_rows_are_enough_for_those_who_can(data):
    X, Y = data
    model = AutoMultiLabel().fit(X[:2], Y[:2])
    assert model.predict(X).shape == Y.shape
    skipped = [row["skipped"] for row in model.leaderboard_ if "skipped" in row]
    assert skipped
    assert all(skipped)


def test_a_scorer_that_fails_is_reported_once_with_the_first_reason(data):
    X, Y = data

    def broken(estimator, X, y):
        raise RuntimeError("no such measure")

    with pytest.raises(ValueError, match="could be fitted; ridge: no such measure"):
        AutoMultiLabel(broken, methods=["ridge", "plst"], cv=KFold(3)).fit(X, Y)


def test_a_method_that_does_not_suit_the_rows_says_so(data):
    _, Y = data
    wide = np.random.default_rng(0).normal(size=(len(Y), 2001))
    model = AutoMultiLabel(methods=["ridge", "kernel-ridge"], cv=KFold(3)).fit(wide, Y)
    assert model.leaderboard_[-1] == {
        "method": "kernel-ridge",
        "skipped": "wants dense rows of at most 2000 columns",
    }
    with pytest.raises(ValueError, match="kernel-ridge: wants dense rows"):
        AutoMultiLabel(methods=["kernel-ridge"], cv=KFold(3)).fit(wide, Y)


def counts(seed=0):
    """Word counts of rows of very different length, labels from what the rows are about."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(40, 0.1), size=5)
    Y = (rng.random((260, 5)) < 0.35).astype(int)
    mix = (Y + 0.05) @ topics
    X = [
        rng.multinomial(size, row / row.sum())
        for size, row in zip(rng.geometric(0.03, 260), mix, strict=True)
    ]
    return sparse.csr_array(np.array(X, dtype=float)), Y


@pytest.mark.filterwarnings("ignore:X holds counts")  # the ridge by itself warns of them, as it should
def test_rows_are_prepared_as_serves_the_ridge_best_out_of_fold():
    X, Y = counts()
    model = AutoMultiLabel("ndcg_at_5", methods=["ridge"], cv=KFold(3)).fit(X, Y)
    values = {}
    for way in (Normalizer(), TfidfTransformer(), FunctionTransformer(accept_sparse=True)):
        ridge = BinaryRelevance(alpha="auto", threshold=0.0, cv=KFold(3), scoring="ndcg_at_5")
        values[type(way)] = ridge.fit(way.fit_transform(X), Y).cv_results_["mean_test_score"][0]
    best = max(values, key=values.get)
    assert best is not FunctionTransformer
    assert isinstance(model.preprocessor_, best)
    negative = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(-X, Y)  # tf-idf is of counts
    assert not isinstance(negative.preprocessor_, TfidfTransformer)


def test_prepared_landmarks_trees_and_blends_come_back_from_a_file(tmp_path):
    X, Y = counts()
    model = AutoMultiLabel(
        "ndcg_at_5", methods=["ridge", "kernel-ridge", "forest"], cv=KFold(3), random_state=1
    ).fit(X[:200], Y[:200])
    assert {"forest", "kernel-ridge"} <= {row["method"] for row in model.leaderboard_}
    hyperlabel.save(model, tmp_path / "auto.hlm")
    again = hyperlabel.load(tmp_path / "auto.hlm")
    assert_array_equal(again.decision_function(X[200:]), model.decision_function(X[200:]))
    assert_array_equal(again.predict(X[200:]), model.predict(X[200:]))


@pytest.mark.parametrize("scoring", ["f1_macro", "f1_micro", "ndcg_at_5", "ranking_loss"])
def test_blends_are_no_worse_than_their_best_member_by_more_than_a_spread(data, scoring):
    X, Y = data
    model = AutoMultiLabel(scoring, methods=["ridge", "kernel-ridge", "forest"], cv=KFold(3)).fit(X, Y)
    rows = [row for row in model.leaderboard_ if "score" in row]
    best = next(row for row in rows if "weights" not in row)
    blends = [row for row in rows if "weights" in row]
    assert blends
    for row in blends:
        assert row["score"] >= best["score"] - max(best["std"], row["std"])
        assert_allclose(sum(row["weights"]), 1.0, atol=0.002)
        assert min(row["weights"]) > 0


def test_a_blend_is_the_weighted_mean_of_calibrated_scores(data):
    X, Y = data
    first = CandidateScore("", (0, 1), "per_label", np.zeros(3), 0.0, (0.25, 0.75))
    rng = np.random.default_rng(0)
    scores = [rng.normal(size=Y.shape) + Y, rng.normal(size=Y.shape) + 2 * Y]
    parts = [
        CandidateRun("a", {}, BinaryRelevance(), scores[0], 1.0, 1.0),
        CandidateRun("b", {}, LabelForest(), scores[1], 1.0, 1.0),
    ]
    task = Task(X, sparse.csr_array(Y.astype(float)), None, list(KFold(3).split(X)), None, None, 0)
    lines = [np.polyval(np.polyfit(s.ravel(), Y.ravel(), 1), s) for s in scores]  # one for all labels
    p = [(Sigmoid.fit(s, task.Y).probabilities(s) + line) / 2 for s, line in zip(scores, lines, strict=True)]
    for selector in (Selector(task, None, "f1_micro"), Selector(task, None, "f1_macro", ranks=True)):
        assert_allclose(selector.blend(first, parts)(scores), 0.25 * p[0] + 0.75 * p[1], atol=1e-10)
    macro = Selector(task, None, "f1_macro").blend(first, parts)  # no sigmoid of few positives
    assert_allclose(macro(scores), 0.25 * lines[0] + 0.75 * lines[1], atol=1e-10)


def test_linear_members_are_read_by_the_sigmoid_of_their_label_and_one_for_all(data):
    _, Y = data
    rng = np.random.default_rng(0)
    scores, truth = rng.normal(size=Y.shape) + Y, sparse.csr_array(Y.astype(float))
    own = Sigmoid.fit(scores, truth)
    shared = Sigmoid.fit(scores.reshape(-1, 1), sparse.csr_array(Y.reshape(-1, 1).astype(float)))
    read = [s.slope * scores + s.intercept for s in (own, shared)]
    for models in ([BinaryRelevance()], [BinaryRelevance()] * 2, [LabelForest()]):  # one alone, of any kind
        parts = [CandidateRun("", {}, model, scores, 1.0, 1.0) for model in models]
        task = Task(scores, truth, None, list(KFold(3).split(Y)), None, None, 0)
        candidate_scores = CandidateScore(
            "", (0, 1), "global", np.zeros(3), 0.0, (1.0 / len(parts),) * len(parts)
        )
        blend = Selector(task, None, "f1_macro", ranks=True).blend(candidate_scores, parts)
        assert_allclose(blend([scores] * len(parts)), np.mean(read, axis=0), atol=1e-10)
    alone = Selector(task, None, "f1_macro").blend(candidate_scores, parts)
    assert_array_equal(alone([scores]), scores)  # thresholds do not ask for the order across labels


def test_each_candidate_is_told_as_soon_as_it_is_judged(data, capsys):
    X, Y = data
    told = []
    model = AutoMultiLabel(methods=["ridge", "forest"], cv=KFold(3), verbose=1, on_candidate=told.append).fit(
        X, Y
    )
    assert [row["method"] for row in told[:2]] == ["ridge", "forest"]
    assert sorted(row["method"] for row in told) == sorted(row["method"] for row in model.leaderboard_)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(told)
    assert lines[0].split()[:2] == ["ridge", f"{told[0]['score']:.4f}"]
    with pytest.raises(ValueError, match="on_candidate must be a function or None"):
        AutoMultiLabel(on_candidate=3).fit(X, Y)


def test_a_model_that_told_of_its_candidates_is_saved_without_the_listener(data, tmp_path):
    X, Y = data
    model = AutoMultiLabel(methods=["ridge"], cv=3, on_candidate=print).fit(X, Y)
    hyperlabel.save(model, tmp_path / "auto.hlm")
    again = hyperlabel.load(tmp_path / "auto.hlm")
    assert again.on_candidate is None
    assert_array_equal(again.predict(X), model.predict(X))
    assert clone(again).get_params() == model.get_params() | {"on_candidate": None}


def test_large_tables_get_one_ridge_at_the_evidence(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr(Task, "large", True)
    model = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(X, Y)
    expected = BinaryRelevance(alpha="auto").fit(model.preprocessor_.transform(X), Y).alpha_
    assert model.leaderboard_[0]["params"] == [{"alpha": expected}]


def test_a_function_that_looks_at_label_sets_is_judged_with_tuned_thresholds(data):
    X, Y = data

    def macro(estimator, X, y):
        return f1_score(y, estimator.predict(X), average="macro")

    found = [
        AutoMultiLabel(scoring, methods=["hopls-mlknn"], cv=KFold(3)).fit(X, Y).leaderboard_[0]["score"]
        for scoring in (macro, "f1_macro")
    ]
    assert found[0] == found[1]


def test_members_that_come_fitted_are_the_fit_on_all_rows(data):
    X, Y = data
    for name in ("ridge", "kernel-ridge", "plst"):
        model = AutoMultiLabel(methods=[name], cv=KFold(3), blend=False).fit(X, Y)
        Z = model.preprocessor_.transform(X)
        fresh = clone(model.estimators_[0]).fit(Z, Y)
        assert_allclose(
            model.decision_function(X), fresh.decision_function(Z), atol=1e-4
        )  # float32 landmarks
        assert not any(hasattr(step, "oof_scores_") for step in iter_nested_estimators(model.estimators_[0]))
    forest = AutoMultiLabel(methods=["forest"], cv=TimeOrderedSplit(3)).fit(X, Y).estimators_[0]
    fresh = clone(forest).fit(StandardScaler().fit_transform(X), Y)  # its folds grew on few rows: grown anew
    assert_array_equal(forest._weights.indices, fresh._weights.indices)


def test_blends_take_what_complements_the_best_before_its_twin():
    rng = np.random.default_rng(0)
    Y = (rng.random((600, 6)) < 0.3).astype(int)
    noise, other, tiny = (rng.normal(size=Y.shape) for _ in range(3))
    best = 2.0 * Y + noise
    scores = {"best": best, "twin": best + 0.5 * tiny, "other": 1.5 * Y + other}
    candidate_runs = [CandidateRun(name, {}, LabelForest(), s, 1.0, 1.0) for name, s in scores.items()]
    layout = TargetLayout("multilabel", np.arange(6), np.arange(6).astype(str), np.dtype(int))
    splits = list(KFold(3).split(Y))
    task = Task(np.zeros((600, 1)), sparse.csr_array(Y.astype(float)), layout, splits, None, None, 0)
    selector = Selector(task, get_scorer("f1_macro"), "f1_macro")
    candidate_scores = [selector.one(i, t) for i, t in enumerate(candidate_runs)]
    assert selector.leaders(candidate_runs, candidate_scores) == [0, 1, 2]
    names = [j.name for j in selector.blends(candidate_runs, candidate_scores, np.inf)]
    assert names[0] == "blend of best, other"

    selector = Selector(task, get_scorer("label_ranking_average_precision"), "f1_macro", ranks=True)
    candidate_scores = [selector.one(i, t) for i, t in enumerate(candidate_runs)]
    stacked = next(j for j in selector.blends(candidate_runs, candidate_scores, np.inf) if j.stacked)
    weights = dict(zip(stacked.members, stacked.weights, strict=True))
    assert weights.get(1, 0.0) < 0.1 < weights[2] < weights[0]  # a ranking stacks them: the twin adds little


@pytest.fixture
def four():
    """Candidates of which a linear one looks a little better than landmarks and trees, and their judge."""
    rng = np.random.default_rng(0)
    Y = (rng.random((600, 6)) < 0.3).astype(int)
    strength = {"ridge": 1.8, "forest": 1.5, "kernel-ridge": 1.5, "plst": 1.0}
    scores = {name: more * Y + rng.normal(size=Y.shape) for name, more in strength.items()}
    candidate_runs = [CandidateRun(name, {}, LabelForest(), s, 1.0, 1.0) for name, s in scores.items()]
    layout = TargetLayout("multilabel", np.arange(6), np.arange(6).astype(str), np.dtype(int))
    splits = list(KFold(5).split(Y))
    task = Task(np.zeros((600, 1)), sparse.csr_array(Y.astype(float)), layout, splits, None, None, 0)
    return candidate_runs, Selector(
        task, get_scorer("label_ranking_average_precision"), "f1_macro", ranks=True
    )


def test_blends_begin_with_landmarks_and_trees(four):
    candidate_runs, selector = four
    candidate_scores = [selector.one(i, t) for i, t in enumerate(candidate_runs)]
    assert selector.leaders(candidate_runs, candidate_scores)[0] == 0
    found = selector.blends(candidate_runs, candidate_scores, np.inf)
    assert [{candidate_runs[i].name for i in j.members} for j in found[:2]] == [
        {"kernel-ridge", "forest"},
        {"kernel-ridge", "forest", "ridge"},
    ]


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [([0.2, -0.1, 0.1, 0.0, 0.1], "trusted"), ([0.2, 0.1, 0.3, 0.2, 0.2], "lucky"), ([0.2], "lucky")],
)
def test_only_what_is_better_by_a_spread_is_chosen_over_landmarks_and_trees(four, gains, chosen):
    candidate_runs, selector = four
    values = np.full(len(gains), 0.5)
    trusted = CandidateScore("trusted", (1, 2), "global", values, 1.0, (0.5, 0.5))
    other_pair = CandidateScore("other pair", (0, 2), "global", values + 0.01, 1.0, (0.5, 0.5))
    lucky = CandidateScore("lucky", (0,), "global", values + gains, 1.0)
    found = selector.ordered(candidate_runs, [trusted, other_pair, lucky])
    assert found[0].name == chosen
    assert [j.name for j in found if j is not trusted] == ["lucky", "other pair"]
    assert selector.ordered(candidate_runs, [other_pair, lucky])[0] is lucky


def test_all_but_macro_f1_trust_the_stacked_blend_of_log_odds(four):
    candidate_runs, selector = four
    values = np.full(5, 0.5)
    trusted = CandidateScore("trusted", (1, 2), "global", values + 0.01, 1.0, (0.5, 0.5))
    stacked = CandidateScore("stacked", (0, 1), "global", values, 1.0, (0.3, 0.7), stacked=True)
    lucky = CandidateScore("lucky", (0,), "global", values + np.array([0.2, -0.1, 0.1, 0.0, 0.1]), 1.0)
    assert selector.ordered(candidate_runs, [trusted, stacked, lucky])[0] is stacked
    sure = replace(lucky, values=values + 0.2)
    assert selector.ordered(candidate_runs, [trusted, stacked, sure])[0] is sure
    members = [candidate_runs[0], candidate_runs[1]]
    scores = [run.scores for run in members]
    calibrated = [MemberCalibrator.fit(s, selector.task.Y).log_odds(s) for s in scores]
    expected = 0.3 * calibrated[0] + 0.7 * calibrated[1]
    assert_allclose(selector.blend(stacked, members)(scores), expected, atol=1e-10)
    for scoring, chosen in (("f1_micro", stacked), ("f1_macro", trusted)):
        label_sets = Selector(selector.task, get_scorer(scoring), scoring)
        assert label_sets.ordered(candidate_runs, [trusted, stacked, lucky])[0] is chosen


@pytest.mark.parametrize(
    ("columns", "scoring", "chosen"),
    [
        (sparse.csr_array((600, 1)), "f1_macro", "ridge"),
        (sparse.csr_array((600, 1)), "f1_micro", "pair"),
        (sparse.csr_array((600, 1)), "ndcg_at_5", "pair"),
        (np.zeros((600, 1)), "f1_macro", "pair"),
    ],
)
def test_the_ridge_is_trusted_for_rare_labels_of_words(four, columns, scoring, chosen):
    candidate_runs, selector = four
    ranks = scoring == "ndcg_at_5"
    task = replace(selector.task, X=columns)
    selector = Selector(task, selector.scorer, "f1_macro" if ranks else scoring, ranks=ranks)
    values = np.full(5, 0.5)
    ridge, pair = (
        CandidateScore("ridge", (0,), "global", values, 1.0),
        CandidateScore("pair", (1, 2), "global", values, 1.0),
    )
    lucky = CandidateScore("lucky", (3,), "global", values + np.array([0.2, -0.2, 0.1, 0.0, 0.05]), 1.0)
    assert [j.name for j in selector.ordered(candidate_runs, [ridge, pair, lucky])][:2] == [chosen, "lucky"]
    sure = replace(lucky, values=values + 0.1)
    assert selector.ordered(candidate_runs, [ridge, pair, sure])[0] is sure
    likely = replace(
        lucky, name="likely", values=values + np.array([0.2, -0.1, 0.1, 0.0, 0.1])
    )  # .06 ± .05, spread .1
    assert selector.ordered(candidate_runs, [ridge, pair, likely])[0].name == (
        "likely" if chosen == "ridge" else chosen
    )


def test_a_label_the_rows_say_nothing_about_is_ranked_by_its_frequency():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    known = X[:, :3] + 0.5 * rng.normal(size=(400, 3)) > 0.8
    Y = np.hstack([known, rng.random((400, 12)) < np.linspace(0.02, 0.4, 12)]).astype(int)
    model = AutoMultiLabel("ranking_loss", methods=["ridge"], cv=KFold(3)).fit(X[:200], Y[:200])
    (ridge,) = model.estimators_
    as_they_are = ridge.decision_function(model.preprocessor_.transform(X[200:]))
    losses = [ranking_loss(Y[200:], s) for s in (model.decision_function(X[200:]), as_they_are)]
    assert losses[0] < losses[1] - 0.01
    (why,) = explain(model, X[200:201], labels=[0], top=30)  # it is still linear
    assert_allclose(why.base + sum(part.share for part in why.features), why.score)
    assert_allclose(why.score, model.decision_function(X[200:201])[0, 0])


def test_few_rows_get_a_hundred_trees_for_each_fold(data):
    X, Y = data
    model = AutoMultiLabel("ndcg_at_5", methods=["forest"], cv=KFold(3)).fit(X, Y)
    assert model.leaderboard_[0]["params"] == [{"n_estimators": 300}]


def test_candidates_leave_time_for_the_blend_of_the_leaders(data, monkeypatch):
    clock, given = [0.0], {}
    monkeypatch.setattr(AutoMultiLabel, "_clock", staticmethod(lambda: clock[0]))

    def candidate(name, column):
        def run(task, deadline):
            given[name] = deadline
            clock[0] += 10.0
            scores = np.repeat(task.X[:, [column]], task.Y.shape[1], axis=1)
            yield CandidateRun(name, {}, BinaryRelevance(), scores, 10.0, 20.0)

        return portfolio.Candidate(name, run)

    names = [candidate(name, column) for column, name in enumerate(("first", "second", "third"))]
    monkeypatch.setattr("hyperlabel.meta.auto.PORTFOLIO", names)
    model = AutoMultiLabel("ndcg_at_5", time_budget=100.0, cv=KFold(3)).fit(*data)
    assert given["first"] == np.inf
    assert given["second"] == 100.0 - 1.3 * 20.0
    assert given["third"] == 100.0 - 1.3 * 40.0
    assert any("blend" in row["method"] for row in model.leaderboard_)


def test_time_is_kept_back_as_blends_take_it_and_a_refusal_says_why(data, monkeypatch):
    X, Y = data
    task = Task(X, sparse.csr_array(Y.astype(float)), None, list(KFold(3).split(X)), None, None, 0)
    runs = [CandidateRun(name, {}, BinaryRelevance(), 1.0 * Y, 1.0, 10.0) for name in ("a", "b", "c")]
    for ranks, n_scorings in ((True, 6), (False, 17)):
        selector = Selector(task, None, "f1_macro", ranks=ranks)
        selector.seconds = 2.0
        assert selector.needs(runs, [0, 1, 2]) == 2.0 * n_scorings + 1.3 * 30.0
        assert selector.needs(runs, [0]) == 2.0 + 1.3 * 10.0

    clock = [0.0]
    monkeypatch.setattr(AutoMultiLabel, "_clock", staticmethod(lambda: clock[0]))

    def costly(task, deadline):
        clock[0] += 1.0
        yield CandidateRun("ridge", {}, BinaryRelevance(), 1.0 * task.Y.toarray(), 1.0, 50.0)

    names = [portfolio.Candidate("ridge", costly), portfolio.Candidate("plst", costly, like_ridge=True)]
    monkeypatch.setattr("hyperlabel.meta.auto.PORTFOLIO", names)
    model = AutoMultiLabel("ndcg_at_5", time_budget=60.0, cv=KFold(3)).fit(X, Y)
    assert model.leaderboard_[-1]["skipped"] == "no time left"  # 59 s are, but 65 of them are kept back
    clock[0] = 0.0
    model = AutoMultiLabel("ndcg_at_5", time_budget=2.0, cv=KFold(3)).fit(X, Y)
    assert model.leaderboard_[-1]["skipped"] == "would take about 2 s"


def test_large_tables_are_judged_on_a_part_of_their_rows(data, monkeypatch):
    X, Y = data
    monkeypatch.setattr("hyperlabel.meta.auto.TESTED", 60 * Y.shape[1])
    monkeypatch.setattr("hyperlabel.meta.auto.LEAST_TESTED", 10)
    model = AutoMultiLabel(methods=["ridge", "forest"]).fit(X, Y)
    tested = ~np.isnan(model.oof_scores_).any(axis=1)
    assert tested.sum() == 60
    chosen = AutoMultiLabel(methods=["ridge"], cv=KFold(3)).fit(X, Y)
    assert not np.isnan(chosen.oof_scores_).any()  # folds that were asked for are tested whole


@pytest.mark.parametrize(("n", "splits"), [(300, "columns"), (2100, "auto")])
def test_few_rows_of_words_are_split_by_columns_and_many_by_means(n, splits):
    rng = np.random.default_rng(0)
    Y = (rng.random((n, 4)) < 0.3).astype(int)
    X = sparse.csr_array(rng.poisson(0.05 + Y @ rng.random((4, 30)) * 0.3).astype(float))
    model = AutoMultiLabel("ndcg_at_3", methods=["forest"], time_budget=5.0).fit(X, Y)
    (forest,) = model.estimators_
    assert forest.splits == splits
    assert forest._by_means == (splits == "auto")
    if forest._by_means:  # its folds' trees saw two thirds of the rows: grown anew
        fresh = clone(forest).fit(model._prepare_rows(X), Y)
        assert_array_equal(forest._weights.indices, fresh._weights.indices)


@pytest.mark.parametrize("scoring", ["hamming_loss", "f1_macro", "f1_micro"])
def test_a_grid_prefers_scores_that_order_the_rows_right(scoring):
    """The loss was negated twice, so that a grid judged by Hamming loss took its worst candidate."""
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [0, 0]])
    shuffled_scores = np.random.default_rng(0).normal(size=Y.shape)

    class Scores:
        def decision_function(self, X):
            return X

    attained = AttainableScore(scoring)
    assert attained(Scores(), 2.0 * Y - 1, Y) > attained(Scores(), shuffled_scores, Y)


def test_more_landmarks_take_a_third_of_the_time_left():
    """By the growth measured on slashdot: .26 s for 600 landmarks, 9.5 s for 2600."""
    growth = np.log(9.5 / 0.26) / np.log(2600 / 600)
    for seconds_left in (2.0, 7.0, 50.0):
        n_landmarks = grow_landmarks(600, 0.26, seconds_left)
        assert 0.6 * seconds_left / 3 < 0.26 * (n_landmarks / 600) ** growth < seconds_left / 3
    assert grow_landmarks(600, 0.26, -1.0) == 0

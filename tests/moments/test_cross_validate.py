"""Out-of-fold scores from subtracted moments equal refitting each fold from scratch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit

from hyperlabel import BinaryRelevance
from hyperlabel.metrics import f1_score, label_ranking_average_precision

ALPHAS = [0.1, 1.0, 30.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.7) + 2.0
    Y = (X @ rng.normal(size=(6, 4)) + rng.normal(size=(80, 4)) > 1.5).astype(int)
    Y[:, 3] = 0
    Y[5, 3] = 1  # its fold's model has never seen the label
    return X, Y, rng.random(80) + 0.1


def refitted(X, Y, w, splits, **params):
    scores = np.full(Y.shape, np.nan)
    for train, test in splits:
        model = BinaryRelevance(**params).fit(
            X[train], Y[train], sample_weight=None if w is None else w[train]
        )
        scores[test] = model.decision_function(X[test])
    return scores


@pytest.mark.parametrize("splitter", [KFold(5), TimeSeriesSplit(4), ShuffleSplit(2, random_state=0)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["gram", "samples", "krylov"])
def test_oof_scores_equal_refits(data, splitter, weighted, solver):
    X, Y, w = data
    w = w if weighted else None
    model = BinaryRelevance(alpha=1.0, cv=splitter, solver=solver).fit(X, Y, sample_weight=w)
    want = refitted(X, Y, w, splitter.split(X), alpha=1.0, solver=solver)
    assert_allclose(model.oof_scores_, want, atol=1e-8 if solver != "krylov" else 1e-4)
    assert_allclose(
        model.coef_, BinaryRelevance(alpha=1.0, solver=solver).fit(X, Y, sample_weight=w).coef_, atol=1e-5
    )
    assert model.solver_ == solver
    assert hasattr(model, "moments_") == (solver == "gram")


def test_group_folds(data):
    X, Y, _ = data
    groups = np.arange(80) // 9
    model = BinaryRelevance(cv=GroupKFold(3)).fit(sparse.csr_array(X), sparse.csr_array(Y), groups=groups)
    want = refitted(X, Y, None, GroupKFold(3).split(X, groups=groups))
    assert_allclose(model.oof_scores_, want, atol=1e-8)
    by_number = BinaryRelevance(cv=3).fit(X, Y, groups=groups)
    assert np.isfinite(by_number.oof_scores_).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_exact(data, weighted):
    X, Y, w = data
    w = w if weighted else None
    model = BinaryRelevance(alpha=2.0, cv="loo").fit(X, Y, sample_weight=w)
    assert_allclose(model.oof_scores_, refitted(X, Y, w, LeaveOneOut().split(X), alpha=2.0), atol=1e-8)


def test_lambda_is_chosen_on_the_metric(data):
    X, Y, _ = data
    Y = Y[:, :3]
    for scoring, measure in (
        ("label_ranking_average_precision", label_ranking_average_precision),
        ("f1_micro", lambda y, s: f1_score(y, (s > 0).astype(int), average="micro")),
    ):
        model = BinaryRelevance(alpha=ALPHAS, cv=KFold(4), scoring=scoring).fit(X, Y)
        table = np.empty((len(ALPHAS), 4))
        for row, alpha in enumerate(ALPHAS):
            for fold, (train, test) in enumerate(KFold(4).split(X)):
                fresh = BinaryRelevance(alpha=alpha).fit(X[train], Y[train])
                table[row, fold] = measure(Y[test], fresh.decision_function(X[test]))
        assert_allclose(model.cv_results_["mean_test_score"], table.mean(axis=1), atol=1e-12)
        assert_allclose(model.cv_results_["std_test_score"], table.std(axis=1), atol=1e-12)
        assert_allclose(model.cv_results_["split2_test_score"], table[:, 2], atol=1e-12)
        assert model.alpha_ == ALPHAS[int(table.mean(axis=1).argmax())]
        assert_allclose(model.coef_, BinaryRelevance(alpha=model.alpha_).fit(X, Y).coef_, atol=1e-8)
        want = refitted(X, Y, None, KFold(4).split(X), alpha=model.alpha_)
        assert_allclose(model.oof_scores_, want, atol=1e-8)


def test_per_label_estimators_are_refitted(data):
    X, Y, w = data
    model = BinaryRelevance(LogisticRegression(), cv=KFold(4)).fit(X, Y, sample_weight=w)
    want = refitted(X, Y, w, KFold(4).split(X), estimator=LogisticRegression())
    assert_allclose(model.oof_scores_, want, atol=1e-8)


def test_classes_in_one_dimension(data):
    X = data[0]
    y = np.array(["no", "yes"])[(X[:, 0] > 2).astype(int)]
    model = BinaryRelevance(cv=KFold(4), scoring="subset_accuracy").fit(X, y)
    assert model.oof_scores_.shape == (80,)
    three = BinaryRelevance(cv=KFold(4), scoring="subset_accuracy").fit(X, np.arange(80) % 3)
    assert three.oof_scores_.shape == (80, 3)


def test_a_second_fit_forgets_the_first(data):
    X, Y, _ = data
    model = BinaryRelevance(cv=3).fit(X, Y)
    assert hasattr(model, "oof_scores_")
    model.set_params(cv=None).fit(X, Y)
    assert not hasattr(model, "oof_scores_")
    assert not hasattr(model.set_params(solver="samples").fit(X, Y), "moments_")


def test_impossible_requests_get_a_sentence(data):
    X, Y, _ = data
    with pytest.raises(ValueError, match="set cv= so that one can be chosen"):
        BinaryRelevance(alpha=ALPHAS).fit(X, Y)
    with pytest.raises(ValueError, match="not possible here"):
        BinaryRelevance(cv="jackknife").fit(X, Y)
    with pytest.raises(ValueError, match="keeps no moments"):
        BinaryRelevance(solver="samples").fit(X, Y).forget(X[:2], Y[:2])

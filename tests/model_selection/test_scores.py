"""Cross-validated scores: equal to scikit-learn's where it can, and for sparse Y where it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import cross_validate
from sklearn.tree import DecisionTreeClassifier

from hyperlabel import BinaryRelevance
from hyperlabel.model_selection import IterativeStratifiedKFold, TimeOrderedSplit, cross_val_scores


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(120, 4)) > 0).astype(int)
    return X, Y


def micro(estimator, X, y):
    return f1_score(y, estimator.predict(X), average="micro")


@pytest.mark.parametrize(
    "scoring", ["f1_micro", ["f1_micro", "f1_weighted"], {"mine": micro, "f": "f1_macro"}, micro]
)
def test_equals_cross_validate_for_dense_y(data, scoring):
    X, Y = data
    cv = IterativeStratifiedKFold(4)
    ours = cross_val_scores(RidgeClassifier(), X, Y, scoring=scoring, cv=4, return_train_score=True)
    twin = cross_validate(RidgeClassifier(), X, Y, scoring=scoring, cv=cv, return_train_score=True)
    assert ours.keys() == twin.keys()
    for key in ours:
        assert ours[key].shape == (4,)
        if not key.endswith("time"):
            np.testing.assert_allclose(ours[key], twin[key])


def test_sparse_y_gives_the_same_scores(data):
    X, Y = data

    def score(estimator, X, y):
        y = y.toarray() if sparse.issparse(y) else y
        return {"a": f1_score(y, estimator.predict(X) > 0.5, average="micro"), "n": len(X)}

    class TakesSparse(Ridge):
        def fit(self, X, y):
            return super().fit(X, y.toarray() if sparse.issparse(y) else y)

    ours, dense = (
        cross_val_scores(TakesSparse(), X, y, scoring=score, cv=3) for y in (sparse.csr_array(Y), Y)
    )
    np.testing.assert_array_equal(ours["test_a"], dense["test_a"])
    assert ours["test_n"].tolist() == [40, 40, 40]


def test_our_names_on_sparse_labels(data):
    X, Y = data
    names = ["ranking_loss", "f1_micro", "accuracy"]  # ours, both have it, scikit-learn's
    ours, dense = (
        cross_val_scores(BinaryRelevance(), X, y, scoring=names, cv=3) for y in (sparse.csr_array(Y), Y)
    )
    for name in names:
        np.testing.assert_allclose(ours[f"test_{name}"], dense[f"test_{name}"])
    assert (ours["test_ranking_loss"] < 0).all()


def test_weights_groups_estimators_and_indices(data):
    X, Y = data
    weight = np.where(np.arange(120) < 60, 1.0, 0.0)
    found = cross_val_scores(
        RidgeClassifier(),
        X,
        Y,
        scoring="f1_micro",
        cv=3,
        groups=np.arange(120) // 4,
        params={"sample_weight": weight},
        return_estimator=True,
        return_indices=True,
    )
    train = found["indices"]["train"][0]
    by_hand = RidgeClassifier().fit(X[train], Y[train], sample_weight=weight[train])
    np.testing.assert_allclose(found["estimator"][0].coef_, by_hand.coef_)
    assert all(
        not set(a // 4) & set(b // 4)
        for a, b in zip(found["indices"]["train"], found["indices"]["test"], strict=True)
    )


def test_metadata_routing(data):
    X, Y = data
    weight = np.random.default_rng(1).random(120)
    with config_context(enable_metadata_routing=True):
        estimator = RidgeClassifier().set_fit_request(sample_weight=True)
        scorer = make_scorer(f1_score, average="micro").set_score_request(sample_weight=True)
        cv = IterativeStratifiedKFold(3)
        ours = cross_val_scores(
            estimator, X, Y, scoring={"f": scorer}, cv=cv, params={"sample_weight": weight}
        )
        twin = cross_validate(estimator, X, Y, scoring={"f": scorer}, cv=cv, params={"sample_weight": weight})
        times = np.arange(120)[::-1]
        cross_val_scores(estimator, X, Y, scoring="f1_micro", cv=TimeOrderedSplit(2), groups=times)
        cross_val_scores(estimator, X, Y, scoring=micro, cv=TimeOrderedSplit(2), params={"groups": times})
    np.testing.assert_allclose(ours["test_f"], twin["test_f"])


def test_any_number_of_jobs_gives_the_same(data):
    X, Y = data
    tree = DecisionTreeClassifier(random_state=0)
    with parallel_config(backend="threading"):  # processes would only cost start-up here
        one, two = (cross_val_scores(tree, X, Y, scoring="f1_macro", cv=3, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one["test_score"], two["test_score"])


def test_own_score_is_the_default_and_bad_scoring_is_refused(data):
    X, Y = data
    assert cross_val_scores(RidgeClassifier(), X, Y, cv=2)["test_score"].shape == (2,)
    with pytest.raises(ValueError, match="must return a number"):
        cross_val_scores(RidgeClassifier(), X, Y, cv=2, scoring=lambda e, X, y: [1, 2])
    with pytest.raises(ValueError, match="must hold names"):
        cross_val_scores(RidgeClassifier(), X, Y, cv=2, scoring=[micro])
    with pytest.raises(ValueError, match="not a valid scoring"):
        cross_val_scores(RidgeClassifier(), X, Y, cv=2, scoring="no_such_score")

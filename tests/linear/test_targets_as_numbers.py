"""Gaps, weights and shares in y: oracles by scikit-learn, and what may not depend on what."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from hyperlabel import BinaryRelevance

LOSSES = ["squared", "squared_hinge", "logistic"]


def make(seed=0, n=90, d=4, k=5, gaps=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, k)) + 0.5 * rng.normal(size=(n, k)) > 0.4).astype(float)
    Y[rng.random((n, k)) < gaps] = np.nan
    return X, Y, rng


def outputs(model, X):
    parts = [model.decision_function(X), np.asarray(model.predict(X))]
    if hasattr(model, "oof_scores_"):
        parts.append(model.oof_scores_)
    return parts


# -- oracles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["tall", "wide", "sparse"])
@pytest.mark.parametrize("alpha", [0.7, 20.0])
def test_weights_of_entries_equal_a_ridge_for_each_label(rows, alpha):
    X, Y, rng = make(d=120 if rows == "wide" else 4)
    W = rng.random(Y.shape)
    W[rng.random(Y.shape) < 0.2] = 0.0
    W[:, 1] = W[:, 0]
    rows_given = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if rows == "sparse" else X
    dense = rows_given.toarray() if rows == "sparse" else X
    model = BinaryRelevance(alpha=alpha).fit(rows_given, Y, sample_weight=W)
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        twin = Ridge(alpha=alpha, solver="svd").fit(dense[known], 2 * Y[known, j] - 1, W[known, j])
        assert_allclose(model.coef_[j], twin.coef_, atol=1e-8)
        assert_allclose(model.intercept_[j], twin.intercept_, atol=1e-8)


@pytest.mark.parametrize("weigh", ["balanced", {0: 1.0, 1: 3.0}])
def test_class_weights_of_the_ridge_are_scikit_learns(weigh):
    X, Y, _ = make(gaps=0.2)
    model = BinaryRelevance(alpha=2.0, class_weight=weigh).fit(X, Y)
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        twin = RidgeClassifier(alpha=2.0, class_weight=weigh).fit(X[known], Y[known, j])
        assert_allclose(model.decision_function(X)[:, j], twin.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES[1:])
@pytest.mark.parametrize("kind", ["gaps", "entries", "balanced", "soft"])
def test_margins_minimise_the_weighed_loss_of_each_label(loss, kind):
    X, Y, rng = make(gaps=0.0 if kind == "soft" else 0.3)
    if kind == "soft":
        Y = np.round(np.clip(0.7 * Y + 0.3 * rng.random(Y.shape), 0, 1), 2)
    W = rng.random(Y.shape) if kind == "entries" else np.ones(Y.shape)
    class_weight = "balanced" if kind == "balanced" else None
    model = BinaryRelevance(loss=loss, alpha=0.8, tol=1e-8, class_weight=class_weight)
    model.fit(X, Y, sample_weight=W if kind == "entries" else None)
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        rows, p, w = X[known], Y[known, j], W[known, j].copy()
        if kind == "balanced":
            w *= compute_sample_weight("balanced", p)

        def objective(v, rows=rows, p=p, w=w):
            f = rows @ v[:-1] + v[-1]
            if loss == "logistic":
                on, off = np.logaddexp(0, -f), np.logaddexp(0, f)
            else:
                on, off = np.maximum(1 - f, 0) ** 2, np.maximum(1 + f, 0) ** 2
            return w @ (p * on + (1 - p) * off) + 0.8 * v[:-1] @ v[:-1]

        twin = optimize.minimize(objective, np.zeros(X.shape[1] + 1), options={"gtol": 1e-9})
        found = np.append(model.coef_[j], model.intercept_[j])
        assert objective(found) <= twin.fun + 1e-7
        assert_allclose(found, twin.x, atol=2e-4)


def test_one_estimator_for_each_label_takes_gaps_weights_and_shares():
    X, Y, rng = make(gaps=0.2)
    Y = np.where(np.isnan(Y) | (rng.random(Y.shape) < 0.7), Y, 0.25 + 0.5 * Y)
    W = 0.1 + rng.random(Y.shape)
    model = BinaryRelevance(LogisticRegression()).fit(X, Y, sample_weight=W)
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        p, w = Y[known, j], W[known, j]
        twice = np.vstack([X[known], X[known]])
        sides = np.repeat([1, 0], known.sum())
        twin = LogisticRegression().fit(twice, sides, np.r_[w * p, w * (1 - p)])
        assert_allclose(model.decision_function(X)[:, j], twin.decision_function(X), atol=1e-3)


def test_an_estimator_without_weights_refuses_shares_in_a_sentence():
    from sklearn.neighbors import KNeighborsClassifier

    X, Y, _ = make(gaps=0.0)
    with pytest.raises(TypeError, match="does not take sample_weight: leave out soft targets"):
        BinaryRelevance(KNeighborsClassifier()).fit(X, 0.5 * Y)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_share_counts_as_two_rows(loss):
    X, Y, rng = make(gaps=0.0)
    shares = np.round(rng.random(Y.shape), 1)
    twice, sides = np.vstack([X, X]), np.vstack([np.ones_like(Y), np.zeros_like(Y)])
    options = {"loss": loss, "alpha": 1.0, "tol": 1e-8}
    soft = BinaryRelevance(**options).fit(X, shares)
    hard = BinaryRelevance(**options).fit(twice, sides, sample_weight=np.vstack([shares, 1 - shares]))
    assert_allclose(soft.decision_function(X), hard.decision_function(X), atol=1e-6)


def test_a_share_counts_as_two_rows_when_alpha_and_threshold_are_chosen():
    X, Y, rng = make(n=300, k=2, gaps=0.0)
    shares = np.clip(0.8 * Y + 0.2 * rng.random(Y.shape), 0.02, 0.98)
    shares[:, 1] = shares[:, 0]  # so that both labels weigh a row alike
    weights = np.vstack([shares, 1 - shares])
    soft = BinaryRelevance().fit(X, shares)
    twice, sides = np.vstack([X, X]), np.vstack([np.ones_like(Y), np.zeros_like(Y)])
    for hard in (
        BinaryRelevance().fit(twice, sides, sample_weight=weights),
        BinaryRelevance().fit(twice, sides, sample_weight=weights[:, 0]),
    ):
        assert soft.alpha_ == hard.alpha_
        assert soft.threshold_ == pytest.approx(hard.threshold_, abs=1e-9)
        assert_allclose(soft.decision_function(X), hard.decision_function(X), atol=1e-8)


def test_hard_targets_are_bit_equal_whatever_their_form():
    X, Y, _ = make(gaps=0.0)
    expected = BinaryRelevance().fit(X, Y.astype(int)).decision_function(X)
    assert_array_equal(BinaryRelevance().fit(X, Y).decision_function(X), expected)


# -- what may not depend on what ------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cv", [None, 3])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_an_entry_that_does_not_count_changes_no_bit(loss, cv, seed):
    X, Y, rng = make(seed, n=40)
    W = np.where(np.isnan(Y), 0.0, 1.0 + (rng.random(Y.shape) < 0.3))
    options = {"loss": loss, "cv": cv, "alpha": "auto" if loss == "squared" else 1.0}
    filled, other = (np.where(np.isnan(Y), rng.integers(0, 2, Y.shape), Y) for _ in range(2))
    first = BinaryRelevance(**options).fit(X, filled, sample_weight=W)
    second = BinaryRelevance(**options).fit(X, other, sample_weight=W)
    third = BinaryRelevance(**options).fit(X, Y, sample_weight=np.where(np.isnan(Y), 5.0, W))
    for one, two, three in zip(*(outputs(model, X) for model in (first, second, third)), strict=True):
        assert_array_equal(one, two)
        assert_array_equal(one, three)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_a_row_with_no_known_label_changes_no_bit(loss, estimator):
    X, Y, rng = make()
    rows = np.sort(rng.choice(len(X) + 6, len(X), replace=False))
    more_X, more_Y = rng.normal(size=(len(X) + 6, X.shape[1])), np.full((len(X) + 6, Y.shape[1]), np.nan)
    more_X[rows], more_Y[rows] = X, Y
    options = {"loss": loss, "cv": 3, "alpha": "auto" if loss == "squared" else 1.0}
    expected = BinaryRelevance(estimator, **options).fit(X, Y)
    found = BinaryRelevance(estimator, **options).fit(more_X, more_Y)
    assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert_array_equal(found.oof_scores_[rows], expected.oof_scores_)
    assert np.isnan(np.delete(found.oof_scores_, rows, axis=0)).all()


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_permuting_labels_permutes_everything(loss, seed):
    X, Y, rng = make(seed)
    W, order = 0.5 + rng.random(Y.shape), rng.permutation(Y.shape[1])
    options = {"loss": loss, "class_weight": "balanced", "tol": 1e-9, "alpha": 1.0}
    model = BinaryRelevance(**options).fit(X, Y, sample_weight=W)
    permuted = BinaryRelevance(**options).fit(X, Y[:, order], sample_weight=W[:, order])
    assert_allclose(permuted.decision_function(X), model.decision_function(X)[:, order], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_out_of_fold_scores_are_those_of_fits_on_the_other_folds(loss):
    X, Y, rng = make()
    Y[:, 0] = np.where(np.isnan(Y[:, 0]), 0.0, Y[:, 0])
    W = 0.5 + rng.random(Y.shape)
    folds = [(np.arange(90)[np.arange(90) % 3 != f], np.arange(90)[np.arange(90) % 3 == f]) for f in range(3)]
    options = {"loss": loss, "alpha": 1.5, "tol": 1e-9}
    model = BinaryRelevance(cv=folds, **options).fit(X, Y, sample_weight=W)
    for train, test in folds:
        alone = BinaryRelevance(**options).fit(X[train], Y[train], sample_weight=W[train])
        assert_allclose(model.oof_scores_[test], alone.decision_function(X[test]), atol=1e-6)


def test_a_label_unknown_in_a_fold_ranks_there_by_the_mean_prevalence():
    X, Y, _ = make(gaps=0.0)
    Y[30:, 2] = np.nan
    folds = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(60, 90))]
    model = BinaryRelevance(cv=folds, alpha=1.0).fit(X, Y)
    known = np.delete(Y[30:], 2, axis=1)
    assert_allclose(model.oof_scores_[:30, 2], 2 * known.mean() - 1)


# -- sums over rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, [1.0, 2.0, 3.0, 1.0, 0.5]])
@pytest.mark.parametrize("alpha", ["auto", 3.0])
def test_rows_come_and_go_as_in_one_fit(class_weight, alpha):
    X, Y, rng = make(n=200)
    Y[40:80, 1] = Y[40:80, 2] = np.nan
    W = np.where(rng.random(Y.shape) < 0.5, 1.0, 2.0)
    options = {"alpha": alpha, "class_weight": class_weight}
    whole = BinaryRelevance(**options).fit(X[:150], Y[:150], sample_weight=W[:150])
    parts = BinaryRelevance(**options)
    for rows in (slice(0, 40), slice(40, 90), slice(90, 200)):
        parts.partial_fit(X[rows], Y[rows], sample_weight=W[rows])
    parts.forget(X[150:], Y[150:], sample_weight=W[150:])
    assert parts.alpha_ == whole.alpha_
    assert_allclose(parts.coef_, whole.coef_, atol=1e-8)
    assert_allclose(parts.intercept_, whole.intercept_, atol=1e-8)


def test_blocks_without_gaps_join_blocks_with_gaps():
    X, Y, _ = make(n=120, gaps=0.0)
    gappy = Y.copy()
    gappy[:30, 0] = np.nan
    whole = BinaryRelevance().fit(X, gappy)
    parts = BinaryRelevance().partial_fit(X[30:], gappy[30:]).partial_fit(X[:30], gappy[:30])
    assert parts.alpha_ == whole.alpha_
    assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)
    back = parts.forget(X[:30], gappy[:30])
    assert_allclose(
        back.decision_function(X), BinaryRelevance().fit(X[30:], Y[30:]).decision_function(X), atol=1e-8
    )


def test_labels_with_gaps_are_renamed_and_dropped():
    X, Y, _ = make()
    Y[np.isnan(Y).all(axis=1) | np.isnan(Y[:, 1:4]).all(axis=1), 2] = 1.0  # other rows are not in the sums
    model = BinaryRelevance(alpha=1.0).fit(X, Y)
    model.edit_labels(rename={"label3": "last"}, drop=["label0", "label4"])
    alone = BinaryRelevance(alpha=1.0).fit(X, Y[:, 1:4])
    assert list(model.label_names_) == ["label1", "label2", "last"]
    assert_allclose(model.coef_, alone.coef_, atol=1e-10)
    model.edit_labels(add={"on five": (X[:5], None), "new": (None, None)})
    on_five = np.where(np.arange(len(X)) < 5, 1.0, 0.0)
    more = np.column_stack([Y[:, 1:4], on_five, np.zeros(len(X))])
    longer = BinaryRelevance(alpha=1.0).fit(X, more)
    assert_allclose(model.coef_, longer.coef_, atol=1e-10)
    assert_allclose(model.intercept_, longer.intercept_, atol=1e-10)
    longer.partial_fit(X[:9], more[:9])  # the sums are those of a fit, gaps or not
    assert_allclose(model.partial_fit(X[:9], more[:9]).coef_, longer.coef_, atol=1e-10)
    weighed = BinaryRelevance(alpha=1.0, class_weight={0: 1.0, 1: 2.0}).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be added to sums weighed by class_weight"):
        weighed.edit_labels(add=["new"])


def test_too_many_patterns_for_the_memory_are_told_in_a_sentence():
    X, Y, _ = make()
    fitted = BinaryRelevance(memory_limit=1000.0).fit(X, Y)
    assert not hasattr(fitted, "moments_")
    assert_allclose(fitted.decision_function(X), BinaryRelevance().fit(X, Y).decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="5 patterns of gaps and weights, and moments keep"):
        BinaryRelevance(memory_limit=1000.0).partial_fit(X, Y)


def test_balanced_weights_need_all_rows():
    X, Y, _ = make()
    with pytest.raises(AttributeError) as refusal:
        BinaryRelevance(class_weight="balanced").partial_fit(X, Y)
    assert "needs the counts of all rows first" in str(refusal.value.__cause__)
    model = BinaryRelevance(class_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match="needs the counts of all rows first"):
        model.forget(X[:5], Y[:5])


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (lambda W: -W, "Negative values in sample_weight"),
        (lambda W: 0 * W, "at least one non-zero"),
        (lambda W: np.where(W > 0.5, np.nan, W), "contains NaN or infinity: give entries that do not count"),
        (lambda W: W[:, :2], r"sample_weight has shape \(90, 2\): pass 90 numbers"),
    ],
)
def test_bad_weights_get_a_sentence(weights, sentence):
    X, Y, rng = make()
    with pytest.raises(ValueError, match=sentence):
        BinaryRelevance().fit(X, Y, sample_weight=weights(rng.random(Y.shape)))


@pytest.mark.parametrize("value", [1.2, -0.1, np.inf])
def test_values_outside_0_and_1_get_a_sentence(value):
    X, Y, _ = make()
    Y[3, 2] = value
    with pytest.raises(ValueError, match="0 and 1 or shares between them|NaN or infinity"):
        BinaryRelevance().fit(X, Y)


@pytest.mark.parametrize("spec", ["heavy", [1.0, 2.0], {"label9": 2.0}, [-1.0] * 5])
def test_bad_class_weights_get_a_sentence(spec):
    X, Y, _ = make()
    with pytest.raises(ValueError, match="class_weight"):
        BinaryRelevance(class_weight=spec).fit(X, Y)


@pytest.mark.parametrize("names", [[0, 1], [-1, 1], [1, 2], ["a", "b"]])
def test_class_weights_of_a_flat_y_go_by_its_classes_as_in_scikit_learn(names):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.array(names)[(X[:, 0] + rng.normal(size=120) > 0).astype(int)]
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=0.05, random_state=0)
    for spec in ({names[0]: 20.0, names[1]: 0.5}, {names[0]: 20.0}, {names[1]: 20.0}, "balanced"):
        for estimator in (LogisticRegression(tol=1e-9), tree):
            found = BinaryRelevance(estimator, class_weight=spec, cv=KFold(3)).fit(X, y)
            wanted = clone(estimator).set_params(class_weight=spec)
            proba = wanted.fit(X, y).predict_proba(X)
            np.testing.assert_allclose(found.predict_proba(X), proba, atol=1e-6)
            for train, test in KFold(3).split(X):
                fold = BinaryRelevance(estimator, class_weight=spec).fit(X[train], y[train])
                assert_allclose(found.oof_scores_[test], fold.decision_function(X[test]), atol=1e-6)

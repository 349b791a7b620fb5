"""h(x): its targets on every kind of row, the regression against scikit-learn, weights as repetitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVR

from hyperlabel.decision import LabelSetSize, set_size_targets
from hyperlabel.solvers.rank import svr as svr_module
from hyperlabel.solvers.rank.scaling import FeatureScaling
from hyperlabel.solvers.rank.svr import solve_svr


def make(seed=0, n=120, d=6, k=5):
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    F = X @ rng.normal(size=(d, k))
    Y = (F - F.mean(axis=1, keepdims=True) + rng.normal(size=(n, k)) > 0).astype(float)
    Y[:5], Y[5:8] = 0, 1
    return X, F, Y, rng.integers(0, 4, n).astype(float)


def test_targets_separate_every_training_row():
    _, F, Y, _ = make()
    F[:, 0] += 1e-3
    ideal = np.where(Y > 0, F + 100, F)  # a perfect ranker
    for labels in (Y, sparse.csr_array(Y)):
        assert_array_equal(ideal > set_size_targets(ideal, labels)[:, None], Y > 0)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_regression_equals_a_general_minimiser(epsilon):
    X, F, Y, s = make(1)
    t = set_size_targets(F, Y)
    found = solve_svr(X, t, C=0.5, epsilon=epsilon, sample_weight=s)

    def objective(v):
        outside = np.maximum(np.abs(t - X @ v[:-1] - v[-1]) - epsilon, 0)
        return 0.5 * v[:-1] @ v[:-1] + 0.5 * s @ outside**2

    best = optimize.minimize(objective, np.zeros(X.shape[1] + 1), method="BFGS", options={"gtol": 1e-9})
    assert found.converged
    assert objective(np.append(found.w, found.b)) <= best.fun * (1 + 1e-9)
    if epsilon == 0:
        ridge = Ridge(alpha=1.0).fit(X, t, sample_weight=s)
        assert_allclose(found.w, ridge.coef_, atol=1e-8)


def test_regression_equals_liblinear_up_to_its_penalised_intercept():
    X, F, Y, _ = make(2)
    Xc, t = X - X.mean(axis=0), set_size_targets(F, Y)
    twin = LinearSVR(
        C=1.0, epsilon=0.2, loss="squared_epsilon_insensitive", dual=False, tol=1e-10, intercept_scaling=1e3
    ).fit(Xc, t)
    found = solve_svr(Xc, t, C=1.0, epsilon=0.2)
    assert_allclose(found.w, twin.coef_, atol=1e-4)
    assert_allclose(found.b, twin.intercept_[0], atol=1e-4)


def test_wide_rows_take_the_iterative_route_to_the_same_place(monkeypatch):
    X, F, Y, s = make(3)
    t = set_size_targets(F, Y)
    direct = solve_svr(X, t, sample_weight=s)
    monkeypatch.setattr(svr_module, "GRAM_FEATURES", 2)
    for rows in (X, sparse.csr_array(X)):
        assert_allclose(solve_svr(rows, t, sample_weight=s).w, direct.w, atol=1e-7)


def test_a_weight_is_a_repetition_and_sparse_is_dense():
    X, F, Y, s = make(4)
    X[X == 3.0] = 0.0
    rows = np.repeat(np.arange(len(X)), s.astype(int))
    plain = LabelSetSize().fit(X[rows], F[rows], Y[rows]).predict(X)
    assert_allclose(LabelSetSize().fit(X, F, Y, s).predict(X), plain, rtol=1e-9)
    wide = LabelSetSize().fit(sparse.csr_array(X), F, sparse.csr_array(Y), s)
    assert_allclose(wide.predict(sparse.csr_array(X)), plain, rtol=1e-9)


def test_any_regressor_may_learn_the_size():
    X, F, Y, s = make(5)
    rule = LabelSetSize(Ridge(alpha=2.0)).fit(X, F, Y, s)
    expected = Ridge(alpha=2.0).fit(X, set_size_targets(F, Y), sample_weight=s).predict(X)
    assert_allclose(rule.predict(X), expected)
    assert_array_equal(rule.decide(X, F), expected[:, None] < F)


def test_constant_target_and_constant_features():
    X, F = np.ones((6, 2)), np.tile([1.0, 0.0], (6, 1))
    rule = LabelSetSize().fit(X, F, np.tile([1.0, 0.0], (6, 1)))
    assert_allclose(rule.predict(X), 0.5)


@pytest.mark.parametrize("mode", ["auto", "standard", "norm", "none"])
def test_scaling_is_folded_back(mode):
    X, *_, s = make(6)
    X[:, 2] = 7.0
    scaled = FeatureScaling.fit(X, mode, s)
    W, b = np.random.default_rng(0).normal(size=(6, 3)), np.ones(3)
    coef, intercept = scaled.unscale(W, b)
    assert_allclose(X @ coef.T + intercept, scaled.rows(X) @ W + b, rtol=1e-9)
    alike = FeatureScaling.fit(sparse.csr_array(X), mode, s)
    assert_allclose(alike.scale, scaled.scale, rtol=1e-12)
    if mode != "none":
        assert_allclose(s @ (scaled.rows(X) ** 2).sum(axis=1) / s.sum(), 1.0 if mode == "norm" else 5 / 6)
        assert not scaled.rows(X)[:, 2].any()


def test_scaling_says_what_is_wrong():
    with pytest.raises(ValueError, match="scaling must be one of"):
        FeatureScaling.fit(np.eye(3), "robust")
    with pytest.raises(ValueError, match="Every sample_weight is 0"):
        FeatureScaling.fit(np.eye(3), "norm", np.zeros(3))


def test_a_score_at_the_threshold_is_not_in_the_set():
    X, scores, Y = np.zeros((3, 1)), np.array([[0.4, 0.5], [0.5, 0.6], [0.5, 0.5]]), np.eye(3, 2)
    size = LabelSetSize(DummyRegressor(strategy="constant", constant=0.5)).fit(X, scores, Y)
    assert size.decide(X, scores).tolist() == [[False, False], [False, True], [False, False]]


def test_the_default_loss_weighs_as_the_documentation_says():
    X, scores, Y, _ = make()
    found = LabelSetSize().fit(X, scores, Y)
    assert_array_equal(found.coef_, LabelSetSize(C=1.0, epsilon=0.1, scaling="auto").fit(X, scores, Y).coef_)

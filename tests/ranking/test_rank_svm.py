"""Rank-SVM and Rank-HLapSVM: against literal kernels, an SVM and Frank-Wolfe."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_loss
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from hyperlabel import HypergraphRankSVM, RankSVM
from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.problem import RankProblem

TIGHT = {"tol": 1e-11, "max_iter": 50_000, "random_state": 0}


def make(seed=0, n=60, d=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 2.0
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(int)
    Y[0], Y[1] = 0, 1
    return X, Y


def literal_laplacian(Y, w):
    """D_c − H W Hᵀ, n×n, as printed in (4) and (5)."""
    affinity = Y @ np.diag(w) @ Y.T
    return np.diag(affinity.sum(axis=1)) - affinity


def literal_kernel_scores(A, Y, C):
    """Rank-SVM on the inner products A of eq. (27): scores of the training rows."""
    s, U = np.linalg.eigh((A + A.T) / 2)
    rows = U * np.sqrt(np.maximum(s, 0))
    problem = RankProblem.build(rows, sparse.csr_array(Y.astype(float)))
    found = solve_rank_dcd(problem, C=C, tol=1e-12, max_iter=50_000)
    return rows @ found.W + found.b


@pytest.mark.parametrize("laplacian", ["combinatorial", "normalized"])
@pytest.mark.parametrize("shape", [(60, 5), (25, 40)])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_hypergraph_form_equals_equation_27(shape, kernel, laplacian):
    X, Y = make(1, *shape)
    w, lam, C = np.array([1.0, 0.5, 2.0, 0.1]), 0.02, 2.0
    K = {"linear": X @ X.T, "rbf": pairwise_kernels(X, metric="rbf", gamma=0.05)}.get(kernel, X @ X.T)
    L = literal_laplacian(Y, w)
    if laplacian == "normalized":  # (6)
        affinity = Y @ np.diag(w) @ Y.T
        degree = affinity.sum(axis=1)
        root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
        L, lam = np.eye(len(X)) - root[:, None] * affinity * root, 0.5
    A = K @ np.linalg.inv(np.eye(len(X)) + lam * L @ K)  # (27)
    model = HypergraphRankSVM(
        C, hypergraph_weight=lam, edge_weights=w, scale="literal", scaling="none", kernel=kernel, gamma=0.05,
        laplacian=laplacian, **TIGHT,
    )  # fmt: skip
    rows = K if kernel == "precomputed" else X
    model.fit(rows, Y)
    assert_allclose(model.rank_scores(rows), literal_kernel_scores(A, Y, C), atol=2e-5)
    if kernel == "linear":
        M = np.eye(X.shape[1]) + lam * X.T @ L @ X
        penalty = 0.5 * np.trace(model.coef_ @ M @ model.coef_.T) + 0.5 * model.intercept_ @ model.intercept_
        F = X @ model.coef_.T + model.intercept_
        loss = 0.0
        for f, y in zip(F, Y, strict=True):
            if 0 < y.sum() < len(y):
                loss += np.maximum(0, 1 - f[y == 1][:, None] + f[y == 0]).mean()
        assert_allclose(model.objective_, penalty + C * loss, rtol=1e-8)


def test_hypergraph_weight_0_is_rank_svm():
    X, Y = make(2)
    plain = RankSVM(3.0, **TIGHT).fit(X, Y)
    zero = HypergraphRankSVM(3.0, hypergraph_weight=0.0, **TIGHT).fit(X, Y)
    assert_array_equal(zero.coef_, plain.coef_)
    distance = [
        np.abs(HypergraphRankSVM(3.0, hypergraph_weight=h, **TIGHT).fit(X, Y).coef_ - plain.coef_).max()
        for h in (1e-1, 1e-3, 1e-6)
    ]
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 1e-5


def test_linear_kernel_equals_precomputed_gram():
    X, Y = make(3)
    linear = RankSVM(scaling="none", **TIGHT).fit(X, Y)
    gram = RankSVM(kernel="precomputed", **TIGHT).fit(X @ X.T, Y)
    assert_allclose(gram.rank_scores(X @ X.T), linear.rank_scores(X), atol=1e-5)
    with pytest.raises(ValueError, match="square"):
        RankSVM(kernel="precomputed").fit(X, Y)
    with pytest.raises(ValueError, match="positive semi-definite"):
        RankSVM(kernel="precomputed").fit(-X @ X.T, Y)


def test_two_classes_are_a_support_vector_machine():
    X, Y = make(4, n=80)
    y = Y[:, 0]
    # Two labels (on, off): the margin is w = w₁ − w₀ and ½‖w₀‖² + ½‖w₁‖² = ¼‖w‖², a binary SVM with cost 2C.
    model = RankSVM(0.7, scaling="none", **TIGHT).fit(X, y)
    twin = LinearSVC(C=2 * 0.7, loss="hinge", tol=1e-10, max_iter=2_000_000).fit(X, y)  # bias penalised too
    ours = model.decision_function(X)
    assert_allclose(ours, twin.decision_function(X), atol=1e-4)
    column = RankSVM(0.7, scaling="none", **TIGHT).fit(X, Y[:, [0]])
    assert_allclose(column.decision_function(X)[:, 0], ours)


@pytest.mark.parametrize(
    "model",
    [RankSVM(1.0, **TIGHT), HypergraphRankSVM(1.0, **TIGHT), RankSVM(1.0, kernel="rbf", **TIGHT)],
    ids=str,
)
def test_a_weight_is_a_repetition(model):
    X, Y = make(5)
    s = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), s)
    weighted = model.fit(X, Y, sample_weight=s).decision_function(X)
    assert_allclose(weighted, model.fit(X[rows], Y[rows]).decision_function(X), atol=1e-5)


def test_ranking_within_a_row_does_not_see_the_threshold():
    X, Y = make(7)
    model = RankSVM(random_state=0).fit(X, Y)
    f, scores = model.rank_scores(X), model.decision_function(X)
    assert_allclose(np.ptp(f - scores, axis=1), 0, atol=1e-12)
    h = X @ model.label_set_size_coef_ + model.label_set_size_intercept_
    assert_array_equal(f > h[:, None], model.predict(X) == 1)
    assert label_ranking_loss(Y[2:], f[2:]) < 0.25


def test_frank_wolfe_reaches_the_same_model():
    X, Y = make(8)
    slow = RankSVM(1.0, solver="frank-wolfe", tol=1e-3).fit(X, Y)
    fast = RankSVM(1.0, tol=1e-6, random_state=0).fit(X, Y)
    assert slow.dual_gap_ <= 1e-3
    assert_allclose(slow.objective_, fast.objective_, rtol=1e-3)


def test_unfinished_fits_name_their_gap():
    X, Y = make(9, n=200)
    with pytest.warns(ConvergenceWarning, match=r"gap of .*, above tol=1e-09: raise max_iter"):
        model = RankSVM(100.0, tol=1e-9, max_iter=2, random_state=0).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.dual_gap_ > 1e-9
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        RankSVM(100.0, scaling="none", max_iter=1, random_state=0).fit(X * 100, Y)


def test_trace_on_request():
    X, Y = make(10)
    model = RankSVM(solver_options={"trace": True}, tol=1e-5, random_state=0).fit(X, Y)
    assert model.trace_.shape == (model.n_iter_, 3)
    assert (model.trace_[:, 1] >= model.trace_[:, 2]).all()
    assert_allclose(model.trace_[-1, 1], model.objective_)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"C": 0}, "C must be a finite number above 0 or 'auto'"),
        ({"C": "large"}, "C must be a finite number above 0 or 'auto'"),
        ({"solver": "smo"}, "solver must be"),
        ({"solver_options": {"dual_dtype": "float16"}}, "dual_dtype must be"),
        ({"solver_options": {"speed": 9}}, "not speed"),
        ({"scaling": "robust"}, "scaling must be"),
        ({"hypergraph_weight": -1}, "of at least 0"),
        ({"scale": "none"}, "scale must be"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, says):
    X, Y = make(13)
    with pytest.raises(ValueError, match=says):
        HypergraphRankSVM(**parameters).fit(X, Y)


@pytest.mark.parametrize("kind", [RankSVM, HypergraphRankSVM])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_any_regressor_learns_the_set_size(kind, kernel):
    X, Y = make(20)
    weights = np.random.default_rng(0).integers(1, 3, len(X)).astype(float)
    plain = kind(2.0, kernel=kernel, random_state=0).fit(X, Y, weights)
    regressor = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = kind(2.0, kernel=kernel, set_size_regressor=regressor, random_state=0).fit(X, Y, weights)
    F = plain.rank_scores(X)
    assert_allclose(model.rank_scores(X), F)
    h = np.array([(min(f[y == 1], default=f.max() + 1) + max(f[y == 0], default=f.min() - 1)) / 2
                  for f, y in zip(F, Y, strict=True)])  # fmt: skip
    twin = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, h, sample_weight=weights)
    assert_allclose(model.decision_function(X), F - twin.predict(X)[:, None], atol=1e-9)
    with pytest.raises(ValueError, match="linear"):
        model._linear_map()

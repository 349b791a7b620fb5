"""Soft logistic regression: against a general optimiser."""

import numpy as np
import pytest
from scipy import optimize, sparse, special
from sklearn.datasets import make_multilabel_classification

from hyperlabel.solvers.margin.soft_logistic import _column_scale, solve_soft_logistic

X, Y = make_multilabel_classification(n_samples=150, n_features=8, n_classes=6, n_labels=2, random_state=0)


X = (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_soft_logistic_minimises_its_objective(container):
    rng = np.random.default_rng(0)
    H = rng.dirichlet(np.ones(3), size=len(X))
    found = solve_soft_logistic(container(X), H, alpha=2.0)
    assert found.converged

    def objective(flat):
        W, b = flat[:24].reshape(8, 3), flat[24:]
        return -np.sum(H * special.log_softmax(X @ W + b, axis=1)) + np.sum(W**2)

    best = optimize.minimize(objective, np.zeros(27), options={"maxiter": 400})
    ours = np.concatenate([found.coef.ravel(), found.intercept])  # columns of X have unit variance
    assert objective(ours) <= best.fun + 1e-6


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_soft_logistic_does_not_see_the_units_of_the_columns(container):
    """Weights are penalised in units of each column's spread, so the probabilities stay."""
    H = np.random.default_rng(0).dirichlet(np.ones(3), size=len(X))
    units = np.geomspace(0.01, 100.0, X.shape[1])
    plain, scaled = (solve_soft_logistic(container(A), H, alpha=2.0) for A in (X, X * units))
    np.testing.assert_allclose(scaled.coef * units[:, None], plain.coef, atol=1e-5)
    np.testing.assert_allclose(scaled.intercept, plain.intercept, atol=1e-5)


def test_columns_have_the_same_spread_dense_and_sparse():
    A = np.abs(X) + 3.0 * np.eye(1, X.shape[1])
    mean, std = _column_scale(sparse.csr_array(A))
    np.testing.assert_allclose(mean, A.mean(axis=0))
    np.testing.assert_allclose(std, A.std(axis=0))

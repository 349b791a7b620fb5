"""Linear support vector regression: against scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import LinearSVR

from hyperlabel.solvers.rank.svr import solve_svr


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_fit_has_the_objective_of_scikit_learns(container, epsilon):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    t = X @ rng.normal(size=5) + rng.normal(size=80) + 2.0

    def objective(w, b):
        return 0.5 * w @ w + 0.7 * np.sum(np.maximum(np.abs(t - X @ w - b) - epsilon, 0) ** 2)

    found = solve_svr(container(X), t, C=0.7, epsilon=epsilon)
    # scikit-learn penalises the intercept too, the less the larger the constant feature
    twin = LinearSVR(
        C=0.7, epsilon=epsilon, loss="squared_epsilon_insensitive", intercept_scaling=1e3, dual=False,
        tol=1e-10, max_iter=100_000,
    ).fit(X, t)  # fmt: skip
    assert_allclose(found.w, twin.coef_, atol=1e-4)
    assert objective(found.w, found.b) <= objective(twin.coef_, twin.intercept_[0]) + 1e-9

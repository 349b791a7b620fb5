"""The walk over all M against scoring each M on its own with the library's metrics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from hyperlabel import metrics
from hyperlabel.solvers.labels import nested_metric_path
from hyperlabel.solvers.labels.nested_metric_path import score_nested


@pytest.fixture(autouse=True, params=["numpy", "compiled"])
def way_to_score(request, monkeypatch):
    """Every test runs on both ways: few scores are ranked by NumPy, many are followed in compiled code."""
    if request.param == "compiled":
        monkeypatch.setattr(nested_metric_path, "FEW", 0)


DIRECT = {
    "ndcg": lambda Y, S, k: metrics.ndcg_at_k(Y, S, k=k),
    "precision": lambda Y, S, k: metrics.precision_at_k(Y, S, k=k),
    "f1_micro": lambda Y, S, k: metrics.f1_score(Y, (S > 0).astype(int), average="micro"),
    "hamming_loss": lambda Y, S, k: -metrics.hamming_loss(Y, (S > 0).astype(int)),
}


@pytest.mark.parametrize("metric", DIRECT)
@pytest.mark.parametrize("grid", [np.arange(1, 41), np.array([1, 2, 17, 18, 40]), np.array([30])])
def test_every_prefix_equals_its_own_score(metric, grid):
    rng = np.random.default_rng(0)
    n, K, M = 300, 70, 40
    Y = sparse.csr_array((rng.random((n, K)) < 0.05).astype(float))
    R, P, base = rng.normal(size=(n, M)), rng.normal(size=(M, K)) / 8, rng.normal(size=K) - 0.5
    found = score_nested(R, P, base, Y, grid, metric=metric, k=4)
    single = base.astype(np.float32) + np.zeros((n, K), np.float32)
    want = [
        DIRECT[metric](Y, single + R[:, :m].astype(np.float32) @ P[:m].astype(np.float32), 4) for m in grid
    ]
    assert_allclose(found, want, atol=2e-3)  # single precision: a rank may flip where scores nearly tie
    by_call = score_nested(R, P, base, Y, grid, metric=lambda Y, S: DIRECT[metric](Y, S, 4))
    assert_allclose(by_call, want, atol=2e-3)


def test_fewer_labels_than_k_and_rows_without_labels():
    Y = sparse.csr_array(np.array([[1.0, 0], [0, 0]]))
    found = score_nested(np.ones((2, 1)), np.array([[1.0, 0.0]]), np.zeros(2), Y, [1], k=5)
    assert_allclose(found, [0.5])  # the row without labels counts 0, as in the metrics


@pytest.mark.parametrize("metric", DIRECT)
@pytest.mark.parametrize("grid", [np.arange(1, 151), np.array([3, 4, 5, 60, 63, 150])])
def test_labels_ruled_out_by_their_bound_are_rightly_ruled_out(metric, grid):
    rng = np.random.default_rng(1)
    n, K, M = 300, 200, 150
    Y = sparse.csr_array((rng.random((n, K)) < 0.05).astype(float))
    # eighths and shrinking components: every sum is exact in single precision, and there are ties
    R = np.round(rng.normal(size=(n, M)) * 40 / (4 + np.arange(M))) / 8
    P, base = rng.integers(-4, 5, size=(M, K)) / 8, rng.integers(-40, 4, size=K) / 8
    found = score_nested(R, P, base, Y, grid, metric=metric, k=3)
    want = [DIRECT[metric](Y, base + R[:, :m] @ P[:m], 3) for m in grid]
    assert_allclose(found, want, rtol=1e-12)

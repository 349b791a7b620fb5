"""C='auto' of the rankers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import label_ranking_loss
from sklearn.metrics.pairwise import pairwise_kernels

from hyperlabel import HypergraphRankSVM, RankSVM
from hyperlabel.ranking._choose import GAIN, choose_C


def make(seed=0, n=60, d=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 2.0
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(int)
    Y[0], Y[1] = 0, 1
    return X, Y


def wordy(seed=0, n=240, k=20):
    """Rare labels with three words each among many others: C = 1 is far too careful for them."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, k), dtype=int)
    Y[np.arange(n), np.minimum(rng.geometric(0.12, n) - 1, k - 1)] = 1
    Y[np.arange(n), np.minimum(rng.geometric(0.12, n) - 1, k - 1)] = 1
    words = np.hstack([Y, Y, Y, np.zeros((n, 40))]) * (rng.random((n, 3 * k + 40)) < 0.6)
    return sparse.csr_array(words + (rng.random(words.shape) < 0.03)), Y


@pytest.mark.parametrize("kind", [RankSVM, HypergraphRankSVM])
def test_auto_takes_the_C_that_orders_held_out_labels_best(kind):
    X, Y = wordy()
    model = kind(random_state=0).fit(X[:160], Y[:160])
    assert model.C == "auto"
    assert model.C_ > 1
    assert model.dual_gap_ <= model.tol
    assert_array_equal(kind(random_state=0).fit(X[:160], Y[:160]).coef_, model.coef_)
    again = kind(model.C_, random_state=0).fit(X[:160], Y[:160])
    assert_allclose(again.objective_, model.objective_, rtol=2e-3)
    careful = kind(1.0, random_state=0).fit(X[:160], Y[:160])
    lost = [label_ranking_loss(Y[160:], m.rank_scores(X[160:])) for m in (model, careful)]
    assert lost[0] < lost[1]


def test_auto_walks_up_while_it_gains_and_down_if_it_does_not():
    X, Y = wordy()
    for rows in (X, sparse.csr_array(X.shape)):
        fit = RankSVM(random_state=0)._prepare(rows, Y, None)
        best, found = choose_C(fit)
        tried = sorted(found)
        assert found[best] >= max(found.values()) - GAIN * len(found)
        assert best in (1.0, tried[-2], tried[1])
        assert (0.25 in found) == (best <= 1.0)
    assert best == 1.0  # nothing to learn from empty rows


def test_auto_says_so_where_it_must_stop(monkeypatch):
    monkeypatch.setattr("hyperlabel.ranking._choose.LARGEST", 4.0)
    X, Y = wordy()
    with pytest.warns(UserWarning, match="chose 4, the last it tries"):
        model = RankSVM(random_state=0).fit(X, Y)
    assert model.C_ == 4.0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("many", [1000, 50])
def test_auto_serves_every_kernel_weights_and_kind_of_target(kernel, many, monkeypatch):
    monkeypatch.setattr("hyperlabel.ranking._choose.MANY", many)  # three folds, or one fifth
    X, Y = make(3, n=80)
    rows = pairwise_kernels(X / 20, metric="linear") if kernel == "precomputed" else X
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    for target in (Y, Y[:, 0], Y[:, [2]], Y.argmax(axis=1)):
        model = RankSVM(kernel=kernel, tol=1e-2, random_state=0).fit(rows, target, sample_weight=weights)
        assert model.C_ in 4.0 ** np.arange(-4, 8)
        assert model.dual_gap_ <= 1e-2
    assert RankSVM(kernel=kernel).fit(rows[:9, : 9 if kernel == "precomputed" else None], Y[:9]).C_ == 1.0

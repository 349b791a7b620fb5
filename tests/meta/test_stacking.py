"""Stacked weights: the minimum a grid finds, the limits of preferring equal ones, unknown labels."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit, log_expit
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import KFold

from hyperlabel import AutoMultiLabel, explain
from hyperlabel.meta.stacking import PRIOR_ROWS, stack_weights


def draw(seed=0, n=150, noise=(1.0, 1.5, 4.0)):
    """Log-odds of three members of unequal worth, and labels drawn from the true ones."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-1.0, 2.0, size=(n, 4))
    members = [truth + std * rng.normal(size=truth.shape) for std in noise]
    return members, (rng.random(truth.shape) < expit(truth)).astype(float)


def log_loss_of(weights, members, Y):
    blended = np.tensordot(weights, np.array(members), axes=1)
    return -np.where(Y > 0, log_expit(blended), log_expit(-blended)).sum()


@pytest.mark.parametrize("prior_rows", [0.0, PRIOR_ROWS, 300.0])
def test_no_point_of_a_grid_is_better(prior_rows):
    members, Y = draw()
    prior = np.array([0.0, 0.5, 0.5])

    def objective(weights):
        return log_loss_of(weights, members, Y) + prior_rows * np.square(weights - prior).sum()

    weights = stack_weights(members, sparse.csr_array(Y), prior, prior_rows=prior_rows)
    grid = [(a, b, 1 - a - b) for a, b in product(np.linspace(0, 1, 51), repeat=2) if a + b <= 1]
    assert_allclose(weights.sum(), 1.0)
    assert (weights >= 0).all()
    assert objective(weights) <= min(objective(np.array(point)) for point in grid) + 0.01
    assert objective(weights) < objective(prior) - 0.1


EQUAL = np.full(3, 1 / 3)


def test_few_samples_stay_near_the_prior_and_many_do_not():
    members, Y = draw(n=1000)
    few = stack_weights([member[:5] for member in members], sparse.csr_array(Y[:5]), EQUAL)
    many = stack_weights(members, sparse.csr_array(Y), EQUAL)
    assert abs(few - 1 / 3).max() < 0.25 < abs(many - 1 / 3).max()
    assert many[2] < 0.05 < many[1] < many[0]
    assert_allclose(stack_weights(members, sparse.csr_array(Y), EQUAL, prior_rows=1e9), 1 / 3, atol=1e-3)
    assert_allclose(stack_weights(members[:1], sparse.csr_array(Y), EQUAL[:1]), [1.0])


def test_entries_that_nobody_knows_have_no_part():
    members, Y = draw()
    Y[100:] = np.nan
    known = stack_weights([member[:100] for member in members], sparse.csr_array(Y[:100]), EQUAL)
    assert_allclose(stack_weights(members, sparse.csr_array(Y), EQUAL), known, atol=1e-4)


def test_on_new_samples_it_is_no_worse_than_its_best_member():
    gains = []
    for seed in range(12):
        members, Y = draw(seed, n=400)
        weights = stack_weights([member[:200] for member in members], sparse.csr_array(Y[:200]), EQUAL)
        fresh = [member[200:] for member in members], Y[200:]
        best_alone = min(log_loss_of(one, *fresh) for one in np.eye(3))
        gains.append((best_alone - log_loss_of(weights, *fresh)) / 200)
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains))


def test_a_stacked_blend_of_linear_methods_is_still_explained_by_its_features():
    X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    model = AutoMultiLabel("ndcg_at_3", methods=["ridge", "plst", "spectral"], cv=KFold(3)).fit(X, Y)
    weights = model.leaderboard_[0]["weights"]
    assert len(set(weights)) == len(weights) > 1  # stacked, so not equal
    (label_explanation,) = explain(model, X[:1], labels=[0], top=30)
    total = label_explanation.base + sum(part.share for part in label_explanation.features)
    assert_allclose(total, label_explanation.score)
    assert_allclose(label_explanation.score, model.decision_function(X[:1])[0, 0])

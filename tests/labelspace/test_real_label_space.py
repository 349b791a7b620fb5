"""On real files: the paper's order of methods, its Hamming losses, and the chosen dimension."""

import numpy as np
import pytest

from hyperlabel import PLST, CompressedSensing, PartialBinaryRelevance
from hyperlabel.metrics import hamming_loss, ndcg_at_k

# M*, Hamming loss of PLST(M*) and CS(M*) with λ = 0.01 on 90/10 splits (Tai & Lin 2012, Table 3, and our
# own textbook run), with a margin for five partitions
FIGURES = {"emotions": (2, 0.2139, 0.303, 0.03), "yeast": (4, 0.2060, 0.300, 0.02)}


def _partitions(data, n_splits=5):
    n = data.X.shape[0]
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n)
        yield order[: n * 9 // 10], order[n * 9 // 10 :]


@pytest.mark.real_data
@pytest.mark.parametrize("name", FIGURES)
def test_losses_and_order_are_the_papers(load_real, name):
    data = load_real(name)
    M, plst, cs, margin = FIGURES[name]
    models = [PLST(M, alpha=0.01), PartialBinaryRelevance(M, alpha=0.01), CompressedSensing(M, alpha=0.01)]
    losses = np.array(
        [
            [
                hamming_loss(data.Y[test], m.fit(data.X[train], data.Y[train]).predict(data.X[test]))
                for m in models
            ]
            for train, test in _partitions(data)
        ]
    ).mean(axis=0)
    assert (np.diff(losses) > 0).all()
    assert abs(losses[0] - plst) < margin
    assert abs(losses[2] - cs) < 2 * margin  # other random codes in each implementation


@pytest.mark.real_data
def test_chosen_dimension_is_near_the_best_fixed_one(load_real):
    data = load_real("yeast")
    chosen, every = [], []
    for train, test in _partitions(data):
        auto = PLST(alpha=0.01).fit(data.X[train], data.Y[train])
        chosen.append(ndcg_at_k(data.Y[test], auto.decision_function(data.X[test]), k=5))
        models = (PLST(M, alpha=0.01).fit(data.X[train], data.Y[train]) for M in range(1, 15))
        every.append([ndcg_at_k(data.Y[test], m.decision_function(data.X[test]), k=5) for m in models])
    assert np.mean(chosen) > 0.99 * np.mean(every, axis=0).max()

"""Labels with gaps, weights of entries and shares: rules are fitted label by label on what is known."""

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.decision import (
    Sigmoid,
    best_k,
    global_threshold,
    per_label_thresholds,
    proportional_thresholds,
)
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.decision.label_set_size import set_size_targets
from hyperlabel.decision.strategies import STRATEGIES, OutOfFold

RULES = [name for name, strategy in STRATEGIES.items() if not strategy.guarantees]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 5))
    labels = (scores + rng.normal(size=scores.shape) > [0, 0.4, 0.8, 1.2, 1.5]).astype(float)
    known = rng.random(scores.shape) < 0.7
    return scores, np.where(known, labels, np.nan), known, rng.normal(size=(200, 3))


def column(values):
    return sparse.csr_array(values[:, None])


def fitted(name, scores, labels, X):
    """All numbers that a strategy fits."""
    attributes = STRATEGIES[name]().fit(OutOfFold(scores, sparse.csr_array(labels), X=X))
    parts = []
    for value in attributes.values():
        parts += [value] if np.ndim(value) or np.isscalar(value) else list(vars(value).values())
    return [np.asarray(part, dtype=float) for part in parts if np.asarray(part).dtype.kind in "if"]


@pytest.mark.parametrize("scoring", ["f1_macro", "hamming_loss"])
def test_thresholds_of_a_label_are_those_of_its_known_rows(data, scoring):
    scores, labels, known, _ = data
    found = per_label_thresholds(scores, sparse.csr_array(labels), scoring=scoring, shrinkage=0.0)
    proportional = proportional_thresholds(scores, sparse.csr_array(labels))
    for j in range(5):
        rows = known[:, j]
        alone = column(scores[rows, j]).toarray(), column(labels[rows, j])
        expected = per_label_thresholds(*alone, scoring=scoring, shrinkage=0.0).thresholds
        assert found.thresholds[j] == expected[0]
        assert proportional[j] == proportional_thresholds(*alone)[0]


@pytest.mark.parametrize("scoring", ["f1_micro", "hamming_loss"])
def test_pooled_thresholds_are_those_of_the_known_entries(data, scoring):
    scores, labels, known, _ = data
    found = global_threshold(scores, sparse.csr_array(labels), scoring=scoring)
    alone = global_threshold(scores[known][:, None], column(labels[known]), scoring=scoring)
    assert (found.shared, found.value) == (alone.shared, pytest.approx(alone.value))


@pytest.mark.parametrize("name", RULES)
def test_scores_of_unknown_entries_change_no_bit(data, name):
    scores, labels, known, X = data
    other = np.where(known, scores, np.random.default_rng(1).normal(size=scores.shape))
    for before, after in zip(fitted(name, scores, labels, X), fitted(name, other, labels, X), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", RULES)
def test_a_row_without_a_known_label_changes_no_bit(data, name):
    scores, labels, _, X = data
    more = [np.insert(a, 3, filler, axis=0) for a, filler in ((scores, 9.0), (labels, np.nan), (X, 50.0))]
    for before, after in zip(fitted(name, scores, labels, X), fitted(name, *more), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["per_label", "proportional", "expected_f1"])
def test_permuted_labels_permute_what_is_fitted(data, name):
    scores, labels, _, X = data
    order = np.random.default_rng(2).permutation(5)
    moved = fitted(name, scores[:, order], labels[:, order], X)
    for before, after in zip(fitted(name, scores, labels, X), moved, strict=True):
        np.testing.assert_array_equal(before[order], after)


@pytest.mark.parametrize("method", ["auto", "sigmoid", "beta", "isotonic"])
def test_calibrators_of_a_label_are_those_of_its_known_rows(data, method):
    scores, labels, known, _ = data
    curves = Calibrators.fit(scores, sparse.csr_array(labels), method=method)
    other = np.where(known, scores, 7.0)
    again = Calibrators.fit(other, sparse.csr_array(labels), method=method)
    np.testing.assert_array_equal(curves.probabilities(scores), again.probabilities(scores))
    if method == "sigmoid":
        for j in range(5):
            alone = Sigmoid.fit(column(scores[known[:, j], j]).toarray(), column(labels[known[:, j], j]))
            assert curves.sigmoid.slope[j] == alone.slope[0]
            assert curves.sigmoid.intercept[j] == alone.intercept[0]


def test_a_label_that_nobody_knows_has_the_mean_probability_and_moves_no_other(data):
    scores, labels, _, _ = data
    labels, scores = np.insert(labels, 2, np.nan, axis=1), np.insert(scores, 2, 0.3, axis=1)
    p = Calibrators.fit(scores, sparse.csr_array(labels)).probabilities(scores)
    rest = np.delete(scores, 2, axis=1)
    alone = Calibrators.fit(rest, sparse.csr_array(np.delete(labels, 2, axis=1))).probabilities(rest)
    np.testing.assert_array_equal(np.delete(p, 2, axis=1), alone)
    np.testing.assert_allclose(p[:, 2], np.nanmean(np.delete(labels, 2, axis=1), axis=0).mean())


def test_a_weight_for_each_entry_weighs_each_label_alone(data):
    scores, labels, _, _ = data
    labels = np.nan_to_num(labels)
    weights = np.random.default_rng(3).integers(0, 3, size=scores.shape).astype(float)
    found = per_label_thresholds(scores, sparse.csr_array(labels), shrinkage=0.0, sample_weight=weights)
    sigmoid = Sigmoid.fit(scores, sparse.csr_array(labels), weights)
    for j in range(5):
        copies = np.repeat(np.arange(200), weights[:, j].astype(int))
        alone = column(scores[copies, j]).toarray(), column(labels[copies, j])
        assert found.thresholds[j] == per_label_thresholds(*alone, shrinkage=0.0).thresholds[0]
        assert sigmoid.slope[j] == pytest.approx(Sigmoid.fit(*alone).slope[0], rel=1e-4)
    with pytest.raises(ValueError, match="one weight for each row"):
        best_k(scores, sparse.csr_array(labels), sample_weight=weights)


def test_shares_are_hard_for_thresholds_and_weights_for_probabilities(data):
    scores, labels, _, _ = data
    hard = np.nan_to_num(labels)
    shares = np.where(hard > 0, 0.8, 0.3)
    soft = per_label_thresholds(scores, sparse.csr_array(shares)).thresholds
    np.testing.assert_array_equal(soft, per_label_thresholds(scores, sparse.csr_array(hard)).thresholds)
    twice = np.vstack([scores, scores])
    on_off = np.vstack([np.ones_like(hard), np.zeros_like(hard)])
    weights = np.vstack([shares, 1 - shares])
    expected = Sigmoid.fit(twice, sparse.csr_array(on_off), weights)
    np.testing.assert_allclose(Sigmoid.fit(scores, sparse.csr_array(shares)).slope, expected.slope, rtol=1e-5)


def test_set_sizes_lie_between_known_labels():
    scores = np.array([[3.0, 2.0, 1.0, 0.0]] * 2)
    targets = set_size_targets(scores, np.array([[1, np.nan, np.nan, 0], [np.nan] * 4]))
    np.testing.assert_array_equal(targets, [1.5, np.nan])


def test_guarantees_need_every_label(data):
    scores, labels, _, X = data
    with pytest.raises(ValueError, match="'precision_at_least' counts rows .* needs every label known"):
        fitted("precision_at_least", scores, labels, X)

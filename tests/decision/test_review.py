"""The order in which a person should check answers."""

from __future__ import annotations

import numpy as np

from hyperlabel.decision.review import review_gains, review_order


def expected_f1(p, sets):
    return 2 * p[sets].sum() / (sets.sum() + p.sum())


def test_a_gain_is_the_expected_change_of_f1_to_first_order():
    rng = np.random.default_rng(0)
    p = rng.random((300, 5))
    sets = p > 0.4
    gains = review_gains(p, sets)
    now = expected_f1(p, sets)
    for i, j in [(0, 0), (1, 3), (2, 2), (3, 4)]:
        value = 0.0
        for truth, chance in ((True, p[i, j]), (False, 1 - p[i, j])):
            q, s = p.copy(), sets.copy()
            q[i, j], s[i, j] = truth, truth
            value += chance * expected_f1(q, s)
        assert abs(gains[i, j] - (value - now)) < 0.02 * gains.max()


def test_sure_entries_are_not_asked_and_groups_stay_together():
    gains = np.array([[0.5, 0.1], [0.4, 0.0], [0.3, 0.2]])
    np.testing.assert_array_equal(review_order(gains), [0, 2, 4, 5, 1])
    np.testing.assert_array_equal(review_order(gains, np.array(["a", "b", "a"])), [0, 4, 5, 1, 2])
    p, sets = np.array([[0.6, 0.2]]), np.array([[True, False]])
    assert review_gains(p, sets, sets)[0, 0] == 0
    assert review_order(review_gains(p, sets, sets)).tolist() == [1]


def test_a_predicted_label_seen_on_few_rows_is_checked_before_one_seen_on_many():
    p, sets = np.array([[0.9, 0.9, 0.1, 0.1]]), np.array([[True, True, False, False]])
    gains = review_gains(p, sets, positives=np.array([500.0, 4.0, 500.0, 4.0]))
    assert gains[0, 1] > 3 * gains[0, 0]
    assert gains[0, 2] == gains[0, 3]
    np.testing.assert_allclose(gains, review_gains(p * [[500 / 502, 4 / 6, 1, 1]], sets))


def test_gains_of_a_budget_foresee_what_checking_it_finds_and_takes_away():
    rng = np.random.default_rng(3)
    p, budget = rng.random((40, 5)), 30
    sets = p > 0.6
    gains = review_gains(p, sets, budget=budget)
    checked = gains >= np.sort(gains.ravel())[-budget]
    right = p[sets].sum() + p[checked & ~sets].sum()
    size = sets.sum() + p.sum()
    predicted = size + p[checked & ~sets].sum() - (1 - p)[checked & sets].sum()
    F = 2 * right / predicted
    assert checked.sum() == budget
    np.testing.assert_allclose(gains * size, np.where(sets, (1 - p) * F, p * (2 - F)), rtol=1e-12)

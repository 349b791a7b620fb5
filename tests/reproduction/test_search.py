"""Grids that grow while the chosen value lies on their edge."""

from __future__ import annotations

import pytest
from sklearn.datasets import make_multilabel_classification

from hyperlabel import BinaryRelevance
from reproduction.search import MAX_ADDED_VALUES, next_value, search_grid


def search(best_alpha, widen):
    """Search alpha = 1, 10 where the best alpha is known."""
    X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)

    def closeness(model, *_):
        return -abs(model.alpha - best_alpha)

    return search_grid(BinaryRelevance(), {"alpha": [1.0, 10.0]}, X, Y, closeness, 2, 0, widen=widen)


def test_a_grid_is_widened_until_the_choice_lies_inside():
    search_result = search(90.0, ["alpha"])
    assert search_result.best == {"alpha": 100.0}
    assert search_result.grid == {"alpha": [1.0, 10.0, 100.0, 1000.0]}


def test_a_grid_grows_by_a_few_values_at_most():
    search_result = search(0.0, ["alpha"])
    assert len(search_result.grid["alpha"]) == 2 + MAX_ADDED_VALUES
    assert search_result.best["alpha"] == min(search_result.grid["alpha"])


def test_a_grid_that_is_not_to_be_widened_stays():
    search_result = search(90.0, [])
    assert (search_result.best, search_result.grid) == ({"alpha": 10.0}, {"alpha": [1.0, 10.0]})


@pytest.mark.parametrize(
    ("values", "chosen", "expected"),
    [
        ([1.0, 2.0, 8.0], 8.0, 32.0),
        ([1.0, 2.0, 8.0], 1.0, 0.5),
        ([1.0, 2.0, 8.0], 2.0, None),
        ([0.0, 3.0], 3.0, 30.0),
        ([0.0, 3.0], 0.0, None),
        ([5.0], 5.0, None),
    ],
)
def test_the_next_value_continues_the_ratio_of_the_last_two(values, chosen, expected):
    assert next_value(values, chosen) == expected

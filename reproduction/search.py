"""Grid search whose grid grows while the chosen value lies on its edge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from hyperlabel.apps.comparison.protocol import mean_score
from hyperlabel.model_selection import IterativeStratifiedKFold

# A grid grows by this many values at most.
MAX_ADDED_VALUES = 3


@dataclass(frozen=True)
class GridSearch:
    """The chosen parameters, and the grid the search ended with."""

    best: dict[str, Any]
    grid: dict[str, list[Any]]


def search_grid(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    X: Any,
    Y: Any,
    scoring: Any,
    folds: int,
    seed: int,
    widen: Sequence[str] = (),
) -> GridSearch:
    """Cross-validate every choice of the grid; the parameters in `widen` go on past an edge that was chosen.

    The next value continues the ratio of the last two. The search ends when every choice lies inside its
    grid or a grid has grown by `MAX_ADDED_VALUES`. A choice on an edge says nothing about what lies beyond.
    """
    cv = list(IterativeStratifiedKFold(folds, shuffle=True, random_state=seed).split(X, Y))
    wide_grid = {name: list(values) for name, values in grid.items()}
    mean_scores: dict[str, float] = {}  # by the text of the choice
    for step in range(MAX_ADDED_VALUES + 1):
        choices = list(ParameterGrid(wide_grid))
        for choice in choices:
            if repr(choice) not in mean_scores:
                mean_scores[repr(choice)] = mean_score(model, choice, X, Y, scoring, cv)
        best = choices[int(np.nanargmax([mean_scores[repr(choice)] for choice in choices]))]
        next_values = {name: next_value(wide_grid[name], best[name]) for name in widen}
        if step == MAX_ADDED_VALUES or all(value is None for value in next_values.values()):
            break
        wide_grid |= {
            name: sorted([*wide_grid[name], value])
            for name, value in next_values.items()
            if value is not None
        }
    return GridSearch(best, wide_grid)


def next_value(values: Sequence[float], chosen: float) -> float | None:
    """Return the value past the edge that was chosen; None inside, and at 0, where a parameter ends."""
    lowest, highest = sorted(values)[:2], sorted(values)[-2:]
    if len(values) < 2 or not chosen or chosen not in (lowest[0], highest[1]):
        return None
    edge, neighbour = (lowest[0], lowest[1]) if chosen == lowest[0] else (highest[1], highest[0])
    return float(edge * edge / neighbour if neighbour else 10 * edge)

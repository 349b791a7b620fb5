"""For tests and for the examples in docstrings and pages: none leaves anything behind for the next."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def _registered_names_are_forgotten() -> Iterator[None]:
    """Measures and strategies that an example registers would appear in the tables of all later ones."""
    from hyperlabel.decision import strategies
    from hyperlabel.metrics import measures

    registries = measures._MEASURES, measures._ALIASES, strategies.STRATEGIES
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)

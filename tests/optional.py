"""Optional packages for tests: the module where it is installed; else whatever uses it skips and says so."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

# pytest and its plugins look at every name of a module; that is no use of it.
_ASKED_BY_PYTEST = ("pytestmark", "is_hypothesis_test", "hypothesis", "place_as")


class _Missing:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_") or attribute in _ASKED_BY_PYTEST:
            raise AttributeError(attribute)
        pytest.skip(f"needs {self._name}, which is not installed", allow_module_level=True)


def optional(name: str) -> Any:
    """Return a module (importing the submodule named after a dot), or a stand-in that skips when used."""
    try:
        importlib.import_module(name)
        return importlib.import_module(name.split(".")[0])
    except ModuleNotFoundError:
        return _Missing(name.split(".")[0])

"""The one table of estimator instances: both test batteries run over it; join by one line."""

from __future__ import annotations

from typing import Any

CLASSIFIERS: list[Any] = []

TRANSFORMERS: list[Any] = []

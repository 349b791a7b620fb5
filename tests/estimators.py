"""The one table of estimator instances: both test batteries run over it; join by one line."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from hyperlabel import BinaryRelevance

CLASSIFIERS: list[Any] = [
    BinaryRelevance(),
    BinaryRelevance(LogisticRegression()),
    BinaryRelevance(DecisionTreeClassifier(random_state=0)),
]

TRANSFORMERS: list[Any] = []

# How far results may move when the same problem is posed in another order: the default is the
# rounding of a direct solve; iterative solvers state their own tolerance, with the reason.
LOOSER: dict[str, float] = {}

# Properties that cannot hold for an estimator, by class name, with the reason.
NOT_LABEL_EQUIVARIANT: dict[str, str] = {}
NOT_ROW_EQUIVARIANT: dict[str, str] = {
    "DecisionTreeClassifier": "equal splits are broken by row order",
}

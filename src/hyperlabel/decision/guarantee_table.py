"""The table of guarantees: what each label can be guaranteed, in other labels too, and what it decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Guarantees:
    """What each label can be guaranteed; iterate for one dict a label.

    Parameters
    ----------
    kind : {"precision", "recall"}
        What is guaranteed.
    target : float
        How much of it.
    confidence : float or None
        Of a precision; a recall holds in expectation.
    error_control : {"per_label", "fdr", "overall"}
        What the confidence is about; with ``"overall"`` the table has one line for all labels.
    thresholds : ndarray of shape (n_labels,)
        Predict where score > threshold; inf where nothing can be guaranteed.
    bound : ndarray of shape (n_lines,)
        The precision (recall) that the rows behind the threshold bear out; NaN where there is no guarantee.
    found, right, positives : ndarray of shape (n_lines,)
        Calibration rows above the threshold, those of them with the label, and rows with the label at all;
        counted in groups where rows come in groups.
    more : ndarray of shape (n_lines,)
        Positive rows needed besides those given, 0 where guaranteed, inf where more rows alone will not do.
    names : list of str
        Of the lines.
    basis : str
        ``"split"`` (proven), ``"cross-fitted"`` (measured) or ``"updated"`` (rows have come or gone since).
    slope, most : ndarray of shape (n_labels,), int
        Of ``"overall"``: a row with more than `most` labels above their thresholds keeps those of greatest
        slope·(score − threshold).

    Examples
    --------
    >>> half, none = np.array([0.5]), np.zeros(1)
    >>> kept = Guarantees("recall", 0.9, None, "per_label", half, half, none, none, none, none, ["a"])
    >>> kept.decide(np.array([[0.4], [0.6]])).ravel()
    array([False,  True])
    """

    kind: str
    target: float
    confidence: float | None
    error_control: str
    thresholds: np.ndarray
    bound: np.ndarray
    found: np.ndarray
    right: np.ndarray
    positives: np.ndarray
    more: np.ndarray
    names: list[str]
    basis: str = "split"
    slope: np.ndarray | None = None
    most: int | None = None

    @classmethod
    def of_lines(
        cls, kind: str, target: float, confidence: float | None, error_control: str, lines: Any, names: Any
    ) -> Guarantees:
        """Build the table from one (threshold, bound, found, right, positives, more) for each label."""
        columns: Any = np.array(lines, dtype=np.float64).reshape(-1, 6).T
        named = [str(j) for j in range(len(lines))] if names is None else list(names)
        return cls(kind, target, confidence, error_control, *(*columns, named))

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.names)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the lines of the table as dicts."""
        for j, name in enumerate(self.names):
            kept, said = not np.isnan(self.bound[j]), f"{self.kind} at least {self.target:g}"
            if not kept:
                few = f"about {self.more[j]:.0f} more positive rows needed"
                said = f"no guarantee: {'more rows alone will not do' if np.isinf(self.more[j]) else few}"
            yield {
                "label": name,
                "guarantee": said,
                "guaranteed": kept,
                "threshold": float(self.thresholds[j]) if len(self.names) == len(self.thresholds) else None,
                "bound": float(self.bound[j]),
                "rows": int(self.found[j]),
                "right": int(self.right[j]),
                "positives": int(self.positives[j]),
                "more_positives": float(self.more[j]),
            }

    @property
    def recall(self) -> np.ndarray:
        """Share of the positives that is found, by line; 0 where there are none."""
        shape = np.zeros(len(self.names))
        return np.divide(self.right, self.positives, out=shape, where=self.positives > 0)

    def widened(self, constant: np.ndarray, n: int, names: list[str]) -> Guarantees:
        """Return the guarantees of all labels, given those of the labels that vary in n rows.

        `constant` is -1 for a label never on, +1 for one always on.
        """
        always, varies = constant > 0, constant == 0
        sure = n / (n + 1) if self.confidence is None else (1 - self.confidence) ** (1 / n)
        count = np.where(always, n, 0)
        return self._placed(
            np.where(varies, np.cumsum(varies) - 1, -1),
            names,
            thresholds=np.where(always, -np.inf, np.inf),
            slope=np.where(always, np.inf, 0.0),
            bound=np.where(always, sure, np.nan),
            **dict.fromkeys(("found", "right", "positives"), count),
            more=np.where(always, 0, self._least()),
        )

    def relabelled(self, before: list[str], after: list[str]) -> Guarantees:
        """Return the guarantees of other labels: those of a label that stays, none for a new one."""
        place = {name: j for j, name in enumerate(before)}
        old = np.array([place.get(name, -1) for name in after], dtype=np.int64)
        none = dict.fromkeys(("slope", "found", "right", "positives"), 0.0)
        return self._placed(old, after, thresholds=np.inf, bound=np.nan, more=self._least(), **none)

    def _least(self) -> float:
        """Return how many rows, all of them right, it takes for a guarantee."""
        if self.confidence is None:
            return float(np.ceil(1 / (1 - self.target) - 1 - 1e-9))
        return rows_needed(self.target, self.confidence)

    def _placed(self, old: np.ndarray, names: list[str], **new: Any) -> Guarantees:
        """Return the guarantees of labels that had the numbers `old`; those of -1 get what is `new`."""
        if self.error_control == "overall":  # one line, whatever the labels
            new, names = {name: new[name] for name in ("thresholds", "slope")}, self.names
        parts = {name: getattr(self, name) for name in new if getattr(self, name) is not None}
        for name, values in parts.items():
            kept = values[old] if len(values) else np.zeros(len(old))
            parts[name] = np.where(old >= 0, kept, new[name])
        return replace(self, names=names, **parts)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Return which labels the guarantee predicts, n×k."""
        sets = scores > self.thresholds
        if self.most is None or self.slope is None:
            return sets
        rows = np.flatnonzero(sets.sum(axis=1) > self.most)
        if len(rows):
            with np.errstate(invalid="ignore"):  # a threshold at inf with a slope of 0
                margin = np.where(sets[rows], self.slope * (scores[rows] - self.thresholds), -np.inf)
            order = np.argsort(-margin, axis=1, kind="stable")[:, : self.most]
            kept = np.zeros((len(rows), sets.shape[1]), dtype=bool)
            np.put_along_axis(kept, order, True, axis=1)
            sets[rows] &= kept
        return sets


def rows_needed(precision: float, confidence: float) -> int:
    """Return how many rows, all of them right, it takes to guarantee a precision: ⌈ln δ / ln p⌉."""
    return int(np.ceil(np.log1p(-confidence) / np.log(precision) - 1e-9))

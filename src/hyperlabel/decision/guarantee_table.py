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
    instead : list of str or None, default=None
        With a tree of labels: the nearest ancestor with a guarantee, where a label has none.
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
    instead: list[str | None] | None = None

    @classmethod
    def of_lines(
        cls,
        kind: str,
        target: float,
        confidence: float | None,
        error_control: str,
        rows: Any,
        names: Any,
    ) -> Guarantees:
        """Build the table from one (threshold, bound, found, right, positives, more) for each label."""
        table_columns: Any = np.array(rows, dtype=np.float64).reshape(-1, 6).T
        line_names = [str(j) for j in range(len(rows))] if names is None else list(names)
        return cls(kind, target, confidence, error_control, *(*table_columns, line_names))

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.names)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the lines of the table as dicts."""
        for j, name in enumerate(self.names):
            is_guaranteed = not np.isnan(self.bound[j])
            guarantee_text = f"{self.kind} at least {self.target:g}"
            if not is_guaranteed:
                rows_needed_text = f"about {self.more[j]:.0f} more positive rows needed"
                is_hopeless = np.isinf(self.more[j])
                reason = "more rows alone will not do" if is_hopeless else rows_needed_text
                guarantee_text = f"no guarantee: {reason}"
            line = {
                "label": name,
                "guarantee": guarantee_text,
                "guaranteed": is_guaranteed,
                "threshold": float(self.thresholds[j]) if len(self.names) == len(self.thresholds) else None,
                "bound": float(self.bound[j]),
                "rows": int(self.found[j]),
                "right": int(self.right[j]),
                "positives": int(self.positives[j]),
                "more_positives": float(self.more[j]),
            }
            yield line if self.instead is None else line | {"instead": self.instead[j]}

    @property
    def recall(self) -> np.ndarray:
        """Return the share of the positives that is predicted, by line; 0 where there are none."""
        zero_recall = np.zeros(len(self.names))
        return np.divide(self.right, self.positives, out=zero_recall, where=self.positives > 0)

    def widened(self, constant: np.ndarray, n: int, names: list[str]) -> Guarantees:
        """Return the guarantees of all labels, given those of the labels that vary in n rows.

        `constant` is -1 for a label never on, +1 for one always on.
        """
        is_always, is_varying = constant > 0, constant == 0
        constant_bound = n / (n + 1) if self.confidence is None else (1 - self.confidence) ** (1 / n)
        row_count = np.where(is_always, n, 0)
        return self._placed(
            np.where(is_varying, np.cumsum(is_varying) - 1, -1),
            names,
            thresholds=np.where(is_always, -np.inf, np.inf),
            slope=np.where(is_always, np.inf, 0.0),
            bound=np.where(is_always, constant_bound, np.nan),
            **dict.fromkeys(("found", "right", "positives"), row_count),
            more=np.where(is_always, 0, self._least()),
        )

    def relabelled(self, old_names: list[str], new_names: list[str]) -> Guarantees:
        """Return the guarantees of other labels: those of a label that stays, none for a new one."""
        number_of_name = {name: j for j, name in enumerate(old_names)}
        old_number = np.array([number_of_name.get(name, -1) for name in new_names], dtype=np.int64)
        zero_columns = dict.fromkeys(("slope", "found", "right", "positives"), 0.0)
        return self._placed(
            old_number, new_names, thresholds=np.inf, bound=np.nan, more=self._least(), **zero_columns
        )

    def _least(self) -> float:
        """Return how many rows, all of them right, it takes for a guarantee."""
        if self.confidence is None:
            return float(np.ceil(1 / (1 - self.target) - 1 - 1e-9))
        return rows_needed(self.target, self.confidence)

    def _placed(self, old: np.ndarray, names: list[str], **new: Any) -> Guarantees:
        """Return the guarantees of labels that had the numbers `old`; those of -1 get what is `new`."""
        if self.error_control == "overall":  # one line, whatever the labels
            new, names = {name: new[name] for name in ("thresholds", "slope")}, self.names
        column_values = {name: getattr(self, name) for name in new if getattr(self, name) is not None}
        for name, values in column_values.items():
            old_values = values[old] if len(values) else np.zeros(len(old))
            column_values[name] = np.where(old >= 0, old_values, new[name])
        return replace(self, names=names, instead=None, **column_values)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Return which labels the guarantee predicts, n×k."""
        label_sets = scores > self.thresholds
        if self.most is None or self.slope is None:
            return label_sets
        crowded_rows = np.flatnonzero(label_sets.sum(axis=1) > self.most)
        if len(crowded_rows):
            with np.errstate(invalid="ignore"):  # a threshold at inf with a slope of 0
                margin = np.where(
                    label_sets[crowded_rows], self.slope * (scores[crowded_rows] - self.thresholds), -np.inf
                )
            label_order = np.argsort(-margin, axis=1, kind="stable")[:, : self.most]
            is_kept = np.zeros((len(crowded_rows), label_sets.shape[1]), dtype=bool)
            np.put_along_axis(is_kept, label_order, True, axis=1)
            label_sets[crowded_rows] &= is_kept
        return label_sets


def rows_needed(precision: float, confidence: float) -> int:
    """Return how many rows, all of them right, it takes to guarantee a precision: ⌈ln δ / ln p⌉."""
    return int(np.ceil(np.log1p(-confidence) / np.log(precision) - 1e-9))

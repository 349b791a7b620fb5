"""Figures of labels: bars of their scores, co-occurrence, spectrum, rows coloured by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hyperlabel.apps.comparison.data_profile import label_cooccurrence, similarity_spectrum
from hyperlabel.apps.comparison.protocol import label_score_counts
from hyperlabel.apps.report.displays import Display, write_beside
from hyperlabel.datasets import Dataset


class LabelScoresDisplay(Display):
    """F1 of each label as bars, worst at the bottom, with the number of rows that carry it.

    Of more than 24 labels the 12 best and the 12 worst are shown.

    Parameters
    ----------
    names : sequence of str
        Labels.
    f1 : array-like of shape (n_labels,)
        Their F1.
    actual : array-like of shape (n_labels,)
        Rows with the label.

    Examples
    --------
    >>> from hyperlabel.apps.report import LabelScoresDisplay
    >>> display = LabelScoresDisplay.from_predictions([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    >>> display.f1.round(2).tolist()
    [0.67, 1.0]
    """

    def __init__(self, names: Sequence[str], f1: Any, actual: Any) -> None:
        self.names = list(names)
        self.f1, self.actual = np.asarray(f1, dtype=float), np.asarray(actual, dtype=int)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, label_names: Sequence[str] | None = None, ax: Any = None
    ) -> LabelScoresDisplay:
        """Count hits per label and draw."""
        label_counts = {name: np.array(counts) for name, counts in label_score_counts(y_true, y_pred).items()}
        f1_denominator = label_counts["predicted"] + label_counts["actual"]
        f1 = np.zeros(len(f1_denominator))
        np.divide(2 * label_counts["hits"], f1_denominator, out=f1, where=f1_denominator > 0)
        display_names = label_names if label_names is not None else [f"y{j}" for j in range(len(f1))]
        return cls(display_names, f1, label_counts["actual"]).plot(ax)

    def plot(self, ax: Any = None) -> LabelScoresDisplay:
        """Draw on `ax`, or on new axes."""
        score_order = np.argsort(-np.nan_to_num(self.f1, nan=-1.0), kind="stable")
        if len(score_order) > 24:
            score_order = np.concatenate([score_order[:12], score_order[-12:]])
        ax = self._prepare_axes(ax, (5.2, 0.23 * len(score_order) + 0.9))
        bar_rows = np.arange(len(score_order))
        ax.barh(bar_rows, np.nan_to_num(self.f1[score_order]), color="C0", height=0.7)
        for row, j in enumerate(score_order):
            label_f1 = float(np.nan_to_num(self.f1[j]))
            write_beside(ax, f"{label_f1:.2f}", label_f1, row, (3, 0), va="center")
        ax.set_yticks(
            bar_rows,
            [f"{self._shorten_name(self.names[j], 44)} ({self.actual[j]})" for j in score_order],
            fontsize=8,
        )
        if len(self.names) > len(score_order):
            ax.axhline(len(score_order) / 2 - 0.5, color="C1", lw=1, ls="--")
        ax.set(xlim=(0, 1.08), xlabel="F1 (rows with the label in brackets)")
        ax.set_ylim(len(score_order) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
        return self


class CooccurrenceDisplay(Display):
    """Heat map of label co-occurrence: of the rows with the row's label, the share with the column's.

    Parameters
    ----------
    share : array-like of shape (n_labels, n_labels)
        Shares, 1 on the diagonal.
    names : sequence of str
        Labels.

    Examples
    --------
    >>> from hyperlabel.apps.report import CooccurrenceDisplay
    >>> CooccurrenceDisplay.from_labels([[1, 0], [1, 1]]).share.tolist()
    [[1.0, 0.5], [1.0, 1.0]]
    """

    def __init__(self, share: Any, names: Sequence[str]) -> None:
        self.share, self.names = np.asarray(share, dtype=float), list(names)

    @classmethod
    def from_labels(
        cls, Y: Any, *, label_names: Sequence[str] | None = None, ax: Any = None
    ) -> CooccurrenceDisplay:
        """Count label pairs among the most frequent labels and draw."""
        label_pairs = label_cooccurrence(_build_label_dataset(Y, label_names))
        return cls(label_pairs["share"], label_pairs["labels"]).plot(ax)

    def plot(self, ax: Any = None) -> CooccurrenceDisplay:
        """Draw on `ax`, or on new axes."""
        k = len(self.names)
        ax = self._prepare_axes(ax, (max(5.2, 0.2 * k + 2.4), max(3.4, 0.2 * k + 1.6)))
        off_diagonal = np.where(np.eye(k, dtype=bool), np.nan, self.share)
        max_share = max(0.05, float(np.nanmax(off_diagonal, initial=0.0)))
        heat_map = ax.imshow(off_diagonal, cmap="cividis", vmin=0.0, vmax=max_share)
        ax.figure.colorbar(heat_map, ax=ax, label="share of the row's rows", shrink=0.8)
        short_names = [self._shorten_name(name, 30) for name in self.names]
        ax.set_xticks(range(k), short_names, rotation=90, fontsize=8)
        ax.set_yticks(range(k), short_names, fontsize=8)
        ax.grid(visible=False)
        return self


class SpectrumDisplay(Display):
    """Eigenvalues of the normalised hypergraph similarity S = I − L, largest first.

    A fast fall means that few directions carry the labels, and that a small `n_components` will do.

    Parameters
    ----------
    eigenvalues : dict of str to array-like
        Eigenvalues of each expansion.

    Examples
    --------
    >>> from hyperlabel.apps.report import SpectrumDisplay
    >>> display = SpectrumDisplay.from_labels([[1, 0], [1, 1], [0, 1]])
    >>> sorted(display.eigenvalues)
    ['clique', 'star', 'zhou']
    """

    def __init__(self, eigenvalues: Mapping[str, Any]) -> None:
        self.eigenvalues = {name: np.asarray(values, dtype=float) for name, values in eigenvalues.items()}

    @classmethod
    def from_labels(cls, Y: Any, *, ax: Any = None) -> SpectrumDisplay:
        """Compute the spectrum of each expansion and draw."""
        return cls(similarity_spectrum(_build_label_dataset(Y).Y)).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> SpectrumDisplay:
        """Draw the ``eigenvalues_`` of a fitted projection."""
        return cls({type(estimator).__name__: estimator.eigenvalues_}).plot(ax)

    def plot(self, ax: Any = None) -> SpectrumDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._prepare_axes(ax)
        for name, eigenvalues in self.eigenvalues.items():
            ax.plot(np.arange(1, len(eigenvalues) + 1), eigenvalues, label=name, markersize=3)
        ax.set(xlabel="component", ylabel="eigenvalue of S = I − L")
        ax.set_ylim(bottom=0.0)
        if len(self.eigenvalues) > 1:
            ax.legend()
        return self


class EmbeddingDisplay(Display):
    """Rows in the first two components of a projection, coloured by label.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Coordinates.
    colour : array-like of shape (n,)
        Index into `names`; −1 for rows with none of them.
    names : sequence of str
        Labels.

    Examples
    --------
    >>> from hyperlabel import HypergraphSpectral
    >>> from hyperlabel.datasets import make_multilabel
    >>> from hyperlabel.apps.report import EmbeddingDisplay
    >>> data = make_multilabel(60, 5, 4, random_state=0)
    >>> display = EmbeddingDisplay.from_estimator(HypergraphSpectral().fit(data.X, data.Y), data.X, data.Y)
    >>> display.points.shape
    (60, 2)
    """

    def __init__(self, points: Any, colour: Any, names: Sequence[str]) -> None:
        self.points, self.colour = np.asarray(points, dtype=float), np.asarray(colour, dtype=int)
        self.names = list(names)

    @classmethod
    def from_estimator(
        cls, transformer: Any, X: Any, Y: Any, *, label_names: Sequence[str] | None = None, ax: Any = None
    ) -> EmbeddingDisplay:
        """Transform X (best: rows the transformer has not seen) and colour by the five largest labels."""
        data = Dataset(X, Y, label_names=label_names)
        label_counts = np.asarray(data.Y.sum(axis=0)).ravel()
        top_labels = np.argsort(-label_counts, kind="stable")[:5]
        has_label = data.Y[:, top_labels].toarray() > 0
        row_colours = [int(np.flatnonzero(row)[-1]) if row.any() else -1 for row in has_label]
        embedded_rows = np.asarray(transformer.transform(X))[:, :2]
        return cls(embedded_rows, row_colours, [data.label_names[j] for j in top_labels]).plot(ax)

    def plot(self, ax: Any = None) -> EmbeddingDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._prepare_axes(ax)
        for i, name in enumerate([*self.names, "none of these"]):
            is_coloured = self.colour == (i if i < len(self.names) else -1)
            if is_coloured.any():
                ax.plot(
                    *self.points[is_coloured].T,
                    linestyle="none",
                    marker="o",
                    markersize=3,
                    alpha=0.7,
                    label=self._shorten_name(name),
                )
        ax.set(xlabel="component 1", ylabel="component 2")
        # Beneath the axes: the points fill them.
        ax.legend(fontsize=8, markerscale=1.6, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
        return self


def _build_label_dataset(Y: Any, label_names: Sequence[str] | None = None) -> Dataset:
    n_rows = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    return Dataset(np.zeros((n_rows, 1)), Y, label_names=label_names)

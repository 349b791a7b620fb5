"""Figures of curves: a score along a path, and probabilities against what came true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from hyperlabel._base import label_probabilities
from hyperlabel._validation import count_dimensions
from hyperlabel.apps.report.displays import Display
from hyperlabel.metrics import Reliability, reliability
from hyperlabel.model_selection import cross_val_scores, resolve_cv


class PathDisplay(Display):
    """A score along something that varies (λ, the number of components, training rows), with a band.

    The band is one standard deviation over splits each way, not a confidence interval.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        Where the score was taken.
    scores : dict of str to array-like of shape (n_splits, n_points)
        Scores of each series.
    xlabel, ylabel : str
        Names of the axes.
    log : bool, default=False
        Logarithmic x.

    Examples
    --------
    >>> from hyperlabel.apps.report import PathDisplay
    >>> display = PathDisplay.from_scores([1, 2, 4], {"PLST": [[0.3, 0.2, 0.1], [0.4, 0.2, 0.2]]})
    >>> len(display.ax_.lines)
    1
    """

    def __init__(
        self, x: Any, scores: Mapping[str, Any], *, xlabel: str = "", ylabel: str = "score", log: bool = False
    ) -> None:
        self.x = np.asarray(x, dtype=float)
        self.scores = {name: np.atleast_2d(np.asarray(s, dtype=float)) for name, s in scores.items()}
        for name, s in self.scores.items():
            if s.shape[1] != len(self.x):
                raise ValueError(f"{name!r} has {s.shape[1]} scores per split for {len(self.x)} points.")
        self.xlabel, self.ylabel, self.log = xlabel, ylabel, log

    @classmethod
    def from_scores(cls, x: Any, scores: Mapping[str, Any], *, ax: Any = None, **labels: Any) -> PathDisplay:
        """Draw scores that were computed before; keywords as for the class."""
        return cls(x, scores, **labels).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        param_name: str,
        param_range: Sequence[Any],
        scoring: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        ax: Any = None,
        log: bool = False,
    ) -> PathDisplay:
        """Cross-validate the estimator along one parameter (sparse y is fine) and draw the path."""
        split_rows = list(resolve_cv(cv, y).split(X, y))
        score_columns = []
        for parameter in param_range:
            candidate = clone(estimator).set_params(**{param_name: parameter})
            fold_scores = cross_val_scores(candidate, X, y, scoring=scoring, cv=split_rows, n_jobs=n_jobs)
            score_columns.append(fold_scores["test_score"])
        return cls._from_columns(
            estimator, scoring, param_range, score_columns, xlabel=param_name, log=log
        ).plot(ax)

    @classmethod
    def from_training_sizes(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sizes: Sequence[int],
        scoring: Any = None,
        cv: Any = None,
        random_state: int = 0,
        ax: Any = None,
    ) -> PathDisplay:
        """Draw a learning curve: each split trains on the first `size` of its shuffled training rows."""
        rng = np.random.default_rng(random_state)
        shuffled_splits = [(rng.permutation(train), test) for train, test in resolve_cv(cv, y).split(X, y)]
        score_columns = []
        for size in sizes:
            sized_splits = [(train[:size], test) for train, test in shuffled_splits]
            fold_scores = cross_val_scores(estimator, X, y, scoring=scoring, cv=sized_splits)
            score_columns.append(fold_scores["test_score"])
        return cls._from_columns(estimator, scoring, sizes, score_columns, xlabel="training rows").plot(ax)

    @classmethod
    def _from_columns(
        cls, estimator: Any, scoring: Any, x: Any, score_columns: Any, **labels: Any
    ) -> PathDisplay:
        score_label = scoring if isinstance(scoring, str) else "score"
        split_scores = {type(estimator).__name__: np.column_stack(score_columns)}
        return cls(x, split_scores, ylabel=score_label, **labels)

    def plot(self, ax: Any = None) -> PathDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._prepare_axes(ax)
        for name, split_scores in self.scores.items():
            mean_scores = np.nanmean(split_scores, axis=0)
            (mean_line,) = ax.plot(self.x, mean_scores, label=name)
            if len(split_scores) > 1:
                score_std = np.nanstd(split_scores, axis=0, ddof=1)
                band_low, band_high = mean_scores - score_std, mean_scores + score_std
                ax.fill_between(self.x, band_low, band_high, alpha=0.15, lw=0, color=mean_line.get_color())
        if self.log:
            ax.set_xscale("log")
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if len(self.scores) > 1:
            ax.legend(ncols=2 if len(self.scores) > 4 else 1)
        return self


class ReliabilityDisplay(Display):
    """Predicted probability against the observed share; an honest model lies on the diagonal.

    Parameters
    ----------
    curves : dict of str to Reliability
        Binned probabilities of each model, from `hyperlabel.metrics.reliability`.

    Examples
    --------
    >>> from hyperlabel.apps.report import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_probabilities([[1, 0], [1, 0]], {"a": [[0.9, 0.1], [0.8, 0.3]]})
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['a (error 0.175)']
    """

    def __init__(self, curves: Mapping[str, Reliability]) -> None:
        self.curves = dict(curves)

    @classmethod
    def from_probabilities(
        cls, y_true: Any, y_proba: Mapping[str, Any], *, n_bins: int = 10, ax: Any = None
    ) -> ReliabilityDisplay:
        """Bin the probabilities of each model, all labels pooled, and draw them."""
        return cls({name: reliability(y_true, p, n_bins=n_bins) for name, p in y_proba.items()}).plot(ax)

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, Any], X: Any, y: Any, *, n_bins: int = 10, ax: Any = None
    ) -> ReliabilityDisplay:
        """Draw fitted classifiers that have predict_proba."""
        is_binary = count_dimensions(y) == 1
        model_probabilities = {
            name: label_probabilities(model, X, binary=is_binary) for name, model in models.items()
        }
        return cls.from_probabilities(y, model_probabilities, n_bins=n_bins, ax=ax)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._prepare_axes(ax)
        ax.axline((0, 0), slope=1, color="0.6", lw=1, ls="--")
        for name, curve in self.curves.items():
            is_filled = curve.weight > 0
            legend_label = f"{name} (error {float(curve.calibration_error):.3f})"
            ax.plot(curve.predicted[is_filled], curve.observed[is_filled], marker="o", label=legend_label)
        ax.set(xlabel="predicted probability", ylabel="observed share", xlim=(0, 1), ylim=(0, 1))
        ax.legend()
        return self

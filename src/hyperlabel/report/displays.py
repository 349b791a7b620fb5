"""Figures of results, in scikit-learn's Display style: ``X.from_…(…)`` draws, ``.plot(ax=…)`` redraws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hyperlabel._base import label_probabilities
from hyperlabel._validation import dimensions
from hyperlabel.experiments.comparison import Comparison
from hyperlabel.metrics import Reliability, reliability, statistics
from hyperlabel.report.svg import MISSING


class Display:
    """Base of the displays: finds or makes the axes."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any, size: tuple[float, float] = (5.2, 3.4)) -> Any:
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ValueError(MISSING) from error
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def beside(ax: Any, text: str, x: float, y: float, offset: tuple[float, float], **align: str) -> None:
    """Write small text beside a point, `offset` in points."""
    ax.annotate(text, (x, y), offset, textcoords="offset points", fontsize=8, **align)


class PathDisplay(Display):
    """A score along something that varies (λ, the number of components, training rows), with a band.

    The band is the spread over splits (one standard deviation each way), not a confidence interval.

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
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from hyperlabel.report import PathDisplay
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
        """Draw scores that are already there; keywords as for the class."""
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
        from sklearn.base import clone

        from hyperlabel.model_selection import cross_val_scores, resolve_cv

        parts = list(resolve_cv(cv, y).split(X, y))
        columns = [
            cross_val_scores(
                clone(estimator).set_params(**{param_name: value}),
                X,
                y,
                scoring=scoring,
                cv=parts,
                n_jobs=n_jobs,
            )["test_score"]
            for value in param_range
        ]
        name = type(estimator).__name__
        label = scoring if isinstance(scoring, str) else "score"
        return cls(
            param_range, {name: np.column_stack(columns)}, xlabel=param_name, ylabel=label, log=log
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
        """Draw a learning curve: the training part of each split is cut to the first `size` rows."""
        from hyperlabel.model_selection import cross_val_scores, resolve_cv

        rng = np.random.default_rng(random_state)
        parts = [(rng.permutation(train), test) for train, test in resolve_cv(cv, y).split(X, y)]
        columns = [
            cross_val_scores(estimator, X, y, scoring=scoring, cv=[(tr[:size], te) for tr, te in parts])[
                "test_score"
            ]
            for size in sizes
        ]
        label = scoring if isinstance(scoring, str) else "score"
        scores = {type(estimator).__name__: np.column_stack(columns)}
        return cls(sizes, scores, xlabel="training rows", ylabel=label).plot(ax)

    def plot(self, ax: Any = None) -> PathDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._axes(ax)
        for name, scores in self.scores.items():
            mean = np.nanmean(scores, axis=0)
            (line,) = ax.plot(self.x, mean, label=name)
            if len(scores) > 1:
                spread = np.nanstd(scores, axis=0, ddof=1)
                ax.fill_between(
                    self.x, mean - spread, mean + spread, alpha=0.15, lw=0, color=line.get_color()
                )
        if self.log:
            ax.set_xscale("log")
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if len(self.scores) > 1:
            ax.legend(ncols=2 if len(self.scores) > 4 else 1)
        return self


class CriticalDifferenceDisplay(Display):
    """Average ranks over data sets; a bar joins methods that the tests do not tell apart.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        Average ranks, 1 is best.
    groups : list of list of int
        Methods not told apart, as `indistinguishable_groups` gives them.
    names : sequence of str
        Names of the methods.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from hyperlabel.report import CriticalDifferenceDisplay
    >>> scores = np.random.default_rng(0).uniform(size=(9, 3))
    >>> display = CriticalDifferenceDisplay.from_scores(scores, ["a", "b", "c"])
    >>> len(display.groups)
    1
    """

    def __init__(self, ranks: Any, groups: Sequence[Sequence[int]], names: Sequence[str]) -> None:
        self.ranks, self.groups, self.names = np.asarray(ranks, dtype=float), list(groups), list(names)

    @classmethod
    def from_scores(
        cls, scores: Any, names: Sequence[str], *, alpha: float = 0.05, ax: Any = None
    ) -> CriticalDifferenceDisplay:
        """Rank methods over data sets (rows) and group them by Wilcoxon tests adjusted by Holm."""
        ranks = statistics.average_ranks(scores)
        p = statistics.wilcoxon_holm(scores)
        return cls(ranks, statistics.indistinguishable_groups(ranks, p, alpha=alpha), names).plot(ax)

    def plot(self, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw on `ax`, or on new axes: one line per method, best on top."""
        k = len(self.names)
        ax = self._axes(ax, (5.2, 0.32 * k + 1.0))
        order = np.argsort(self.ranks, kind="stable")
        for row, method in enumerate(order):
            ax.plot(self.ranks[method], row, linestyle="none", marker="o", color="C0")
            beside(ax, f"{self.ranks[method]:.2f}", self.ranks[method], row, (0, 5), ha="center")
        place = {int(method): row for row, method in enumerate(order)}
        left = float(self.ranks.min())
        for i, group in enumerate(self.groups):
            rows = [place[m] for m in group]
            x = left - 0.09 * (i + 1) * max(1.0, float(np.ptp(self.ranks)))
            ax.plot(
                [x, x],
                [min(rows) - 0.25, max(rows) + 0.25],
                color="C1",
                lw=4,
                marker="",
                solid_capstyle="round",
            )
        ax.set_yticks(range(k), [self.names[m] for m in order])
        ax.invert_yaxis()
        ax.set_xlabel("average rank (1 is best); bars join methods not told apart")
        ax.margins(y=0.12)
        ax.grid(visible=False, axis="y")
        return self


class DifferenceDisplay(Display):
    """How far each method is behind the best one, with 95 % intervals corrected for overlap.

    Parameters
    ----------
    names : sequence of str
        Methods.
    differences, lows, highs : array-like of shape (n_methods,)
        Mean difference to the best method and its interval.
    best : str
        The best method.
    scoring : str
        The measure.
    rope : float
        Differences that do not matter.

    Examples
    --------
    >>> from hyperlabel.report import DifferenceDisplay
    >>> shown = DifferenceDisplay(
    ...     ["ridge", "PLST"], [0.0, -0.02], [0.0, -0.03], [0.0, -0.01],
    ...     best="ridge", scoring="f1_macro", rope=0.01,
    ... ).plot()
    >>> len(shown.ax_.get_yticks())
    2
    """

    def __init__(
        self,
        names: Sequence[str],
        differences: Any,
        lows: Any,
        highs: Any,
        *,
        best: str,
        scoring: str,
        rope: float,
    ) -> None:
        self.names = list(names)
        self.differences, self.lows, self.highs = (
            np.asarray(v, dtype=float) for v in (differences, lows, highs)
        )
        self.best, self.scoring, self.rope = best, scoring, rope

    @classmethod
    def from_comparison(cls, comparison: Comparison, dataset: str, *, ax: Any = None) -> DifferenceDisplay:
        """Draw a comparison's methods against the best one on a data set."""
        far = comparison.far_behind(dataset)
        rows = [v for v in comparison.versus_best(dataset) if v.method not in far]
        return cls(
            [v.method for v in rows],
            [v.difference for v in rows],
            [v.low for v in rows],
            [v.high for v in rows],
            best=comparison.best(dataset),
            scoring=comparison.scoring,
            rope=comparison.rope,
        ).plot(ax)

    def plot(self, ax: Any = None) -> DifferenceDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._axes(ax, (5.2, 0.32 * len(self.names) + 1.0))
        rows = np.arange(len(self.names))
        ax.axvspan(-self.rope, self.rope, alpha=0.15, color="C2", lw=0)
        ax.hlines(rows, self.lows, self.highs, color="C0")
        ax.plot(self.differences, rows, linestyle="none", marker="o", color="C0")
        ax.axvline(0.0, color="C1", lw=1.2)
        ax.set_yticks(rows, self.names)
        ax.invert_yaxis()
        ax.set_xlabel(f"{self.scoring}: how far behind the best", loc="right")  # long names leave little room
        ax.grid(visible=False, axis="y")
        return self


class CostDisplay(Display):
    """Quality against time: one point per method; up is better, left is faster.

    Parameters
    ----------
    names : sequence of str
        Methods.
    scores : array-like of shape (n_methods,)
        Mean score.
    seconds : array-like of shape (n_methods,)
        Time of a fit, tuning included.
    scoring : str
        The measure; losses get a reversed axis.
    lower : bool, default=False
        Whether lower is better.

    Examples
    --------
    >>> from hyperlabel.report import CostDisplay
    >>> shown = CostDisplay(["ridge", "SVM"], [0.61, 0.63], [0.1, 9.0], scoring="f1_macro").plot()
    >>> shown.ax_.get_xscale()
    'log'
    """

    def __init__(
        self, names: Sequence[str], scores: Any, seconds: Any, *, scoring: str, lower: bool = False
    ) -> None:
        self.names, self.scoring, self.lower = list(names), scoring, lower
        self.scores, self.seconds = np.asarray(scores, dtype=float), np.asarray(seconds, dtype=float)

    @classmethod
    def from_comparison(cls, comparison: Comparison, dataset: str, *, ax: Any = None) -> CostDisplay:
        """Draw the methods of a comparison on one data set; those far behind (the floor) are left out."""
        far = comparison.far_behind(dataset)
        costs = {m: comparison.cost(dataset, m) for m in comparison.ranking(dataset) if m not in far}
        known = {m: cost for m, cost in costs.items() if cost is not None}
        return cls(
            list(known),
            [comparison.mean(dataset, m) for m in known],
            [cost.fit_seconds for cost in known.values()],
            scoring=comparison.scoring,
            lower=comparison.sign() < 0,
        ).plot(ax)

    def plot(self, ax: Any = None) -> CostDisplay:
        """Draw on `ax`, or on new axes; the front (nothing is both faster and better) is joined."""
        ax = self._axes(ax, (5.2, 3.8))
        quality = -self.scores if self.lower else self.scores
        order = np.argsort(self.seconds, kind="stable")
        front = [i for n, i in enumerate(order) if n == 0 or quality[i] > quality[order[:n]].max()]
        ax.plot(self.seconds[front], self.scores[front], color="C1", lw=1.2, marker="", linestyle="--")
        ax.plot(self.seconds, self.scores, linestyle="none", marker="o", color="C0")
        logs = np.log10(np.maximum(self.seconds, 1e-6))
        ax.set_xscale("log")
        for i, row in _spaced(quality):
            right = logs[i] > (logs.min() + logs.max()) / 2
            offset = (-7 if right else 7, row)
            side = "right" if right else "left"
            beside(ax, self.names[i], self.seconds[i], self.scores[i], offset, ha=side, va="center")
        if self.lower:
            ax.invert_yaxis()
        ax.set(xlabel="seconds per fit (left is faster)", ylabel=f"{self.scoring} (up is better)")
        return self


def shorten(name: str, length: int = 24) -> str:
    """Cut a long name in the middle."""
    return name if len(name) <= length else f"{name[: length // 2 - 1]}…{name[-(length - length // 2) :]}"


def _spaced(heights: np.ndarray) -> list[tuple[int, float]]:
    """Offsets (points) that keep labels of points at nearly the same height apart."""
    span = max(float(np.ptp(heights)), 1e-9)
    found: list[tuple[int, float]] = []
    last, offset = -np.inf, 0.0
    for i in np.argsort(heights, kind="stable"):
        place = 200.0 * (heights[i] - heights.min()) / span
        offset = max(0.0, last + 9.0 - place)
        found.append((int(i), offset))
        last = place + offset
    return found


class ReliabilityDisplay(Display):
    """Predicted probability against the observed share; an honest model lies on the diagonal.

    Parameters
    ----------
    curves : dict of str to Reliability
        Binned probabilities of each model, from `hyperlabel.metrics.reliability`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from hyperlabel.report import ReliabilityDisplay
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
        binary = dimensions(y) == 1
        found = {name: label_probabilities(model, X, binary=binary) for name, model in models.items()}
        return cls.from_probabilities(y, found, n_bins=n_bins, ax=ax)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._axes(ax)
        ax.axline((0, 0), slope=1, color="0.6", lw=1, ls="--")
        for name, curve in self.curves.items():
            filled = curve.weight > 0
            label = f"{name} (error {float(curve.calibration_error):.3f})"
            ax.plot(curve.predicted[filled], curve.observed[filled], marker="o", label=label)
        ax.set(xlabel="predicted probability", ylabel="observed share", xlim=(0, 1), ylim=(0, 1))
        ax.legend()
        return self

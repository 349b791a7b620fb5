"""Figures of results, in scikit-learn's Display style: ``X.from_…(…)`` draws, ``.plot(ax=…)`` redraws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyperlabel.apps.comparison.comparison import Comparison
from hyperlabel.apps.report.summary import short_title
from hyperlabel.apps.report.svg import MISSING
from hyperlabel.metrics import statistics


class Display:
    """Base of the displays: gets or makes the axes, and sets their size (inches)."""

    ax_: Any
    figure_: Any
    size_: tuple[float, float]
    whole_names_: dict[str, str]

    def _prepare_axes(self, ax: Any, size: tuple[float, float] = (5.2, 3.4)) -> Any:
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ValueError(MISSING) from error
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_, self.size_, self.whole_names_ = ax, ax.figure, size, {}
        return ax

    def _shorten_name(self, name: str, length: int = 24) -> str:
        """Shorten a long name in the middle; in a page its tooltip is the full name."""
        if len(name) <= length:
            return name
        short_name = f"{name[: length // 2 - 1]}…{name[-(length - length // 2) :]}"
        earlier_names = self.whole_names_.get(short_name, name)
        self.whole_names_[short_name] = name if earlier_names == name else f"{earlier_names}; {name}"
        return short_name


def write_beside(ax: Any, text: str, x: float, y: float, offset: tuple[float, float], **align: str) -> None:
    """Write small text beside a point, `offset` in points."""
    ax.annotate(text, (x, y), offset, textcoords="offset points", fontsize=8, **align)


class CriticalDifferenceDisplay(Display):
    """Average ranks over data sets; a bar joins methods that are not significantly different.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        Average ranks, 1 is best.
    groups : list of list of int
        Methods not significantly different, as `indistinguishable_groups` gives them.
    names : sequence of str
        Names of the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.apps.report import CriticalDifferenceDisplay
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
        average_ranks = statistics.average_ranks(scores)
        p = statistics.wilcoxon_holm(scores)
        method_groups = statistics.indistinguishable_groups(average_ranks, p, alpha=alpha)
        return cls(average_ranks, method_groups, names).plot(ax)

    def plot(self, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw on `ax`, or on new axes: one line per method, best on top."""
        k = len(self.names)
        ax = self._prepare_axes(ax, (5.2, 0.32 * len(self.names) + 1.1))
        rank_order = np.argsort(self.ranks, kind="stable")
        for row, method in enumerate(rank_order):
            ax.plot(self.ranks[method], row, linestyle="none", marker="o", color="C0")
            write_beside(ax, f"{self.ranks[method]:.2f}", self.ranks[method], row, (0, 5), ha="center")
        row_of_method = {int(method): row for row, method in enumerate(rank_order)}
        left_edge = float(self.ranks.min())
        for i, group in enumerate(self.groups):
            group_rows = [row_of_method[m] for m in group]
            x = left_edge - 0.09 * (i + 1) * max(1.0, float(np.ptp(self.ranks)))
            ax.plot(
                [x, x],
                [min(group_rows) - 0.25, max(group_rows) + 0.25],
                color="C1",
                lw=4,
                marker="",
                solid_capstyle="round",
            )
        ax.set_yticks(range(k), [self.names[m] for m in rank_order])
        ax.invert_yaxis()
        ax.set_xlabel("average rank (1 is best)")
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
    >>> from hyperlabel.apps.report import DifferenceDisplay
    >>> display = DifferenceDisplay(
    ...     ["ridge", "PLST"], [0.0, -0.02], [0.0, -0.03], [0.0, -0.01],
    ...     best="ridge", scoring="f1_macro", rope=0.01,
    ... ).plot()
    >>> len(display.ax_.get_yticks())
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
        far_methods = comparison.far_behind(dataset)
        pairwise_tests = [v for v in comparison.versus_best(dataset) if v.method not in far_methods]
        return cls(
            [short_title(v.method) for v in pairwise_tests],
            [v.difference for v in pairwise_tests],
            [v.low for v in pairwise_tests],
            [v.high for v in pairwise_tests],
            best=short_title(comparison.best(dataset)),
            scoring=comparison.scoring,
            rope=comparison.rope,
        ).plot(ax)

    def plot(self, ax: Any = None) -> DifferenceDisplay:
        """Draw on `ax`, or on new axes."""
        ax = self._prepare_axes(ax, (5.2, 0.3 * len(self.names) + 1.3))
        method_rows = np.arange(len(self.names))
        ax.axvspan(-self.rope, self.rope, alpha=0.15, color="C2", lw=0)
        ax.hlines(method_rows, self.lows, self.highs, color="C0")
        ax.plot(self.differences, method_rows, linestyle="none", marker="o", color="C0")
        ax.axvline(0.0, color="C1", lw=1.2)
        ax.set_yticks(method_rows, self.names)
        ax.invert_yaxis()
        # centred, it would run off the figure beside long names
        ax.set_xlabel(f"{self.scoring}: how far behind the best", loc="right")
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
    >>> from hyperlabel.apps.report import CostDisplay
    >>> display = CostDisplay(["ridge", "SVM"], [0.61, 0.63], [0.1, 9.0], scoring="f1_macro").plot()
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(
        self, names: Sequence[str], scores: Any, seconds: Any, *, scoring: str, lower: bool = False
    ) -> None:
        self.names, self.scoring, self.lower = list(names), scoring, lower
        self.scores, self.seconds = np.asarray(scores, dtype=float), np.asarray(seconds, dtype=float)

    @classmethod
    def from_comparison(cls, comparison: Comparison, dataset: str, *, ax: Any = None) -> CostDisplay:
        """Draw the methods of a comparison on one data set; those far behind the best are left out."""
        far_methods = comparison.far_behind(dataset)
        method_costs = {
            m: comparison.cost(dataset, m) for m in comparison.ranking(dataset) if m not in far_methods
        }
        measured_costs = {m: cost for m, cost in method_costs.items() if cost is not None}
        return cls(
            [short_title(method) for method in measured_costs],
            [comparison.mean(dataset, m) for m in measured_costs],
            [cost.fit_seconds for cost in measured_costs.values()],
            scoring=comparison.scoring,
            lower=comparison.sign() < 0,
        ).plot(ax)

    def plot(self, ax: Any = None) -> CostDisplay:
        """Draw on `ax`, or on new axes; the front (nothing is both faster and better) is joined."""
        ax = self._prepare_axes(ax, (5.2, 3.8))
        signed_scores = -self.scores if self.lower else self.scores
        time_order = np.argsort(self.seconds, kind="stable")
        pareto_front = [
            i
            for n, i in enumerate(time_order)
            if n == 0 or signed_scores[i] > signed_scores[time_order[:n]].max()
        ]
        front_seconds, front_scores = self.seconds[pareto_front], self.scores[pareto_front]
        ax.plot(front_seconds, front_scores, color="C1", alpha=0.5, lw=1.2, marker="", ls="--")
        ax.plot(self.seconds, self.scores, linestyle="none", marker="o", color="C0")
        log_seconds = np.log10(np.maximum(self.seconds, 1e-6))
        ax.set_xscale("log")
        ax.xaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
        ax.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        ax.minorticks_off()
        for i, vertical_offset in _space_labels(signed_scores):
            is_right_half = log_seconds[i] > (log_seconds.min() + log_seconds.max()) / 2
            text_offset = (-7 if is_right_half else 7, vertical_offset)
            text_side = "right" if is_right_half else "left"
            write_beside(
                ax, self.names[i], self.seconds[i], self.scores[i], text_offset, ha=text_side, va="center"
            )
        if self.lower:
            ax.invert_yaxis()
        ax.set(xlabel="seconds per fit (left is faster)", ylabel=f"{self.scoring} (up is better)")
        return self


def _space_labels(heights: np.ndarray) -> list[tuple[int, float]]:
    """Return the offsets (in points) that keep the labels of points of similar height apart."""
    height_span = max(float(np.ptp(heights)), 1e-9)
    point_offsets: list[tuple[int, float]] = []
    last_height, offset = -np.inf, 0.0
    for i in np.argsort(heights, kind="stable"):
        point_height = 200.0 * (heights[i] - heights.min()) / height_span
        offset = max(0.0, last_height + 9.0 - point_height)
        point_offsets.append((int(i), offset))
        last_height = point_height + offset
    return point_offsets

"""Claims as pairs of our numbers, and their verdicts: holds, level, in part or fails.

A pair of scores over the same splits is level when the mean of its differences lies within two standard
errors of 0. Splits share rows, so the standard error is too small, and "level" is said too seldom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from reproduction.result import Curve, Number, Result

# What is compared, the number that should be above (or satisfy the test), and the one it is compared with.
Pairs = Iterator[tuple[str, Number, Number]]
PairFinder = Callable[[Result], Pairs]
Test = Callable[[Number, Number], bool]
N_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Claim:
    """A claim, the table that can show it, the pairs of numbers it speaks of, and the test of a pair.

    Without a test the first number of a pair should be above the second.
    """

    table: str
    text: str
    find_pairs: PairFinder
    test: Test | None = None
    ours: bool = False
    needs_std: bool = False

    def judge(self, result: Result | None) -> Verdict:
        """Judge the pairs of numbers over equally many splits, so that a stopped run misleads nobody."""
        verdict = Verdict(self)
        digits = result.digits if result else 0
        for what, a, b in () if result is None else self.find_pairs(result):
            if a.n != b.n or (self.needs_std and a.n < 2):
                continue
            outcome = order(a, b) if self.test is None else 1 if self.test(a, b) else -1
            text = f"{what} ({a.ours:.{digits}f}, {b.ours:.{digits}f})"
            verdict.pairs.append((outcome, text, a.n))
        return verdict


@dataclass(frozen=True)
class Verdict:
    """A claim and the outcome of each pair: 1 for it, 0 level, -1 against it."""

    claim: Claim
    pairs: list[tuple[int, str, int]] = field(default_factory=list)

    def count(self, outcome: int) -> int:
        """Return the number of pairs with an outcome."""
        return sum(pair_outcome == outcome for pair_outcome, _, _ in self.pairs)

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        n_for, n_level, n_against = (self.count(outcome) for outcome in (1, 0, -1))
        if not self.pairs:
            return "not run"
        if not n_against:
            return "holds" if not n_level else "level" if not n_for else "holds or level"
        return "fails" if not n_for else "in part"

    def row(self) -> str:
        """Return the verdict as a row of the table."""
        counts = " | ".join(str(self.count(outcome)) for outcome in (1, 0, -1)) if self.pairs else "– | – | –"
        splits = min((n for _, _, n in self.pairs), default=0) or "–"
        return f"| {self.claim.text} | `{self.claim.table}` | {self.word} | {counts} | {splits} |"

    def texts(self, outcome: int) -> list[str]:
        """Return the pairs with an outcome, each with both numbers."""
        return [text for pair_outcome, text, _ in self.pairs if pair_outcome == outcome]


def order(a: Number, b: Number) -> int:
    """Return 1 when a is above b, -1 when below, and 0 when the splits do not tell them apart.

    >>> low, high = (0.50, 0.52, 0.51), (0.60, 0.63, 0.61)
    >>> order(Number("", "", 0.61, n=3, by_split=high), Number("", "", 0.51, n=3, by_split=low))
    1
    >>> order(Number("", "", 0.51, n=2, by_split=low[:2]), Number("", "", 0.5, by_split=(0.52, 0.48)))
    0
    """
    if len(a.by_split) == len(b.by_split) > 1:
        differences = np.subtract(a.by_split, b.by_split)
        differences = differences[np.isfinite(differences)]
        if len(differences) > 1:
            mean, std = float(differences.mean()), float(differences.std(ddof=1))
            is_level = abs(mean) <= N_STANDARD_ERRORS * std / math.sqrt(len(differences)) + 1e-12
            return 0 if is_level else 1 if mean > 0 else -1
    return int(np.sign(round(a.ours - b.ours, 12)))


def near(tolerance: float) -> Test:
    """Return the test that two numbers agree to a tolerance."""
    return lambda a, b: abs(a.ours - b.ours) <= tolerance


def rows(partner: Callable[[str], str | None], columns: Sequence[str] | None = None) -> PairFinder:
    """Pair each row with the row that `partner` names for it, column by column."""

    def find_pairs(result: Result) -> Pairs:
        for row in result.rows():
            partner_row = partner(row)
            for column in columns or result.columns():
                a, b = result.at(row, column), partner_row and result.at(partner_row, column)
                if a and b:
                    yield f"{row}, {column}", a, b

    return find_pairs


def methods(first: str, seconds: Iterable[str] = (), column: str | None = "micro") -> PairFinder:
    """Pair ``data, first`` with ``data, second`` in a column (None: the first one).

    Without `seconds` the first method is paired with every method that is no HOPLS.
    """
    second_methods = tuple(seconds)

    def find_pairs(result: Result) -> Pairs:
        pair_column = column or (result.columns() or [""])[0]
        for row in result.rows():
            name, _, method = row.partition(", ")
            a, b = result.at(f"{name}, {first}", pair_column), result.at(row, pair_column)
            is_partner = method in second_methods if second_methods else not method.startswith("HOPLS")
            if a and b and is_partner:
                yield f"{name}, {first} and {method}", a, b

    return find_pairs


def entrants(first: str, second: str) -> PairFinder:
    """Pair two methods of a contest in its first column."""
    return methods(first, (second,), None)


def columns(left: str, right: str) -> PairFinder:
    """Pair two columns, row by row."""

    def find_pairs(result: Result) -> Pairs:
        for row in result.rows():
            a, b = result.at(row, left), result.at(row, right)
            if a and b:
                yield row, a, b

    return find_pairs


def series(first: str, second: str, panel: str = "") -> PairFinder:
    """Pair two series of every panel whose title contains `panel`, point by point."""

    def find_pairs(result: Result) -> Pairs:
        for curve in result.curves:
            if panel in curve.title and first in curve.scores and second in curve.scores:
                for i, x in enumerate(curve.x):
                    what = f"{curve.title.partition(':')[0]}, {x:g}"
                    yield what, point(curve, first, i), point(curve, second, i)

    return find_pairs


def next_points(result: Result) -> Pairs:
    """Pair every point of every series with the one before it."""
    for curve in result.curves:
        for name in curve.scores:
            for i in range(1, len(curve.x)):
                yield f"{name}, {curve.x[i]:g}", point(curve, name, i), point(curve, name, i - 1)


def point(curve: Curve, name: str, i: int) -> Number:
    """Return a point of a series as a number with its scores."""
    by_split = tuple(split_scores[i] for split_scores in curve.scores[name])
    finite_scores = [score for score in by_split if math.isfinite(score)]
    mean = float(np.mean(finite_scores)) if finite_scores else math.nan
    return Number(name, f"{curve.x[i]:g}", mean, n=len(by_split), by_split=by_split)

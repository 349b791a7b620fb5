"""What the papers claim, judged by our own numbers: the sentences of the summary page.

A claim compares pairs of numbers of one table. It holds where ours agree with it, and every place where
they do not is named with both numbers; nothing here is written by hand after seeing a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hyperlabel.experiments.papers.result import Number, Result

Pairs = Iterator[tuple[str, Number, Number]]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, the table that can show it, the pairs of numbers it speaks of, and the test."""

    table: str
    text: str
    pairs: Callable[[Result], Pairs]
    holds: Callable[[Number, Number], bool]
    needs_spread: bool = False

    def judge(self, result: Result) -> str | None:
        """Return the verdict as one line; None where the table has none of the numbers."""
        found = [pair for pair in self.pairs(result) if not self.needs_spread or pair[1].n > 1]
        if not found:
            return None
        d = result.digits
        against = [f"{at} ({a.ours:.{d}f}, {b.ours:.{d}f})" for at, a, b in found if not self.holds(a, b)]
        verdict = f"holds in {len(found) - len(against)} of {len(found)}"
        return f"- {self.text}: {verdict}" + (f"; not {', '.join(against)}." if against else ".")


def _above(a: Number, b: Number) -> bool:
    return a.ours > b.ours


def _near(within: float) -> Callable[[Number, Number], bool]:
    return lambda a, b: abs(a.ours - b.ours) <= within


def _rows(
    pairs: Callable[[str], str | None], columns: Sequence[str] | None = None
) -> Callable[[Result], Pairs]:
    """Pair each row with the row that `pairs` names for it, column by column."""

    def found(result: Result) -> Pairs:
        for row in result.rows():
            other = pairs(row)
            for column in columns or result.columns():
                a, b = result.at(row, column), other and result.at(other, column)
                if a and b:
                    yield f"{row}, {column}", a, b

    return found


def _least_squares(row: str) -> str | None:
    return f"ls{row}" if row.startswith("HG_") and row.endswith("^λ") else None


def _rivals(best: str) -> Callable[[Result], Pairs]:
    """Pair ``data, best`` with every other method on the same data, on micro averages."""

    def found(result: Result) -> Pairs:
        for row in result.rows():
            name, _, method = row.partition(", ")
            a, b = result.at(f"{name}, {best}", "micro"), result.at(row, "micro")
            if a and b and not method.startswith("HOPLS"):
                yield f"{name}, {method}", a, b

    return found


def _columns(left: str, right: str) -> Callable[[Result], Pairs]:
    def found(result: Result) -> Pairs:
        for row in result.rows():
            a, b = result.at(row, left), result.at(row, right)
            if a and b:
                yield row, a, b

    return found


_F1 = ("F1 macro",)
CLAIMS = [
    Claim("kdd08-table2", "regularisation helps every form",
          _rows(lambda row: row.removesuffix("^λ") if row.endswith("^λ") else None), _above),
    Claim("kdd08-table2", "every regularised form is above RankSVM",
          _rows(lambda row: "RankSVM" if row.endswith("^λ") else None), _above),
    Claim("kdd08-table2", "exact and least-squares forms with λ agree to .005",
          _rows(_least_squares), _near(0.005)),
    Claim("kdd08-table2", "an SVM per label is below RankSVM",
          _rows(lambda row: "SVM per label" if row == "RankSVM" else None), _above),
    Claim("jcp14-table2", "HOPLS (literal) has the best micro F1", _rivals("HOPLS"), _above),
    Claim("jcp14-table2", "HOPLS (trace) has the best micro F1", _rivals("HOPLS (trace)"), _above),
    *(Claim(f"cvpr09-table{i}", f"{high} is above {low} in macro F1 ({name})",
            _rows({high: low}.get, _F1), _above)
      for i, name in ((1, "ImageCLEF"), (2, "MediaMill"))
      for high, low in (("Rank-SVM", "Binary-SVM"), ("Rank-HLapSVM", "Rank-SVM"))),
    *(Claim(f"cvpr09-table{i}", f"the constant answer is below the model in micro F1 ({name})",
            _columns("F1 micro", "constant F1 micro"), _above)
      for i, name in ((1, "ImageCLEF"), (2, "MediaMill"))),
    Claim("neco12-table3", "PLST at M* loses at most two standard errors against BR",
          _columns("PLST(M*)", "BR"), lambda a, b: a.ours - b.ours <= a.spread + b.spread, True),
    Claim("neco12-table3", "PLST at M* is better than CS at M*", _columns("CS(M*)", "PLST(M*)"), _above),
]  # fmt: skip


def summary(results: Sequence[Result]) -> list[str]:
    """Return the verdicts, paper by paper, and how far the scores are from the printed ones."""
    lines = []
    for result in results:
        told = [verdict for c in CLAIMS if c.table == result.id and (verdict := c.judge(result))]
        gaps = sorted(abs(n.difference) for n in result.numbers if n.difference == n.difference)
        if result.scores and gaps:
            near = sum(gap <= 0.02 for gap in gaps)
            told.append(f"- {near} of {len(gaps)} numbers lie within .02 of the printed ones (farthest: "
                        f"{gaps[-1]:.{result.digits}f}).")  # fmt: skip
        if told:
            lines += [f"**`{result.id}`** {result.title}. `hyperlabel reproduce {result.id}"
                      f"{' --quick' if result.quick else ''}`", "", *told, ""]  # fmt: skip
    return lines

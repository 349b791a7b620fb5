"""The claims of the papers, judged by our own numbers: the summary page.

A claim compares pairs of numbers of one table. It holds for a pair when our two numbers agree with it. Every
pair against it is named with both numbers. No verdict is written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reproduction.result import Cpu, Number, Result

# What is compared, the number that should satisfy the claim, and the one it is compared with.
Pairs = Iterator[tuple[str, Number, Number]]
PairFinder = Callable[[Result], Pairs]
Test = Callable[[Number, Number], bool]
NEAR = 0.02


@dataclass(frozen=True)
class Claim:
    """A claim, the table that can show it, the pairs of numbers it speaks of, and the test of a pair."""

    table: str
    text: str
    find_pairs: PairFinder
    holds: Test
    needs_std: bool = False

    def judge(self, result: Result | None) -> Verdict:
        """Judge the pairs of numbers over equally many splits, so that a stopped run misleads nobody."""
        pairs = [
            (what, a, b)
            for what, a, b in (() if result is None else self.find_pairs(result))
            if a.n == b.n and (a.n > 1 or not self.needs_std)
        ]
        digits = result.digits if result else 0
        against = [
            f"{what} ({a.ours:.{digits}f}, {b.ours:.{digits}f})"
            for what, a, b in pairs
            if not self.holds(a, b)
        ]
        return Verdict(self, len(pairs), against, min((a.n for _, a, _ in pairs), default=0))


@dataclass(frozen=True)
class Verdict:
    """A claim, the pairs of numbers it was judged by, those against it, and the fewest splits behind one."""

    claim: Claim
    n_pairs: int
    against: list[str]
    splits: int

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        if not self.n_pairs:
            return "not run"
        return "holds" if not self.against else "fails" if len(self.against) == self.n_pairs else "in part"

    def row(self) -> str:
        """Return the verdict as a row of the table."""
        n_for = self.n_pairs - len(self.against)
        counts = f"{n_for} of {self.n_pairs}" if self.n_pairs else "–"
        return f"| {self.claim.text} | `{self.claim.table}` | {self.word} | {counts} | {self.splits or '–'} |"


def _above(a: Number, b: Number) -> bool:
    return a.ours > b.ours


def _near(tolerance: float) -> Test:
    return lambda a, b: abs(a.ours - b.ours) <= tolerance


def _rows(partner: Callable[[str], str | None], columns: Sequence[str] | None = None) -> PairFinder:
    """Pair each row with the row that `partner` names for it, column by column."""

    def find_pairs(result: Result) -> Pairs:
        for row in result.rows():
            partner_row = partner(row)
            for column in columns or result.columns():
                a, b = result.at(row, column), partner_row and result.at(partner_row, column)
                if a and b:
                    yield f"{row}, {column}", a, b

    return find_pairs


def _methods(first: str, second: str | None = None, column: str | None = "micro") -> PairFinder:
    """Pair ``data, first`` with ``data, second`` in a column (None: the first one).

    Without `second` the first method is paired with every method that is no HOPLS.
    """

    def find_pairs(result: Result) -> Pairs:
        pair_column = column or (result.columns() or [""])[0]
        for row in result.rows():
            name, _, method = row.partition(", ")
            a, b = result.at(f"{name}, {first}", pair_column), result.at(row, pair_column)
            if a and b and (method == second if second else not method.startswith("HOPLS")):
                yield f"{name}, {method}", a, b

    return find_pairs


def _entrants(first: str, second: str) -> PairFinder:
    """Pair two methods of a contest in its first column."""
    return _methods(first, second, None)


def _columns(left: str, right: str) -> PairFinder:
    """Pair two columns, row by row."""

    def find_pairs(result: Result) -> Pairs:
        for row in result.rows():
            a, b = result.at(row, left), result.at(row, right)
            if a and b:
                yield row, a, b

    return find_pairs


_F1 = ("F1 macro",)
CLAIMS = [
    Claim("kdd08-table2", "regularisation helps every form",
          _rows(lambda row: row.removesuffix("^λ") if row.endswith("^λ") else None), _above),
    Claim("kdd08-table2", "every regularised form is above RankSVM",
          _rows(lambda row: "RankSVM" if row.endswith("^λ") else None), _above),
    Claim("kdd08-table2", "exact and least-squares forms with λ agree to .005",
          _rows(lambda row: f"ls{row}" if row.startswith("HG_") and row.endswith("^λ") else None),
          _near(0.005)),
    Claim("kdd08-table2", "an SVM per label is below RankSVM",
          _rows(lambda row: "SVM per label" if row == "RankSVM" else None), _above),
    Claim("kdd08-table2", "term weights chosen inside are above the 2000 most frequent terms (ours)",
          _rows(lambda row: row.removesuffix(", terms chosen") if row.endswith("chosen") else None), _above),
    Claim("kdd08-distance", "the bound holds of the distance of the two forms (ours)",
          _columns("bound", "true"), lambda a, b: a.ours >= b.ours),
    Claim("kdd08-distance", "the bound is at most three times the distance (ours)",
          _columns("bound", "true"), lambda a, b: a.ours <= 3 * b.ours),
    Claim("jcp14-table2", "CCA and OPLS differ, as printed", _methods("CCA", "OPLS"),
          lambda a, b: abs(a.ours - b.ours) > 1e-3),
    Claim("jcp14-table2", "HOPLS (literal) has the best micro F1", _methods("HOPLS"), _above),
    Claim("jcp14-table2", "HOPLS (trace) has the best micro F1", _methods("HOPLS (trace)"), _above),
    *(Claim(f"cvpr09-table{i}", f"{high} is above {low} in macro F1 ({name})",
            _rows({high: low}.get, _F1), _above)
      for i, name in ((1, "ImageCLEF"), (2, "MediaMill"))
      for high, low in (("Rank-SVM", "Binary-SVM"), ("Rank-HLapSVM", "Rank-SVM"))),
    *(Claim(f"cvpr09-table{i}", f"the constant answer is below the model in micro F1 ({name})",
            _columns("F1 micro", "constant F1 micro"), _above)
      for i, name in ((1, "ImageCLEF"), (2, "MediaMill"))),
    Claim("neco12-table3", "PLST at M* loses at most two standard errors against BR",
          _columns("PLST(M*)", "BR"), lambda a, b: a.ours - b.ours <= a.std + b.std, True),
    Claim("neco12-table3", "PLST at M* is better than CS at M*", _columns("CS(M*)", "PLST(M*)"), _above),
    Claim("neco12-stopping", "CoSaMP stopped after 20 iterations is nearer to the printed loss (ours)",
          _columns("20 iterations", "stops at no progress"),
          lambda a, b: abs(a.difference) < abs(b.difference)),
    *(Claim("neco12-stopping", f"a {kind} matrix loses as little as a Hadamard matrix, to .005 (ours)",
            _columns(f"{kind} matrix", "stops at no progress"), lambda a, b: a.ours <= b.ours + 0.005)
      for kind in ("bernoulli", "gaussian")),
    Claim("kdd08-kernel", "an rbf kernel is above the linear form (ours)", _entrants("rbf", "linear"),
          _above),
    Claim("kdd08-kernel", "Nyström with 200 landmarks is within .01 of the exact kernel (ours)",
          _entrants("rbf, Nyström 200", "rbf"), _near(0.01)),
    Claim("cvpr09-kernel", "an rbf kernel is above the linear form in macro F1 (ours)",
          _entrants("rbf", "linear"), _above),
    Claim("neco12-sets", "nonlinear KDE has a better subset accuracy than PLST (ours)",
          _entrants("KDE, rbf", "PLST, M = K"), _above),
    Claim("neco12-sets", "nonlinear KDE has a better subset accuracy than the power-set (ours)",
          _entrants("KDE, rbf", "power-set"), _above),
    Claim("neco12-sets", "dropping rare sets is within .01 of moving them to the nearest (ours)",
          _entrants("pruned, rare dropped", "pruned, rare to the nearest"), _near(0.01)),
    *(Claim("neco12-topics", f"LDA has a lower Hamming loss than {other} (ours)", _entrants(other, "LDA"),
            _above) for other in ("k-means", "Gaussian mixture", "NMF")),
    *(Claim("beyond-semi", f"{method}: unlabelled rows are above {other} (ours)",
            _columns(f"{method}, unlabelled rows", f"{method}, {other}"), _above)
      for method in ("HG", "Rank-HLapSVM") for other in ("labelled rows", "self-training")),
    Claim("beyond-evidence", "evidence chooses as well as cross-validation, to .005 (ours)",
          _columns("evidence", "cross-validation"), lambda a, b: a.ours >= b.ours - 0.005),
    Claim("beyond-evidence", "choosing the geometry is above λ alone (ours)",
          _columns("cross-validation", "λ alone, uniform clique"), _above),
    *(Claim("beyond-setsize", f"held-out set sizes are above §3.4's in {average} F1 (ours)",
            _columns(f"out-of-fold, F1 {average}", f"§3.4, F1 {average}"), _above)
      for average in ("macro", "micro")),
    Claim("cvpr09-theorem1", "the distance shrinks by a factor below 1 per epoch",
          _columns("μ", "R²"), lambda a, b: a.ours < 1),
]  # fmt: skip


def sentence(results: Sequence[Result]) -> str:
    """Count the verdicts in one sentence."""
    words = [verdict.word for verdict in _judge_claims(results)]
    distances = [distance for result in results for distance in printed_distances(result)]
    n_near = sum(distance <= NEAR for distance in distances)
    return (
        f"Of {len(words) - words.count('not run')} claims judged, {words.count('holds')} hold everywhere, "
        f"{words.count('in part')} in part and {words.count('fails')} nowhere ({words.count('not run')} wait "
        f"for a run); {n_near} of {len(distances)} printed scores are met within .02."
    )


def _judge_claims(results: Sequence[Result]) -> list[Verdict]:
    by_id = {result.id: result for result in results}
    return [claim.judge(by_id.get(claim.table)) for claim in CLAIMS]


def printed_distances(result: Result) -> list[float]:
    """Return how far the scores of a table lie from the printed ones; none where there are no scores."""
    if not result.scores:
        return []
    return [abs(n.difference) for n in result.numbers if math.isfinite(n.difference)]


def summary(results: Sequence[Result]) -> list[str]:
    """Return the page of verdicts: a sentence, the table of claims, the pairs against them, the distances."""
    verdicts = _judge_claims(results)
    lines = [
        sentence(results),
        "",
        "| claim | shown by | verdict | pairs | splits |",
        "|---|---|---|---:|---:|",
    ]
    lines += [*(verdict.row() for verdict in verdicts), "", "## Against a claim", ""]
    lines.append("Each pair is (the number that should satisfy it, the one it is compared with).")
    lines.append("")
    lines += [f"- {v.claim.text} (`{v.claim.table}`): {', '.join(v.against)}." for v in verdicts if v.against]
    lines += ["", "## Beside the printed scores", "",
              "| table | within .02 | farthest | command |", "|---|---:|---:|---|"]  # fmt: skip
    for result in results:
        distances, quick = printed_distances(result), " --quick" if result.quick else ""
        if distances:
            near = f"{sum(distance <= NEAR for distance in distances)} of {len(distances)}"
            farthest = f"{max(distances):.{result.digits}f}"
            lines.append(
                f"| {result.title} | {near} | {farthest} | `python -m reproduction {result.id}{quick}` |"
            )
    return lines


def costs(results: Sequence[Result], quick: Sequence[Result] = ()) -> list[str]:
    """Return the lines on CPU time, full and quick, measured and estimated; a shared cell counts once."""
    lines = ["## What it costs", ""]
    for name, plan_results in (("`python -m reproduction`", results), ("`--quick`", quick)):
        total = sum(r.cpu.measured + r.cpu.estimated for r in plan_results)
        if total:
            lines += [_cost_sentence(name, total, [r.cpu for r in plan_results]), ""]
    lines += ["| item | cells not of an item above | core minutes |", "|---|---:|---:|"]
    return lines + [
        f"| `{r.id}` | {r.cpu.cells} | {(r.cpu.measured + r.cpu.estimated) / 60:.1f} |"
        for r in results if r.cpu.cells
    ]  # fmt: skip


def _cost_sentence(name: str, total: float, costs: Sequence[Cpu]) -> str:
    measured, unknown = sum(cpu.measured for cpu in costs), sum(cpu.unknown for cpu in costs)
    sentence = f"{name}: {total / 60:.0f} minutes of one core, "
    if measured == total:
        sentence += "all measured"
    else:
        sentence += (
            f"{measured / 60:.0f} of them measured, the others estimated for cells not finished from other "
            "partitions of the same work"
        )
    return sentence + (f"; {unknown} cells of work not run at all are not counted." if unknown else ".")

"""The claims of the papers and our own, and the pages that judge them by our numbers.

A claim compares pairs of numbers of one table or figure. Every pair against it is named with both numbers.
No verdict is written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction.readings import NEAR, count_lines
from reproduction.result import Cpu, Number, Result
from reproduction.verdicts import (
    Claim,
    Verdict,
    columns,
    entrants,
    methods,
    near,
    next_points,
    rows,
    series,
)

_F1 = ("F1 macro",)
_FORMS = ("c", "*", "z", "cca")


def _other_expansion(row: str) -> str | None:
    """Return the clique's row for a row of the star or of Zhou's Laplacian, with λ."""
    return row.replace("_*", "_c").replace("_z", "_c") if row.endswith(("_*^λ", "_z^λ")) else None


def _loses_two_errors_at_most(a: Number, b: Number) -> bool:
    return a.ours - b.ours <= a.std + b.std


PAPER_CLAIMS = [
    Claim("kdd08-table2", "regularisation helps every form",
          rows(lambda row: row.removesuffix("^λ") if row.endswith("^λ") else None)),
    Claim("kdd08-table2", "every regularised form is above RankSVM",
          rows(lambda row: "RankSVM" if row.endswith("^λ") else None)),
    Claim("kdd08-table2", "exact and least-squares forms with λ agree to .01",
          rows(lambda row: f"ls{row}" if row.startswith("HG_") and row.endswith("^λ") else None),
          near(0.01)),
    Claim("kdd08-table2", "clique, star and Zhou's Laplacian with λ agree to .01",
          rows(_other_expansion), near(0.01)),
    Claim("kdd08-table2", "an SVM per label is below RankSVM",
          rows(lambda row: "SVM per label" if row == "RankSVM" else None)),
    *(Claim(f"kdd08-fig{i}", f"exact and least-squares forms agree to .01 at every size ({name})",
            lambda result: (pair for s in _FORMS for pair in series(f"HG_{s}", f"lsHG_{s}")(result)),
            near(0.01)) for i, name in ((1, "scene"), (2, "yeast"))),
    *(Claim(f"kdd08-fig{i}", f"least squares by LSQR is faster than the dense eigenproblem ({axis})",
            series("HG^λ, dense eigenproblem", "lsHG^λ by LSQR", "seconds"))
      for i, axis in ((5, "terms"), (6, "rows"))),
    *(Claim(f"jcp14-table{i}", f"HOPLS has the best {measure}", methods("HOPLS"))
      for i, measure in ((2, "F1"), (3, "precision"), (4, "recall"))),
    *(Claim("jcp14-table2", f"{method} is above the unsupervised PCA and LPP in F1",
            methods(method, ("PCA", "LPP"))) for method in ("CCA", "MLSI", "MDDM", "OPLS", "HOPLS")),
    Claim("jcp14-fig1", "more training rows help", next_points),
    *(Claim(f"cvpr09-table{i}", f"{high} is above {low} in {average} ({name})",
            rows({high: low}.get, (average,)))
      for i, name in ((1, "ImageCLEF"), (2, "MediaMill"))
      for high, low in (("Rank-SVM", "Binary-SVM"), ("Rank-HLapSVM", "Rank-SVM"))
      for average in ("F1 macro", "F1 micro")),
    Claim("cvpr09-table3", "dual coordinate descent is faster than Frank–Wolfe",
          columns("Frank-Wolfe (s)", "DCD (s)")),
    Claim("cvpr09-theorem1", "the distance shrinks by a factor below 1 per epoch",
          columns("μ", "R²"), lambda a, b: a.ours < 1),
    Claim("neco12-fig2", "PLST is below PBR in Hamming loss at every M", series("PBR", "PLST")),
    Claim("neco12-fig2", "PLST is below CS in Hamming loss at every M", series("CS", "PLST")),
    Claim("neco12-fig3", "PLST is below PBR in Hamming loss with model trees", series("PBR", "PLST")),
    Claim("neco12-table3", "PLST at M* loses at most two standard errors against BR",
          columns("PLST(M*)", "BR"), _loses_two_errors_at_most, needs_std=True),
    Claim("neco12-table3", "PLST at M* is better than CS at M*", columns("CS(M*)", "PLST(M*)")),
    *(Claim("neco12-fig4", f"PLST is below {other} in ranking loss at every M", series(other, "PLST"))
      for other in ("PBR", "CS")),
    Claim("neco12-fig5", "calibrated label ranking is below PLST in ranking loss",
          series("PLST", "CLR", "ranking loss")),
    *(Claim("neco12-fig6", f"PLST is above {other} in macro AUC at every M", series("PLST", other))
      for other in ("PBR", "CS")),
    Claim("neco12-fig8", "PLST is above CS in macro precision (delicious)",
          series("PLST", "CS", "precision")),
    Claim("neco12-fig9", "the ideal learner: PLST is below PBR in Hamming loss at every M",
          series("PBR", "PLST")),
    Claim("neco12-fig10", "PLST is below PBR in encoding error at every M", series("PBR", "PLST")),
    *(Claim("neco12-fig12", f"PLST is below {other} in Hamming loss at every M", series(other, "PLST"))
      for other in ("PBR-Mean", "CS-BestVertex")),
]  # fmt: skip

OUR_CLAIMS = [
    Claim("kdd08-terms", "weights of terms chosen inside are above the 2000 most frequent terms",
          rows(lambda row: "frequent" if row == "chosen" else None)),
    Claim("kdd08-distance", "the bound holds of the distance of the two forms",
          columns("bound", "true"), lambda a, b: a.ours >= b.ours),
    Claim("kdd08-distance", "the bound is at most three times the distance",
          columns("bound", "true"), lambda a, b: a.ours <= 3 * b.ours),
    Claim("jcp14-table2", "CCA and OPLS with directions of length 1 agree to .01 in F1",
          methods("CCA", ("OPLS",)), near(0.01)),
    Claim("jcp14-metric-f1", "CCA and OPLS with WᵀCW = I agree to .001 in F1",
          methods("CCA", ("OPLS",)), near(0.001)),
    Claim("jcp14-metric-f1", "HOPLS with terms of equal trace has the best micro F1",
          methods("HOPLS (trace)")),
    *(Claim(f"cvpr09-table{i}", f"the constant answer is below the model in micro F1 ({name})",
            columns("micro F1", "constant micro F1"))
      for i, name in ((1, "ImageCLEF"), (2, "MediaMill"))),
    Claim("neco12-stopping", "CoSaMP stopped after 20 iterations is nearer to the printed loss",
          columns("20 iterations", "stops at no progress"),
          lambda a, b: abs(a.difference) < abs(b.difference)),
    *(Claim("neco12-stopping", f"a {kind} matrix loses as little as a Hadamard matrix, to .005",
            columns(f"{kind} matrix", "stops at no progress"), lambda a, b: a.ours <= b.ours + 0.005)
      for kind in ("bernoulli", "gaussian")),
    Claim("neco12-ranking", "Rank-SVM loses no more ranking loss than calibrated label ranking",
          methods("calibrated label ranking", ("Rank-SVM",), "ranking loss")),
    *(Claim("neco12-ranking", f"Rank-SVM on M directions is below PLST in ranking loss ({name}, M = {m})",
            methods(f"PLST, M = {m}", (f"Rank-SVM, M = {m}",), "ranking loss"))
      for name, m in (("emotions", 2), ("yeast and emotions", 4), ("yeast", 8))),
    Claim("kdd08-kernel", "an rbf kernel is above the linear form", entrants("rbf", "linear")),
    Claim("kdd08-kernel", "Nyström with 200 landmarks is within .01 of the exact kernel",
          entrants("rbf, Nyström 200", "rbf"), near(0.01)),
    Claim("cvpr09-kernel", "an rbf kernel is above the linear form in macro F1", entrants("rbf", "linear")),
    *(Claim("neco12-sets", f"nonlinear KDE has a better subset accuracy than {other}",
            entrants("KDE, rbf", method))
      for other, method in (("PLST", "PLST, M = K"), ("the power-set", "power-set"))),
    Claim("neco12-sets", "dropping rare sets is within .01 of moving them to the nearest",
          entrants("pruned, rare dropped", "pruned, rare to the nearest"), near(0.01)),
    *(Claim("neco12-topics", f"LDA has a lower Hamming loss than {other}", entrants(other, "LDA"))
      for other in ("k-means", "Gaussian mixture", "NMF")),
    *(Claim("beyond-semi", f"{method}: unlabelled rows are above {other}",
            columns(f"{method}, unlabelled rows", f"{method}, {other}"))
      for method in ("HG", "Rank-HLapSVM") for other in ("labelled rows", "self-training")),
    Claim("beyond-evidence", "evidence chooses as well as cross-validation, to .005",
          columns("evidence", "cross-validation"), lambda a, b: a.ours >= b.ours - 0.005),
    Claim("beyond-evidence", "choosing the geometry is above λ alone",
          columns("cross-validation", "λ alone, uniform clique")),
    *(Claim("beyond-setsize", f"held-out set sizes are above §3.4's in {average} F1",
            columns(f"out-of-fold, F1 {average}", f"§3.4, F1 {average}"))
      for average in ("macro", "micro")),
]  # fmt: skip
_WORDS = {
    "holds": "hold",
    "holds or level": "hold or are level",
    "level": "are level",
    "in part": "hold in part",
    "fails": "fail",
    "not run": "wait for a run",
}


def judge_claims(claims: Sequence[Claim], results: Sequence[Result]) -> list[Verdict]:
    """Return a verdict for each claim."""
    by_id = {result.id: result for result in results}
    return [claim.judge(by_id.get(claim.table)) for claim in claims]


def sentence(whose: str, verdicts: Sequence[Verdict]) -> str:
    """Count the verdicts in one sentence."""
    words = [verdict.word for verdict in verdicts]
    counts = ", ".join(f"{words.count(word)} {text}" for word, text in _WORDS.items() if word in words)
    return f"{len(words)} claims of {whose}: {counts}."


def printed_distances(result: Result) -> list[float]:
    """Return how far the scores of a table lie from the printed ones; none where there are no scores."""
    if not result.scores:
        return []
    return [abs(n.difference) for n in result.numbers if math.isfinite(n.difference)]


def summary(results: Sequence[Result]) -> list[str]:
    """Return the page of verdicts: the printed scores, both tables of claims, the pairs against them."""
    lines = count_lines(results)
    all_verdicts = []
    for title, whose, claims in (
        ("What the papers claim", "the papers", PAPER_CLAIMS),
        ("What we claim", "ours", OUR_CLAIMS),
    ):
        verdicts = judge_claims(claims, results)
        all_verdicts += verdicts
        lines += [f"## {title}", "", sentence(whose, verdicts), ""]
        if whose == "the papers":
            lines += [
                "A pair of numbers is level when the mean of its differences over the splits lies within two "
                "standard errors of 0. Splits overlap, so this says level too seldom.",
                "",
            ]
        lines += [
            "| claim | shown by | verdict | for | level | against | splits |",
            "|---|---|---|---:|---:|---:|---:|",
            *(verdict.row() for verdict in verdicts),
            "",
        ]
    lines += ["## Against a claim", ""]
    lines += ["Each pair is (the number that should satisfy it, the one it is compared with).", ""]
    lines += [
        f"- {verdict.claim.text} (`{verdict.claim.table}`): {', '.join(verdict.texts(-1))}."
        for verdict in all_verdicts if verdict.count(-1)
    ]  # fmt: skip
    return [*lines, *_distance_lines(results)]


def _distance_lines(results: Sequence[Result]) -> list[str]:
    """Return the table of distances from the printed scores, one line for each table."""
    lines = ["", "## Beside the printed scores", "",
             "| table | within .02 | farthest | command |", "|---|---:|---:|---|"]  # fmt: skip
    for result in results:
        distances, quick = printed_distances(result), " --quick" if result.quick else ""
        if distances:
            n_near = f"{sum(distance <= NEAR for distance in distances)} of {len(distances)}"
            farthest = f"{max(distances):.{result.digits}f}"
            lines.append(
                f"| {result.title} | {n_near} | {farthest} | `python -m reproduction {result.id}{quick}` |"
            )
    return lines


def costs(results: Sequence[Result]) -> list[str]:
    """Return the lines on CPU time, full and quick, measured and estimated; a shared cell counts once."""
    lines = ["## What it costs", ""]
    for name, cpus in (
        ("`python -m reproduction`", [result.cpu for result in results]),
        ("`--quick`", [result.quick_cpu for result in results]),
    ):
        if sum(cpu.measured + cpu.estimated for cpu in cpus):
            lines += [_cost_sentence(name, cpus), ""]
    lines += ["| item | cells not of an item above | core minutes |", "|---|---:|---:|"]
    return lines + [
        f"| `{r.id}` | {r.cpu.cells} | {(r.cpu.measured + r.cpu.estimated) / 60:.1f} |"
        for r in results if r.cpu.cells
    ]  # fmt: skip


def _cost_sentence(name: str, costs: Sequence[Cpu]) -> str:
    measured, unknown = sum(cpu.measured for cpu in costs), sum(cpu.unknown for cpu in costs)
    total = measured + sum(cpu.estimated for cpu in costs)
    text = f"{name}: {total / 60:.0f} minutes of one core, "
    if measured == total:
        text += "all measured"
    else:
        text += (
            f"{measured / 60:.0f} of them measured, the others estimated for cells not finished from other "
            "partitions of the same work"
        )
    return text + (f"; {unknown} cells of work not run at all are not counted." if unknown else ".")

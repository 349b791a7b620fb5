"""The sections of a comparison about its methods: scores, differences, ranks, costs."""

import math
from functools import partial
from typing import Any

from hyperlabel.apps.comparison.comparison import Comparison
from hyperlabel.apps.comparison.protocol import LOWER_IS_BETTER
from hyperlabel.apps.report import displays
from hyperlabel.apps.report.page import (
    Entry,
    Figures,
    PageTable,
    Section,
    Text,
    draw_figure,
    format_duration,
    format_megabytes,
    number_entry,
)
from hyperlabel.apps.report.summary import join_titles, known_title, short_title

_SHORT = {"label_ranking_average_precision": "LRAP"}


def scores_section(c: Comparison) -> Section:
    """Mean scores with standard deviations, one table per data set."""
    text = (
        "Mean over splits ± standard deviation over splits: training parts "
        "overlap, so it is not a standard error and must not be used to judge differences; the next section "
        "does that. The best value of a column stands out."
    )
    section = Section("scores", "Scores", [text])
    shown = {m: _SHORT.get(m, m) for m in c.metrics}
    help = {
        name: f"{m}: {'lower' if m in LOWER_IS_BETTER else 'higher'} is better" for m, name in shown.items()
    }
    for data in c.datasets:
        best = {m: c.mean(data, c.ranking(data, m)[0], m) for m in c.metrics if c.ranking(data, m)}
        rows = [
            {"method": _method_entry(method)}
            | {shown[m]: _score_entry(c, data, method, m, best.get(m)) for m in c.metrics}
            for method in c.ranking(data)
        ]
        missing = [m for m in c.methods if m not in c.ranking(data)]
        notes = [f"{m} is not listed: it did not finish (see Problems)." for m in missing]
        facts = c.facts[data]
        caption = (
            f"{data}: {facts['rows']} rows, {facts['features']} features, {facts['labels']} labels, "
            f"{facts['labels_per_row']:.2f} labels per row"
        )
        section.blocks.append(PageTable(caption, rows, help=help, notes=notes, data=data))
    return section


def _score_entry(c: Comparison, data: str, method: str, metric: str, best: float | None) -> Entry:
    mean, std = c.mean(data, method, metric), c.std(data, method, metric)
    digits = 4 if 0 < abs(mean) < 0.1 else 3
    shown = f"± {std:.{digits}f}" if math.isfinite(std) else ""
    return number_entry(mean, digits, mark=mean == best, std=shown)


def _method_entry(name: str) -> Entry:
    """Name a method as people know it; all of its name and what to type stand in the title."""
    title, short = known_title(name), short_title(name)
    return Entry(short, short, title="" if title == name else f"{title}: --methods {name}")


def differences_section(c: Comparison) -> Section:
    """Every method against the best one, with intervals and probabilities."""
    text = (
        "Each method against the best one. The interval and the p-value are the corrected resampled t of "
        "Nadeau and Bengio; the probabilities are the Bayesian correlated t, where differences up to "
        f"{c.rope:g} count as equal. Many methods are compared with the one that came out best, so small "
        "p-values near 0.05 mean little."
    )
    section = Section("sureness", "Differences", [text])
    help = {
        "95 % interval": "of the difference",
        "better": "probability that the best is better",
        "equal": f"probability that they differ by at most {c.rope:g}",
        "worse": "probability that the best is worse",
    }
    for n, data in enumerate(c.datasets):
        rows = [
            {
                "method": _method_entry(v.method),
                "behind by": number_entry(v.difference, text=f"{v.difference:+.3f}"),
                "95 % interval": number_entry(v.low, text=f"{v.low:+.3f} … {v.high:+.3f}"),
                "p-value": number_entry(v.p_value, text="< 0.001" if v.p_value < 0.001 else None),
                "better": _format_percent(v.best_better),
                "equal": _format_percent(v.equivalent),
                "worse": _format_percent(v.best_worse),
            }
            for v in c.versus_best(data)
        ]
        if not rows:
            note = f"{data}: fewer than two methods or splits to compare."
            section.blocks.append(Text(note, "note", data=data))
            continue
        best = short_title(c.best(data))
        found = PageTable(f"{data}: {c.scoring} of {best} against the others", rows, help=help)
        chart = draw_figure(
            partial(displays.DifferenceDisplay.from_comparison, c, data),
            f"{data}: how far methods are behind {best}, with 95 % intervals. The shaded band marks "
            "differences that do not matter; an interval that crosses zero is not significantly different."
            f"{_left_out(c, data)}",
            key=f"difference-{n}",
        )
        section.blocks.append(Figures([chart], table=found, data=data))
    return section


def _format_percent(share: float) -> Entry:
    return number_entry(share, text=f"{share:.0%}")


def across_section(c: Comparison) -> Section:
    """Ranks over several data sets."""
    a: Any = c.across
    f = a.friedman
    text = (
        f"Friedman's test over {f.n_datasets} data sets and {len(a.methods)} methods: χ² = "
        f"{f.statistic:.2f}, p = {f.p_value:.3g} (Iman–Davenport F = {f.f_statistic:.2f}, p = "
        f"{f.f_p_value:.3g}). Pairs are compared by Wilcoxon's signed ranks, adjusted by Holm."
    )
    section = Section("across", "Across data sets", [text])
    if a.few:
        warning = (
            f"Only {f.n_datasets} data sets: below 8 these tests have little power, and the average rank of "
            "a method can change with one more data set."
        )
        section.blocks.append(Text(warning, "warning"))
    chart = draw_figure(
        displays.CriticalDifferenceDisplay(f.ranks, a.groups, list(map(short_title, a.methods))).plot,
        "Critical-difference diagram: average ranks; a bar joins methods that no pairwise test tells apart.",
        key="ranks",
    )
    rows = [
        {"method": _method_entry(name), "average rank": number_entry(rank, 2)}
        | {d: number_entry(c.mean(d, name), mark=c.best(d) == name) for d in c.datasets}
        for rank, name in sorted(zip(f.ranks.tolist(), a.methods, strict=True), key=lambda pair: pair[0])
    ]
    section.blocks.append(
        Figures([chart], table=PageTable(f"Mean {c.scoring} on each data set, and average rank", rows))
    )
    return section


def _left_out(c: Comparison, data: str) -> str:
    far = c.far_behind(data)
    return f" Left out, far behind: {join_titles(far)}." if far else ""


def costs_section(c: Comparison) -> Section:
    """Time and memory against quality."""
    text = (
        "Medians over splits, one thread each. The time of a fit includes the search over its grid. Memory "
        "is how far the process grew during the fit."
    )
    section = Section("costs", "Time and memory", [text])
    for n, data in enumerate(c.datasets):
        costs = {method: c.cost(data, method) for method in c.ranking(data)}
        rows = [
            {
                "method": _method_entry(method),
                c.scoring: c.mean(data, method),
                "fit": number_entry(cost.fit_seconds, text=format_duration(cost.fit_seconds)),
                "predict": number_entry(cost.predict_seconds, text=format_duration(cost.predict_seconds)),
                "peak memory": number_entry(cost.peak_mb, text=format_megabytes(cost.peak_mb)),
            }
            for method, cost in costs.items()
            if cost is not None
        ]
        chart = draw_figure(
            partial(displays.CostDisplay.from_comparison, c, data),
            f"{data}: time of a fit against {c.scoring}. On the dashed line nothing is both faster and "
            f"better.{_left_out(c, data)}",
            key=f"cost-{n}",
        )
        section.blocks.append(
            Figures([chart], table=PageTable(f"{data}: cost of each method", rows), data=data)
        )
    return section

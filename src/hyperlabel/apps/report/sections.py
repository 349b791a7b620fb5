"""The sections of a comparison about its methods: scores, differences, ranks, costs."""

import math
from functools import partial
from typing import Any

from hyperlabel.apps.comparison.comparison import Comparison
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
from hyperlabel.metrics.measures import is_loss

_SHORT = {"label_ranking_average_precision": "LRAP"}


def scores_section(c: Comparison) -> Section:
    """Mean scores with standard deviations, one table per data set."""
    section_text = (
        "Mean over splits ± standard deviation over splits: training parts "
        "overlap, so it is not a standard error and must not be used to judge differences; the next section "
        "does that. The best value of a column stands out."
    )
    section = Section("scores", "Scores", [section_text])
    display_names = {m: _SHORT.get(m, m) for m in c.metrics}
    column_help = {
        name: f"{m}: {'lower' if is_loss(m) else 'higher'} is better" for m, name in display_names.items()
    }
    for data in c.datasets:
        best_means = {m: c.mean(data, c.ranking(data, m)[0], m) for m in c.metrics if c.ranking(data, m)}
        table_rows = [
            {"method": _build_method_entry(method)}
            | {display_names[m]: _build_score_entry(c, data, method, m, best_means.get(m)) for m in c.metrics}
            for method in c.ranking(data)
        ]
        missing_methods = [m for m in c.methods if m not in c.ranking(data)]
        table_notes = [f"{m} is not listed: it did not finish (see Problems)." for m in missing_methods]
        data_facts = c.facts[data]
        table_caption = (
            f"{data}: {data_facts['rows']} rows, {data_facts['features']} features, "
            f"{data_facts['labels']} labels, {data_facts['labels_per_row']:.2f} labels per row"
        )
        if n_unknown := data_facts.get("unknown_entries"):
            table_caption += f", {n_unknown} label entries unknown and left out"
        section.blocks.append(
            PageTable(table_caption, table_rows, help=column_help, notes=table_notes, data=data)
        )
    return section


def _build_score_entry(c: Comparison, data: str, method: str, metric: str, best_mean: float | None) -> Entry:
    mean_score, score_std = c.mean(data, method, metric), c.std(data, method, metric)
    digits = 4 if 0 < abs(mean_score) < 0.1 else 3
    std_text = f"± {score_std:.{digits}f}" if math.isfinite(score_std) else ""
    return number_entry(mean_score, digits, mark=mean_score == best_mean, std=std_text)


def _build_method_entry(name: str) -> Entry:
    """Return the short title of a method; its tooltip holds the full title and the option to type."""
    full_title, short_name = known_title(name), short_title(name)
    return Entry(
        short_name, short_name, title="" if full_title == name else f"{full_title}: --methods {name}"
    )


def differences_section(c: Comparison) -> Section:
    """Every method against the best one, with intervals and probabilities."""
    section_text = (
        "Each method against the best one. The interval and the p-value are the corrected resampled t of "
        "Nadeau and Bengio; the probabilities are the Bayesian correlated t, where differences up to "
        f"{c.rope:g} count as equal. Many methods are compared with the one that came out best, so small "
        "p-values near 0.05 mean little."
    )
    section = Section("sureness", "Differences", [section_text])
    column_help = {
        "95 % interval": "of the difference",
        "better": "probability that the best is better",
        "equal": f"probability that they differ by at most {c.rope:g}",
        "worse": "probability that the best is worse",
    }
    for n, data in enumerate(c.datasets):
        table_rows = [
            {
                "method": _build_method_entry(v.method),
                "behind by": number_entry(v.difference, text=f"{v.difference:+.3f}"),
                "95 % interval": number_entry(v.low, text=f"{v.low:+.3f} … {v.high:+.3f}"),
                "p-value": number_entry(v.p_value, text="< 0.001" if v.p_value < 0.001 else None),
                "better": _format_percent(v.best_better),
                "equal": _format_percent(v.equivalent),
                "worse": _format_percent(v.best_worse),
            }
            for v in c.versus_best(data)
        ]
        if not table_rows:
            missing_note = f"{data}: fewer than two methods or splits to compare."
            section.blocks.append(Text(missing_note, "note", data=data))
            continue
        best_name = short_title(c.best(data))
        difference_table = PageTable(
            f"{data}: {c.scoring} of {best_name} against the others", table_rows, help=column_help
        )
        difference_figure = draw_figure(
            partial(displays.DifferenceDisplay.from_comparison, c, data),
            f"{data}: how far methods are behind {best_name}, with 95 % intervals. The shaded band marks "
            "differences that do not matter; an interval that crosses zero is not significantly different."
            f"{_name_left_out_methods(c, data)}",
            key=f"difference-{n}",
        )
        section.blocks.append(Figures([difference_figure], table=difference_table, data=data))
    return section


def _format_percent(share: float) -> Entry:
    return number_entry(share, text=f"{share:.0%}")


def across_section(c: Comparison) -> Section:
    """Ranks over several data sets."""
    a: Any = c.across
    f = a.friedman
    section_text = (
        f"Friedman's test over {f.n_datasets} data sets and {len(a.methods)} methods: χ² = "
        f"{f.statistic:.2f}, p = {f.p_value:.3g} (Iman–Davenport F = {f.f_statistic:.2f}, p = "
        f"{f.f_p_value:.3g}). Pairs are compared by Wilcoxon's signed ranks, adjusted by Holm."
    )
    section = Section("across", "Across data sets", [section_text])
    if a.few:
        power_warning = (
            f"Only {f.n_datasets} data sets: below 8 these tests have little power, and the average rank of "
            "a method can change with one more data set."
        )
        section.blocks.append(Text(power_warning, "warning"))
    rank_figure = draw_figure(
        displays.CriticalDifferenceDisplay(f.ranks, a.groups, list(map(short_title, a.methods))).plot,
        "Critical-difference diagram: average ranks; a bar joins methods not significantly different.",
        key="ranks",
    )
    table_rows = [
        {"method": _build_method_entry(name), "average rank": number_entry(rank, 2)}
        | {d: number_entry(c.mean(d, name), mark=c.best(d) == name) for d in c.datasets}
        for rank, name in sorted(zip(f.ranks.tolist(), a.methods, strict=True), key=lambda pair: pair[0])
    ]
    section.blocks.append(
        Figures(
            [rank_figure], table=PageTable(f"Mean {c.scoring} on each data set, and average rank", table_rows)
        )
    )
    return section


def _name_left_out_methods(c: Comparison, data: str) -> str:
    far_methods = c.far_behind(data)
    return f" Left out, far behind: {join_titles(far_methods)}." if far_methods else ""


def costs_section(c: Comparison) -> Section:
    """Time and memory against quality."""
    section_text = (
        "Medians over splits, one thread each. The time of a fit includes the search over its grid. Memory "
        "is how far the process grew during the fit."
    )
    section = Section("costs", "Time and memory", [section_text])
    for n, data in enumerate(c.datasets):
        method_costs = {method: c.cost(data, method) for method in c.ranking(data)}
        table_rows = [
            {
                "method": _build_method_entry(method),
                c.scoring: c.mean(data, method),
                "fit": number_entry(cost.fit_seconds, text=format_duration(cost.fit_seconds)),
                "predict": number_entry(cost.predict_seconds, text=format_duration(cost.predict_seconds)),
                "peak memory": number_entry(cost.peak_mb, text=format_megabytes(cost.peak_mb)),
            }
            for method, cost in method_costs.items()
            if cost is not None
        ]
        cost_figure = draw_figure(
            partial(displays.CostDisplay.from_comparison, c, data),
            f"{data}: time of a fit against {c.scoring}. On the dashed line nothing is both faster and "
            f"better.{_name_left_out_methods(c, data)}",
            key=f"cost-{n}",
        )
        section.blocks.append(
            Figures([cost_figure], table=PageTable(f"{data}: cost of each method", table_rows), data=data)
        )
    return section

"""The sections of a comparison's report: tables and figures, one function each."""

from __future__ import annotations

import math
from typing import Any

from hyperlabel.experiments.comparison import Comparison
from hyperlabel.report import data_displays, displays, svg
from hyperlabel.report.page import (
    Column,
    Entry,
    Figure,
    Figures,
    Pair,
    Section,
    Table,
    Text,
    duration,
    megabytes,
    number,
    words,
)
from hyperlabel.report.summary import (
    FAILING,
    join,
    known_title,
    recommended,
    splits_text,
    without_folders,
)


def scores_section(c: Comparison) -> Section:
    """Mean scores with spread, one table per data set."""
    section = Section(
        "scores",
        "Scores",
        [
            "Mean over splits ± spread. The spread is the standard deviation over splits: training parts "
            "overlap, so "
            "it is not a standard error and must not be used to judge differences; the next section does "
            "that. "
            "The best value of a column stands out."
        ],
    )
    for data in c.datasets:
        ranking = c.ranking(data)
        columns = [Column("method"), *(Column(_SHORT.get(m, m), True, _meaning(m)) for m in c.metrics)]
        best = {m: c.mean(data, c.ranking(data, m)[0], m) for m in c.metrics if c.ranking(data, m)}
        rows = [
            [
                _method(method),
                *(
                    _with_spread(
                        c.mean(data, method, m),
                        c.spread(data, method, m),
                        c.mean(data, method, m) == best.get(m),
                    )
                    for m in c.metrics
                ),
            ]
            for method in ranking
        ]
        notes = [
            f"{m} is not listed: it did not finish (see Problems)." for m in c.methods if m not in ranking
        ]
        section.blocks.append(Table(f"{data}: {_facts(c.facts[data])}", columns, rows, notes, data=data))
    return section


_SHORT = {"label_ranking_average_precision": "LRAP"}


def _meaning(metric: str) -> str:
    from hyperlabel.experiments.protocol import LOWER_IS_BETTER

    return f"{metric}: {'lower' if metric in LOWER_IS_BETTER else 'higher'} is better"


def _facts(facts: dict[str, Any]) -> str:
    return (
        f"{facts['rows']} rows, {facts['features']} features, {facts['labels']} labels, "
        f"{facts['labels_per_row']:.2f} labels per row"
    )


def _method(name: str) -> Entry:
    """Name a method as people know it; the name to type stands in its title."""
    title = known_title(name)
    return words(title, title="" if title == name else f"--methods {name}")


def _with_spread(mean: float, spread: float, mark: bool) -> Entry:
    digits = 4 if 0 < abs(mean) < 0.1 else 3
    return number(mean, digits, mark=mark, spread=f"± {spread:.{digits}f}" if math.isfinite(spread) else "")


def differences_section(c: Comparison) -> Section:
    """Every method against the best one, with intervals and probabilities."""
    section = Section(
        "sureness",
        "Differences",
        [
            "Each method against the best one. The interval and the p-value are the corrected resampled t "
            "of Nadeau and "
            f"Bengio; the probabilities are the Bayesian correlated t, where differences up to {c.rope:g} "
            "count as equal. "
            "Many methods are compared with the one that came out best, so small p-values near 0.05 mean "
            "little."
        ],
    )
    for data in c.datasets:
        rows = c.versus_best(data)
        if not rows:
            section.blocks.append(
                Text(f"{data}: fewer than two methods or splits to compare.", "note", data=data)
            )
            continue
        best = c.best(data)
        names = {
            "method": "",
            "behind by": "",
            "95 % interval": "of the difference",
            "p-value": "",
            "better": "probability that the best is better",
            "equal": f"probability that they differ by at most {c.rope:g}",
            "worse": "probability that the best is worse",
        }
        table = Table(
            f"{data}: {c.scoring} of {best} against the others",
            [Column(name, name != "method", help) for name, help in names.items()],
            [
                [
                    _method(v.method),
                    number(v.difference, text=f"{v.difference:+.4f}"),
                    number(v.low, text=f"{v.low:+.4f} … {v.high:+.4f}"),
                    number(v.p_value, text="< 0.001" if v.p_value < 0.001 else f"{v.p_value:.3f}"),
                    *(number(x, text=f"{x:.0%}") for x in (v.best_better, v.equivalent, v.best_worse)),
                ]
                for v in rows
            ],
        )
        chart = draw_figure(
            lambda ax, data=data: displays.DifferenceDisplay.from_comparison(c, data, ax=ax),
            f"{data}: how far methods are behind {best}, with 95 % intervals. The shaded band marks "
            "differences that do not matter; an interval that crosses zero is not told apart."
            f"{_left_out(c, data)}",
            key=f"difference-{c.datasets.index(data)}",
            size=(5.2, 0.3 * len(rows) + 1.1),
        )
        section.blocks.append(Pair(chart, table, data=data))
    return section


def across_section(c: Comparison) -> Section:
    """Ranks over several data sets."""
    a = c.across
    assert a is not None
    f = a.friedman
    section = Section(
        "across",
        "Across data sets",
        [
            f"Friedman's test over {f.n_datasets} data sets and {len(a.methods)} methods: χ² = "
            f"{f.statistic:.2f}, "
            f"p = {f.p_value:.3g} (Iman–Davenport F = {f.f_statistic:.2f}, p = {f.f_p_value:.3g}). "
            "Pairs are compared by Wilcoxon's signed ranks, adjusted by Holm."
        ],
    )
    if a.few:
        section.blocks.append(
            Text(
                f"Only {f.n_datasets} data sets: below 8 these tests have little power, and the average "
                "rank of a "
                "method can change with one more data set.",
                "warning",
            )
        )
    chart = draw_figure(
        lambda ax: displays.CriticalDifferenceDisplay(f.ranks, a.groups, a.methods).plot(ax),
        "Critical-difference diagram: average ranks; a bar joins methods that no pairwise test tells apart.",
        key="ranks",
        size=(5.2, 0.32 * len(a.methods) + 1.1),
    )
    order = f.ranks.argsort(kind="stable")
    table = Table(
        f"Mean {c.scoring} on each data set, and average rank",
        [Column("method"), Column("average rank", True), *(Column(d, True) for d in c.datasets)],
        [
            [
                _method(a.methods[i]),
                number(float(f.ranks[i]), 2),
                *(number(c.mean(d, a.methods[i]), mark=c.best(d) == a.methods[i]) for d in c.datasets),
            ]
            for i in order
        ],
    )
    section.blocks.append(Pair(chart, table))
    return section


def _left_out(c: Comparison, data: str) -> str:
    far = c.far_behind(data)
    return f" Left out, far behind: {join(far)}." if far else ""


def costs_section(c: Comparison) -> Section:
    """Time and memory against quality."""
    section = Section(
        "costs",
        "Time and memory",
        [
            "Medians over splits, one thread each. The time of a fit includes the search over its grid. "
            "Memory is how "
            "far the process grew during the fit."
        ],
    )
    for n, data in enumerate(c.datasets):
        rows = []
        for method in c.ranking(data):
            cost = c.cost(data, method)
            if cost is not None:
                rows.append(
                    [
                        _method(method),
                        number(c.mean(data, method)),
                        number(cost.fit_seconds, text=duration(cost.fit_seconds)),
                        number(cost.predict_seconds, text=duration(cost.predict_seconds)),
                        number(cost.peak_mb, text=megabytes(cost.peak_mb)),
                    ]
                )
        columns = [Column("method"), *(Column(x, True) for x in (c.scoring, "fit", "predict", "peak memory"))]
        chart = draw_figure(
            lambda ax, data=data: displays.CostDisplay.from_comparison(c, data, ax=ax),
            f"{data}: time of a fit against {c.scoring}. On the dashed line nothing is both faster and "
            f"better.{_left_out(c, data)}",
            key=f"cost-{n}",
            size=(5.2, 3.8),
        )
        section.blocks.append(Pair(chart, Table(f"{data}: cost of each method", columns, rows), data=data))
    return section


def labels_section(c: Comparison) -> Section:
    """Scores of each label under the recommended method."""
    section = Section(
        "labels",
        "Labels",
        [
            "Counts are pooled over all test parts, so that each row counts once per repeat. "
            f"A label counts as failing when its F1 is below {FAILING}."
        ],
    )
    for n, data in enumerate(c.datasets):
        method = recommended(c)
        method = method if c.labels(data, method) else c.best(data)
        labels = [label for label in c.labels(data, method) if label.actual or label.predicted]
        if not labels:
            continue
        display = data_displays.LabelScoresDisplay(
            [x.name for x in labels], [x.f1 for x in labels], [x.actual for x in labels]
        )
        shown = min(len(labels), display.most)
        part = (
            f" (the {shown // 2} best and the {shown // 2} worst of {len(labels)})"
            if len(labels) > shown
            else ""
        )
        chart = draw_figure(
            display.plot,
            f"{data}: F1 of each label under {method}{part}.",
            key=f"labels-{n}",
            size=(5.2, 0.23 * shown + 0.9),
        )
        section.blocks.append(Pair(chart, _labels_table(data, method, labels), data=data))
    return section


def _labels_table(data: str, method: str, labels: list[Any]) -> Table:
    columns = ("F1", "precision", "recall", "rows", "predicted", "found")
    return Table(
        f"{data}: every label under {method}, worst first",
        [Column("label"), *(Column(x, True) for x in columns)],
        [
            [
                words(x.name),
                number(x.f1),
                number(x.precision),
                number(x.recall),
                *(number(v, text=str(v)) for v in (x.actual, x.predicted, x.hits)),
            ]
            for x in sorted(labels, key=lambda x: (x.f1, -x.actual))
        ],
    )


def curves_section(c: Comparison) -> Section:
    """Learning curves and parameter paths."""
    section = Section(
        "curves",
        "Curves",
        [
            "How the score moves with the number of training rows and with a method's main parameter. "
            "Bands are the spread over splits (one standard deviation each way), not confidence intervals."
        ],
    )
    for n, data in enumerate(c.datasets):
        charts = []
        for i, curve in enumerate(c.curves[data] or []):
            charts.append(
                draw_figure(
                    lambda ax, curve=curve: displays.PathDisplay(
                        curve["x"],
                        curve["scores"],
                        xlabel=curve["xlabel"],
                        ylabel=curve["ylabel"],
                        log=curve["log"],
                    ).plot(ax),
                    f"{data}: {curve['title']}.",
                    key=f"curve-{n}-{i}",
                )
            )
        section.blocks.append(Figures(charts, data=data))
    return section


def data_section(c: Comparison) -> Section:
    """What the data look like."""
    section = Section("data", "The data")
    keys = (
        *("rows", "features", "labels", "labels_per_row"),
        *("distinct_label_sets", "rows_without_labels", "labels_without_rows"),
    )
    names = {
        "labels_per_row": "labels per row",
        "distinct_label_sets": "label sets",
        "rows_without_labels": "unlabelled rows",
        "labels_without_rows": "empty labels",
    }
    rows = []
    for data in c.datasets:
        p = c.portraits[data]
        if p:
            rows.append([words(data), *(number(p[k], text=f"{p[k]:g}") for k in keys)])
    section.blocks.append(
        Table(
            "What was learned from",
            [Column("data"), *(Column(names.get(k, k), True) for k in keys)],
            rows,
        )
    )
    for n, data in enumerate(c.datasets):
        p = c.portraits[data]
        if not p:
            continue
        together = p["cooccurrence"]
        size = max(3.4, 0.2 * len(together["labels"]) + 1.6)
        charts = [
            draw_figure(
                lambda ax, t=together: data_displays.CooccurrenceDisplay(t["share"], t["labels"]).plot(ax),
                f"{data}: label co-occurrence, the most frequent labels. Of the rows with the label on the "
                "left, the "
                "share that also carry the label below.",
                key=f"together-{n}",
                size=(max(5.2, size + 0.4), size),
            )
        ]
        spectrum = []
        if p["spectrum"]:
            spectrum.append(
                draw_figure(
                    lambda ax, s=p["spectrum"]: data_displays.SpectrumDisplay(s).plot(ax),
                    f"{data}: spectrum of the label hypergraph. A fast fall means few directions carry the "
                    "labels.",
                    key=f"spectrum-{n}",
                )
            )
        if p["embedding"]:
            e = p["embedding"]
            charts.append(
                draw_figure(
                    lambda ax, e=e: data_displays.EmbeddingDisplay(
                        e["points"], e["colour"], e["labels"]
                    ).plot(ax),
                    f"{data}: rows not used in the fit, in two hypergraph components, coloured by the "
                    "rarest of the "
                    "five most frequent labels they carry.",
                    key=f"embedding-{n}",
                    size=(5.2, 4.0),
                )
            )
        section.blocks.append(Figures(charts, data=data))
        if spectrum:
            folded = f"{data}: how few directions carry the labels (spectrum of the hypergraph)"
            section.blocks.append(Figures(spectrum, folded, data=data))
    return section


def problems_section(c: Comparison) -> Section:
    """Failed cells and warnings."""
    section = Section("problems", "Problems")
    failures = c.failures()
    if failures:
        section.blocks.append(
            Table(
                "What failed (the rest went on)",
                [Column("data"), Column("method"), Column("splits", True), Column("error")],
                [
                    [
                        words(f["data"]),
                        words(f["method"]),
                        number(f["n"], text=str(f["n"])),
                        words(f["error"]),
                    ]
                    for f in failures
                ],
            )
        )
    if c.warnings():
        rows = [[words(method), words(text)] for method, text in c.warnings()]
        table = Table(
            "What methods warned of", [Column("method"), Column("warning")], rows, folded="Warnings"
        )
        section.blocks.append(table)
    return section


def repeat_section(record: dict[str, Any], c: Comparison | None = None) -> Section:
    """The command and the environment."""
    section = Section("repeat", "Repeat it")
    section.blocks.append(Text(without_folders(record["command"]) or "(not recorded)", kind="code"))
    if c is not None:
        tuned = [m["name"] for m in record["spec"]["methods"] if m["grid"]]
        folds = record["spec"]["inner_cv"]
        how = (
            f"Tuned by {folds}-fold cross-validation inside each training part: {join(tuned, 12)}."
            if tuned
            else "No method was tuned."
        )
        section.texts.append(
            f"{splits_text(c)}, seed {record['spec']['seed']}. {how} "
            "The run resumes where it stopped and skips what is finished."
        )
    environments = record["environments"]
    if len(environments) > 1:
        section.blocks.append(
            Text(
                f"The results come from {len(environments)} different environments or versions of the code.",
                "warning",
            )
        )
    rows: list[list[Entry]] = []
    for key in environments[0] if environments else {}:
        rows.append([words(key), *(words(str(e.get(key, "–"))) for e in environments)])
    values = ["value"] if len(environments) == 1 else [f"run {i + 1}" for i in range(len(environments))]
    columns = [Column("what"), *map(Column, values)]
    section.blocks.append(Table("Environment", columns, rows))
    return section


def draw_figure(draw: Any, caption: str, *, key: str, size: tuple[float, float] = (5.2, 3.4)) -> Figure:
    """Draw a figure whose caption is also its description."""
    return Figure(_safe(svg.figure(draw, title=caption, key=key, size=size)), caption)


def _safe(text: str) -> Any:
    """Mark our own SVG as safe to inline."""
    from markupsafe import Markup

    return Markup(text)

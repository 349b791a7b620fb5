"""The sections of a comparison about its data and its run: labels, curves, profiles, problems, repeating."""

from typing import Any

from hyperlabel.apps.comparison.comparison import Comparison, LabelScore
from hyperlabel.apps.report import curve_displays, label_displays
from hyperlabel.apps.report.page import Figures, PageTable, Section, Text, draw_figure, number_entry
from hyperlabel.apps.report.summary import (
    FAILING,
    join_titles,
    recommended_method,
    short_title,
    splits_text,
    without_folders,
)


def labels_section(c: Comparison) -> Section:
    """Scores of each label under the recommended method."""
    section_text = (
        "Counts are pooled over all test parts, so that each row counts once per repeat. A label counts as "
        f"failing when its F1 is below {FAILING}."
    )
    section = Section("labels", "Labels", [section_text])
    for n, data in enumerate(c.datasets):
        method = recommended_method(c)
        method = method if c.labels(data, method) else c.best(data)
        label_scores = [label for label in c.labels(data, method) if label.actual or label.predicted]
        if not label_scores:
            continue
        score_display = label_displays.LabelScoresDisplay(
            [x.name for x in label_scores], [x.f1 for x in label_scores], [x.actual for x in label_scores]
        )
        excerpt_note = (
            f" (the 12 best and the 12 worst of {len(label_scores)})" if len(label_scores) > 24 else ""
        )
        method_title = short_title(method)
        score_figure = draw_figure(
            score_display.plot,
            f"{data}: F1 of each label under {method_title}{excerpt_note}.",
            key=f"labels-{n}",
        )
        table_caption = f"{data}: every label under {method_title}, worst first"
        section.blocks.append(
            Figures([score_figure], table=_build_labels_table(table_caption, label_scores), data=data)
        )
    return section


def _build_labels_table(caption: str, label_scores: list[LabelScore]) -> PageTable:
    table_rows = [
        {
            "label": x.name,
            "F1": x.f1,
            "precision": x.precision,
            "recall": x.recall,
            "rows": x.actual,
            "predicted": x.predicted,
            "found": x.hits,
        }
        for x in sorted(label_scores, key=lambda x: (x.f1, -x.actual))
    ]
    return PageTable(caption, table_rows)


def curves_section(c: Comparison) -> Section:
    """Learning curves and parameter paths."""
    section_text = (
        "How the score moves with the number of training rows and with a method's main parameter. Bands are "
        "one standard deviation over splits each way, not confidence intervals."
    )
    section = Section("curves", "Curves", [section_text])
    for n, data in enumerate(c.datasets):
        curve_figures = []
        for i, curve in enumerate(c.curves[data] or []):
            axis_options = {name: curve[name] for name in ("xlabel", "ylabel", "log")}
            path_display = curve_displays.PathDisplay(curve["x"], curve["scores"], **axis_options)
            curve_figures.append(
                draw_figure(path_display.plot, f"{data}: {curve['title']}.", key=f"curve-{n}-{i}")
            )
        section.blocks.append(Figures(curve_figures, data=data))
    return section


_PROFILE_TITLES = {
    "rows": "rows",
    "features": "features",
    "labels": "labels",
    "labels_per_row": "labels per row",
    "distinct_label_sets": "label sets",
    "rows_without_labels": "unlabelled rows",
    "labels_without_rows": "empty labels",
}


def data_section(c: Comparison) -> Section:
    """What the data look like."""
    section = Section("data", "The data")
    data_profiles = {data: c.data_profiles[data] for data in c.datasets if c.data_profiles[data]}
    table_rows = [
        {"data": data}
        | {name: number_entry(p[key], text=f"{p[key]:g}") for key, name in _PROFILE_TITLES.items()}
        for data, p in data_profiles.items()
    ]
    if table_rows:
        section.blocks.append(PageTable("What was learned from", table_rows))
    for n, (data, p) in enumerate(data_profiles.items()):
        section.blocks += _draw_profile(n, data, p)
    return section


def _draw_profile(n: int, data: str, p: dict[str, Any]) -> list[Figures]:
    label_pairs, e = p["cooccurrence"], p["embedding"]
    label_figures = [
        draw_figure(
            label_displays.CooccurrenceDisplay(label_pairs["share"], label_pairs["labels"]).plot,
            f"{data}: label co-occurrence, the most frequent labels. Of the rows with the label on the left, "
            "the share that also carry the label below.",
            key=f"together-{n}",
        )
    ]
    if e:
        label_figure = draw_figure(
            label_displays.EmbeddingDisplay(e["points"], e["colour"], e["labels"]).plot,
            f"{data}: rows not used in the fit, in two hypergraph components, coloured by the rarest of the "
            "five most frequent labels they carry.",
            key=f"embedding-{n}",
        )
        label_figures.append(label_figure)
    figure_blocks = [Figures(label_figures, data=data)]
    if p["spectrum"]:
        label_figure = draw_figure(
            label_displays.SpectrumDisplay(p["spectrum"]).plot,
            f"{data}: spectrum of the label hypergraph. A fast fall means few directions carry the labels.",
            key=f"spectrum-{n}",
        )
        fold_title = f"{data}: how few directions carry the labels (spectrum of the hypergraph)"
        figure_blocks.append(Figures([label_figure], fold_title, data=data))
    return figure_blocks


def problems_section(c: Comparison) -> Section:
    """Failed cells and warnings."""
    section = Section("problems", "Problems")
    failed_rows = [
        {name: f[name] for name in ("data", "method", "error")} | {"splits": f["n"]} for f in c.failures()
    ]
    warning_rows = [{"method": method, "warning": text} for method, text in c.warnings()]
    if failed_rows:
        section.blocks.append(PageTable("What failed (the rest went on)", failed_rows))
    if warning_rows:
        section.blocks.append(PageTable("What methods warned of", warning_rows, folded="Warnings"))
    return section


def repeat_section(record: dict[str, Any], c: Comparison | None = None) -> Section:
    """The command and the environment."""
    section = Section("repeat", "Repeat it")
    section.blocks.append(Text(without_folders(record["command"]) or "(not recorded)", kind="code"))
    if c is not None:
        suite_spec = record["spec"]
        tuned_methods = [m["name"] for m in suite_spec["methods"] if m["grid"]]
        tuning_phrase = f"Tuned by {suite_spec['inner_cv']}-fold cross-validation inside each training part"
        tuning_sentence = (
            f"{tuning_phrase}: {join_titles(tuned_methods, 12)}." if tuned_methods else "No method was tuned."
        )
        section.texts.append(
            f"{splits_text(c)}, seed {suite_spec['seed']}. {tuning_sentence} "
            "The run resumes where it stopped and skips what is finished."
        )
    run_environments = record["environments"]
    if len(run_environments) > 1:
        warning_text = (
            f"The results come from {len(run_environments)} different environments or versions of the code."
        )
        section.blocks.append(Text(warning_text, "warning"))
    column_titles = (
        ["value"] if len(run_environments) == 1 else [f"run {i + 1}" for i in range(len(run_environments))]
    )
    table_rows = [
        {"what": key}
        | {title: str(e.get(key, "–")) for title, e in zip(column_titles, run_environments, strict=True)}
        for key in (run_environments[0] if run_environments else {})
    ]
    if table_rows:
        section.blocks.append(PageTable("Environment", table_rows))
    return section

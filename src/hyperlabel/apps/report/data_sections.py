"""The sections of a comparison about its data and its run: labels, curves, portraits, problems, repeating."""

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
    text = (
        "Counts are pooled over all test parts, so that each row counts once per repeat. A label counts as "
        f"failing when its F1 is below {FAILING}."
    )
    section = Section("labels", "Labels", [text])
    for n, data in enumerate(c.datasets):
        method = recommended_method(c)
        method = method if c.labels(data, method) else c.best(data)
        labels = [label for label in c.labels(data, method) if label.actual or label.predicted]
        if not labels:
            continue
        display = label_displays.LabelScoresDisplay(
            [x.name for x in labels], [x.f1 for x in labels], [x.actual for x in labels]
        )
        part = f" (the 12 best and the 12 worst of {len(labels)})" if len(labels) > 24 else ""
        title = short_title(method)
        chart = draw_figure(display.plot, f"{data}: F1 of each label under {title}{part}.", key=f"labels-{n}")
        caption = f"{data}: every label under {title}, worst first"
        section.blocks.append(Figures([chart], table=_labels_table(caption, labels), data=data))
    return section


def _labels_table(caption: str, labels: list[LabelScore]) -> PageTable:
    rows = [
        {
            "label": x.name,
            "F1": x.f1,
            "precision": x.precision,
            "recall": x.recall,
            "rows": x.actual,
            "predicted": x.predicted,
            "found": x.hits,
        }
        for x in sorted(labels, key=lambda x: (x.f1, -x.actual))
    ]
    return PageTable(caption, rows)


def curves_section(c: Comparison) -> Section:
    """Learning curves and parameter paths."""
    text = (
        "How the score moves with the number of training rows and with a method's main parameter. Bands are "
        "one standard deviation over splits each way, not confidence intervals."
    )
    section = Section("curves", "Curves", [text])
    for n, data in enumerate(c.datasets):
        charts = []
        for i, curve in enumerate(c.curves[data] or []):
            names = {name: curve[name] for name in ("xlabel", "ylabel", "log")}
            display = curve_displays.PathDisplay(curve["x"], curve["scores"], **names)
            charts.append(draw_figure(display.plot, f"{data}: {curve['title']}.", key=f"curve-{n}-{i}"))
        section.blocks.append(Figures(charts, data=data))
    return section


_PORTRAIT = {
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
    rows = [
        {"data": data} | {name: number_entry(p[key], text=f"{p[key]:g}") for key, name in _PORTRAIT.items()}
        for data, p in data_profiles.items()
    ]
    if rows:
        section.blocks.append(PageTable("What was learned from", rows))
    for n, (data, p) in enumerate(data_profiles.items()):
        section.blocks += _profile_figures(n, data, p)
    return section


def _profile_figures(n: int, data: str, p: dict[str, Any]) -> list[Figures]:
    together, e = p["cooccurrence"], p["embedding"]
    charts = [
        draw_figure(
            label_displays.CooccurrenceDisplay(together["share"], together["labels"]).plot,
            f"{data}: label co-occurrence, the most frequent labels. Of the rows with the label on the left, "
            "the share that also carry the label below.",
            key=f"together-{n}",
        )
    ]
    if e:
        chart = draw_figure(
            label_displays.EmbeddingDisplay(e["points"], e["colour"], e["labels"]).plot,
            f"{data}: rows not used in the fit, in two hypergraph components, coloured by the rarest of the "
            "five most frequent labels they carry.",
            key=f"embedding-{n}",
        )
        charts.append(chart)
    found = [Figures(charts, data=data)]
    if p["spectrum"]:
        chart = draw_figure(
            label_displays.SpectrumDisplay(p["spectrum"]).plot,
            f"{data}: spectrum of the label hypergraph. A fast fall means few directions carry the labels.",
            key=f"spectrum-{n}",
        )
        folded = f"{data}: how few directions carry the labels (spectrum of the hypergraph)"
        found.append(Figures([chart], folded, data=data))
    return found


def problems_section(c: Comparison) -> Section:
    """Failed cells and warnings."""
    section = Section("problems", "Problems")
    failed = [
        {name: f[name] for name in ("data", "method", "error")} | {"splits": f["n"]} for f in c.failures()
    ]
    warned = [{"method": method, "warning": text} for method, text in c.warnings()]
    if failed:
        section.blocks.append(PageTable("What failed (the rest went on)", failed))
    if warned:
        section.blocks.append(PageTable("What methods warned of", warned, folded="Warnings"))
    return section


def repeat_section(record: dict[str, Any], c: Comparison | None = None) -> Section:
    """The command and the environment."""
    section = Section("repeat", "Repeat it")
    section.blocks.append(Text(without_folders(record["command"]) or "(not recorded)", kind="code"))
    if c is not None:
        spec = record["spec"]
        tuned = [m["name"] for m in spec["methods"] if m["grid"]]
        by = f"Tuned by {spec['inner_cv']}-fold cross-validation inside each training part"
        how = f"{by}: {join_titles(tuned, 12)}." if tuned else "No method was tuned."
        section.texts.append(
            f"{splits_text(c)}, seed {spec['seed']}. {how} "
            "The run resumes where it stopped and skips what is finished."
        )
    found = record["environments"]
    if len(found) > 1:
        text = f"The results come from {len(found)} different environments or versions of the code."
        section.blocks.append(Text(text, "warning"))
    titles = ["value"] if len(found) == 1 else [f"run {i + 1}" for i in range(len(found))]
    rows = [
        {"what": key} | {title: str(e.get(key, "–")) for title, e in zip(titles, found, strict=True)}
        for key in (found[0] if found else {})
    ]
    if rows:
        section.blocks.append(PageTable("Environment", rows))
    return section

"""The page of a data file: its columns and missing cells, its labels, and which of them come together."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hyperlabel.apps.comparison.data_profile import label_cooccurrence
from hyperlabel.apps.report import label_displays
from hyperlabel.apps.report.page import (
    Answer,
    Bar,
    Entry,
    Figures,
    Hero,
    Page,
    PageTable,
    Section,
    draw_figure,
    number_entry,
    render_page,
)
from hyperlabel.datasets import Dataset

_RARE = 10  # rows


def column_use(name: str, options: Mapping[str, Any]) -> str:
    """Say what `fit` takes a column for, by the options of a reader that the file settled."""
    is_object = (options.get("kinds") or {}).get(name) == "objects"

    def is_meant(named: str) -> bool:
        return named.startswith(f"{name}.") if is_object else named == name

    for key, use in (("label_column", "labels"), ("group", "group"), ("time", "time")):
        if is_meant(options.get(key) or ""):
            return use
    for key, use in (
        ("labels", "label"),
        ("text", "text"),
        ("text_columns", "categories"),
        ("features", "numbers"),
    ):
        if any(map(is_meant, options.get(key) or ())):
            return use
    return "left out"


def data_report(data: Dataset, name: str, columns: Sequence[Mapping[str, Any]] = (), n_twins: int = 0) -> str:
    """Return the page of a data set as one self-contained HTML text.

    `columns` are the facts of `hyperlabel data info`, with the `use` of each column; `n_twins` rows have a
    near copy.
    """
    facts = data.describe(n_pairs=20)
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    parts = [_columns_section(columns, len(data))] if columns else []
    parts += [_labels_section(data, counts), _together_section(data, facts)]
    page = Page(
        f"{name}: {facts['rows']} rows, {facts['labels']} labels",
        "What stands in the file, as fit would read it.",
        _data_answers(data, facts, counts, columns, n_twins),
        parts,
        _data_hero(data, facts, counts),
    )
    return render_page(page)


def _data_hero(data: Dataset, facts: dict[str, Any], counts: np.ndarray) -> Hero:
    order = np.argsort(-counts, kind="stable")[:6]
    most = max(int(counts.max(initial=0)), 1)
    names = list(map(str, data.label_names))
    bars = [
        Bar(names[j], str(int(counts[j])), counts[j] / most, 0.0, 0.0, names[j]) for j in order if counts[j]
    ]
    parts = [f"{facts['rows']} rows", f"{facts['labels']} labels"]
    parts += [f"{facts['features']} columns of numbers"] if facts["features"] else []
    text = ", ".join(parts + ["texts"] * (data.text is not None))
    note = "The most frequent labels, by rows."
    return Hero(f"{facts['cardinality']:.2f}", "labels per row", text, bars, note)


def _data_answers(
    data: Dataset,
    facts: dict[str, Any],
    counts: np.ndarray,
    columns: Sequence[Mapping[str, Any]],
    n_twins: int,
) -> list[Answer]:
    rare = int(((counts > 0) & (counts < _RARE)).sum())
    empty = sum(not text.strip() for text in data.text or ())
    doubts = [
        (facts["rows_without_labels"], "without labels", "row"),
        (facts["labels_without_positives"], "on no row", "label"),
        (rare, f"on fewer than {_RARE} rows, hard to learn", "label"),
        (empty, "without words", "text"),
        (n_twins, "with a near twin, which flatter a score unless folds keep them together", "row"),
        (sum(c["missing"] > 0 for c in columns), "with missing cells", "column"),
    ]
    found = "; ".join(f"{n} {noun}{'' if n == 1 else 's'} {what}" for n, what, noun in doubts if n)
    return [
        Answer("What looks wrong?", f"{found}." if found else "Nothing stands out."),
        Answer(
            "How do labels come together?",
            f"{facts['distinct_label_sets']} different label sets; at most {facts['max_labels_per_row']} "
            "labels on one row.",
        ),
        Answer(
            "How uneven are the labels?",
            f"The most frequent is on {facts['most_frequent_label']} rows, the rarest on "
            f"{facts['rarest_label']}.",
        ),
    ]


def _columns_section(columns: Sequence[Mapping[str, Any]], n: int) -> Section:
    rows = []
    for c in columns:
        share, text = c["missing"] / max(n, 1), c["example"]
        shown = f"{text:.60}" + "…" * (len(text) > 60)
        row = {
            "column": c["column"],
            "taken for": c["use"],
            "holds": c["kind"],
            "missing": c["missing"],
            "missing share": number_entry(share, text=f"{share:.1%}"),
            "different values": c["distinct"],
            "for example": Entry(shown, shown, title=text[:400]),
        }
        rows.append(row)
    return Section("columns", "Columns", blocks=[PageTable(f"{len(columns)} columns", rows)])


def _labels_section(data: Dataset, counts: np.ndarray) -> Section:
    sizes = np.asarray(data.Y.sum(axis=1)).ravel()
    n = max(len(data), 1)
    rows = [
        {
            "label": str(data.label_names[j]),
            "rows": int(counts[j]),
            "share of rows": number_entry(counts[j] / n, text=f"{counts[j] / n:.1%}"),
        }
        for j in np.argsort(-counts, kind="stable")
    ]
    chart = draw_figure(lambda ax: _plot_set_sizes(ax, sizes), "How many labels rows carry.", key="sizes")
    return Section(
        "labels", "Labels", blocks=[Figures([chart], table=PageTable("Every label", rows))] if rows else []
    )


def _plot_set_sizes(ax: Any, sizes: np.ndarray) -> None:
    found = np.bincount(sizes.astype(int))
    ax.bar(np.arange(len(found)), found, color="C0", width=0.8)
    ax.set(xlabel="labels on a row", ylabel="rows")
    ax.grid(visible=False, axis="x")
    ax.xaxis.get_major_locator().set_params(integer=True)


def _together_section(data: Dataset, facts: dict[str, Any]) -> Section:
    section = Section("together", "Labels that come together")
    found = label_cooccurrence(data)
    charts = []
    if len(found["labels"]) > 1:
        chart = draw_figure(
            label_displays.CooccurrenceDisplay(found["share"], found["labels"]).plot,
            "The most frequent labels: of the rows with the label on the left, the share that also carry the "
            "label below.",
            key="together-map",
        )
        charts.append(chart)
    rows = [
        {
            "labels": " + ".join(pair["labels"]),
            "correlation φ": pair["phi"],
            "rows with both": pair["together"],
        }
        for pair in facts["correlated_pairs"]
    ]
    table = PageTable("The most correlated pairs", rows) if rows else None
    section.blocks += [Figures(charts, table=table)] if charts else []
    return section

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


def data_report(data: Dataset, name: str, columns: Sequence[Mapping[str, Any]] = (), n_twins: int = 0) -> str:
    """Return the page of a data set as one self-contained HTML text.

    `columns` are the facts of `hyperlabel data info`, with the `use` of each column; `n_twins` rows have a
    near copy.
    """
    data_facts = data.describe(n_pairs=20)
    label_counts = np.asarray(data.Y.sum(axis=0)).ravel()
    page_sections = [_build_columns_section(columns, len(data))] if columns else []
    page_sections += [_build_labels_section(data, label_counts), _build_pairs_section(data, data_facts)]
    page = Page(
        f"{name}: {data_facts['rows']} rows, {data_facts['labels']} labels",
        "The content of the file, as fit would read it.",
        _answer_data_questions(data, data_facts, label_counts, columns, n_twins),
        page_sections,
        _build_hero(data, data_facts, label_counts),
    )
    return render_page(page)


def _build_hero(data: Dataset, data_facts: dict[str, Any], label_counts: np.ndarray) -> Hero:
    top_labels = np.argsort(-label_counts, kind="stable")[:6]
    max_count = max(int(label_counts.max(initial=0)), 1)
    label_names = list(map(str, data.label_names))
    label_bars = [
        Bar(label_names[j], str(int(label_counts[j])), label_counts[j] / max_count, 0.0, 0.0, label_names[j])
        for j in top_labels
        if label_counts[j]
    ]
    size_phrases = [f"{data_facts['rows']} rows", f"{data_facts['labels']} labels"]
    size_phrases += [f"{data_facts['features']} columns of numbers"] if data_facts["features"] else []
    size_text = ", ".join(size_phrases + ["texts"] * (data.text is not None))
    bars_note = "The most frequent labels, by rows."
    return Hero(f"{data_facts['cardinality']:.2f}", "labels per row", size_text, label_bars, bars_note)


def _answer_data_questions(
    data: Dataset,
    data_facts: dict[str, Any],
    label_counts: np.ndarray,
    columns: Sequence[Mapping[str, Any]],
    n_twins: int,
) -> list[Answer]:
    n_rare = int(((label_counts > 0) & (label_counts < _RARE)).sum())
    n_empty = sum(not text.strip() for text in data.text or ())
    data_doubts = [
        (data_facts["rows_without_labels"], "without labels", "row"),
        (data_facts["labels_without_positives"], "on no row", "label"),
        (data_facts["unknown_entries"] or 0, "unknown: nobody filled them in", "label cell"),
        (n_rare, f"on fewer than {_RARE} rows, hard to learn", "label"),
        (n_empty, "without words", "text"),
        (n_twins, "with a near twin, which flatter a score unless folds keep them together", "row"),
        (sum(c["missing"] > 0 for c in columns), "with missing cells", "column"),
    ]
    doubt_text = "; ".join(f"{n} {noun}{'' if n == 1 else 's'} {what}" for n, what, noun in data_doubts if n)
    return [
        Answer("What looks wrong?", f"{doubt_text}." if doubt_text else "Nothing stands out."),
        Answer(
            "How do labels come together?",
            f"{data_facts['distinct_label_sets']} different label sets; at most "
            f"{data_facts['max_labels_per_row']} labels on one row.",
        ),
        Answer(
            "How uneven are the labels?",
            f"The most frequent is on {data_facts['most_frequent_label']} rows, the rarest on "
            f"{data_facts['rarest_label']}.",
        ),
    ]


def _build_columns_section(columns: Sequence[Mapping[str, Any]], n: int) -> Section:
    table_rows = []
    for c in columns:
        missing_share, example_text = c["missing"] / max(n, 1), c["example"]
        example_excerpt = f"{example_text:.60}" + "…" * (len(example_text) > 60)
        table_row = {
            "column": c["column"],
            "taken for": c["use"],
            "holds": c["kind"],
            "missing": c["missing"],
            "missing share": number_entry(missing_share, text=f"{missing_share:.1%}"),
            "different values": c["distinct"],
            "for example": Entry(example_excerpt, example_excerpt, title=example_text[:400]),
        }
        table_rows.append(table_row)
    return Section("columns", "Columns", blocks=[PageTable(f"{len(columns)} columns", table_rows)])


def _build_labels_section(data: Dataset, label_counts: np.ndarray) -> Section:
    set_sizes = np.asarray(data.Y.sum(axis=1)).ravel()
    n = max(len(data), 1)
    table_rows = [
        {
            "label": str(data.label_names[j]),
            "rows": int(label_counts[j]),
            "share of rows": number_entry(label_counts[j] / n, text=f"{label_counts[j] / n:.1%}"),
        }
        for j in np.argsort(-label_counts, kind="stable")
    ]
    size_figure = draw_figure(
        lambda ax: _plot_set_sizes(ax, set_sizes), "How many labels rows carry.", key="sizes"
    )
    return Section(
        "labels",
        "Labels",
        blocks=[Figures([size_figure], table=PageTable("Every label", table_rows))] if table_rows else [],
    )


def _plot_set_sizes(ax: Any, set_sizes: np.ndarray) -> None:
    size_counts = np.bincount(set_sizes.astype(int))
    ax.bar(np.arange(len(size_counts)), size_counts, color="C0", width=0.8)
    ax.set(xlabel="labels on a row", ylabel="rows")
    ax.grid(visible=False, axis="x")
    ax.xaxis.get_major_locator().set_params(integer=True)


def _build_pairs_section(data: Dataset, data_facts: dict[str, Any]) -> Section:
    section = Section("together", "Labels that come together")
    label_pairs = label_cooccurrence(data)
    map_figures = []
    if len(label_pairs["labels"]) > 1:
        map_figure = draw_figure(
            label_displays.CooccurrenceDisplay(label_pairs["share"], label_pairs["labels"]).plot,
            "The most frequent labels: of the rows with the label on the left, the share that also carry the "
            "label below.",
            key="together-map",
        )
        map_figures.append(map_figure)
    pair_rows = [
        {
            "labels": " + ".join(pair["labels"]),
            "correlation φ": pair["phi"],
            "rows with both": pair["together"],
        }
        for pair in data_facts["correlated_pairs"]
    ]
    pair_table = PageTable("The most correlated pairs", pair_rows) if pair_rows else None
    section.blocks += [Figures(map_figures, table=pair_table)] if map_figures else []
    return section

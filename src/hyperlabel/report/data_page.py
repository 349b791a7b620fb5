"""The page of a data file: its columns and missing cells, its labels, and which of them come together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperlabel import __version__
from hyperlabel.datasets import Dataset
from hyperlabel.datasets.table_sources import read_cells
from hyperlabel.experiments.portrait import cooccurrence
from hyperlabel.report import data_displays, sections
from hyperlabel.report.page import (
    Answer,
    Bar,
    Column,
    Figures,
    Hero,
    Page,
    Pair,
    Section,
    Table,
    number,
    render,
    words,
)

_RARE = 10  # rows
_CHUNK = 4096
_MOST_DISTINCT = 100_000  # values of a column that are told apart


@dataclass(frozen=True)
class ColumnFacts:
    """What stands in a column of a table."""

    name: str
    use: str
    missing: int
    distinct: int
    kind: str
    example: str


def table_columns(path: str, options: dict[str, str | None]) -> list[ColumnFacts]:
    """Read every cell of a table once and say what its columns hold."""
    rows, missing, numeric = 0, Counter[str](), Counter[str]()
    names: dict[str, None] = {}
    distinct: dict[str, set[str]] = {}
    example: dict[str, str] = {}
    for cells in read_cells(path, _CHUNK, None):
        rows += len(cells.places)
        for name in cells.columns:
            names.setdefault(name)
        for name in names:
            seen = distinct.setdefault(name, set())
            for cell in cells.column(name):
                text = "; ".join(map(str, cell)) if isinstance(cell, list) else str(cell or "").strip()
                if not text or text == "nan":
                    missing[name] += 1
                    continue
                numeric[name] += _is_number(text)
                example.setdefault(name, text)
                if len(seen) < _MOST_DISTINCT:
                    seen.add(text)
    return [
        ColumnFacts(
            name,
            _use(name, options),
            missing[name],
            len(distinct[name]),
            "numbers" if numeric[name] and numeric[name] == rows - missing[name] else "words",
            example.get(name, ""),
        )
        for name in names
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _use(name: str, options: dict[str, str | None]) -> str:
    """Say what a column is taken for."""
    for key, use in (("label_column", "labels"), ("labels", "label"), ("text", "text")):
        if name in [part.strip() for part in (options.get(key) or "").split(",")]:
            return use
    for key in ("group", "time"):
        if options.get(key) == name:
            return key
    features = options.get("features")
    if features is None or name in [part.strip() for part in features.split(",")]:
        return "numbers, if it holds numbers"
    return "left out"


def data_report(data: Dataset, name: str, columns: list[ColumnFacts]) -> str:
    """Return the page of a data set as one self-contained HTML text.

    Examples
    --------
    >>> from hyperlabel.datasets import Dataset
    >>> from hyperlabel.report.data_page import data_report
    >>> "3 rows" in data_report(Dataset([[0.0], [1.0], [2.0]], [["a"], ["a", "b"], []]), "my.csv", [])
    True
    """
    facts = data.describe(n_pairs=20)
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    parts = [_columns_section(columns, len(data))] if columns else []
    parts += [_labels_section(data, counts), _together_section(data, facts)]
    page = Page(
        f"{name}: {facts['rows']} rows, {facts['labels']} labels",
        "What stands in the file, as fit would read it.",
        _answers(data, facts, counts, columns),
        parts,
        f"Made by hyperlabel {__version__}. This file needs no network.",
        _hero(data, facts, counts),
    )
    return render(page)


def _hero(data: Dataset, facts: dict[str, Any], counts: np.ndarray) -> Hero:
    order = np.argsort(-counts, kind="stable")[:6]
    most = max(int(counts.max(initial=0)), 1)
    bars = [
        Bar(
            str(data.label_names[j]),
            str(int(counts[j])),
            counts[j] / most,
            0.0,
            0.0,
            str(data.label_names[j]),
        )
        for j in order
        if counts[j]
    ]
    text = f"{facts['rows']} rows, {facts['labels']} labels, {facts['features']} columns of numbers"
    note = "The most frequent labels, by rows."
    return Hero(f"{facts['cardinality']:.2f}", "labels per row", text, bars, note)


def _answers(
    data: Dataset, facts: dict[str, Any], counts: np.ndarray, columns: list[ColumnFacts]
) -> list[Answer]:
    rare = int(((counts > 0) & (counts < _RARE)).sum())
    empty = sum(not text.strip() for text in data.text or ())
    doubts = [
        (facts["rows_without_labels"], "without labels", "row"),
        (facts["labels_without_positives"], "on no row", "label"),
        (rare, f"on fewer than {_RARE} rows, hard to learn", "label"),
        (empty, "without words", "text"),
        (sum(c.missing > 0 for c in columns), "with missing cells", "column"),
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


def _columns_section(columns: list[ColumnFacts], rows: int) -> Section:
    titles = ("column", "taken for", "holds", "missing", "missing share", "different values", "for example")
    numeric = {"missing", "missing share", "different values"}
    table = Table(
        f"{len(columns)} columns",
        [Column(title, title in numeric) for title in titles],
        [
            [
                words(c.name),
                words(c.use),
                words(c.kind),
                number(c.missing, text=str(c.missing)),
                number(c.missing / max(rows, 1), text=f"{c.missing / max(rows, 1):.1%}"),
                number(c.distinct, text=str(c.distinct)),
                words(c.example[:60] + ("…" if len(c.example) > 60 else ""), title=c.example[:400]),
            ]
            for c in columns
        ],
    )
    return Section("columns", "Columns", blocks=[table])


def _labels_section(data: Dataset, counts: np.ndarray) -> Section:
    sizes = np.asarray(data.Y.sum(axis=1)).ravel()
    n = max(len(data), 1)
    table = Table(
        "Every label",
        [Column("label"), Column("rows", True), Column("share of rows", True)],
        [
            [
                words(str(data.label_names[j])),
                number(int(counts[j]), text=str(int(counts[j]))),
                number(counts[j] / n, text=f"{counts[j] / n:.1%}"),
            ]
            for j in np.argsort(-counts, kind="stable")
        ],
    )
    chart = sections.draw_figure(
        lambda ax: _sizes(ax, sizes), "How many labels rows carry.", key="sizes", size=(6.0, 3.2)
    )
    return Section("labels", "Labels", blocks=[Pair(chart, table)])


def _sizes(ax: Any, sizes: np.ndarray) -> None:
    found = np.bincount(sizes.astype(int))
    ax.bar(np.arange(len(found)), found, color="C0", width=0.8)
    ax.set(xlabel="labels on a row", ylabel="rows")
    ax.grid(visible=False, axis="x")
    ax.xaxis.get_major_locator().set_params(integer=True)


def _together_section(data: Dataset, facts: dict[str, Any]) -> Section:
    section = Section("together", "Labels that come together")
    found = cooccurrence(data)
    if len(found["labels"]) > 1:
        size = max(3.4, 0.2 * len(found["labels"]) + 1.6)
        chart = sections.draw_figure(
            lambda ax: data_displays.CooccurrenceDisplay(found["share"], found["labels"]).plot(ax),
            "The most frequent labels: of the rows with the label on the left, the share that also carry the "
            "label below.",
            key="together-map",
            size=(max(6.0, size + 1.4), size),
        )
        section.blocks.append(Figures([chart]))
    rows = [
        [
            words(" + ".join(pair["labels"])),
            number(pair["phi"]),
            number(pair["together"], text=str(pair["together"])),
        ]
        for pair in facts["correlated_pairs"]
    ]
    columns = [Column("labels"), Column("correlation φ", True), Column("rows with both", True)]
    section.blocks.append(Table("The most correlated pairs", columns, rows))
    return section

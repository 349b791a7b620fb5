"""The report of reproduced tables and figures as one HTML file."""

import math
from typing import Any

from hyperlabel.apps.report import PathDisplay
from hyperlabel.apps.report.data_sections import repeat_section
from hyperlabel.apps.report.page import (
    Answer,
    Figures,
    Page,
    PageTable,
    Section,
    Text,
    command_html,
    draw_figure,
    format_duration,
    number_entry,
    render_page,
)
from hyperlabel.apps.report.summary import without_folders
from reproduction.claims import printed_distances
from reproduction.readings import NEAR
from reproduction.result import Curve, Number, Result


def reproduction_report(results: list[Result], record: dict[str, Any]) -> str:
    """Return the report of reproduced tables and figures as one HTML text.

    Parameters
    ----------
    results : list of Result
        What was reproduced.
    record : dict
        Command and environments, as `Store.suite` gives them.

    Returns
    -------
    html : str

    Examples
    --------
    >>> from hyperlabel.apps.comparison import Store, run
    >>> from reproduction import Plan, Runs, items
    >>> from reproduction.html_report import reproduction_report
    >>> without_data = items()[0].collect(Plan(None, quick=True), Runs([], []))
    >>> with Store(":memory:") as store:
    ...     _ = run([], store, "nothing")
    ...     html = reproduction_report([without_data], store.suite("nothing"))
    >>> "Published results, reproduced" in html
    True
    """
    sections = [_result_section(result) for result in results]
    quick = any(result.quick for result in results)
    page = Page(
        "Published results, reproduced",
        "Our figure beside the paper's, with the difference and every deviation."
        + (" Quick run: fewer repeats and smaller grids." if quick else ""),
        _reproduction_answers(results, record),
        [*sections, repeat_section(record)],
    )
    return render_page(page)


def _reproduction_answers(results: list[Result], record: dict[str, Any]) -> list[Answer]:
    missing = [f"{result.id}: {reason}" for result in results for reason in result.missing]
    failures = [f"{result.id}: {failure}" for result in results for failure in result.failures]
    seconds = format_duration(sum(result.seconds for result in results))
    items = "1 item" if len(results) == 1 else f"{len(results)} items"
    cost = f"{seconds} of computing in this run for {items}; "
    command = without_folders(record["command"]) or "…"
    return [
        *_distance_answers(results),
        Answer("What could not be reproduced?", "; ".join(missing) or "Nothing was left out."),
        Answer("What did it cost?", cost + "cells that an earlier run had finished are not counted."),
        Answer("What failed?", "; ".join(failures) or "Nothing failed."),
        Answer("How do I repeat it?", command_html("Run ", command, ".")),
    ]


def _distance_answers(results: list[Result]) -> list[Answer]:
    """Say how far our scores are from the printed ones; nothing where no score is printed."""
    distances = {result.id: sorted(printed_distances(result)) for result in results}
    all_distances = [distance for table_distances in distances.values() for distance in table_distances]
    if not all_distances:
        return []
    n_near = sum(distance <= NEAR for distance in all_distances)
    medians = ", ".join(f"{id} {table[len(table) // 2]:.4f}" for id, table in distances.items() if table)
    text = (
        f"Of {len(all_distances)} scores with a printed counterpart, {n_near} are within 0.02 of it. "
        f"Median distance: {medians}. Footnotes say where data or protocol differ."
    )
    return [Answer("Do we match the papers?", text)]


def _result_section(result: Result) -> Section:
    section = Section(result.id, f"{result.id}: {result.title}", short=result.id)
    if result.numbers:
        section.blocks.append(_numbers_table(result))
    charts = []
    for i, curve in enumerate(result.curves):

        def plot(ax: Any, curve: Curve = curve) -> Any:
            labels = {"xlabel": curve.xlabel, "ylabel": curve.ylabel}
            display = PathDisplay(curve.x, curve.scores, log=curve.log, **labels).plot(ax)
            if curve.log_y:
                ax.set_yscale("log")
            return display

        charts.append(draw_figure(plot, curve.title, key=f"{result.id}-{i}"))
    if charts:
        section.blocks.append(Figures(charts))
    missing = [f"Not reproduced: {reason}" for reason in result.missing]
    failures = [f"Failed: {failure}" for failure in result.failures]
    section.blocks += [Text(note, "note") for note in (*result.notes, *missing, *failures)]
    return section


def _numbers_table(result: Result) -> PageTable:
    """Our figures beside the printed ones; the difference where there is any."""
    rows: list[dict[str, Any]] = [{"what": row} for row in result.rows()]
    for column in result.columns():
        numbers = [result.at(row, column) for row in result.rows()]
        computed = [n for n in numbers if n is not None]
        are_counts = all(float(v).is_integer() for n in computed for v in (n.paper, n.ours) if v is not None)
        differs = any(n.difference for n in computed)
        subcolumns = ("paper", "ours", "difference") if differs else ("paper", "ours")
        for row_entries, n in zip(rows, numbers, strict=True):
            entries = _number_entries(n, 0 if are_counts else result.digits)
            row_entries |= {f"{column} {name}".strip(): entries[name] for name in subcolumns}
    return PageTable(result.title, rows)


def _number_entries(n: Number | None, digits: int) -> dict[str, Any]:
    values = (None,) * 4 if n is None else (n.paper, n.ours, n.std, n.difference)
    paper, ours, std, difference = (math.nan if value is None else value for value in values)
    difference_text = f"{difference:+.{digits}f}" if math.isfinite(difference) else None
    return {
        "paper": number_entry(paper, digits),
        "ours": number_entry(ours, digits, std=f"± {std:.{digits}f}" if math.isfinite(std) else ""),
        "difference": number_entry(difference, text=difference_text),
    }

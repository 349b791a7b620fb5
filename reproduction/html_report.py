"""The report of reproduced tables and figures as one HTML file."""

import math
from typing import Any

from hyperlabel.report import PathDisplay
from hyperlabel.report.data_sections import repeat_section
from hyperlabel.report.page import (
    Answer,
    Figures,
    Page,
    Section,
    Table,
    Text,
    code,
    draw,
    duration,
    number,
    render,
)
from hyperlabel.report.summary import without_folders
from reproduction.result import Number, Result


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
    >>> from hyperlabel.experiments import Store, run
    >>> from reproduction import Plan, Runs, items
    >>> from reproduction.html_report import reproduction_report
    >>> without_data = items()[0].collect(Plan(None, quick=True), Runs([], []))
    >>> with Store(":memory:") as store:
    ...     _ = run([], store, "nothing")
    ...     html = reproduction_report([without_data], store.suite("nothing"))
    >>> "Published results, reproduced" in html
    True
    """
    parts = [_result_section(result) for result in results]
    quick = any(r.quick for r in results)
    page = Page(
        "Published results, reproduced",
        "Our figure beside the paper's, with the difference and every deviation."
        + (" Quick run: fewer repeats and smaller grids." if quick else ""),
        _reproduction_answers(results, record),
        [*parts, repeat_section(record)],
    )
    return render(page)


def _reproduction_answers(results: list[Result], record: dict[str, Any]) -> list[Answer]:
    missing = [f"{r.id}: {part}" for r in results for part in r.missing]
    failures = [f"{r.id}: {text}" for r in results for text in r.failures]
    spent = duration(sum(r.seconds for r in results))
    cost = f"{spent} of computing in this run for {len(results)} {'item' if len(results) == 1 else 'items'}; "
    command = without_folders(record["command"]) or "…"
    return [
        *_match_of_the_papers(results),
        Answer("What could not be reproduced?", "; ".join(missing) or "Nothing was left out."),
        Answer("What did it cost?", cost + "cells that an earlier run had finished are not counted."),
        Answer("What failed?", "; ".join(failures) or "Nothing failed."),
        Answer("How do I repeat it?", code("Run ", command, ".")),
    ]


def _match_of_the_papers(results: list[Result]) -> list[Answer]:
    """Say how far our scores are from the printed ones; nothing where none has a counterpart."""
    gaps = {
        r.id: sorted(abs(n.difference) for n in r.numbers if math.isfinite(n.difference))
        for r in results
        if r.scores
    }
    every = [gap for found in gaps.values() for gap in found]
    if not every:
        return []
    near = sum(gap <= 0.02 for gap in every)
    medians = ", ".join(f"{i} {found[len(found) // 2]:.4f}" for i, found in gaps.items() if found)
    text = (
        f"Of {len(every)} scores with a printed counterpart, {near} are within 0.02 of it. "
        f"Median distance: {medians}. Footnotes say where data or protocol differ."
    )
    return [Answer("Do we match the papers?", text)]


def _result_section(result: Result) -> Section:
    section = Section(result.id, f"{result.id}: {result.title}", short=result.id)
    if result.numbers:
        section.blocks.append(_numbers_table(result))
    charts = []
    for i, curve in enumerate(result.curves):

        def plot(ax: Any, curve: Any = curve) -> Any:
            names = {"xlabel": curve.xlabel, "ylabel": curve.ylabel, "log": curve.log}
            shown = PathDisplay(curve.x, curve.scores, **names).plot(ax)
            if curve.log_y:
                ax.set_yscale("log")
            return shown

        charts.append(draw(plot, curve.title, key=f"{result.id}-{i}"))
    if charts:
        section.blocks.append(Figures(charts))
    missing = [f"Not reproduced: {m}" for m in result.missing]
    failed = [f"Failed: {f}" for f in result.failures]
    section.blocks += [Text(note, "note") for note in (*result.notes, *missing, *failed)]
    return section


def _numbers_table(result: Result) -> Table:
    """Our figures beside the printed ones; the difference where there is any."""
    rows: list[dict[str, Any]] = [{"what": row} for row in result.rows()]
    for column in result.columns():
        numbers = [result.at(row, column) for row in result.rows()]
        known = [n for n in numbers if n is not None]
        counted = all(float(v).is_integer() for n in known for v in (n.paper, n.ours) if v is not None)
        names = ("paper", "ours", "difference") if any(n.difference for n in known) else ("paper", "ours")
        for cells, n in zip(rows, numbers, strict=True):
            found = _beside(n, 0 if counted else result.digits)
            cells |= {f"{column} {name}".strip(): found[name] for name in names}
    return Table(result.title, rows)


def _beside(n: Number | None, digits: int) -> dict[str, Any]:
    values = (None,) * 4 if n is None else (n.paper, n.ours, n.spread, n.difference)
    paper, ours, spread, gap = (math.nan if value is None else value for value in values)
    return {
        "paper": number(paper, digits),
        "ours": number(ours, digits, spread=f"± {spread:.{digits}f}" if math.isfinite(spread) else ""),
        "difference": number(gap, text=f"{gap:+.{digits}f}" if math.isfinite(gap) else None),
    }

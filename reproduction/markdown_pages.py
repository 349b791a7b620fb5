"""The pages of docs/reproduction, written from a record of results that every run adds to.

``results.json`` is the record: numbers with their cells and scores of single splits, curves, CPU times. A run
of some items replaces these and leaves the others, so that one table can be computed anew by itself.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hyperlabel._files import write_text
from hyperlabel.tabular.wording import plural
from reproduction import PAPERS, items
from reproduction.claims import costs, summary
from reproduction.inventory import inventory_page
from reproduction.item import item_notes
from reproduction.result import Cpu, Curve, Result
from reproduction.why_page import why_page

RECORD = "results.json"


def read_record(folder: Path, name: str = RECORD) -> list[Result]:
    """Return the results that earlier runs left in a folder; none where there is no record."""
    path = folder / name
    record = json.loads(path.read_text("utf-8")) if path.exists() else []
    results = [Result.from_dict(entry) for entry in record]
    # Notes that hold for every run are not recorded, so that they follow the code.
    return [replace(result, notes=[*item_notes(result.id), *result.notes]) for result in results]


def merge(stored: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Return the stored results with the new ones in their place, in the order of the items."""
    by_id = {result.id: result for result in stored}
    for result in new:
        old, has_parts = by_id.get(result.id), bool(result.numbers or result.curves)
        if old is None and has_parts:
            by_id[result.id] = result
        elif old is not None:
            merged = result if result.complete and has_parts else keep_fuller_parts(result, old)
            quick_cpu = result.quick_cpu if result.quick_cpu.cells else old.quick_cpu
            by_id[result.id] = replace(merged, quick_cpu=quick_cpu)
    return [by_id[item.id] for item in items() if item.id in by_id]


def keep_fuller_parts(new: Result, stored: Result) -> Result:
    """Return a result of an unfinished run with the stored numbers that are means over more partitions.

    So are curves. One of a single row may be a mean over any number of partitions, and stays.
    """
    new_numbers = {(number.row, number.column): number for number in new.numbers}
    stored_numbers = {(number.row, number.column): number for number in stored.numbers}
    fuller = {
        key for key, number in stored_numbers.items()
        if key not in new_numbers or number.n >= new_numbers[key].n
    }  # fmt: skip
    new_curves = {curve.title: curve for curve in new.curves}
    curves = [
        new_curves[curve.title] if 1 < _n_rows(curve) < _n_rows(new_curves.get(curve.title)) else curve
        for curve in stored.curves
    ]
    if fuller >= new_numbers.keys() and curves == stored.curves and (curves or not new.curves):
        return stored
    notes = list(new.notes)
    if fuller:
        notes.append(
            f"{plural(len(fuller), 'number')} of this item came from an earlier run ({stored.made[:10]}), "
            "which has as many partitions of the data or more."
        )
    numbers = {**stored_numbers, **new_numbers}
    return replace(
        new,
        numbers=[stored_numbers[key] if key in fuller else number for key, number in numbers.items()],
        curves=curves or new.curves,
        notes=notes,
    )


def _n_rows(curve: Curve | None) -> int:
    return 0 if curve is None else min(len(rows) for rows in curve.scores.values())


def write_markdown(results: list[Result], quick_results: list[Result], folder: Path) -> None:
    """Write one page per paper, the page of claims, why the rest is missed, and the record behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix, run_kind = ("-quick", ": quick run") if results[0].quick else ("", "")
    quick_cpu = {result.id: result.quick_cpu for result in quick_results}
    new = [replace(result, quick_cpu=quick_cpu.get(result.id, Cpu())) for result in results]
    record = merge(read_record(folder, f"results{suffix}.json"), new)
    entries = [
        {**result.as_dict(), "notes": _own_notes(result), "cpu": result.cpu, "quick_cpu": result.quick_cpu}
        for result in record
    ]
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    write_text(folder / f"results{suffix}.json", "[" + ",\n".join(lines) + "]\n")
    for name, text in pages(record, run_kind).items():
        write_text(folder / name.replace(".md", f"{suffix}.md"), text)


def _own_notes(result: Result) -> list[str]:
    """Return the notes of this run alone."""
    general_notes = item_notes(result.id)
    return [note for note in result.notes if note not in general_notes]


def pages(record: list[Result], run_kind: str = "") -> dict[str, str]:
    """Return the text of every page by its name."""
    texts = {}
    for paper, title in PAPERS.items():
        paper_results = [result for result in record if result.id.startswith(f"{paper}-")]
        if paper_results:
            texts[f"{paper}.md"] = _paper_page(paper_results, f"# {title}{run_kind}")
    paragraphs = [
        f"# What holds of the papers' claims{run_kind}",
        "Written by `python -m reproduction --markdown docs/reproduction` from `results.json`, which "
        "names the "
        "cells behind each number.",
        "\n".join(summary(record)),
        "\n".join(costs(record)),
    ]
    texts["summary.md"] = "\n\n".join(paragraphs) + "\n"
    texts["why-the-rest-is-missed.md"] = why_page(record)
    texts["inventory.md"] = inventory_page()
    return texts


def _paper_page(results: list[Result], head: str) -> str:
    paragraphs = [
        head,
        "The paper's figure, ours (mean over splits), the standard deviation over splits, ours minus the "
        "paper's. Each table names the run it comes from.",
        *(result.markdown() for result in results),
    ]
    return "\n\n".join(paragraphs)

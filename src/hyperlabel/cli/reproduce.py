"""``hyperlabel reproduce``: the papers' tables and figures, ours beside theirs."""

import json
import math
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text
from hyperlabel.cli._input import PAGE, check_target, output_option
from hyperlabel.cli._words import plural, print_json, print_table


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--list", "as_list", is_flag=True, help="Show what there is and which data it needs.")
@click.option("--quick", is_flag=True, help="Fewer repeats and smaller grids: all in under 20 minutes.")
@click.option(
    "--data", "folder", default=None, help="Folder of the benchmark files. [default: $HYPERLABEL_DATA]"
)
@click.option("--fetch", is_flag=True,
              help="First get the data sets that OpenML has; say where the others come from.")  # fmt: skip
@click.option("--n-jobs", default=2, show_default=True, help="Cells computed at the same time.")
@click.option("--store", "store_path", default="out/reproduce.sqlite", show_default=True,
              help="Results file; a killed run resumes from it.")  # fmt: skip
@output_option("out_path", "out/reproduce.html", "The report.")
@click.option("--markdown", default=None, help="Also write one Markdown page per paper into this folder.")
@click.option("--collect-only", is_flag=True, help="Compute nothing: report what the results file holds.")
@click.option("--fresh", is_flag=True, help="Compute everything again.")
@click.option("--retry-failed", is_flag=True, help="Compute recorded failures again.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def reproduce(ids: tuple[str, ...], as_list: bool, as_json: bool, **options: Any) -> None:
    """Reproduce published tables and figures (all, or the given IDs) and write a report."""
    check_target(options["out_path"], PAGE, makes_folder=True)
    from hyperlabel.experiments.papers import Plan, items
    from hyperlabel.experiments.papers.data import data_folder

    wanted = _wanted(ids, {item.id: item for item in items()})
    if options["fetch"]:
        _fetch({name for item in wanted for name in item.data}, options["folder"])
    plan = Plan(data_folder(options["folder"]), options["quick"])
    if as_list:
        _list(wanted, plan, as_json)
        return
    if plan.folder is None:
        raise ValueError(
            "The benchmark files are needed: name their folder with --data or HYPERLABEL_DATA, or get those "
            "that can be had with --fetch."
        )
    results, record = _run(wanted, plan, options)
    short: list[Any] = []
    if options["markdown"] and not plan.quick:  # its cost stands on the same page
        short, _ = _run(wanted, replace(plan, quick=True), options | {"collect_only": True})
    _write(results, short, record, options)
    if as_json:
        print_json([r.as_dict() for r in results])
    else:
        for result in results:
            _print(result)
        click.echo(f"Report: {options['out_path']}")
    if not any(result.numbers or result.curves for result in results):
        raise ValueError(f"Nothing could be computed: {plan.folder} holds none of the data it needs.")


def _wanted(ids: tuple[str, ...], known: dict[str, Any]) -> list[Any]:
    unknown = [i for i in ids if i not in known]
    if unknown:
        raise ValueError(f"There is no {unknown[0]!r}: hyperlabel reproduce --list shows what there is.")
    return [known[i] for i in dict.fromkeys(ids or known)]


def _fetch(names: set[str], given: str | None) -> None:
    from hyperlabel.experiments.papers.data import OPENML, fetch, fetch_folder

    folder, offline = fetch_folder(given), None
    for name in sorted(names):
        try:
            if offline is None or name not in OPENML:
                click.echo(fetch(folder, name), err=True)
        except ConnectionError as error:  # what is there already can still be computed
            offline = error
    if offline is not None:
        click.echo(str(offline), err=True)


def _list(wanted: list[Any], plan: Any, as_json: bool) -> None:
    rows = [
        {"id": item.id, "title": item.title, "data": {name: plan.has(name) for name in item.data}}
        for item in wanted
    ]
    if as_json:
        print_json(rows)
        return
    width = max(len(row["id"]) for row in rows)
    for row in rows:
        data = ", ".join(name if there else f"{name} (missing)" for name, there in row["data"].items())
        state = (
            "ready  " if all(row["data"].values()) else "partly " if any(row["data"].values()) else "no data"
        )
        click.echo(f"{row['id']:{width}}  {state}  {row['title']}  [{data}]")
    if not all(there for row in rows for there in row["data"].values()):
        click.echo("Missing data: --fetch gets what OpenML has and says where the other files come from;")
        click.echo("--data (or HYPERLABEL_DATA) names a folder that has them.")


def _run(wanted: list[Any], plan: Any, options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    from hyperlabel.cli._progress import cell_progress
    from hyperlabel.experiments import Store, run
    from hyperlabel.experiments.papers import Runs
    from hyperlabel.experiments.papers.item import missing_parts

    command = shlex.join(["hyperlabel", *sys.argv[1:]])
    results = []
    counted: set[str] = set()
    record: dict[str, Any] = {"command": command, "environments": []}
    with Store(options["store_path"]) as store:
        for item in wanted:
            start = time.perf_counter()
            cells = item.cells(plan)
            suite = f"reproduce {item.id}{' quick' if plan.quick else ''}"
            finished = store.finished([cell.id for cell in cells])
            with cell_progress(item.id, len(cells)) as progress:
                run(
                    [cell for cell in cells if not options["collect_only"] or cell.id in finished],
                    store,
                    suite,
                    command=command,
                    n_jobs=options["n_jobs"],
                    fresh=options["fresh"],
                    retry_failed=options["retry_failed"],
                    progress=progress,
                )
            runs = Runs(store.cells(suite), store.values(suite))
            result = item.result(plan, runs)
            result.notes += runs.choice_notes()
            if len(runs.cells) < len(cells):
                result.notes.append(
                    f"{len(runs.cells)} of {len(cells)} planned cells are finished: means are over these."
                )
            result.quick, result.failures = plan.quick, runs.failures()
            result.notes.append(_origin(item.id, runs, plan))
            result.missing = [*missing_parts(plan, item.data), *result.missing]
            result.seconds, result.cpu = time.perf_counter() - start, runs.cpu(cells, counted)
            results.append(result)
            for environment in store.suite(suite)["environments"]:
                if environment not in record["environments"]:
                    record["environments"].append(environment)
    return results, record


def _origin(id: str, runs: Any, plan: Any) -> str:
    """Say which cells of the store the numbers come from, and the command that makes them."""
    import hashlib

    ids = "".join(sorted(cell["id"] for cell in runs.cells))
    mark = hashlib.sha256(ids.encode()).hexdigest()[:12]
    quick = " --quick" if plan.quick else ""
    return (
        f"{plural(len(runs.cells), 'cell')} (together {mark}) of the suite `reproduce {id}"
        f"{quick.replace('--', '')}`, made by `hyperlabel reproduce {id}{quick}`; "
        "`--collect-only --json` names those behind each number."
    )


def _write(results: list[Any], short: list[Any], record: dict[str, Any], options: dict[str, Any]) -> None:
    from hyperlabel.cli.compare import write_page
    from hyperlabel.report import reproduction_report

    write_page(options["out_path"], reproduction_report(results, record))
    if options["markdown"]:
        _write_markdown(results, short, record, Path(options["markdown"]))


def _write_markdown(results: list[Any], short: list[Any], record: dict[str, Any], folder: Path) -> None:
    """Write one page per paper, the page of claims, and the numbers of both with their cells as JSON."""
    from datetime import UTC, datetime

    from hyperlabel.experiments.papers import PAPERS
    from hyperlabel.experiments.papers.claims import costs, summary

    folder.mkdir(parents=True, exist_ok=True)
    quick = results[0].quick
    end, kind = ("-quick", ": quick run") if quick else ("", "")
    keys = ("hyperlabel", "code", "python", "numpy", "scipy", "scikit-learn", "numba", "cpu")
    versions = "; ".join(", ".join(f"{key} {e[key]}" for key in keys) for e in record["environments"])
    made = f"Written by `{record['command']}`, {datetime.now(UTC):%Y-%m-%d}"
    for paper, title in PAPERS.items():
        mine = [r for r in results if r.id.startswith(f"{paper}-")]
        head = [f"# {title}{kind}", f"{made}. {versions}; one BLAS thread per fit."]
        if mine:
            write_text(folder / f"{paper}{end}.md", _paper_page(mine, head))
    told = [
        f"# What holds of the papers' claims{kind}",
        f"{made}, from the numbers on the pages of this section (`results{end}.json` names the cells behind "
        "each). A claim marked (ours) is not the papers'.",
        "\n".join(summary(results)),
        "\n".join(costs(results, short)),
    ]
    write_text(folder / f"summary{end}.md", "\n\n".join(told) + "\n")
    found = ",\n".join(json.dumps(r.as_dict(), ensure_ascii=False) for r in results if r.numbers)
    write_text(folder / f"results{end}.json", f"[{found}]\n")


def _paper_page(results: list[Any], head: list[str]) -> str:
    there = [r for r in results if r.numbers or r.curves]
    waiting = ", ".join(f"`{r.id}`" for r in results if r not in there)
    parts = [
        *head,
        "The paper's figure, ours (mean over splits), the spread over splits, ours minus the paper's.",
        f"**Not run with this code:** {waiting}." if waiting else "",
        *(r.markdown() for r in there),
    ]
    return "\n\n".join(part for part in parts if part)


def _print(result: Any) -> None:
    from hyperlabel.experiments.papers.result import show

    title = f"{result.id}{' (quick)' if result.quick else ''}: {result.title}"
    if result.numbers:
        rows = []
        for n in result.numbers:
            values = (math.nan if n.paper is None else n.paper, n.ours, n.spread)
            cells = [show(v, result.digits) for v in values]
            rows.append([n.row, n.column, *cells, show(n.difference, result.digits, "+")])
        print_table(["", "", "paper", "ours", "± spread", "difference"], rows, title=title, left=2)
    elif result.curves:
        click.echo(f"{title}: {plural(len(result.curves), 'panel')} in the report")
    else:
        click.echo(f"{result.id}: nothing could be computed")
    for i, note in enumerate([*result.notes, *(f"Not reproduced: {m}" for m in result.missing)], 1):
        click.echo(f"  [{i}] {note}")
    for failure in result.failures:
        click.echo(f"Failed: {failure}", err=True)

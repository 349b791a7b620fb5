"""``python -m reproduction``: the papers' tables and figures, ours beside theirs."""

import hashlib
import math
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hyperlabel.cli import RESUMES, plain_errors
from hyperlabel.cli._input import output_option
from hyperlabel.cli._progress import cell_progress
from hyperlabel.cli._words import plural, print_json, print_table, some
from hyperlabel.cli.compare import write_page
from hyperlabel.experiments import Store, run
from reproduction import Item, Plan, Result, Runs, data, items
from reproduction.html_report import reproduction_report
from reproduction.item import missing_data_notes
from reproduction.markdown_pages import write_markdown
from reproduction.result import show


class _PlainCommand(click.Command):
    """A command that ends bad input in one sentence, as those of ``hyperlabel`` do."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with plain_errors(ctx, lambda: RESUMES):
            return super().invoke(ctx)


@click.command(
    cls=_PlainCommand,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
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
def main(ids: tuple[str, ...], as_list: bool, as_json: bool, **options: Any) -> None:
    """Reproduce published tables and figures (all, or the given IDs) and write a report."""
    wanted = _wanted(ids, {item.id: item for item in items()})
    if options["fetch"]:
        _fetch({name for item in wanted for name in item.data}, options["folder"])
    plan = Plan(data.data_folder(options["folder"]), options["quick"])
    if as_list:
        _list(wanted, plan, as_json)
    else:
        _reproduce(wanted, plan, options, as_json)


def _reproduce(wanted: list[Item], plan: Plan, options: dict[str, Any], as_json: bool) -> None:
    if plan.folder is None:
        raise ValueError(
            "The benchmark files are needed: name their folder with --data or HYPERLABEL_DATA, or get those "
            "that can be had with --fetch."
        )
    results, record = _run(wanted, plan, options)
    short: list[Result] = []
    if options["markdown"] and not plan.quick:  # its cost stands on the same page
        short, _ = _run(wanted, replace(plan, quick=True), options | {"collect_only": True})
    write_page(options["out_path"], reproduction_report(results, record))
    if options["markdown"]:
        write_markdown(results, short, record, Path(options["markdown"]))
    if as_json:
        print_json([r.as_dict() for r in results])
    else:
        for result in results:
            _print(result)
        click.echo(f"Report: {options['out_path']}")
    if not any(result.numbers or result.curves for result in results):
        raise ValueError(_reason_for_nothing(wanted, results, plan, options))


def _reason_for_nothing(
    wanted: list[Item], results: list[Result], plan: Plan, options: dict[str, Any]
) -> str:
    """Say why no item has a number or a curve: no data, no stored results, no cells, or failures only."""
    failures = [failure for result in results for failure in result.failures]
    if not any(plan.has(name) for item in wanted for name in item.data):
        return f"Nothing could be computed: {plan.folder} holds none of the data it needs."
    if failures:
        return f"Nothing could be computed, every cell failed: {failures[0]}"
    if options["collect_only"]:
        names = some([item.id for item in wanted])
        return f"{options['store_path']} holds no result of {names}: run it without --collect-only."
    return "Nothing was computed: the quick form leaves these data sets out. Run it without --quick."


def _wanted(ids: tuple[str, ...], known: dict[str, Item]) -> list[Item]:
    unknown = [i for i in ids if i not in known]
    if unknown:
        raise ValueError(f"There is no {unknown[0]!r}: python -m reproduction --list shows what there is.")
    return [known[i] for i in dict.fromkeys(ids or known)]


def _fetch(names: set[str], given: str | None) -> None:
    folder, offline = data.fetch_folder(given), None
    for name in sorted(names):
        try:
            if offline is None or name not in data.OPENML:
                click.echo(data.fetch(folder, name), err=True)
        except ConnectionError as error:  # what is there already can still be computed
            offline = error
    if offline is not None:
        click.echo(str(offline), err=True)


def _list(wanted: list[Item], plan: Plan, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"id": item.id, "title": item.title, "data": {name: plan.has(name) for name in item.data}}
        for item in wanted
    ]
    if as_json:
        print_json(rows)
        return
    width = max(len(row["id"]) for row in rows)
    for row in rows:
        names = ", ".join(name if there else f"{name} (missing)" for name, there in row["data"].items())
        state = (
            "ready  " if all(row["data"].values()) else "partly " if any(row["data"].values()) else "no data"
        )
        click.echo(f"{row['id']:{width}}  {state}  {row['title']}  [{names}]")
    if not all(there for row in rows for there in row["data"].values()):
        click.echo("Missing data: --fetch gets what OpenML has and says where the other files come from;")
        click.echo("--data (or HYPERLABEL_DATA) names a folder that has them.")


def _run(wanted: list[Item], plan: Plan, options: dict[str, Any]) -> tuple[list[Result], dict[str, Any]]:
    command = shlex.join(["python", "-m", "reproduction", *sys.argv[1:]])
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
            result.missing = [*missing_data_notes(plan, item.data), *result.missing]
            result.seconds, result.cpu = time.perf_counter() - start, runs.cpu(cells, counted)
            results.append(result)
            for environment in store.suite(suite)["environments"]:
                if environment not in record["environments"]:
                    record["environments"].append(environment)
    return results, record


def _origin(id: str, runs: Runs, plan: Plan) -> str:
    """Say which cells of the store the numbers come from, and the command that makes them."""
    ids = "".join(sorted(cell["id"] for cell in runs.cells))
    mark = hashlib.sha256(ids.encode()).hexdigest()[:12]
    quick = " --quick" if plan.quick else ""
    return (
        f"{plural(len(runs.cells), 'cell')} (together {mark}) of the suite `reproduce {id}"
        f"{quick.replace('--', '')}`, made by `python -m reproduction {id}{quick}`; "
        "`--collect-only --json` names those behind each number."
    )


def _print(result: Result) -> None:
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

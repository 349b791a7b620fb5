"""``python -m reproduction``: the papers' tables and figures, ours beside theirs."""

import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hyperlabel.apps.cli import RESUMES, plain_errors
from hyperlabel.apps.cli._input import PAGE, check_target, output_option
from hyperlabel.apps.cli._output import print_json, print_table
from hyperlabel.apps.cli.compare import write_page
from hyperlabel.tabular.wording import plural, some_names
from reproduction import Item, Plan, Result, data, items
from reproduction.html_report import reproduction_report
from reproduction.markdown_pages import write_markdown
from reproduction.result import show
from reproduction.running import RunOptions, run_items


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
@click.option("--quick", is_flag=True, help="Fewer repeats and smaller grids: five minutes of one core.")
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
def main(
    ids: tuple[str, ...],
    as_list: bool,
    quick: bool,
    folder: str | None,
    fetch: bool,
    out_path: str,
    markdown: str | None,
    as_json: bool,
    **run_options: Any,
) -> None:
    """Reproduce published tables and figures (all, or the given IDs) and write a report."""
    check_target(out_path, PAGE, makes_folder=True)
    selected = _select_items(ids)
    if fetch:
        _fetch_data({name for item in selected for name in item.data}, folder)
    plan = Plan(data.data_folder(folder), quick)
    if as_list:
        _print_list(selected, plan, as_json)
        return
    if plan.folder is None:
        raise ValueError(
            "The benchmark files are needed: name their folder with --data or HYPERLABEL_DATA, or get those "
            "that can be had with --fetch."
        )
    options = RunOptions(command=shlex.join(["python", "-m", "reproduction", *sys.argv[1:]]), **run_options)
    results, record = run_items(selected, plan, options)
    write_page(out_path, reproduction_report(results, record))
    if markdown:
        quick_results: list[Result] = []
        if not quick:  # the page of a full run also says what the quick form costs
            quick_plan, collect = replace(plan, quick=True), replace(options, collect_only=True)
            quick_results, _ = run_items(selected, quick_plan, collect)
            quick_results = [replace(result, quick_cpu=result.cpu) for result in quick_results]
        write_markdown(results, quick_results, Path(markdown))
    _print_results(results, out_path, as_json)
    if not any(result.numbers or result.curves for result in results):
        raise ValueError(_reason_for_nothing(selected, results, plan, options))


def _reason_for_nothing(selected: list[Item], results: list[Result], plan: Plan, options: RunOptions) -> str:
    """Say why no item has a number or a curve: no data, no stored results, no cells, or failures only."""
    failures = [failure for result in results for failure in result.failures]
    if not any(plan.has(name) for item in selected for name in item.data):
        return f"Nothing could be computed: {plan.folder} holds none of the data it needs."
    if failures:
        return f"Nothing could be computed, every cell failed: {failures[0]}"
    if options.collect_only:
        names = some_names([item.id for item in selected])
        return f"{options.store_path} holds no result of {names}: run it without --collect-only."
    return "Nothing was computed: the quick form leaves these data sets out. Run it without --quick."


def _select_items(ids: tuple[str, ...]) -> list[Item]:
    item_by_id = {item.id: item for item in items()}
    unknown_ids = [id for id in ids if id not in item_by_id]
    if unknown_ids:
        raise ValueError(
            f"There is no {unknown_ids[0]!r}: python -m reproduction --list shows what there is."
        )
    return [item_by_id[id] for id in dict.fromkeys(ids or item_by_id)]


def _fetch_data(names: set[str], folder: str | None) -> None:
    """Get what OpenML has; without a network say so once, as the data in the folder can still be used."""
    target_folder, network_error = data.fetch_folder(folder), None
    for name in sorted(names):
        try:
            if network_error is None or name not in data.OPENML:
                click.echo(data.fetch(target_folder, name), err=True)
        except ConnectionError as error:
            network_error = error
    if network_error is not None:
        click.echo(str(network_error), err=True)


def _print_list(selected: list[Item], plan: Plan, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"id": item.id, "title": item.title, "data": {name: plan.has(name) for name in item.data}}
        for item in selected
    ]
    if as_json:
        print_json(rows)
        return
    id_width = max(len(row["id"]) for row in rows)
    for row in rows:
        available = row["data"].values()
        state = "ready  " if all(available) else "partly " if any(available) else "no data"
        names = ", ".join(name if has else f"{name} (missing)" for name, has in row["data"].items())
        click.echo(f"{row['id']:{id_width}}  {state}  {row['title']}  [{names}]")
    if not all(has for row in rows for has in row["data"].values()):
        click.echo("Missing data: --fetch gets what OpenML has and says where the other files come from;")
        click.echo("--data (or HYPERLABEL_DATA) names a folder that has them.")


def _print_results(results: list[Result], out_path: str, as_json: bool) -> None:
    if as_json:
        print_json([result.as_dict() for result in results])
        return
    for result in results:
        _print_result(result)
    click.echo(f"Report: {out_path}")


def _print_result(result: Result) -> None:
    title = f"{result.id}{' (quick)' if result.quick else ''}: {result.title}"
    if result.numbers:
        rows = []
        for number in result.numbers:
            paper = math.nan if number.paper is None else number.paper
            texts = [show(value, result.digits) for value in (paper, number.ours, number.std)]
            difference = show(number.difference, result.digits, "+")
            rows.append([number.row, number.column, *texts, difference])
        print_table(["", "", "paper", "ours", "± spread", "difference"], rows, title=title, n_text_columns=2)
    elif result.curves:
        click.echo(f"{title}: {plural(len(result.curves), 'panel')} in the report")
    else:
        click.echo(f"{result.id}: nothing could be computed")
    notes = [*result.notes, *(f"Not reproduced: {reason}" for reason in result.missing)]
    for i, note in enumerate(notes, 1):
        click.echo(f"  [{i}] {note}")
    for failure in result.failures:
        click.echo(f"Failed: {failure}", err=True)

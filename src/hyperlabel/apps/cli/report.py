"""``hyperlabel report``: the page of a model, or the report of a results file again."""

from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text
from hyperlabel.apps.cli._input import PAGE, check_target, output_option, refuse_options, say, vectors_option
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.apps.cli.compare import write_page
from hyperlabel.tabular.table_io import need_data, need_model


@click.command()
@click.argument("source", metavar="MODEL|STORE")
@click.argument("data", required=False)
@vectors_option("The npy file of the vectors of DATA's rows")
@output_option("out_path", None, "The page. [default: out/report.html]")
@click.option(
    "--scores",
    type=click.Choice(["out-of-fold", "held-out"]),
    help="Judge DATA by models of its other rows, or by the model as new rows. [default: rows of the fit out "
    "of fold]",
)
@click.option("--no-texts", is_flag=True, help="Leave the texts of DATA out of the page.")
@click.option(
    "--max-rows", default=5000, show_default=True, type=click.IntRange(min=1), help="Rows to look at."
)
@click.option(
    "--prune", default=0.0, show_default=True, type=click.FloatRange(min=0), help="Leave out smaller weights."
)
@click.option("--suite", default=None, help="STORE: which suite; the newest comparison when not given.")
@click.option("--scoring", default=None, help="STORE: judge by another measure than the run did.")
@click.option("--rope", default=0.01, show_default=True, help="STORE: differences up to this do not matter.")
@click.option("--list", "as_list", is_flag=True, help="STORE: show its suites and stop.")
def report(
    source: str,
    data: str | None,
    vectors: str | None,
    out_path: str | None,
    scores: str | None,
    no_texts: bool,
    max_rows: int,
    prune: float,
    **store_options: Any,
) -> None:
    """Write a page that shows a model, lets you try it and corrects its rows; or a comparison again.

    With MODEL and DATA (labelled rows, best those of the fit): one file with every threshold of every label,
    the map of the labels, the rows in the order of doubt, and the model itself. With STORE (made by compare):
    its report.

    \b
    hyperlabel report model.hyper tickets.csv -o page.html
    hyperlabel report results.sqlite
    """  # noqa: D301 - click wants the character
    check_target(out_path or "out/report.html", PAGE, makes_folder=True)
    if data is None:
        refuse_options(
            "A comparison has no rows to show", "vectors", "scores", "no_texts", "max_rows", "prune"
        )
        page_html = _read_comparison_page(source, **store_options)
    else:
        refuse_options("DATA shows a model, not a comparison", "suite", "scoring", "rope", "as_list")
        need_model(source)
        need_data(data)
        from hyperlabel.apps.report.model_page import PageOptions
        from hyperlabel.tabular.model_file import open_model

        page_options = PageOptions(max_rows=max_rows, prune=prune)
        with show_step(f"loading {source}"):
            file = open_model(source)
        page_html = judge_and_draw(
            file, data, scores, vectors=vectors, no_texts=no_texts, options=page_options
        )
    if page_html is None:
        return
    written_path = write_page(out_path or "out/report.html", page_html)
    click.echo(f"Report: {written_path} ({len(page_html.encode()) / 2**20:.1f} MB)")


def judge_and_draw(
    file: Any, data: str, scores: str | None = None, *, vectors: str | None = None, **options: Any
) -> str:
    """Return the page of a loaded model on labelled rows."""
    from hyperlabel.apps.report.table_page import model_html
    from hyperlabel.tabular.fit_rows import read_with_groups_of_fit, rows_to_judge, warn_of_flattery

    with show_step(f"reading {data}"):
        dataset = read_with_groups_of_fit(data, file.columns, vectors)
    judged_rows = rows_to_judge(file, dataset, Path(data).name)
    if scores is None:
        dataset, scores = judged_rows.table, judged_rows.scored
        if judged_rows.sentence:
            say(judged_rows.sentence)
    elif scores == "held-out" and judged_rows.n_in_fit:
        say(f"Warning: {warn_of_flattery(judged_rows.n_in_fit, Path(data).name)}")
    with show_step("judging every threshold"):
        return model_html(file, dataset, data, scores, **options)


def write_model_page(file: Any, dataset: Any, data: str, scores: str, page: str) -> None:
    """Write the page of a loaded model on labelled rows."""
    from hyperlabel.apps.report.table_page import model_html

    with show_step("judging every threshold"):
        page_html = model_html(file, dataset, data, scores)
    write_text(Path(page), page_html)
    click.echo(f"Report: {page}", err=True)


def _read_comparison_page(
    store_path: str, suite: str | None, scoring: str | None, rope: float, as_list: bool
) -> str | None:
    """Return the report of a comparison kept in a results file; None where only its suites were asked for."""
    if not Path(store_path).is_file():
        raise ValueError(f"There is no results file {store_path!r}: hyperlabel compare makes one.")
    if store_path.endswith(".hyper"):
        raise ValueError(f"Name labelled rows too: hyperlabel report {store_path} DATA -o page.html.")
    from hyperlabel.apps.comparison.comparison import Comparison
    from hyperlabel.apps.comparison.store import Store
    from hyperlabel.apps.report import comparison_report

    with Store(store_path) as store:
        suite_names = store.suites()
        if as_list:
            click.echo("\n".join(suite_names))
            return None
        comparison_names = [suite_name for suite_name in suite_names if suite_name.startswith("compare ")]
        if suite is None and not comparison_names:
            raise ValueError(f"{store_path} holds no comparison.")
        return comparison_report(Comparison(store, suite or comparison_names[-1], scoring=scoring, rope=rope))

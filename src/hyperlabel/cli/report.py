"""``hyperlabel report``: write the report of a results file again."""

from __future__ import annotations

from pathlib import Path

import click

from hyperlabel._files import write_text


@click.command()
@click.argument("store_path", metavar="STORE")
@click.option("--suite", default=None, help="Which suite of the file; the newest comparison when not given.")
@click.option("--scoring", default=None, help="Judge by another measure than the run did.")
@click.option("--rope", default=0.01, show_default=True, help="Differences up to this do not matter.")
@click.option("--out", "out_path", default="out/report.html", show_default=True, help="The report.")
@click.option("--list", "as_list", is_flag=True, help="Show the suites of the file and stop.")
def report(
    store_path: str, suite: str | None, scoring: str | None, rope: float, out_path: str, as_list: bool
) -> None:
    """Write the report of a comparison kept in STORE (made by compare)."""
    from hyperlabel.experiments.comparison import Comparison
    from hyperlabel.experiments.store import Store
    from hyperlabel.report import comparison_report

    if not Path(store_path).is_file():
        raise ValueError(f"There is no results file {store_path!r}: hyperlabel compare makes one.")
    with Store(store_path) as store:
        suites = store.suites()
        if as_list:
            click.echo("\n".join(suites))
            return
        comparisons = [name for name in suites if name.startswith("compare ")]
        if suite is None and not comparisons:
            raise ValueError(f"{store_path} holds no comparison.")
        html = comparison_report(Comparison(store, suite or comparisons[-1], scoring=scoring, rope=rope))
    out = Path(out_path)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, html)
    click.echo(f"Report: {out}")

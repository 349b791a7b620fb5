"""``hyperlabel demo``: train and measure the library's methods on the embedded data."""

from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text
from hyperlabel.cli._input import output_option
from hyperlabel.cli._words import print_json, print_table, tell

_METHODS = ("linear-svm", "ridge", "spectral", "plst", "mlknn", "rank-svm")  # of the catalogue
_PLST_DIMENSIONS = 60
_SCORING = "f1_micro"
# What the table shows of `hyperlabel.metrics.evaluate`.
_SHOWN = {
    "f1_micro": "micro-F1",
    "f1_macro": "macro-F1",
    "precision_at_1": "P@1",
    "ndcg_at_5": "nDCG@5",
    "ranking_loss": "rank loss",
}


def _methods(data: Any) -> list[tuple[str, Any, dict[str, list[Any]]]]:
    """Return the rows of the table: a name, a model and what to choose from."""
    from hyperlabel.meta.catalogue import Rows, known

    rows = Rows.of(data.X)
    listed = []
    for method in map(known, _METHODS):
        # one dimension for all settings, so that the demo stays under a minute
        fixed = {"n_components": _PLST_DIMENSIONS} if method.name == "plst" else {}
        title = f"PLST, {_PLST_DIMENSIONS} of {data.n_labels} dimensions" if fixed else method.title
        listed.append((title, method.make(rows).set_params(**fixed), method.grid(rows)))
    return listed


def _tuned(model: Any, grid: dict[str, list[Any]]) -> Any:
    """Let a method choose its setting and its cuts inside the training rows, as all others do."""
    from hyperlabel.cli._chosen import Chosen
    from hyperlabel.meta import ThresholdTuner

    return ThresholdTuner(Chosen(model, grid, _SCORING), scoring=_SCORING)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--seed", default=0, show_default=True, help="Seed of the folds.")
@output_option("out_path", "out/demo.html", "The report.")
def demo(as_json: bool, seed: int, out_path: str) -> None:
    """Train the library's methods on Debian's package tags, compare them, write a report."""
    from hyperlabel.cli._progress import cell_progress
    from hyperlabel.datasets import load_debtags
    from hyperlabel.experiments import Method, Protocol, Splits, Store, run
    from hyperlabel.experiments.comparison import Comparison
    from hyperlabel.experiments.portrait import portrait

    data = load_debtags()
    methods = [Method(name, _tuned(model, grid)) for name, model, grid in _methods(data)]
    protocol = Protocol("demo", [data], methods, Splits("groups", 3, seed=seed), _SCORING, seed=seed)
    cells = protocol.cells()
    with Store(":memory:") as store, cell_progress("training", len(cells)) as progress:
        spec = protocol.spec() | {"metrics": list(_SHOWN)}
        run(cells, store, "demo", spec=spec, command="hyperlabel demo", progress=progress)
        store.put_artifact("demo", f"portrait:{data.name}", portrait(data))
        comparison = Comparison(store, "demo")
    results = [
        {"method": m, "fit_seconds": cost.fit_seconds} | {n: comparison.mean(data.name, m, n) for n in _SHOWN}
        for m in comparison.methods
        if (cost := comparison.cost(data.name, m)) is not None
    ]
    report = _report(comparison, out_path)
    if as_json:
        found = {"data": data.name, "seed": seed, "results": results, "report": report}
        print_json(found)
    else:
        _print_table(data, results)
        if report:
            from hyperlabel.report.summary import answers

            for answer in answers(comparison)[:2]:
                tell(f"{answer.question} {answer.text}")
        click.echo(f"Report: {report}" if report else "For a report: pip install 'hyperlabel[report]'.")


def _report(comparison: Any, out_path: str) -> str | None:
    """Write the report; without matplotlib and jinja2 the demo still shows its table."""
    from hyperlabel.report import comparison_report
    from hyperlabel.report.svg import MISSING

    try:
        html = comparison_report(comparison, title="hyperlabel on Debian's package tags")
    except ValueError as error:
        if str(error) != MISSING:
            raise
        return None
    out = Path(out_path)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, html)
    return str(out)


def _print_table(data: Any, results: list[dict[str, Any]]) -> None:
    rows = [
        [row["method"], f"{row['fit_seconds']:.2f}", *(f"{row[name]:.3f}" for name in _SHOWN)]
        for row in results
    ]
    title = f"{data.name}: {data.n_rows} packages, {data.n_labels} tags, 3 folds by source package"
    print_table(["method", "fit (s)", *_SHOWN.values()], rows, title=title)
    click.echo(
        "means over folds; λ, C or k and the cuts of every method chosen inside its training rows; lower is "
        "better for rank loss only"
    )

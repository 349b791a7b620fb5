"""``hyperlabel demo``: train and measure the library's methods on the embedded data."""

from typing import Any

import click

from hyperlabel.cli._input import PAGE, check_target, output_option

_METHODS = ("linear-svm", "ridge", "spectral", "plst", "mlknn", "rank-svm")  # of the catalogue
_PLST_DIMENSIONS = 60
_SCORING = "f1_micro"
_SHOWN = ("f1_micro", "f1_macro", "precision_at_1", "ndcg_at_5", "ranking_loss")


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
    """Train the library's methods on Debian's package tags, compare them, write a report.

    Three folds keep packages of one source together; λ, C or k and the cuts of every method are chosen inside
    its training rows.
    """
    check_target(out_path, PAGE, makes_folder=True)
    from hyperlabel.cli._progress import cell_progress
    from hyperlabel.cli.compare import show, write_page
    from hyperlabel.datasets import load_debtags
    from hyperlabel.experiments import Method, Protocol, Splits, Store, run
    from hyperlabel.experiments.comparison import Comparison
    from hyperlabel.experiments.portrait import portrait
    from hyperlabel.report import comparison_report
    from hyperlabel.report.svg import MISSING

    data = load_debtags()
    methods = [Method(name, _tuned(model, grid)) for name, model, grid in _methods(data)]
    protocol = Protocol("demo", [data], methods, Splits("groups", 3, seed=seed), _SCORING, seed=seed)
    cells = protocol.cells()
    with Store(":memory:") as store, cell_progress("training", len(cells)) as progress:
        spec = protocol.spec() | {"metrics": list(_SHOWN)}
        run(cells, store, "demo", spec=spec, command="hyperlabel demo", progress=progress)
        store.put_artifact("demo", f"portrait:{data.name}", portrait(data))
        comparison = Comparison(store, "demo")
    try:
        html = comparison_report(comparison, title="hyperlabel on Debian's package tags")
    except ValueError as error:
        if str(error) != MISSING:  # without matplotlib and jinja2 the demo still shows its table
            raise
        show(comparison, None, as_json)
    else:
        show(comparison, write_page(out_path, html), as_json)

"""``hyperlabel demo``: train and measure the library's methods on the embedded data."""

from typing import Any

import click

from hyperlabel.apps.cli._input import PAGE, check_target, output_option

_METHODS = ("linear-svm", "ridge", "spectral", "plst", "mlknn", "rank-svm")  # of the catalogue
_PLST_DIMENSIONS = 60
_SCORING = "f1_micro"
_SHOWN = ("f1_micro", "f1_macro", "precision_at_1", "ndcg_at_5", "ranking_loss")


def _demo_methods(data: Any) -> list[tuple[str, Any, dict[str, list[Any]]]]:
    """Return the rows of the table: a name, a model and what to choose from."""
    from hyperlabel.meta.catalogue import DataShape, method_spec

    data_shape = DataShape.of(data.X)
    demo_methods = []
    for method in map(method_spec, _METHODS):
        # one dimension for all settings, so that the demo stays under a minute
        fixed_parameters = {"n_components": _PLST_DIMENSIONS} if method.name == "plst" else {}
        method_title = (
            f"PLST, {_PLST_DIMENSIONS} of {data.n_labels} dimensions" if fixed_parameters else method.title
        )
        demo_methods.append(
            (method_title, method.make(data_shape).set_params(**fixed_parameters), method.grid(data_shape))
        )
    return demo_methods


def _with_tuned_params_and_thresholds(model: Any, grid: dict[str, list[Any]]) -> Any:
    """Let a method choose its setting and its thresholds inside the training rows, as all others do."""
    from hyperlabel.apps.cli._first_fold_search import Chosen
    from hyperlabel.meta import ThresholdTuner

    return ThresholdTuner(Chosen(model, grid, _SCORING), scoring=_SCORING)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--seed", default=0, show_default=True, help="Seed of the folds.")
@output_option("out_path", "out/demo.html", "The report.")
def demo(as_json: bool, seed: int, out_path: str) -> None:
    """Train the library's methods on Debian's package tags, compare them, write a report.

    Three folds keep packages of one source together; λ, C or k and the thresholds of every method are chosen
    inside its training rows.
    """
    check_target(out_path, PAGE, makes_folder=True)
    from hyperlabel.apps.cli._progress import cell_progress
    from hyperlabel.apps.cli.compare import show_comparison, write_page
    from hyperlabel.apps.comparison import Method, Protocol, Splits, Store, run
    from hyperlabel.apps.comparison.comparison import Comparison
    from hyperlabel.apps.comparison.data_profile import data_profile
    from hyperlabel.apps.report import comparison_report
    from hyperlabel.apps.report.svg import MISSING
    from hyperlabel.datasets import load_debtags

    dataset = load_debtags()
    methods = [
        Method(name, _with_tuned_params_and_thresholds(model, grid))
        for name, model, grid in _demo_methods(dataset)
    ]
    protocol = Protocol("demo", [dataset], methods, Splits("groups", 3, seed=seed), _SCORING, seed=seed)
    jobs = protocol.cells()
    with Store(":memory:") as store, cell_progress("training", len(jobs)) as progress:
        suite_spec = protocol.spec() | {"metrics": list(_SHOWN)}
        run(jobs, store, "demo", spec=suite_spec, command="hyperlabel demo", progress=progress)
        store.put_artifact("demo", f"portrait:{dataset.name}", data_profile(dataset))
        comparison = Comparison(store, "demo")
    try:
        page_html = comparison_report(comparison, title="hyperlabel on Debian's package tags")
    except ValueError as error:
        if str(error) != MISSING:  # without matplotlib and jinja2 the demo still shows its table
            raise
        show_comparison(comparison, None, as_json)
    else:
        show_comparison(comparison, write_page(out_path, page_html), as_json)

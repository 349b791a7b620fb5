"""``hyperlabel compare``: methods against each other on the user's own data, with a report."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text
from hyperlabel.apps.cli._input import (
    PAGE,
    READING,
    StrategyType,
    as_names,
    check_target,
    input_options,
    output_option,
)
from hyperlabel.apps.cli._methods import METHODS, need_methods, print_methods
from hyperlabel.apps.cli._output import print_json, print_table, tell
from hyperlabel.apps.cli._progress import cell_progress, show_step
from hyperlabel.tabular.table_io import need_data

_SHORT = {
    "f1_macro": "F1 mac",
    "f1_micro": "F1 mic",
    "hamming_loss": "hamming",
    "ranking_loss": "rank loss",
    "label_ranking_average_precision": "LRAP",
    "precision_at_1": "P@1",
}  # what is measured in any case, and how a column says it


@click.command()
@click.argument("files", nargs=-1)
@input_options
@click.option("--methods", callback=as_names, help="Comma-separated names; --list-methods shows them.")
@click.option("--list-methods", is_flag=True, help="Show the methods and stop.")
@click.option("--scoring", callback=as_names, default="f1_macro", show_default=True,
              help="Measures; the first one judges and tunes.")  # fmt: skip
@click.option("--splits", type=click.Choice(["folds", "groups", "time"]), default=None,
              help="How rows are parted. [default: groups where the data has them, else folds]")  # fmt: skip
@click.option("--folds", default=5, show_default=True, help="Folds, or splits in time.")
@click.option("--repeats", default=2, show_default=True, help="Times the folds are dealt anew.")
@click.option("--tune/--no-tune", default=True, show_default=True, help="Search each method's grid inside.")
@click.option("--thresholds", type=StrategyType("auto", "none"), default="auto", show_default=True,
              help="Thresholds tuned inside each training part; auto: per label for f1_….")  # fmt: skip
@click.option("--rope", default=0.01, show_default=True, help="Differences up to this do not matter.")
@click.option("--curves/--no-curves", default=True, show_default=True, help="Learning curves and paths.")
@click.option("--seed", default=0, show_default=True)
@click.option("--n-jobs", default=1, show_default=True, help="Cells computed at the same time.")
@click.option("--store", "store_path", default="out/compare.sqlite", show_default=True,
              help="Results file; a killed run resumes from it.")  # fmt: skip
@output_option("out_path", "out/compare.html", "The report.")
@click.option("--fresh", is_flag=True, help="Compute everything again.")
@click.option("--retry-failed", is_flag=True, help="Compute recorded failures again.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compare(files: tuple[str, ...], list_methods: bool, as_json: bool, **options: Any) -> None:
    """Compare methods on FILES (tables of text or numbers, ARFF, npz, LIBSVM, XMC, debtags); write a report.

    Texts are vectorised once, before rows are parted: no label takes part in that.
    """
    if list_methods:
        _list_methods(as_json)
        return
    if not files:
        raise ValueError("Name at least one data file, or 'debtags' for the embedded data.")
    check_target(options["out_path"], PAGE, makes_folder=True)
    need_data(*files)
    need_methods(options["methods"] or (), METHODS[1:])
    from hyperlabel.apps.comparison.comparison import Comparison
    from hyperlabel.apps.comparison.store import Store
    from hyperlabel.apps.report import comparison_report
    from hyperlabel.tabular.pipeline import as_numbers
    from hyperlabel.tabular.table_io import vectors_of
    from hyperlabel.tabular.training_table import read_training

    reading = {key: options.pop(key) for key in READING}
    datasets = []
    for source, vectors in zip(files, vectors_of(files, reading["vectors"]), strict=True):
        with show_step(f"reading {source}"):
            file_options = reading | {"vectors": vectors and (vectors,)}
            datasets.append(as_numbers(*read_training(source, **file_options)))
        _tell_gaps(datasets[-1], options["methods"])
    repeated_names = {d.name for d in datasets if sum(e.name == d.name for e in datasets) > 1}
    if repeated_names:
        raise ValueError(f"Two data sets are called {sorted(repeated_names)[0]!r}: rename one file.")
    with Store(options["store_path"]) as store:
        suite_name = "compare " + ", ".join(d.name for d in datasets)
        _run_comparison(store, suite_name, datasets, options)
        comparison = Comparison(store, suite_name, rope=options["rope"])
        with show_step("drawing"):
            page_html = comparison_report(comparison)
    show_comparison(comparison, write_page(options["out_path"], page_html), as_json)


def _tell_gaps(data: Any, methods: Any) -> None:
    """Say how many label entries are unknown, and which methods a comparison leaves out for them."""
    from hyperlabel.apps.comparison.methods import takes_gaps
    from hyperlabel.apps.comparison.protocol import has_gaps
    from hyperlabel.meta.catalogue import CATALOGUE, DataShape

    if not has_gaps(data):
        return
    shape = DataShape.of(data.X)
    refusing = [m.name for m in CATALOGUE if m.default and methods is None and not takes_gaps(m.name, shape)]
    left_out = f", so {', '.join(refusing)} are left out, which need every label" if refusing else ""
    n_entries = data.n_rows * data.n_labels
    click.echo(
        f"{data.name}: {data.missing.nnz} of {n_entries} label entries are unknown; no fit and no measure "
        f"counts them{left_out}.",
        err=True,
    )


def _list_methods(as_json: bool) -> None:
    from hyperlabel.meta.catalogue import CATALOGUE

    if as_json:
        method_entries = [{"name": m.name, "what": m.title, "default": m.default} for m in CATALOGUE]
        print_json(method_entries)
        return
    default_note = {True: "", False: "  (not in the default set)"}
    print_methods({m.name: m.title + default_note[m.default] for m in CATALOGUE})


def _run_comparison(store: Any, suite: str, datasets: list[Any], options: dict[str, Any]) -> None:
    from hyperlabel.apps.comparison import Protocol, Splits, run
    from hyperlabel.apps.comparison.methods import build_methods
    from hyperlabel.metrics import get_scorer

    scoring = options["scoring"]
    if not scoring:
        raise ValueError("--scoring needs at least one measure.")
    for metric_name in scoring:
        get_scorer(metric_name)
    shared_kinds = [
        kind for kind in ("groups", "time") if all(getattr(d, kind) is not None for d in datasets)
    ]
    split_kind = options["splits"] or [*shared_kinds, "folds"][0]
    splits = Splits(split_kind, options["folds"], options["repeats"], seed=options["seed"])
    jobs: list[Any] = []
    suite_spec: dict[str, Any] = {}
    for data in datasets:
        methods = build_methods(
            options["methods"],
            data,
            tune=options["tune"],
            thresholds=_threshold_strategy(options),
            scoring=scoring[0],
        )
        protocol = Protocol(suite, [data], methods, splits, scoring[0], seed=options["seed"])
        jobs += protocol.cells()
        data_spec = protocol.spec()
        method_names = [m["name"] for m in suite_spec.get("methods", [])]
        suite_spec = data_spec | {
            "datasets": suite_spec.get("datasets", []) + data_spec["datasets"],
            "methods": suite_spec.get("methods", [])
            + [m for m in data_spec["methods"] if m["name"] not in method_names],
        }
    suite_spec["metrics"] = list(dict.fromkeys([*scoring, *_SHORT]))
    command_line = shlex.join(["hyperlabel", *sys.argv[1:]])
    with cell_progress("comparing", len(jobs)) as progress:
        run_summary = run(
            jobs,
            store,
            suite,
            spec=suite_spec,
            command=command_line,
            n_jobs=options["n_jobs"],
            fresh=options["fresh"],
            retry_failed=options["retry_failed"],
            progress=progress,
        )
    if run_summary.other_code and run_summary.resumed:
        click.echo("Some results were computed by other code: --fresh computes everything again.", err=True)
    for data in datasets:
        with show_step(f"learning curves of {data.name}"):
            _add_pictures(store, suite, data, options)


def _add_pictures(store: Any, suite: str, data: Any, options: dict[str, Any]) -> None:
    """Store what a report shows of the data itself, unless an earlier run has."""
    from hyperlabel.apps.comparison.data_profile import data_profile
    from hyperlabel.apps.comparison.methods import build_methods, learning_curves

    if store.artifact(suite, f"portrait:{data.name}") is None or options["fresh"]:
        store.put_artifact(suite, f"portrait:{data.name}", data_profile(data))
    if options["curves"] and (store.artifact(suite, f"curve:{data.name}") is None or options["fresh"]):
        untuned_methods = build_methods(options["methods"], data, tune=False)
        curve_methods = [m for m in untuned_methods if m.name != "prior"][:6]
        curves = learning_curves(data, curve_methods, options["scoring"][0])
        store.put_artifact(suite, f"curve:{data.name}", curves)


def _threshold_strategy(options: dict[str, Any]) -> str | None:
    from hyperlabel.decision.thresholds import can_tune_each_label
    from hyperlabel.metrics.measures import find_measure

    if options["thresholds"] == "auto":
        measure = find_measure(options["scoring"][0])
        if measure is None or measure.threshold_objective is None or not measure.greater_is_better:
            return None  # the Hamming loss is least where a score is above 0
        return "per_label" if can_tune_each_label(measure.name) else "global"
    return None if options["thresholds"] == "none" else options["thresholds"]


def write_page(path: str, html: str) -> str:
    """Write a page to a folder that is made when missing."""
    page_path = Path(path)
    page_path.parent.mkdir(parents=True, exist_ok=True)
    write_text(page_path, html)
    return path


def show_comparison(comparison: Any, page: str | None, as_json: bool) -> None:
    """Print a comparison: means and costs of the methods, the answers, where the report lies."""
    from hyperlabel.apps.report.summary import answer_questions

    if as_json:
        print_json(_comparison_as_dict(comparison, page))
        return
    first_metric, *other_metrics = comparison.metrics
    short_names = [_SHORT.get(metric, metric) for metric in other_metrics]
    column_titles = ["method", f"{first_metric} ±", *short_names, "fit (s)"]
    for data in comparison.datasets:
        method_rows = []
        for method in comparison.ranking(data):
            fit_cost = comparison.cost(data, method)
            mean_score, score_std = comparison.mean(data, method), comparison.std(data, method)
            other_means = [f"{comparison.mean(data, method, metric):.3f}" for metric in other_metrics]
            fit_seconds = "–" if fit_cost is None else f"{fit_cost.fit_seconds:.2f}"
            method_rows.append([method, f"{mean_score:.3f} {score_std:.3f}", *other_means, fit_seconds])
        title = f"{data}: means over splits; ± is the standard deviation"
        print_table(column_titles, method_rows, title=title)
        click.echo()
    for answer in answer_questions(comparison)[:4]:
        tell(f"{answer.question} {answer.text}")
    for failure in comparison.failures():
        click.echo(f"Failed: {failure['method']} on {failure['data']}: {failure['error']}", err=True)
    if comparison.across is not None and comparison.across.few:
        click.echo("Fewer than 8 data sets: Friedman's test sees only large differences.", err=True)
    click.echo(f"Report: {page}" if page else "For a report: pip install 'hyperlabel[report]'.")


def _comparison_as_dict(comparison: Any, page: str | None) -> dict[str, Any]:
    from hyperlabel.apps.report.summary import recommended_method

    score_rows = []
    for data, method in ((d, m) for d in comparison.datasets for m in comparison.ranking(d)):
        fit_cost = comparison.cost(data, method)
        fit_seconds = None if fit_cost is None else fit_cost.fit_seconds
        method_scores = {"data": data, "method": method, "fit_seconds": fit_seconds}
        method_scores |= {m: comparison.mean(data, method, m) for m in comparison.metrics}
        method_scores["std"] = {m: comparison.std(data, method, m) for m in comparison.metrics}
        score_rows.append(method_scores)
    best_methods = {
        data: {
            "best": comparison.best(data),
            "not_significantly_different": comparison.not_significantly_different(data),
        }
        for data in comparison.datasets
    }
    return {
        "scoring": comparison.scoring,
        "scores": score_rows,
        "best": best_methods,
        "recommended": recommended_method(comparison),
        "failures": comparison.failures(),
        "report": page,
    }

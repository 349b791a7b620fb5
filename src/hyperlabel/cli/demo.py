"""``hyperlabel demo``: train and measure the library's methods on the embedded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text

_SCORING = "f1_micro"
# What the table shows of `hyperlabel.metrics.evaluate`.
_SHOWN = {
    "f1_micro": "micro-F1",
    "f1_macro": "macro-F1",
    "precision_at_1": "P@1",
    "ndcg_at_5": "nDCG@5",
    "ranking_loss": "rank loss",
}


def _methods() -> list[tuple[str, Any, dict[str, list[Any]]]]:
    """Return the rows of the table: a name, a model and what to choose from; a method joins by one line."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    import hyperlabel as hl

    alphas = [1.0, 3.0, 10.0]
    spectral = hl.ProjectionClassifier(hl.HypergraphSpectral())
    rank_svm = hl.RankSVM(label_cost="balanced", tol=1e-2)
    return [
        (
            "one-vs-rest LinearSVC (scikit-learn)",
            OneVsRestClassifier(LinearSVC()),
            {"estimator__C": [0.1, 0.3, 1.0]},
        ),
        ("BinaryRelevance (shared ridge)", hl.BinaryRelevance(), {"alpha": alphas}),
        ("HypergraphSpectral + ridge (KDD'08)", spectral, {"projection__alpha": alphas}),
        ("PLST, 60 of 111 dimensions", hl.PLST(60), {"alpha": alphas}),
        ("MLkNN, cosine", hl.MLkNN(metric="cosine"), {"n_neighbors": [10, 20, 40]}),
        ("RankSVM, costs balanced", rank_svm, {"C": [3.0, 10.0, 30.0]}),
    ]


def _tuned(model: Any, grid: dict[str, list[Any]]) -> Any:
    """Let a method choose its setting and its cuts inside the training rows, as all others do."""
    from hyperlabel.cli._chosen import Chosen
    from hyperlabel.meta import ThresholdTuner

    return ThresholdTuner(Chosen(model, grid, _SCORING), scoring=_SCORING)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--seed", default=0, show_default=True, help="Seed of the folds.")
@click.option("--out", "out_path", default="out/demo.html", show_default=True, help="The report.")
def demo(as_json: bool, seed: int, out_path: str) -> None:
    """Train the library's methods on Debian's package tags, compare them, write a report."""
    from hyperlabel.cli._progress import cell_progress
    from hyperlabel.datasets import load_debtags
    from hyperlabel.experiments import Method, Protocol, Splits, Store, run
    from hyperlabel.experiments.comparison import Comparison
    from hyperlabel.experiments.portrait import portrait

    data = load_debtags()
    methods = [Method(name, _tuned(model, grid)) for name, model, grid in _methods()]
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
        click.echo(json.dumps(found, indent=2))
    else:
        _print_table(data, results)
        if report:
            from hyperlabel.report.summary import answers

            for answer in answers(comparison)[:2]:
                click.echo(f"{answer.question} {answer.text}")
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
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{data.name}: {data.n_rows} packages, {data.n_labels} tags, 3 folds by source package",
        caption="means over folds; λ, C or k and the cuts of every method chosen inside its training rows; "
        "lower is better for rank loss only",
    )
    table.add_column("method")
    for title in ("fit (s)", *_SHOWN.values()):
        table.add_column(title, justify="right")
    for row in results:
        cells = [f"{row[name]:.3f}" for name in _SHOWN]
        table.add_row(row["method"], f"{row['fit_seconds']:.2f}", *cells)
    Console().print(table)

"""``hyperlabel demo``: train and measure the library's methods on the embedded data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text

# What the table shows of `hyperlabel.metrics.evaluate`.
_SHOWN = {
    "f1_micro": "micro-F1",
    "f1_macro": "macro-F1",
    "precision_at_1": "P@1",
    "ndcg_at_5": "nDCG@5",
    "ranking_loss": "rank loss",
}


def _methods() -> list[tuple[str, Callable[[], Any]]]:
    """Return the rows of the table: a name and how to make the model; a method joins by one line."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    import hyperlabel as hl

    return [
        ("one-vs-rest LinearSVC (scikit-learn)", lambda: OneVsRestClassifier(LinearSVC())),
        ("BinaryRelevance (shared ridge)", lambda: hl.BinaryRelevance(alpha=3.0)),
        (
            "HypergraphSpectral + SVM per label (KDD'08)",
            # unit variance, so that the default C fits the scale of the projection
            lambda: make_pipeline(
                hl.HypergraphSpectral(alpha=3.0), StandardScaler(), hl.BinaryRelevance(LinearSVC())
            ),
        ),
        ("PLST, dimension chosen", lambda: hl.PLST(alpha=3.0)),
        ("HOPLS + MLkNN", lambda: make_pipeline(hl.HOPLS(alpha=3.0), hl.MLkNN())),
        ("MLkNN, cosine", lambda: hl.MLkNN(metric="cosine")),
        (
            "RankSVM, costs balanced",
            lambda: hl.RankSVM(C=30.0, label_cost="balanced", tol=1e-2, random_state=0),
        ),
        ("BinaryRelevance, tuned cuts", lambda: hl.ThresholdTuner(hl.BinaryRelevance(alpha=3.0))),
    ]


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
    methods = [Method(name, make()) for name, make in _methods()]
    protocol = Protocol("demo", [data], methods, Splits("groups", 3, seed=seed), "f1_micro", seed=seed)
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
        caption="means over folds; one fixed setting a method, not tuned; lower is better for rank loss only",
    )
    table.add_column("method")
    for title in ("fit (s)", *_SHOWN.values()):
        table.add_column(title, justify="right")
    for row in results:
        cells = [f"{row[name]:.3f}" for name in _SHOWN]
        table.add_row(row["method"], f"{row['fit_seconds']:.2f}", *cells)
    Console().print(table)

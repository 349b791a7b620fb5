"""``hyperlabel demo``: train and measure the library's methods on the embedded data."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import click

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
    from sklearn.svm import LinearSVC

    import hyperlabel as hl

    return [
        ("one-vs-rest LinearSVC (scikit-learn)", lambda: OneVsRestClassifier(LinearSVC())),
        ("BinaryRelevance (shared ridge)", lambda: hl.BinaryRelevance(alpha=3.0)),
        (
            "HypergraphSpectral + SVM per label (KDD'08)",
            lambda: make_pipeline(hl.HypergraphSpectral(alpha=3.0), hl.BinaryRelevance(LinearSVC(C=100.0))),
        ),
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
@click.option("--seed", default=0, show_default=True, help="Seed of the train/test split.")
def demo(as_json: bool, seed: int) -> None:
    """Train the library's methods on Debian's package tags and compare them."""
    from rich.console import Console
    from rich.progress import track

    from hyperlabel.datasets import load_debtags
    from hyperlabel.model_selection import iterative_train_test_split

    data = load_debtags()
    rows = iterative_train_test_split(data.X, data.Y, groups=data.groups, test_size=0.25, random_state=seed)
    messages = Console(stderr=True)
    results = [
        {"method": name} | _measure(make(), *rows)
        for name, make in track(_methods(), "training", console=messages, transient=True)
    ]
    if as_json:
        click.echo(json.dumps({"data": data.name, "seed": seed, "results": results}, indent=2))
    else:
        _print_table(data, rows, results)


def _measure(model: Any, X_train: Any, X_test: Any, y_train: Any, y_test: Any) -> dict[str, float]:
    from hyperlabel.metrics import evaluate

    start = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    values = evaluate(y_test, model.predict(X_test), model.decision_function(X_test))
    return {"fit_seconds": fitted - start} | {name: values[name] for name in _SHOWN}


def _print_table(data: Any, rows: Any, results: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    n_train, n_test = rows[0].shape[0], rows[1].shape[0]
    table = Table(
        title=f"{data.name}: {n_train} packages to learn from, {n_test} to tag, {data.n_labels} tags",
        caption="groups (source packages) are never split; lower is better for rank loss only",
    )
    table.add_column("method")
    for title in ("fit (s)", *_SHOWN.values()):
        table.add_column(title, justify="right")
    for row in results:
        cells = [f"{row[name]:.3f}" for name in _SHOWN]
        table.add_row(row["method"], f"{row['fit_seconds']:.2f}", *cells)
    Console().print(table)

"""``hyperlabel evaluate``: how well a model does on labelled rows it has not seen."""

from __future__ import annotations

import json
from typing import Any

import click

from hyperlabel.cli._config import config_option
from hyperlabel.cli._input import need_data, need_model

_SHOWN = (
    "f1_macro",
    "f1_micro",
    "f1_samples",
    "precision_micro",
    "recall_micro",
    "hamming_loss",
    "subset_accuracy",
    "ranking_loss",
    "label_ranking_average_precision",
    "one_error",
    "precision_at_1",
    "precision_at_3",
    "precision_at_5",
    "ndcg_at_5",
    "roc_auc_macro",
)


@click.command()
@click.argument("model")
@click.argument("data")
@config_option
@click.option("--worst", default=0, show_default=True, help="Also list so many labels with the lowest F1.")
@click.option("--report", "page", help="Also write a page: every cut of every label, the worst rows, a map.")
@click.option("--json", "as_json", is_flag=True, help="Print every measure as JSON.")
def evaluate(model: str, data: str, worst: int, page: str | None, as_json: bool) -> None:
    """Measure MODEL on the labelled rows of DATA (- reads stdin)."""
    need_model(model)
    need_data(data)
    from hyperlabel.cli._model import aligned_labels, open_model, read_rows
    from hyperlabel.cli._progress import step
    from hyperlabel.cli._words import plural
    from hyperlabel.metrics import evaluate as measure

    with step(f"loading {model}"):
        file = open_model(model)
    with step(f"reading {data}"):
        table, _ = read_rows(data, file.columns, labelled=True)
    names = file.columns.label_names
    Y, unknown = aligned_labels(table, names)
    if not Y.nnz and unknown:
        raise ValueError(f"{data} shares no label with the model: its labels are {', '.join(unknown[:5])}, …")
    if unknown:
        shown = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        click.echo(
            f"Warning: left out {plural(len(unknown), 'label')} the model does not know: {shown}", err=True
        )
    with step("predicting"):
        rows = file.columns.inputs(table)
        predicted = file.predict(rows)
        values = measure(Y, predicted, file.scores(rows))
    if page is not None:
        from hyperlabel.cli.report import held_out_page

        held_out_page(file, table, data, page)
    found: dict[str, Any] = {"model": model, "data": data, "unknown_labels": len(unknown), **values}
    per_label = _worst(Y, predicted, names, worst) if worst else []
    if as_json:
        found |= {"worst": per_label} if worst else {}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    click.echo(f"{plural(int(values['n_rows']), 'row')}, {plural(int(values['n_labels']), 'label')}")
    for name in _SHOWN:
        if name in values:
            click.echo(f"{name:32} {values[name]:.4f}")
    for label in per_label:
        rows = plural(label["rows"], "row")
        click.echo(f"F1 {label['f1']:.3f}  {label['label']} ({rows}, {label['predicted']} predicted)")


def _worst(Y: Any, predicted: Any, names: list[str], count: int) -> list[dict[str, Any]]:
    """Labels that occur, by F1, lowest first."""
    import numpy as np

    truth = Y.toarray() > 0
    hits = (truth & predicted).sum(axis=0)
    positives, claimed = truth.sum(axis=0), predicted.sum(axis=0)
    f1 = 2 * hits / np.maximum(positives + claimed, 1)
    order = [int(j) for j in np.argsort(f1, kind="stable") if positives[j]][:count]
    return [
        {"label": names[j], "f1": float(f1[j]), "rows": int(positives[j]), "predicted": int(claimed[j])}
        for j in order
    ]

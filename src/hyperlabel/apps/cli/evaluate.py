"""``hyperlabel evaluate``: how well a model does on labelled rows it has not seen."""

from typing import Any

import click

from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._guarantees import guarantee_outcomes, show_outcomes
from hyperlabel.apps.cli._input import PAGE, check_target, say, vectors_option
from hyperlabel.apps.cli._output import print_json, print_table
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.apps.cli.predict import write_table
from hyperlabel.datasets.writing import output_kind
from hyperlabel.tabular.table_io import need_data, need_model
from hyperlabel.tabular.wording import plural, some_names

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
@vectors_option("The npy file of the vectors of DATA's rows")
@click.option(
    "--worst",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Also list so many labels, those with the most mistakes (rows missed or wrongly given).",
)
@click.option(
    "--per-label", "table", help="Write precision, recall, F1 and counts of every label to this file."
)
@click.option(
    "--report", "page", help="Also write a page: every threshold of every label, the worst rows, a map."
)
@click.option("--json", "as_json", is_flag=True, help="Print every measure as JSON.")
def evaluate(
    model: str,
    data: str,
    vectors: str | None,
    worst: int,
    table: str | None,
    page: str | None,
    as_json: bool,
) -> None:
    """Measure MODEL on the labelled rows of DATA (- reads stdin).

    Rows that MODEL was fitted on do not flatter it: if DATA holds all of them, or nothing else, each row is
    judged by models of the other rows; otherwise they are left out. Both is said.

    Macro averages are means over labels. A label that no row of DATA has counts 0 in them; the value over
    the labels that occur stands beside it.
    """
    need_model(model)
    need_data(data)
    if table is not None:
        check_target(table)
        output_kind(table)
    if page is not None:
        check_target(page, PAGE)
    values, unknown = _measure_model(model, data, vectors, page)
    labels = values.pop("per_label")
    if table is not None:
        write_table(table, {name: [one[name] for one in labels] for name in labels[0]}, output_kind(table))
    lost = sorted(labels, key=lambda one: (-one["mistakes"], one["label"]))[:worst]
    if as_json:
        found: dict[str, Any] = {"model": model, "data": data, "unknown_labels": len(unknown), **values}
        _, kept = found.pop("guarantees")
        del found["sentence"]
        found |= {"guarantees": kept} if kept else {}
        found |= {"worst": lost} if worst else {}
        print_json(found)
        return
    guarantees = values.pop("guarantees")
    if sentence := values.pop("sentence"):
        click.echo(sentence)
    _print_measures(values, lost)
    show_outcomes(guarantees)
    if table is not None:
        click.echo(f"Wrote {table}: {plural(len(labels), 'label')}.", err=True)


def _measure_model(
    model: str, data: str, vectors: str | None, page: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Return all measures, those by label among them, and the labels the model does not know."""
    from hyperlabel.apps.cli._fit_rows import read_with_groups_of_fit, rows_to_judge, warn_of_flattery
    from hyperlabel.metrics import evaluate as measure
    from hyperlabel.tabular.model_file import aligned_labels, open_model

    with show_step(f"loading {model}"):
        file = open_model(model)
    with show_step(f"reading {data}"):
        chosen = rows_to_judge(file, read_with_groups_of_fit(data, file.columns, vectors), data)
    table, scored, sentence = chosen.table, chosen.scored, chosen.sentence
    Y, unknown = aligned_labels(table, file.columns.label_names, normalise=file.columns.normalise)
    unknown = _warn_of_unknown(unknown, file.columns.left_out)
    if not Y.nnz and unknown:
        raise ValueError(f"{data} shares no label with the model: its labels are {some_names(unknown)}.")
    if scored == "out-of-fold" and table.missing is not None and table.missing.nnz:
        scored, sentence = "held-out", warn_of_flattery(chosen.n_in_fit, data)
    with show_step("predicting" if scored == "held-out" else "fitting models of the other rows"):
        predicted, scores = _predictions(file, table, Y, scored)
        values = measure(Y, predicted, scores, per_label=True)
        values["guarantees"] = guarantee_outcomes(file.model[-1], Y, predicted)
    values |= {"sentence": sentence, "scored": scored, "rows_in_fit": chosen.n_in_fit}
    if page is not None:
        from hyperlabel.apps.cli.report import write_model_page

        write_model_page(file, table, data, scored, page)
    for one, name in zip(values["per_label"], file.columns.label_names, strict=True):
        one["label"] = name
        one["mistakes"] = one["rows"] + one["predicted"] - 2 * one["right"]
    return values, unknown


def _warn_of_unknown(unknown: list[str], left_out: list[str]) -> list[str]:
    """Warn of labels that do not count; return those that the model has never met."""
    too_rare = [name for name in unknown if name in left_out]
    if too_rare:
        left = plural(len(too_rare), "label")
        say(f"Warning: {left} the fit left out (--min-rows) do not count: {some_names(too_rare)}")
    never_met = [name for name in unknown if name not in left_out]
    if never_met:
        left = plural(len(never_met), "label")
        say(f"Warning: left out {left} the model does not know: {some_names(never_met)}")
    return never_met


def _predictions(file: Any, table: Any, Y: Any, scored: str) -> tuple[Any, Any]:
    """Return label sets and scores, by the model or by models of the other rows."""
    rows = file.columns.inputs(table)
    if scored == "held-out":
        return file.predict(rows), file.scores(rows)
    from hyperlabel.apps.cli._near_duplicates import keep_together
    from hyperlabel.apps.report.page_scores import out_of_fold_sets, score_page_rows

    groups = keep_together(table, file.columns)[0].groups  # as the fit did
    judged = score_page_rows(file.model, rows, Y, scored, groups=groups)
    return out_of_fold_sets(file.model, judged), judged.scores


def _print_measures(values: dict[str, Any], lost: list[dict[str, Any]]) -> None:
    click.echo(f"{plural(int(values['n_rows']), 'row')}, {plural(int(values['n_labels']), 'label')}")
    absent = int(values["n_labels_without_positives"])
    unlabelled = int(values["n_rows_without_labels"])
    for name in _SHOWN:
        if name == "ranking_loss" and unlabelled:
            verb = "is" if unlabelled == 1 else "are"
            click.echo(
                f"  {plural(unlabelled, 'row')} without labels {verb} left out from here on, but in roc_auc."
            )
        if name in values:
            click.echo(f"{name:32} {values[name]:.4f}")
        if name == "f1_macro" and absent and f"{name}_present" in values:
            n = int(values["n_labels"]) - absent
            click.echo(f"{'f1_macro_present':32} {values['f1_macro_present']:.4f}")
            occur = "occurs" if n == 1 else "occur"
            click.echo(f"  {plural(absent, 'label')} without a row count 0 in f1_macro; {n} {occur}.")
    if lost:
        head = ["label", "mistakes", "rows", "predicted", "right", "precision", "recall", "f1"]
        click.echo()
        print_table(head, [[one[key] for key in head] for one in lost], floats=".3f")

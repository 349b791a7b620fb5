"""``hyperlabel evaluate``: how well a model does on labelled rows it has not seen."""

from typing import Any

import click

from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._guarantees import guarantee_outcomes, show_outcomes
from hyperlabel.apps.cli._input import PAGE, check_target, say, vectors_option
from hyperlabel.apps.cli._output import print_json, print_table
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.apps.cli.predict import write_table
from hyperlabel.datasets.formats import target_format
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
    the labels that occur is printed beside it.
    """
    need_model(model)
    need_data(data)
    if table is not None:
        check_target(table)
        target_format(table, table=True)
    if page is not None:
        check_target(page, PAGE)
    measures, unknown_labels = _measure_model(model, data, vectors, page)
    label_measures = measures.pop("per_label")
    if table is not None:
        label_columns = {
            name: [label_row[name] for label_row in label_measures] for name in label_measures[0]
        }
        write_table(table, label_columns, target_format(table, table=True))
    worst_labels = sorted(label_measures, key=lambda row: (-row["mistakes"], row["label"]))[:worst]
    if as_json:
        n_unknown = len(unknown_labels)
        json_output: dict[str, Any] = {"model": model, "data": data, "unknown_labels": n_unknown, **measures}
        _, label_outcomes = json_output.pop("guarantees")
        del json_output["sentence"]
        json_output |= {"guarantees": label_outcomes} if label_outcomes else {}
        json_output |= {"worst": worst_labels} if worst else {}
        print_json(json_output)
        return
    guarantees = measures.pop("guarantees")
    if sentence := measures.pop("sentence"):
        click.echo(sentence)
    _print_measures(measures, worst_labels)
    show_outcomes(guarantees)
    if table is not None:
        click.echo(f"Wrote {table}: {plural(len(label_measures), 'label')}.", err=True)


def _measure_model(
    model: str, data: str, vectors: str | None, page: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Return all measures, those by label among them, and the labels the model does not know."""
    from hyperlabel.metrics import evaluate as measure
    from hyperlabel.tabular.fit_rows import read_with_groups_of_fit, rows_to_judge
    from hyperlabel.tabular.model_file import aligned_labels, open_model

    with show_step(f"loading {model}"):
        file = open_model(model)
    with show_step(f"reading {data}"):
        judged_rows = rows_to_judge(file, read_with_groups_of_fit(data, file.columns, vectors), data)
    dataset, scoring_mode, sentence = judged_rows.table, judged_rows.scored, judged_rows.sentence
    Y, unknown_labels = aligned_labels(dataset, file.columns.label_names, normalise=file.columns.normalise)
    unknown_labels = _warn_of_unknown(unknown_labels, file.columns.left_out)
    if not Y.nnz and unknown_labels:
        label_list = some_names(unknown_labels)
        raise ValueError(f"{data} shares no label with the model: its labels are {label_list}.")
    with show_step("predicting" if scoring_mode == "held-out" else "fitting models of the other rows"):
        predicted_labels, row_scores = _predict_rows(file, dataset, Y, scoring_mode)
        measures = measure(Y, predicted_labels, row_scores, per_label=True)
        measures["guarantees"] = guarantee_outcomes(file.model[-1], Y, predicted_labels)
    measures |= {"sentence": sentence, "scored": scoring_mode, "rows_in_fit": judged_rows.n_in_fit}
    if page is not None:
        from hyperlabel.apps.cli.report import write_model_page

        write_model_page(file, dataset, data, scoring_mode, page)
    for label_row, label_name in zip(measures["per_label"], file.columns.label_names, strict=True):
        label_row["label"] = label_name
        label_row["mistakes"] = label_row["rows"] + label_row["predicted"] - 2 * label_row["right"]
    return measures, unknown_labels


def _warn_of_unknown(unknown_labels: list[str], left_out: list[str]) -> list[str]:
    """Warn of labels that do not count; return those that the model does not know."""
    too_rare = [label_name for label_name in unknown_labels if label_name in left_out]
    if too_rare:
        label_count = plural(len(too_rare), "label")
        say(f"Warning: {label_count} the fit left out (--min-rows) do not count: {some_names(too_rare)}")
    never_learned = [label_name for label_name in unknown_labels if label_name not in left_out]
    if never_learned:
        label_count = plural(len(never_learned), "label")
        say(f"Warning: left out {label_count} the model does not know: {some_names(never_learned)}")
    return never_learned


def _predict_rows(file: Any, dataset: Any, Y: Any, scoring_mode: str) -> tuple[Any, Any]:
    """Return label sets and scores, by the model or by models of the other rows."""
    model_inputs = file.columns.inputs(dataset)
    if scoring_mode == "held-out":
        return file.predict(model_inputs), file.scores(model_inputs)
    from hyperlabel.apps.report.page_scores import out_of_fold_sets, score_page_rows
    from hyperlabel.tabular.near_copies import keep_together

    row_groups = keep_together(dataset, file.columns)[0].groups  # as the fit did
    page_scores = score_page_rows(file.model, model_inputs, Y, scoring_mode, groups=row_groups)
    return out_of_fold_sets(file.model, model_inputs, page_scores), page_scores.scores


def _print_measures(measures: dict[str, Any], worst_labels: list[dict[str, Any]]) -> None:
    click.echo(f"{plural(int(measures['n_rows']), 'row')}, {plural(int(measures['n_labels']), 'label')}")
    if n_unknown := int(measures.get("n_unknown", 0)):
        n_entries = int(measures["n_rows"]) * int(measures["n_labels"])
        click.echo(f"  {n_unknown} of {n_entries} label entries are unknown: no measure counts them.")
    n_absent = int(measures["n_labels_without_positives"])
    n_unlabelled = int(measures["n_rows_without_labels"])
    for measure_name in _SHOWN:
        if measure_name == "ranking_loss" and n_unlabelled:
            row_verb = "is" if n_unlabelled == 1 else "are"
            row_count = plural(n_unlabelled, "row")
            click.echo(f"  {row_count} without labels {row_verb} left out from here on, but in roc_auc.")
        if measure_name in measures:
            click.echo(f"{measure_name:32} {measures[measure_name]:.4f}")
        if measure_name == "f1_macro" and n_absent and f"{measure_name}_present" in measures:
            n = int(measures["n_labels"]) - n_absent
            click.echo(f"{'f1_macro_present':32} {measures['f1_macro_present']:.4f}")
            label_verb = "occurs" if n == 1 else "occur"
            click.echo(f"  {plural(n_absent, 'label')} without a row count 0 in f1_macro; {n} {label_verb}.")
    if worst_labels:
        column_titles = ["label", "mistakes", "rows", "predicted", "right", "precision", "recall", "f1"]
        click.echo()
        table_rows = [[label_row[key] for key in column_titles] for label_row in worst_labels]
        print_table(column_titles, table_rows, floats=".3f")

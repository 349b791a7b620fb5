"""``hyperlabel data label-errors``: labels of a file that look wrong or missing."""

from typing import Any

import click

from hyperlabel.apps.cli._input import READING, check_target, input_options_without, output_option, say
from hyperlabel.tabular.wording import plural


@click.command()
@click.argument("file")
@input_options_without("time")
@click.option(
    "--entries", default=100, show_default=True, type=click.IntRange(min=1), help="How many to list."
)
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2))
@output_option("output", "-", "The file to write, CSV unless its ending says otherwise; - is stdout.")
def label_errors(file: str, entries: int, folds: int, output: str, **options: Any) -> None:
    """List the labels of FILE that look wrong or missing, the most suspicious first.

    Every row is judged by a model that has not seen it (rows of a --group stay together, and near copies
    where they are many). CSV has the
    columns row, label, looks (wrong or missing), probability of an error (that a label which looks wrong is
    wrong, or that one which looks missing is missing), score, words (those behind it) and text.

    \b
    hyperlabel data label-errors tickets.csv --labels tags -o label-errors.csv
    """  # noqa: D301 - click wants the character
    from hyperlabel.apps.cli._progress import show_step
    from hyperlabel.apps.cli.predict import write_table
    from hyperlabel.datasets.formats import target_format
    from hyperlabel.tabular.near_copies import keep_together
    from hyperlabel.tabular.training_table import read_training

    if output != "-":
        check_target(output)
    file_kind = target_format(output, table=True)
    with show_step(f"reading {file}"):
        reading_options: dict[str, Any] = {key: options.get(key) for key in READING}
        dataset, columns = read_training(file, **reading_options)
    if len(dataset) < folds:
        raise ValueError(f"{file} has {plural(len(dataset), 'row')}, too few for {folds} folds: say --folds.")
    with show_step("looking for near copies"):
        dataset, near_copies = keep_together(dataset, columns)
    if near_copies:
        say(near_copies)
    with show_step(f"judging {plural(len(dataset), 'row')}"):
        error_entries = _find_errors(dataset, columns, entries, folds)
    columns_written: dict[str, list[Any]] = {
        "row": [label_error["row"] + 1 for label_error in error_entries],
        "label": [label_error["label"] for label_error in error_entries],
        "looks": [label_error["looks"] for label_error in error_entries],
        "probability of an error": [_error_probability(label_error) for label_error in error_entries],
        "score": [f"{label_error['evidence']:.3f}" for label_error in error_entries],
        "words": [" ".join(label_error["words"]) for label_error in error_entries],
        "text": [
            "" if dataset.text is None else dataset.text[label_error["row"]] for label_error in error_entries
        ],
    }
    write_table(output, columns_written, file_kind)
    if output != "-":
        click.echo(f"Wrote {output}: {plural(len(error_entries), 'entry')}.", err=True)


def _find_errors(dataset: Any, columns: Any, entries: int, folds: int) -> list[dict[str, Any]]:
    """Return the suspected label errors, with the words behind each."""
    from hyperlabel import BinaryRelevance
    from hyperlabel.decision import label_errors
    from hyperlabel.tabular.pipeline import WORDS, Choices, features_step

    feature_step = features_step(columns, dataset, Choices(words=WORDS, ngrams=1))
    row_features = feature_step.fit_transform(columns.inputs(dataset))
    n_units = len(dataset) if dataset.groups is None else len(set(dataset.groups))
    model = BinaryRelevance(cv=max(2, min(folds, n_units))).fit(
        row_features, dataset.Y, groups=dataset.groups
    )
    ranked_errors = label_errors(
        dataset.Y, model.oof_scores_, n_entries=entries, label_names=dataset.label_names
    )
    feature_names = [str(name).split("__")[-1] for name in feature_step.get_feature_names_out(columns.names)]
    column_of_label = {name: j for j, name in enumerate(dataset.label_names)}
    error_entries = ranked_errors.table()
    for label_error in error_entries:
        row, weights = row_features[[label_error["row"]]], model.coef_[column_of_label[label_error["label"]]]
        label_error["words"] = _strongest_words(row, weights, label_error["looks"], feature_names)
    return error_entries


def _error_probability(label_error: dict[str, Any]) -> str:
    """Return how probable it is that the entry is wrong: that a label given does not hold, or the reverse."""
    p = label_error["probability"]
    return f"{p if label_error['looks'] == 'missing' else 1 - p:.4f}"


def _strongest_words(row: Any, weights: Any, looks: str, feature_names: list[str]) -> list[str]:
    """Return up to three features that speak loudest for a missing label, or against a wrong one."""
    import numpy as np

    feature_values = np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()
    evidence_shares = feature_values * weights * (1 if looks == "missing" else -1)
    return [
        feature_names[i] for i in np.argsort(-evidence_shares, kind="stable")[:3] if evidence_shares[i] > 0
    ]

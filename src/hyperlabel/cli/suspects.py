"""``hyperlabel data suspects``: labels of a file that look wrong or missing."""

import csv
from typing import Any

import click

from hyperlabel.cli._input import READING, input_options, output_option, say
from hyperlabel.cli._words import plural


@click.command()
@click.argument("file")
@input_options
@click.option(
    "--entries", default=100, show_default=True, type=click.IntRange(min=1), help="How many to list."
)
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2))
@output_option("output", "-", "The CSV file to write; - is stdout.")
def suspects(file: str, entries: int, folds: int, output: str, **options: Any) -> None:
    """List the labels of FILE that look wrong or missing, the most suspicious first.

    Every row is judged by a model that has not seen it (rows of a --group stay together, and near copies
    where they are many). CSV has the
    columns row, label, looks (wrong or missing), probability, score, words (those behind it) and text.

    \b
    hyperlabel data suspects tickets.csv --labels tags -o suspects.csv
    """  # noqa: D301 - click wants the character
    from hyperlabel.cli._near_duplicates import keep_together
    from hyperlabel.cli._progress import step
    from hyperlabel.cli.fit import read_training
    from hyperlabel.cli.predict import written

    with step(f"reading {file}"):
        table, columns = read_training(file, {key: options[key] for key in READING})
    if len(table) < folds:
        raise ValueError(f"{file} has {plural(len(table), 'row')}, too few for {folds} folds: say --folds.")
    with step("looking for near copies"):
        table, near_copies = keep_together(table, columns)
    if near_copies:
        say(near_copies)
    with step(f"judging {plural(len(table), 'row')}"):
        found = _found(table, columns, entries, folds)
    with written(output) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["row", "label", "looks", "probability", "score", "words", "text"])
        for one in found:
            text = "" if table.text is None else table.text[one["row"]]
            shown = [f"{one['probability']:.4f}", f"{one['evidence']:.3f}", " ".join(one["words"]), text]
            writer.writerow([one["row"] + 1, one["label"], one["looks"], *shown])
    if output != "-":
        click.echo(f"Wrote {output}: {plural(len(found), 'entry')}.", err=True)


def _found(table: Any, columns: Any, entries: int, folds: int) -> list[dict[str, Any]]:
    """Return the table of suspicious entries, with the words behind each."""
    from hyperlabel import BinaryRelevance
    from hyperlabel.cli._methods import WORDS, features_step
    from hyperlabel.decision import label_quality

    step = features_step(columns, table, WORDS)
    rows = step.fit_transform(columns.inputs(table))
    n_units = len(table) if table.groups is None else len(set(table.groups))
    model = BinaryRelevance(cv=max(2, min(folds, n_units))).fit(rows, table.Y, groups=table.groups)
    listed = label_quality(table.Y, model.oof_scores_, n_entries=entries, label_names=table.label_names)
    names = [str(name).split("__")[-1] for name in step.get_feature_names_out(columns.names)]
    place = {name: j for j, name in enumerate(table.label_names)}
    return [
        one | {"words": _words(rows[[one["row"]]], model.coef_[place[one["label"]]], one["looks"], names)}
        for one in listed.table()
    ]


def _words(row: Any, weights: Any, looks: str, names: list[str]) -> list[str]:
    """Return up to three features that speak loudest for a missing label, or against a wrong one."""
    import numpy as np

    values = np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()
    share = values * weights * (1 if looks == "missing" else -1)
    return [names[i] for i in np.argsort(-share, kind="stable")[:3] if share[i] > 0]

"""``hyperlabel explain``: the words and numbers behind a score, and the label directions on the way."""

from dataclasses import asdict, replace
from typing import Any

import click

from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._input import refuse_options, vectors_option
from hyperlabel.apps.cli._output import on_one_line, print_json
from hyperlabel.tabular.table_io import need_data, need_model
from hyperlabel.tabular.wording import need_labels, plural

_BEST = 3  # labels explained where none is named


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@config_option
@vectors_option("The npy file of the vectors of DATA's rows")
@click.option("--row", type=click.IntRange(min=1), default=1, show_default=True, help="Row of DATA, from 1.")
@click.option("--text", "one_text", help="Explain this text instead of a row of a file.")
@click.option(
    "--label", "labels", multiple=True, help="Label to explain; may be repeated. [default: the best 3]"
)
@click.option("--top", default=8, show_default=True, type=click.IntRange(min=1), help="Features to list.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanations as JSON.")
def explain(
    model: str,
    data: str | None,
    vectors: str | None,
    row: int,
    one_text: str | None,
    labels: tuple[str, ...],
    top: int,
    as_json: bool,
) -> None:
    """Explain the scores MODEL gives a row of DATA; without DATA, what each named label looks for.

    Shares of the features and the base add up to the score.
    """
    need_model(model)
    need_data(data)
    from hyperlabel.apps.cli._progress import show_step
    from hyperlabel.meta import explain as explain_scores
    from hyperlabel.tabular.model_file import open_model
    from hyperlabel.tabular.pipeline import plain_feature

    if data is not None and one_text is not None:
        raise ValueError("Give either a file or --text, not both.")
    if data is None:
        refuse_options("There is no file of rows", "row", "vectors")
    with show_step(f"loading {model}"):
        file = open_model(model)
    rows = _read_row(file, data, vectors, row, one_text)
    if rows is None and not labels:
        raise ValueError("Name a label with --label, or give a file (and --row) or --text.")
    label_names = list(labels)
    need_labels(label_names, file.columns.label_names)
    if not label_names:
        import numpy as np

        best_labels = np.argsort(-file.scores(rows)[0], kind="stable")[:_BEST]
        label_names = [file.columns.label_names[j] for j in best_labels]
    explanations = list(
        explain_scores(file.model, rows, labels=label_names, top=top, feature_names=file.columns.names)
    )
    for i, explanation in enumerate(explanations):
        named_features = (
            replace(s, name=plain_feature(s.name, file.columns.text)) for s in explanation.features
        )
        explanations[i] = replace(explanation, features=tuple(named_features))
    if as_json:
        print_json([asdict(explanation) for explanation in explanations])
        return
    probabilities = {}
    if rows is not None and file.has_probabilities:
        row_probabilities = file.answer(rows, probabilities=True).values[0]
        probabilities = dict(zip(file.columns.label_names, row_probabilities, strict=True))
    for explanation in explanations:
        _print_explanation(explanation, probabilities.get(explanation.label))


def _read_row(file: Any, data: str | None, vectors: str | None, row: int, one_text: str | None) -> Any:
    from hyperlabel.tabular.model_file import read_rows

    if one_text is not None:
        file.columns.need_text_only()
        return [one_text]
    if data is None:
        return None
    dataset = read_rows(data, file.columns, labelled=False, vectors=vectors)
    if row > len(dataset):
        raise ValueError(f"{data} has {plural(len(dataset), 'row')}: there is no row {row}.")
    return file.columns.inputs(dataset[row - 1 : row])


def _print_explanation(explanation: Any, probability: float | None) -> None:
    heading = explanation.label
    if explanation.score is not None:
        score_clause = f"score {explanation.score:.3f}"
        if explanation.threshold is not None:
            is_predicted = explanation.score > explanation.threshold
            verdict, side = ("predicted", "above") if is_predicted else ("not predicted", "not above")
            score_clause = f"{verdict}: {score_clause} is {side} its threshold {explanation.threshold:.3f}"
        probability_clause = "" if probability is None else f" (probability {probability:.3f})"
        heading += f"{probability_clause}, {score_clause}"
    click.echo(heading + (f" ({explanation.note})" if explanation.note else ""))
    if explanation.note:
        return
    for feature_share in explanation.features:
        click.echo(f"  {feature_share.share:+8.3f}  {on_one_line(feature_share.name)}")
    if explanation.row is not None:
        click.echo(f"  {explanation.rest:+8.3f}  everything else")
    click.echo(f"  {explanation.base:+8.3f}  base")
    if abs(explanation.from_name or 0.0) >= 5e-4:  # that three digits show
        click.echo(f"  ({explanation.from_name:+.3f} of the shares comes from the label's name)")
    for feature_share in explanation.directions[:5]:
        moved_labels = ", ".join(f"{name} {weight:+.2f}" for name, weight in feature_share.labels)
        click.echo(f"  through {feature_share.name} ({feature_share.share:+.3f}): {moved_labels}")

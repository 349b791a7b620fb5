"""``hyperlabel fit``: from the user's file to a model file."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hyperlabel.apps.cli._config import config_option
from hyperlabel.apps.cli._input import (
    MODEL_FILE,
    READING,
    StrategyType,
    check_target,
    input_options,
    output_option,
    refuse_options,
    say,
    split_names,
)
from hyperlabel.apps.cli._methods import need_methods
from hyperlabel.apps.cli._output import print_json, tell
from hyperlabel.tabular.training_table import read_training
from hyperlabel.tabular.wording import plural


@click.command()
@click.argument("data")
@config_option
@input_options
@output_option("output", "model.hyper", "The model file to write.")
@click.option(
    "--method",
    default="ridge",
    show_default=True,
    help="auto, ridge, plst, spectral, rank-svm, mlknn, logistic …: see --list-methods.",
)
@click.option(
    "--list-methods",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda c, p, v: _list_methods(c, v),
    help="Show the methods and stop.",
)
@click.option("--scoring", default="f1_macro", show_default=True, help="What thresholds (and auto) maximise.")
@click.option(
    "--thresholds",
    type=StrategyType("none"),
    default="per_label",
    show_default=True,
    help="How scores become label sets.",
)
@click.option(
    "--precision",
    type=float,
    help="Predict a label only where at least this precision can be guaranteed; a third of the rows is held "
    "out to prove it. Takes the place of --thresholds.",
)
@click.option("--confidence", default=0.9, show_default=True, type=float, help="Of --precision.")
@click.option("--alpha", help="Ridge λ; several, separated by commas, are compared.")
@click.option("--time-budget", default=60.0, show_default=True, help="Seconds for --method auto.")
@click.option(
    "--words",
    type=click.IntRange(min=1),
    help="At most so many features of the texts. [default: all that fit in memory; 2500 but for ridge]",
)
@click.option(
    "--ngrams",
    type=click.IntRange(1, 5),
    help="Up to so many words in a row are one feature, too. [default: 2 for ridge, else 1]",
)
@click.option(
    "--no-label-names",
    "label_names",
    flag_value=False,
    default=True,
    help="Learn from the rows alone. [default: for ridge on texts the words of a label's name count for it]",
)
@click.option(
    "--label-text",
    metavar="FILE",
    help="CSV or TSV: a label, then synonyms or a description. Names count as words, and labels without rows "
    "can be predicted. With a header, a column parent makes a tree: labels imply those above them.",
)
@click.option(
    "--min-rows",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Leave out labels with fewer rows.",
)
@click.option("--slim", is_flag=True, help="Leave out the rows or sums that update needs: a smaller file.")
@click.option("--seed", default=0, show_default=True)
@click.option("--dry-run", is_flag=True, help="Say what the fit would take (route, memory), and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def fit(data: str, output: str, method: str, min_rows: int, as_json: bool, **options: Any) -> None:
    """Fit a model on DATA and write it to a model file.

    DATA is CSV, JSON lines or Parquet (raw text, numbers, or both), ARFF, LIBSVM, XMC or npz; - reads CSV or
    JSON lines from stdin. The columns
    of text and numbers are detected; say --text and --features to choose.

    \b
    hyperlabel fit tickets.csv --labels tags -o model.hyper
    hyperlabel predict model.hyper new.csv --top 5
    hyperlabel evaluate model.hyper held-out.csv
    """  # noqa: D301 - click wants the character
    from hyperlabel.apps.cli._progress import show_step
    from hyperlabel.tabular.data_as_path import open_data_as_path
    from hyperlabel.tabular.description import describe_input
    from hyperlabel.tabular.fitting import arrange_folds, choose_pipeline, drop_rare_labels, fit_model_file
    from hyperlabel.tabular.label_text import add_labels
    from hyperlabel.tabular.model_file import save_model
    from hyperlabel.tabular.text_features import choose_text_features

    start_seconds = time.perf_counter()
    check_target(output, MODEL_FILE)
    need_methods([method])
    _refuse_unused_options(method, options)
    options["alpha"] = _parse_numbers(options["alpha"])
    reading_options = {option_name: options.pop(option_name) for option_name in READING}
    with show_step(f"reading {data}"), open_data_as_path(data) as data_path:
        asked = choose_pipeline(method, **options)
        dataset, columns = read_training(data_path, **reading_options, advise=True)
        dataset, left_out = drop_rare_labels(dataset, min_rows)
        dataset = add_labels(dataset, columns, asked)
        columns = replace(
            columns,
            label_names=list(dataset.label_names),
            left_out=left_out,
            method=method,
            rows=dataset.n_rows,
        )
        input_sentence, row_count = describe_input(dataset, columns), plural(dataset.n_rows, "row")
    if not columns.text:
        refuse_options("There is no column of text", "words", "ngrams", "label_names")
    say(input_sentence)
    with show_step("looking for near copies"):
        dataset, choices, fold_note = arrange_folds(dataset, columns, asked)
    if fold_note:
        say(fold_note)
    with show_step("comparing words and characters"):
        choices, features_note = choose_text_features(dataset, columns, choices)
    if features_note:
        say(features_note)
    if options["dry_run"]:
        with show_step("counting words"):
            fit_plan = _plan_fit(dataset, columns, choices)
        _show_plan(fit_plan, as_json)
        return
    with show_step(f"fitting {method} on {row_count}"):
        model_file = fit_model_file(dataset, columns, choices, output)
    with show_step(f"writing {output}"):
        save_model(model_file)
    _report_fit(model_file.model, columns, output, time.perf_counter() - start_seconds, as_json)


def _refuse_unused_options(method: str, options: dict[str, Any]) -> None:
    """Refuse options that have no effect beside the others."""
    if method != "auto":
        refuse_options("Only --method auto has a time budget", "time_budget")
    if options["precision"] is None:
        refuse_options("A confidence is that of --precision", "confidence")
    else:
        refuse_options("--precision takes the place of --thresholds", "thresholds", "scoring")
    if options["label_text"]:
        refuse_options("--label-text says more than the names", "label_names")
    if options["thresholds"] == "none" and method not in ("auto", "ridge"):
        refuse_options("Without thresholds no row is scored", "scoring", "group", "time")


def _parse_numbers(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(number_text) for number_text in split_names(text or ""))
    except ValueError as error:
        raise ValueError(f"--alpha must be numbers separated by commas, not {text!r}.") from error


def _report_fit(model: Any, columns: Any, output: str, seconds: float, as_json: bool) -> None:
    from hyperlabel.apps.cli._guarantees import guarantee_summary
    from hyperlabel.meta.updating import can_be_updated

    last_step = model[-1]
    n_features = int(getattr(last_step, "n_features_in_", 0))
    feature_count = plural(n_features, "feature")
    cv_score, cv_score_std = (getattr(last_step, name, None) for name in ("cv_score_", "cv_score_std_"))
    fit_summary = {
        "model": output,
        "method": columns.method,
        "rows": columns.rows,
        "labels": len(columns.label_names),
        "features": n_features,
        "score": cv_score,
        "score_std": cv_score_std,
        "scoring": getattr(last_step, "scoring", None),
        "summary": getattr(last_step, "summary_", None),
        "can_be_updated": can_be_updated(model),
        "bytes": Path(output).stat().st_size,
        "seconds": round(seconds, 2),
    }
    if as_json:
        print_json(fit_summary)
        return
    if fit_summary["summary"]:
        tell(fit_summary["summary"])
    if cv_score is not None and cv_score == cv_score:
        tell(
            f"{fit_summary['scoring']} {abs(cv_score):.3f} ± {cv_score_std:.3f} by cross-fitting: on rows "
            "that neither the model nor the thresholds had seen."
        )
    if guarantee_sentence := guarantee_summary(last_step):
        tell(guarantee_sentence)
    megabytes = fit_summary["bytes"] / 2**20
    tell(f"Wrote {output} ({columns.method}, {feature_count}, {megabytes:.1f} MB, {seconds:.1f} s).")
    tell(f"Next: hyperlabel predict {output} NEW --top 5")


def _plan_fit(dataset: Any, columns: Any, choices: Any) -> Any:
    import numpy as np

    from hyperlabel.tabular.fit_plan import plan_fit, sample_shape

    label_counts = np.asarray(dataset.Y.sum(axis=0)).ravel()
    return plan_fit(sample_shape(dataset, columns, choices), choices, label_counts)


def _show_plan(plan: Any, as_json: bool) -> None:
    """Print what a fit would take."""
    if as_json:
        shape = {key: getattr(plan.shape, key) for key in ("rows", "labels", "features", "nonzeros")}
        plan_facts = ("method", "route", "bytes_by_part", "peak_bytes", "memory_bytes", "can_be_updated")
        print_json(shape | {key: getattr(plan, key) for key in (*plan_facts, "advice")})
        return
    sizes = ", ".join(plural(getattr(plan.shape, f"{size}s"), size) for size in ("row", "feature", "label"))
    click.echo(f"{plan.method} on {sizes}; route: {plan.route}.")
    parts = ", ".join(f"{part} {n_bytes / 2**30:.2f}" for part, n_bytes in plan.bytes_by_part.items())
    click.echo(
        f"About {plan.peak_bytes / 2**30:.2f} GiB of memory, "
        f"of {plan.memory_bytes / 2**30:.1f} GiB ({parts})."
    )
    if not plan.can_be_updated:
        click.echo("The model could not be updated: that takes --method ridge without --slim.")
    if plan.advice:
        tell(f"To need less than half of it, {plan.advice}.")


def _list_methods(ctx: click.Context, is_requested: bool) -> None:
    from hyperlabel.apps.cli._methods import list_methods, print_methods

    if is_requested and not ctx.resilient_parsing:
        print_methods(list_methods())
        ctx.exit()

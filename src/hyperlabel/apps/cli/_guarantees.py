"""Guaranteed precision at the command line: fit with it, and check it on other rows."""

from typing import Any

import click

from hyperlabel.tabular.wording import plural

_BASIS = {
    "split": "proven on rows held out for it",
    "cross-fitted": "measured on cross-fitted scores, not proven",
    "updated": "of before the last update, not checked since",
}


_OF_THOSE_MADE = {
    "fdr": " Of the guarantees made, at most {:g} % are expected to be violated.",
    "per_label": " Each label is guaranteed by itself: of the guarantees made, any share may be violated.",
    "overall": "",
}


def guarantee_summary(model: Any) -> str | None:
    """Say what a fitted model guarantees, in a sentence."""
    guarantees = getattr(model, "guarantees_", None)
    if guarantees is None:
        return None
    n_guaranteed = sum(label_guarantee["guaranteed"] for label_guarantee in guarantees)
    coverage_percent = 100 * model.coverage_
    confidence_clause = "" if guarantees.confidence is None else f" with confidence {guarantees.confidence:g}"
    made_clause = ""
    if guarantees.confidence is not None and n_guaranteed:
        made_clause = _OF_THOSE_MADE[guarantees.error_control].format(100 * (1 - guarantees.confidence))
    return (
        f"{guarantees.kind.capitalize()} of at least {guarantees.target:g}{confidence_clause} is guaranteed "
        f"for {n_guaranteed} of {plural(len(guarantees), 'label')}, {_BASIS[guarantees.basis]}; they find "
        f"{coverage_percent:.0f} % of all true labels.{made_clause} The other labels are never predicted."
    )


def guarantee_outcomes(model: Any, Y: Any, predicted: Any) -> tuple[str | None, list[dict[str, Any]]]:
    """Return what was guaranteed, and guarantee, outcome and 90 % interval of each label on other rows."""
    from scipy.stats import binomtest

    guarantees = getattr(model, "guarantees_", None)
    if guarantees is None or guarantees.error_control == "overall":
        return guarantee_summary(model), []
    true_labels = (Y.toarray() if hasattr(Y, "toarray") else Y) > 0
    label_outcomes = []
    for j, label_guarantee in enumerate(guarantees):
        if not label_guarantee["guaranteed"]:
            continue
        n_correct = int((true_labels[:, j] & predicted[:, j]).sum())
        n_counted = int((predicted if guarantees.kind == "precision" else true_labels)[:, j].sum())
        label_outcome = {
            "label": label_guarantee["label"],
            "guaranteed": guarantees.target,
            "bound": label_guarantee["bound"],
        }
        label_outcome |= {"rows": n_counted, "right": n_correct, "outcome": None, "low": None, "high": None}
        verdict = "no rows"
        if n_counted:
            low, high = map(float, binomtest(n_correct, n_counted).proportion_ci(0.9, "exact"))
            label_outcome |= {"outcome": n_correct / n_counted, "low": low, "high": high}
            is_violated, is_kept = high < guarantees.target, low >= guarantees.target
            verdict = "violated" if is_violated else "kept" if is_kept else "not refuted"
        label_outcomes.append({**label_outcome, "verdict": verdict})
    return guarantee_summary(model), label_outcomes


def show_outcomes(guarantees: tuple[str | None, list[dict[str, Any]]]) -> None:
    """Print what became of the guarantees."""
    summary_sentence, label_outcomes = guarantees
    if summary_sentence is None:
        return
    click.echo(summary_sentence)
    for outcome in label_outcomes:
        outcome_clause = "no row predicted"
        if outcome["rows"]:
            interval_text = f"{outcome['outcome']:.3f} [{outcome['low']:.3f}, {outcome['high']:.3f}]"
            outcome_clause = f"{interval_text} in {plural(outcome['rows'], 'row')}: {outcome['verdict']}"
        click.echo(f"  {outcome['label']}: {outcome['guaranteed']:g} guaranteed, {outcome_clause}")

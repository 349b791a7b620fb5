"""Guaranteed precision at the command line: fit with it, and check it on other rows."""

from typing import Any

import click

from hyperlabel.tabular.pipeline import weigh_pairs
from hyperlabel.tabular.wording import plural

_BASIS = {
    "split": "proven on rows held out for it",
    "cross-fitted": "measured on cross-fitted scores, not proven",
    "updated": "of before the last update, not checked since",
}


def learned_rows(features: Any, inputs: Any, groups: Any, precision: float | None) -> Any:
    """Fit the transformer and return all rows as numbers.

    With a guaranteed precision it must not see the rows held out for the guarantee: they would not be new to
    it.
    """
    train = inputs
    if precision is not None:
        from sklearn.utils import _safe_indexing

        from hyperlabel.meta.wrapper_base import held_out_rows

        index, _ = held_out_rows(inputs.shape[0] if hasattr(inputs, "shape") else len(inputs), groups)
        train = _safe_indexing(inputs, index)
    try:
        rows = features.fit_transform(train)
    except ValueError as error:
        if "vocabulary" in str(error) or "no terms remain" in str(error):
            raise ValueError("The texts hold no words to learn from: is --text right?") from error
        raise
    weights = [weigh_pairs(step) for _, step, *_ in getattr(features, "transformers_", [("", features)])]
    if precision is None and hasattr(features, "vocabulary_"):  # no need to cut the texts again
        from sklearn.preprocessing import normalize

        return normalize(rows.multiply(weights[0]).tocsr())
    unchanged = precision is None and all(weight is None for weight in weights)
    return rows if unchanged else features.transform(inputs)


def with_guarantee(classifier: Any, precision: float | None, confidence: float) -> Any:
    """Return the classifier with thresholds that keep a guaranteed precision, if there is one."""
    if precision is None:
        return classifier
    from hyperlabel.decision.risk_control import check_guarantee
    from hyperlabel.meta import ThresholdTuner

    check_guarantee(precision, confidence)
    return ThresholdTuner(
        classifier, strategy="precision_at_least", precision=precision, confidence=confidence, cv="split"
    )


def guarantee_summary(model: Any) -> str | None:
    """Say what a fitted model guarantees, in a sentence."""
    guarantees = getattr(model, "guarantees_", None)
    if guarantees is None:
        return None
    kept = sum(line["guaranteed"] for line in guarantees)
    share = 100 * model.coverage_
    sure = "" if guarantees.confidence is None else f" with confidence {guarantees.confidence:g}"
    return (
        f"{guarantees.kind.capitalize()} of at least {guarantees.target:g}{sure} is guaranteed for {kept} of "
        f"{plural(len(guarantees), 'label')}, {_BASIS[guarantees.basis]}; they find {share:.0f} % of all "
        "true "
        "labels. The other labels are never predicted."
    )


def guarantee_outcomes(model: Any, Y: Any, predicted: Any) -> tuple[str | None, list[dict[str, Any]]]:
    """Return what was guaranteed, and guarantee, outcome and 90 % interval of each label on other rows."""
    from scipy.stats import binomtest

    guarantees = getattr(model, "guarantees_", None)
    if guarantees is None or guarantees.error_control == "overall":
        return guarantee_summary(model), []
    truth = (Y.toarray() if hasattr(Y, "toarray") else Y) > 0
    found = []
    for j, line in enumerate(guarantees):
        if not line["guaranteed"]:
            continue
        right = int((truth[:, j] & predicted[:, j]).sum())
        total = int((predicted if guarantees.kind == "precision" else truth)[:, j].sum())
        one = {"label": line["label"], "guaranteed": guarantees.target, "bound": line["bound"]}
        one |= {"rows": total, "right": right, "outcome": None, "low": None, "high": None}
        verdict = "no rows"
        if total:
            low, high = map(float, binomtest(right, total).proportion_ci(0.9, "exact"))
            one |= {"outcome": right / total, "low": low, "high": high}
            violated, kept = high < guarantees.target, low >= guarantees.target
            verdict = "violated" if violated else "kept" if kept else "not refuted"
        found.append({**one, "verdict": verdict})
    return guarantee_summary(model), found


def show_outcomes(guarantees: tuple[str | None, list[dict[str, Any]]]) -> None:
    """Print what became of the guarantees."""
    said, found = guarantees
    if said is None:
        return
    click.echo(said)
    for one in found:
        result = "no row predicted"
        if one["rows"]:
            share = f"{one['outcome']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
            result = f"{share} in {plural(one['rows'], 'row')}: {one['verdict']}"
        click.echo(f"  {one['label']}: {one['guaranteed']:g} guaranteed, {result}")

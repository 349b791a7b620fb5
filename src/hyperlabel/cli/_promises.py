"""Promised precision at the command line: fit with it, and check it on other rows."""

from typing import Any

import click

from hyperlabel.cli._methods import weigh_pairs
from hyperlabel.cli._words import plural

_BASIS = {
    "split": "proven on rows held out for it",
    "cross-fitted": "measured on cross-fitted scores, not proven",
    "updated": "of before the last update, not checked since",
}


def learned_rows(features: Any, inputs: Any, groups: Any, precision: float | None) -> Any:
    """Fit the transformer and return all rows as numbers.

    With a promised precision it must not see the rows held out for the promise: they would not be new to it.
    """
    train = inputs
    if precision is not None:
        from sklearn.utils import _safe_indexing

        from hyperlabel.meta.wrapping import held_out_rows

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


def promising(classifier: Any, precision: float | None, confidence: float) -> Any:
    """Return the classifier with cuts that keep a promised precision, if there is one."""
    if precision is None:
        return classifier
    from hyperlabel.decision.promise import check_promise
    from hyperlabel.meta import ThresholdTuner

    check_promise(precision, confidence)
    return ThresholdTuner(
        classifier, strategy="precision_at_least", precision=precision, confidence=confidence, cv="split"
    )


def summary(model: Any) -> str | None:
    """Say what a fitted model promises, in a sentence."""
    promises = getattr(model, "promises_", None)
    if promises is None:
        return None
    kept = sum(line["promised"] for line in promises)
    share = 100 * model.coverage_
    sure = "" if promises.confidence is None else f" with confidence {promises.confidence:g}"
    return (
        f"{promises.kind.capitalize()} of at least {promises.target:g}{sure} is promised for {kept} of "
        f"{plural(len(promises), 'label')}, {_BASIS[promises.basis]}; they find {share:.0f} % of all true "
        "labels. The other labels are never predicted."
    )


def outcomes(model: Any, Y: Any, predicted: Any) -> tuple[str | None, list[dict[str, Any]]]:
    """Return what was promised, and promise, outcome and 90 % interval of each label on other rows."""
    from scipy.stats import binomtest

    promises = getattr(model, "promises_", None)
    if promises is None or promises.control == "overall":
        return summary(model), []
    truth = (Y.toarray() if hasattr(Y, "toarray") else Y) > 0
    found = []
    for j, line in enumerate(promises):
        if not line["promised"]:
            continue
        right = int((truth[:, j] & predicted[:, j]).sum())
        total = int((predicted if promises.kind == "precision" else truth)[:, j].sum())
        one = {"label": line["label"], "promised": promises.target, "bound": line["bound"]}
        one |= {"rows": total, "right": right, "outcome": None, "low": None, "high": None}
        verdict = "no rows"
        if total:
            low, high = map(float, binomtest(right, total).proportion_ci(0.9, "exact"))
            one |= {"outcome": right / total, "low": low, "high": high}
            broken, kept = high < promises.target, low >= promises.target
            verdict = "broken" if broken else "kept" if kept else "not refuted"
        found.append({**one, "verdict": verdict})
    return summary(model), found


def show_outcomes(promises: tuple[str | None, list[dict[str, Any]]]) -> None:
    """Print what became of the promises."""
    said, found = promises
    if said is None:
        return
    click.echo(said)
    for one in found:
        result = "no row predicted"
        if one["rows"]:
            share = f"{one['outcome']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
            result = f"{share} in {plural(one['rows'], 'row')}: {one['verdict']}"
        click.echo(f"  {one['label']}: {one['promised']:g} promised, {result}")

"""``hyperlabel drift``: what has changed between two files: label rates, numbers, words, scores."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import click

from hyperlabel.cli._config import config_option
from hyperlabel.cli._input import READING, input_options

_WORD = re.compile(r"(?u)\b\w\w+\b")


@click.command()
@click.argument("old")
@click.argument("new")
@config_option
@input_options
@click.option("--model", help="Also compare this model's scores; the columns are the model's.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(min=1), help="Lines per section.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def drift(old: str, new: str, model: str | None, top: int, as_json: bool, **options: Any) -> None:
    """Compare the rows of NEW with those of OLD.

    Label rates with z = (difference)/(its standard error), words of NEW that OLD never used, shifts of
    numbers in standard deviations of OLD, and, with --model, shifts of mean scores likewise.
    """
    before, after, columns, file = _read(old, new, model, {key: options.pop(key) for key in READING})
    found: dict[str, Any] = {
        "old": {"file": old, "rows": len(before), "labels_per_row": before.Y.nnz / len(before)},
        "new": {"file": new, "rows": len(after), "labels_per_row": after.Y.nnz / len(after)},
        "labels": label_rates(before, after)[: None if as_json else top],
    }
    if columns.text:
        found["words"] = new_words(before.text, after.text, top)
    if columns.n_features and columns.feature_names:
        found["numbers"] = _shifts(before.X, after.X, columns.feature_names)[:top]
    if file is not None:
        was, now = (file.scores(columns.inputs(table)) for table in (before, after))
        found["scores"] = _shifts(was, now, columns.label_names)[:top]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _print(found)


def _read(old: str, new: str, model: str | None, reading: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    from hyperlabel.cli._model import open_model, read_rows
    from hyperlabel.cli._progress import step
    from hyperlabel.cli.fit import read_training

    file = None
    with step(f"reading {old} and {new}"):
        if model is not None:
            file = open_model(model)
            columns = file.columns
            before, _ = read_rows(old, columns, labelled=True)
        else:
            before, columns = read_training(old, reading)
        after, _ = read_rows(new, replace(columns, label_names=[]), labelled=True)
    return before, after, columns, file


def label_rates(before: Any, after: Any) -> list[dict[str, Any]]:
    """Share of rows with each label in both files, the largest |z| first."""
    import numpy as np

    counts: dict[str, list[int]] = {}
    for place, table in enumerate((before, after)):
        for name, count in zip(table.label_names, np.asarray(table.Y.sum(axis=0)).ravel(), strict=True):
            counts.setdefault(name, [0, 0])[place] = int(count)
    n, m = len(before), len(after)
    rates = []
    for name, (a, b) in counts.items():
        pooled = (a + b) / (n + m)
        error = float(np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)))
        z = (b / m - a / n) / error if error > 0 else 0.0
        rates.append({"label": name, "old": a / n, "new": b / m, "z": z})
    return sorted(rates, key=lambda r: (-abs(r["z"]), r["label"]))


def new_words(before: list[str], after: list[str], top: int) -> dict[str, Any]:
    """Words of the new texts that the old ones never used, by the number of texts that use them."""
    known = {word for text in before for word in _WORD.findall(text.lower())}
    used: Counter[str] = Counter()
    fresh: Counter[str] = Counter()
    for text in after:
        words = _WORD.findall(text.lower())
        used["all"] += len(words)
        used["new"] += sum(word not in known for word in words)
        fresh.update({word for word in words if word not in known})
    ordered = sorted(fresh.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    return {
        "share_of_words_never_seen": used["new"] / max(used["all"], 1),
        "most_frequent": [{"word": word, "texts": count} for word, count in ordered],
    }


def _shifts(before: Any, after: Any, names: list[str]) -> list[dict[str, Any]]:
    """Difference of means in standard deviations of the old rows, largest first."""
    import numpy as np
    from scipy import sparse

    a, b = (np.asarray(Z.toarray() if sparse.issparse(Z) else Z, dtype=float) for Z in (before, after))
    means = np.nanmean(a, axis=0), np.nanmean(b, axis=0)
    spread = np.nanstd(a, axis=0)
    shift = np.divide(means[1] - means[0], spread, out=np.zeros_like(spread), where=spread > 0)
    order = np.argsort(-np.abs(shift), kind="stable")
    return [
        {"name": names[j], "old": float(means[0][j]), "new": float(means[1][j]), "shift": float(shift[j])}
        for j in order
    ]


def _print(found: dict[str, Any]) -> None:
    for place in ("old", "new"):
        part = found[place]
        click.echo(
            f"{place}: {part['rows']} rows, {part['labels_per_row']:.3f} labels per row ({part['file']})"
        )
    click.echo("label rates, old → new (z)")
    for rate in found["labels"]:
        click.echo(f"  {rate['old']:7.2%} → {rate['new']:7.2%}  ({rate['z']:+.1f})  {rate['label']}")
    if "words" in found:
        words = found["words"]
        click.echo(
            f"words never seen before: {words['share_of_words_never_seen']:.2%} of all; in most texts:"
        )
        click.echo("  " + ", ".join(f"{w['word']} ({w['texts']})" for w in words["most_frequent"]))
    for key, title in (("numbers", "numbers"), ("scores", "mean scores by label")):
        if key in found:
            click.echo(f"{title}, old → new (shift in standard deviations)")
            for one in found[key]:
                click.echo(f"  {one['old']:9.3g} → {one['new']:9.3g}  ({one['shift']:+.2f})  {one['name']}")

"""``fit --dry-run``: what a fit will take, from the shapes of the file and a sample of its texts."""

import math
import os
import time
from dataclasses import replace
from typing import Any

import click

from hyperlabel.tabular.wording import plural

_SAMPLE = 2000  # texts turned into words to see how many there are
_BASE = 290 << 20  # bytes of Python with the libraries loaded
_LANCZOS = 6.0  # fits by conjugate gradients in the time of a fold, which goes through a basis of its own
_UNEVEN = 70.0  # and where rows are not of one length, as those of texts are
_THRESHOLD_SECONDS = (
    4e-8  # seconds for each entry of Y and doubling of the rows: thresholds are found by sorting
)


def plan_fit(table: Any, columns: Any, method: str, choices: Any, reading_seconds: float) -> dict[str, Any]:
    """Return the shape, route, CPU seconds and peak bytes of a fit, and what to change if need be."""
    from hyperlabel.tabular.pipeline import SUMS

    n, k = len(table), len(columns.label_names)
    d, nonzeros, words_seconds = _count_features(table, columns, choices)
    folds = 3 if n > 4000 else max(2, min(5, n))
    sums = method == "ridge" and d <= SUMS
    one = _estimate_one_fit(n, d, k, nonzeros, sums)
    share = 1 / folds if one.route == "gram" else 1 - 1 / folds  # sums of a fold are subtracted from all
    part = _estimate_one_fit(max(1, int(share * n)), d, k, nonzeros and int(share * nonzeros), sums)
    slower = (_LANCZOS if columns.text else _UNEVEN) if one.route == "krylov" else 1.0
    each = part.seconds * slower
    thresholds = n * k * math.log2(n + 1) * _THRESHOLD_SECONDS
    seconds = {
        "reading": reading_seconds,
        "words": words_seconds,
        "fit": choices.budget if method == "auto" else one.seconds + folds * each + thresholds,
    }
    texts = (
        sum(len(text) for column in columns.cells(table) for text in column) if columns.text_columns else 0
    )
    held = 4 * texts + (16 * n * d if nonzeros is None else 36 * nonzeros) + 24 * n * k
    # every fold keeps its own sums beside those it is solved from, or a basis of single precision and weights
    more = 8 * (folds + 3) * d * d if one.route == "gram" else (24 * d + 240 * min(n, d)) * k
    peak = _BASE + held + one.bytes + more
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "method": method,
        "rows": n,
        "labels": k,
        "features": d,
        "nonzeros": nonzeros,
        "route": one.route,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "total_seconds": round(sum(seconds.values()), 2),
        "peak_bytes": int(peak),
        "memory_bytes": memory,
        "can_be_updated": sums,
        "advice": _advise_smaller_fit(columns) if peak > 0.8 * memory else None,
    }


def _estimate_one_fit(n: int, d: int, k: int, nonzeros: int | None, sums: bool) -> Any:
    """Estimate one fit; where the sums are kept it goes through them even if there are fewer rows."""
    from hyperlabel.solvers.cost import estimate_cost
    from hyperlabel.solvers.ridge.routes import SPARSE_LIMIT

    found = estimate_cost(max(n, d) if sums else n, d, k, nonzeros)
    if not sums or found.route == "gram":
        return found
    wider = d / SPARSE_LIMIT  # beyond it the solver would iterate, did the sums not have to be kept
    found = estimate_cost(max(n, d), SPARSE_LIMIT, k, nonzeros)
    return replace(found, seconds=found.seconds * wider**2.5, bytes=int(found.bytes * wider**2))


def _advise_smaller_fit(columns: Any) -> str:
    fewer = "--words 2500 (fewer features of text)" if columns.text else "--features with fewer columns"
    return f"It may not fit into memory: say {fewer}, or --min-rows 10 (fewer labels)."


def _count_features(table: Any, columns: Any, choices: Any) -> tuple[int, int | None, float]:
    """Return columns and non-zeros of the rows as numbers, and the CPU seconds it takes to get them.

    Words are counted in half of a sample and in all of it: their number grows as a power of the texts.
    """
    from scipy import sparse

    from hyperlabel.tabular.pipeline import make_vectorizer, max_text_features

    n, d = len(table), table.n_features
    if not columns.text_columns:
        return d, int(table.X.nnz) if sparse.issparse(table.X) else None, 0.0
    nonzeros = n * (d + len(columns.categories))
    for cells in columns.cells(table)[len(columns.text) :]:
        d += len(set(cells))
    max_features = max_text_features(choices.words, n, len(columns.label_names))
    seconds = 0.0
    for texts in columns.cells(table)[: len(columns.text)]:
        sample = texts[:: max(1, n // _SAMPLE)][:_SAMPLE]
        step = make_vectorizer(texts, None, choices.ngrams)
        start = time.process_time()
        few, _ = _count_terms(step, sample[::2])
        all_, stored = _count_terms(step, sample)
        seconds += (time.process_time() - start) / 1.5 * n / len(sample)
        growth = min(1.0, max(0.0, math.log2(max(all_, 1) / max(few, 1))))
        found = int(all_ * (n / len(sample)) ** growth)
        d += min(found, max(1, max_features // len(columns.text)))
        nonzeros += int(stored * n / len(sample) * min(1.0, max_features / max(found, 1)) ** 0.3)
    return d, nonzeros, seconds


def _count_terms(step: Any, texts: list[str]) -> tuple[int, int]:
    try:
        rows = step.fit_transform(texts)
    except ValueError:  # no words, which the fit will say
        return 0, 0
    return rows.shape[1], rows.nnz


def show_plan(found: dict[str, Any]) -> None:
    """Print a plan."""
    seconds = found["seconds"]
    shape = ", ".join(plural(found[f"{what}s"], what) for what in ("row", "feature", "label"))
    click.echo(f"{found['method']} on {shape}; route: {found['route']}.")
    parts = ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())
    click.echo(f"About {found['total_seconds']:.1f} s of one processor ({parts}).")
    used, there = found["peak_bytes"] / 2**30, found["memory_bytes"] / 2**30
    click.echo(f"About {used:.2f} GiB of memory, of {there:.1f} GiB.")
    if not found["can_be_updated"]:
        click.echo("The model could not be updated: that takes --method ridge and at most 5000 features.")
    if found["advice"]:
        click.echo(found["advice"])

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
_THRESHOLD_SECONDS = 4e-8  # for each entry of Y and doubling of the rows: thresholds are chosen by sorting


def plan_fit(dataset: Any, columns: Any, method: str, choices: Any, reading_seconds: float) -> dict[str, Any]:
    """Return the shape, route, CPU seconds and peak bytes of a fit, and what to change if need be."""
    from hyperlabel.tabular.pipeline import SUMS

    n, k = len(dataset), len(columns.label_names)
    d, n_nonzeros, text_seconds = _count_features(dataset, columns, choices)
    n_folds = 3 if n > 4000 else max(2, min(5, n))
    keeps_moments = method == "ridge" and d <= SUMS
    full_fit = _estimate_one_fit(n, d, k, n_nonzeros, keeps_moments)
    # the moments of a fold are subtracted from those of all rows: only its own rows are summed
    fold_share = 1 / n_folds if full_fit.route == "gram" else 1 - 1 / n_folds
    fold_fit = _estimate_one_fit(
        max(1, int(fold_share * n)), d, k, n_nonzeros and int(fold_share * n_nonzeros), keeps_moments
    )
    fold_slowdown = (_LANCZOS if columns.text else _UNEVEN) if full_fit.route == "krylov" else 1.0
    seconds_per_fold = fold_fit.seconds * fold_slowdown
    threshold_seconds = n * k * math.log2(n + 1) * _THRESHOLD_SECONDS
    fit_seconds = full_fit.seconds + n_folds * seconds_per_fold + threshold_seconds
    step_seconds = {
        "reading": reading_seconds,
        "words": text_seconds,
        "fit": choices.budget if method == "auto" else fit_seconds,
    }
    text_columns = columns.cells(dataset) if columns.text_columns else []
    text_length = sum(len(text) for text_column in text_columns for text in text_column)
    data_bytes = 4 * text_length + (16 * n * d if n_nonzeros is None else 36 * n_nonzeros) + 24 * n * k
    # each fold keeps its own moments beside those it is solved from, or a float32 basis and weights
    solver_bytes = 8 * (n_folds + 3) * d * d if full_fit.route == "gram" else (24 * d + 240 * min(n, d)) * k
    peak_bytes = _BASE + data_bytes + full_fit.bytes + solver_bytes
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "method": method,
        "rows": n,
        "labels": k,
        "features": d,
        "nonzeros": n_nonzeros,
        "route": full_fit.route,
        "seconds": {step_name: round(n_seconds, 2) for step_name, n_seconds in step_seconds.items()},
        "total_seconds": round(sum(step_seconds.values()), 2),
        "peak_bytes": int(peak_bytes),
        "memory_bytes": memory_bytes,
        "can_be_updated": method == "ridge" and not choices.slim,
        "advice": _advise_smaller_fit(columns) if peak_bytes > 0.8 * memory_bytes else None,
    }


def _estimate_one_fit(n: int, d: int, k: int, n_nonzeros: int | None, keeps_moments: bool) -> Any:
    """Estimate one fit; where the moments are kept it goes through them even if there are fewer rows."""
    from hyperlabel.solvers.cost import estimate_cost
    from hyperlabel.solvers.ridge.routes import SPARSE_LIMIT

    fit_cost = estimate_cost(max(n, d) if keeps_moments else n, d, k, n_nonzeros)
    if not keeps_moments or fit_cost.route == "gram":
        return fit_cost
    width_ratio = d / SPARSE_LIMIT  # beyond it the solver would iterate, did the moments not have to be kept
    fit_cost = estimate_cost(max(n, d), SPARSE_LIMIT, k, n_nonzeros)
    return replace(
        fit_cost, seconds=fit_cost.seconds * width_ratio**2.5, bytes=int(fit_cost.bytes * width_ratio**2)
    )


def _advise_smaller_fit(columns: Any) -> str:
    smaller_input = (
        "--words 2500 (fewer features of text)" if columns.text else "--features with fewer columns"
    )
    return f"It may not fit into memory: say {smaller_input}, or --min-rows 10 (fewer labels)."


def _count_features(dataset: Any, columns: Any, choices: Any) -> tuple[int, int | None, float]:
    """Return columns and non-zeros of the rows as numbers, and the CPU seconds it takes to get them.

    Words are counted in half of a sample and in all of it: their number grows as a power of the texts.
    """
    from scipy import sparse

    from hyperlabel.tabular.pipeline import make_vectorizer, max_text_features

    n, d = len(dataset), dataset.n_features
    if not columns.text_columns:
        return d, int(dataset.X.nnz) if sparse.issparse(dataset.X) else None, 0.0
    n_nonzeros = n * (d + len(columns.categories))
    for category_column in columns.cells(dataset)[len(columns.text) :]:
        d += len(set(category_column))
    max_features = max_text_features(choices.words, n, len(columns.label_names))
    text_seconds = 0.0
    for text_column in columns.cells(dataset)[: len(columns.text)]:
        text_sample = text_column[:: max(1, n // _SAMPLE)][:_SAMPLE]
        vectorizer = make_vectorizer(text_column, None, choices.ngrams)
        start_seconds = time.process_time()
        n_half_terms, _ = _count_terms(vectorizer, text_sample[::2])
        n_sample_terms, n_sample_nonzeros = _count_terms(vectorizer, text_sample)
        text_seconds += (time.process_time() - start_seconds) / 1.5 * n / len(text_sample)
        growth_exponent = min(1.0, max(0.0, math.log2(max(n_sample_terms, 1) / max(n_half_terms, 1))))
        n_terms = int(n_sample_terms * (n / len(text_sample)) ** growth_exponent)
        d += min(n_terms, max(1, max_features // len(columns.text)))
        n_nonzeros += int(
            n_sample_nonzeros * n / len(text_sample) * min(1.0, max_features / max(n_terms, 1)) ** 0.3
        )
    return d, n_nonzeros, text_seconds


def _count_terms(vectorizer: Any, texts: list[str]) -> tuple[int, int]:
    try:
        term_matrix = vectorizer.fit_transform(texts)
    except ValueError:  # no words, which the fit will say
        return 0, 0
    return term_matrix.shape[1], term_matrix.nnz


def show_plan(fit_plan: dict[str, Any]) -> None:
    """Print a plan."""
    step_seconds = fit_plan["seconds"]
    data_shape = ", ".join(plural(fit_plan[f"{size}s"], size) for size in ("row", "feature", "label"))
    click.echo(f"{fit_plan['method']} on {data_shape}; route: {fit_plan['route']}.")
    step_list = ", ".join(f"{step_name} {n_seconds:.1f}" for step_name, n_seconds in step_seconds.items())
    click.echo(f"About {fit_plan['total_seconds']:.1f} s of one processor ({step_list}).")
    peak_gibibytes, memory_gibibytes = fit_plan["peak_bytes"] / 2**30, fit_plan["memory_bytes"] / 2**30
    click.echo(f"About {peak_gibibytes:.2f} GiB of memory, of {memory_gibibytes:.1f} GiB.")
    if not fit_plan["can_be_updated"]:
        click.echo("The model could not be updated: that takes --method ridge without --slim.")
    if fit_plan["advice"]:
        click.echo(fit_plan["advice"])

"""What a fit will take, before it runs: features, route and memory, from shapes."""

import math
import os
import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.tabular.pipeline import SUMS, WEIGHTS, WIDE_ROWS, Choices, make_vectorizer, max_text_features
from hyperlabel.tabular.wording import plural

_SAMPLE = 2000  # texts turned into words to see how many there are
_BASE = 290 << 20  # bytes of Python with the libraries loaded
_SHARE = 0.5  # of the memory, above which a fit says what it will take


@dataclass(frozen=True)
class FitShape:
    """The sizes by which the memory of a fit is estimated."""

    rows: int
    features: int
    labels: int
    nonzeros: int | None  # of sparse rows
    text_length: int = 0  # characters of all texts


@dataclass(frozen=True)
class FitPlan:
    """Route, memory by what holds it, and how to need less."""

    shape: FitShape
    method: str
    route: str
    bytes_by_part: dict[str, int]
    memory_bytes: int
    can_be_updated: bool
    advice: str | None = None

    @property
    def peak_bytes(self) -> int:
        """Bytes in all."""
        return sum(self.bytes_by_part.values())


def plan_fit(
    shape: FitShape, choices: Choices, label_counts: np.ndarray, memory_bytes: int | None = None
) -> FitPlan:
    """Plan a fit of a known shape; the advice names options that bring it below half the memory."""
    if memory_bytes is None:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    route, bytes_by_part = _estimate_parts(shape, choices)
    can_be_updated = choices.method == "ridge" and not choices.slim
    plan = FitPlan(shape, choices.method, route, bytes_by_part, memory_bytes, can_be_updated)
    if plan.peak_bytes <= _SHARE * memory_bytes:
        return plan
    return replace(plan, advice=_advise(shape, choices, label_counts, _SHARE * memory_bytes))


def check_plan(plan: FitPlan) -> None:
    """Refuse a fit that needs more than the memory there is; warn of one that needs half of it."""
    if plan.advice is None:
        return
    needs = (
        f"This fit would take about {plan.peak_bytes / 2**30:.1f} GiB of "
        f"{plan.memory_bytes / 2**30:.1f} GiB of memory"
    )
    if plan.peak_bytes > plan.memory_bytes:
        raise ValueError(f"{needs}: {plan.advice}.")
    warnings.warn(f"{needs}; to need less, {plan.advice}.", stacklevel=2)


def shape_of_rows(row_features: Any, n_labels: int, text_length: int = 0) -> FitShape:
    """Return the shape of a fit whose features are there."""
    n, d = row_features.shape
    n_nonzeros = int(row_features.nnz) if sparse.issparse(row_features) else None
    return FitShape(n, d, n_labels, n_nonzeros, text_length)


def count_characters(dataset: Any, columns: Any) -> int:
    """Count the characters of all texts and categories."""
    word_columns = columns.cells(dataset) if columns.text_columns else []
    return sum(len(text) for word_column in word_columns for text in word_column)


def _estimate_parts(shape: FitShape, choices: Choices) -> tuple[str, dict[str, int]]:
    """Return the route and bytes: of the program, the rows, the solver, and out-of-fold scores."""
    from hyperlabel.solvers.ridge.memory import RidgeMemory, estimate_memory

    n, d, k, n_nonzeros = shape.rows, shape.features, shape.labels, shape.nonzeros
    n_folds = 3 if n > 4000 else max(2, min(5, n))
    keeps_moments = choices.method == "ridge" and d <= SUMS
    solver_memory = estimate_memory(n, d, k, n_nonzeros)
    if keeps_moments:  # whatever the rows: an update needs XᵀX
        solver_memory = RidgeMemory("gram", 24 * (d * d + d * k))
    elif choices.analyzer == "char_wb" and 2 * d * k > WEIGHTS and n <= WIDE_ROWS:
        solver_memory = RidgeMemory("samples", 24 * (n * n + n * k))
    row_bytes = 4 * shape.text_length + (16 * n * d if n_nonzeros is None else 36 * n_nonzeros)
    solver_bytes = solver_memory.bytes
    if solver_memory.route == "gram":  # each fold keeps its own moments beside those it is solved from
        solver_bytes += 8 * (n_folds + 3) * d * d
    has_scores = choices.thresholds != "none" or choices.precision is not None
    if (
        has_scores
        and solver_memory.route == "krylov"
        and folds_share_factor(n, n_nonzeros or n * d, k, n_folds)
    ):
        solver_bytes += int(1.1 * 4 * n * n)
    parts = {"program": _BASE, "rows": row_bytes, "solver": solver_bytes}
    # scores, their sorted copy and the calibrated ones
    return solver_memory.route, parts | {"out-of-fold scores": 24 * n * k if has_scores else 0}


def folds_share_factor(n_rows: int, n_nonzeros: int, n_labels: int, n_folds: int) -> bool:
    """Say whether all folds of wide sparse rows come from one factorisation over samples."""
    from hyperlabel.solvers.ridge.held_out import shares_factor
    from hyperlabel.solvers.ridge.krylov_path import KRYLOV_BYTES

    return shares_factor(n_rows, n_nonzeros, n_labels, n_folds, itemsize=4, memory_limit=KRYLOV_BYTES)


def _advise(shape: FitShape, choices: Choices, label_counts: np.ndarray, limit: float) -> str:
    """Name the options that suffice, each by itself, by the estimate that found the fit too large."""

    def fits(smaller_shape: FitShape, changed_choices: Choices = choices) -> bool:
        return sum(_estimate_parts(smaller_shape, changed_choices)[1].values()) <= limit

    clauses = []
    for min_rows in (2, 3, 5, 10, 20, 50, 100, 200, 500):
        n_left = int((label_counts >= min_rows).sum())
        if n_left and n_left < shape.labels and fits(replace(shape, labels=n_left)):
            clauses.append(f"--min-rows {min_rows} (leaves {plural(n_left, 'label')})")
            break
    n_words = shape.features if shape.text_length else 0
    while n_words >= 200:
        n_words //= 2
        nonzeros = None if shape.nonzeros is None else shape.nonzeros * n_words // shape.features
        if fits(replace(shape, features=n_words, nonzeros=nonzeros)):
            clauses.append(f"--words {n_words} (has {shape.features})")
            break
    if choices.thresholds != "none" and fits(shape, replace(choices, thresholds="none", precision=None)):
        clauses.append("--thresholds none (only ranks labels)")
    advice = "say " + " or ".join(clauses) if clauses else "give fewer rows (hyperlabel data split)"
    n_single = int((label_counts <= 1).sum())
    if 2 * n_single > len(label_counts):
        advice += (
            f"; {n_single} of {plural(len(label_counts), 'label')} occur once: perhaps --label-separator is "
            "wrong"
        )
    return advice


def sample_shape(dataset: Any, columns: Any, choices: Choices) -> FitShape:
    """Return the shape a fit will have, the words counted in a sample.

    Words are counted in half of it and in all of it: their number grows as a power of the texts.
    """
    n, d, k = dataset.n_rows, dataset.n_features, len(columns.label_names)
    if not columns.text_columns:
        return FitShape(n, d, k, int(dataset.X.nnz) if sparse.issparse(dataset.X) else None)
    n_nonzeros = n * (d + len(columns.categories))
    for category_column in columns.cells(dataset)[len(columns.text) :]:
        d += len(set(category_column))
    max_features = max_text_features(choices, n, k) or sys.maxsize
    for text_column in columns.cells(dataset)[: len(columns.text)]:
        text_sample = text_column[:: max(1, n // _SAMPLE)][:_SAMPLE]
        vectorizer = make_vectorizer(text_column, None, choices.ngrams, choices.analyzer)
        n_half_terms, _ = _count_terms(vectorizer, text_sample[::2])
        n_sample_terms, n_sample_nonzeros = _count_terms(vectorizer, text_sample)
        growth_exponent = min(1.0, max(0.0, math.log2(max(n_sample_terms, 1) / max(n_half_terms, 1))))
        n_terms = int(n_sample_terms * (n / len(text_sample)) ** growth_exponent)
        d += min(n_terms, max(1, max_features // len(columns.text)))
        n_nonzeros += int(
            n_sample_nonzeros * n / len(text_sample) * min(1.0, max_features / max(n_terms, 1)) ** 0.3
        )
    return FitShape(n, d, k, n_nonzeros, count_characters(dataset, columns))


def _count_terms(vectorizer: Any, texts: list[str]) -> tuple[int, int]:
    try:
        term_matrix = vectorizer.fit_transform(texts)
    except ValueError:  # no words, which the fit will say
        return 0, 0
    return term_matrix.shape[1], term_matrix.nnz

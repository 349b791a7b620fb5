"""The page of one model: counts at its thresholds, a label map, its rows, and the model to try."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel import __version__
from hyperlabel.apps.report import model_numbers as numbers
from hyperlabel.apps.report.browser_model import NotInPage, page_model
from hyperlabel.apps.report.diagnostics import reliability_curves, replaced_labels
from hyperlabel.apps.report.model_numbers import PageScores
from hyperlabel.apps.report.pack import pack_arrays, weight_planes
from hyperlabel.apps.report.page import template_environment
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.meta.linear_view import linear_view
from hyperlabel.tabular.pipeline import plain_feature

_WORDS = 14  # for and against a label
_MOST_BYTES = 2**29  # of all weights, dense
_LISTED = 12  # mistakes of a label, each way
_SCRIPTS = ("pack", "words", "dom", "charts", "overview", "label", "map", "row", "try", "main")


@dataclass(frozen=True)
class PageRows:
    """Texts, numbers and features of the rows beside their scores.

    `export` says how the page writes rows that ``hyperlabel update`` reads: the columns of text,
    numbers and labels; None where rows cannot be written from the page.
    """

    texts: Sequence[str] | None = None
    numbers: np.ndarray | None = None
    features: sparse.csr_array | None = None
    export: dict[str, Any] | None = None
    n_words: int = 1  # columns of words a row begins with
    columns: Sequence[str] | None = None  # where a row is more than a text: names and cells
    cells: Sequence[Sequence[Any]] | None = None
    text_columns: Sequence[str] = ()
    twins: dict[int, list[int]] | None = None  # near copies of rows
    growth: list[list[float]] | None = None  # rows and macro-F1 of smaller fits


@dataclass(frozen=True)
class PageOptions:
    """How much goes into the page, and whether a server answers behind it."""

    max_rows: int = 5000
    prune: float = 0.0
    live: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def model_report(
    model: Any,
    judged: PageScores,
    label_names: Sequence[str],
    rows: PageRows,
    *,
    title: str,
    feature_names: Sequence[str] | None = None,
    options: PageOptions | None = None,
) -> str:
    """Return the page of a fitted Pipeline as one self-contained HTML text."""
    options = options or PageOptions()
    p = Calibrators.fit(judged.scores, judged.targets).probabilities(judged.scores)
    review_order = numbers.row_review_order(judged, p)
    page_rows = np.sort(review_order[: options.max_rows])
    page_content, page_arrays = _collect_rows(judged, rows, page_rows, review_order, p)
    page_content |= {
        "version": __version__,
        "title": title,
        "kind": judged.kind,
        "guarantee": judged.guarantee,
        "rule": judged.rule,
        "labels": list(map(str, label_names)),
        "n": int(judged.Y.shape[0]),
        "map": numbers.label_map(judged.Y),
        "facts": options.facts,
        "live": options.live,
    }
    _add_labels(judged, p, page_rows, page_content, page_arrays)
    _add_model(model, feature_names, rows, page_rows, options, page_content, page_arrays)
    return (
        template_environment()
        .get_template("model.html.j2")
        .render(
            title=title,
            data=pack_arrays(page_content, page_arrays),
            script=page_script(),
            live=options.live is not None,
        )
    )


def page_script() -> str:
    """Return the modules of the page as one: they import nothing from outside the file."""
    script_folder = Path(__file__).parent / "templates" / "model"
    script_lines = []
    for name in _SCRIPTS:
        for script_line in (script_folder / f"{name}.js").read_text(encoding="utf-8").splitlines():
            if not script_line.startswith("import "):
                script_lines.append(script_line.removeprefix("export "))
    return "\n".join(script_lines)


def _collect_rows(
    judged: PageScores, rows: PageRows, page_rows: np.ndarray, review_order: np.ndarray, p: np.ndarray
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    page_position = np.full(judged.Y.shape[0], -1)
    page_position[page_rows] = np.arange(len(page_rows))
    Y = judged.Y[page_rows].tocsr()
    Y.sort_indices()
    row_content: dict[str, Any] = {
        "rows": (page_rows + 1).tolist(),
        "texts": None if rows.texts is None else [rows.texts[i] for i in page_rows],
        "numbers": None if rows.numbers is None else _replace_missing(rows.numbers[page_rows]),
        "export": rows.export,
        "columns": None if rows.columns is None else [*rows.columns],
        "textColumns": [*rows.text_columns],
        "cells": None if rows.cells is None else [rows.cells[i] for i in page_rows],
        "nTwins": len(rows.twins or {}),
        "twins": {
            int(page_position[i]): [int(other) + 1 for other in others[:_LISTED]]
            for i, others in (rows.twins or {}).items()
            if page_position[i] >= 0
        },
        "growth": rows.growth,
        "unknown": []
        if judged.missing is None
        else [np.flatnonzero(~known).tolist() for known in judged.known[page_rows]],
    }
    review_positions = page_position[review_order]
    row_arrays = {
        "review": review_positions[review_positions >= 0].astype(np.uint32),
        "carriedStart": Y.indptr.astype(np.uint32),
        "carried": Y.indices.astype(np.uint32),
    }
    return row_content, row_arrays


def _replace_missing(values: np.ndarray) -> list[list[float | None]]:
    return [[float(v) if np.isfinite(v) else None for v in row] for row in values]


def _add_labels(
    judged: PageScores,
    p: np.ndarray,
    page_rows: np.ndarray,
    page_content: dict[str, Any],
    page_arrays: dict[str, np.ndarray],
) -> None:
    label_tables = list(numbers.threshold_tables(judged))
    model_metrics = numbers.summary_metrics(judged)
    pair_counts = np.asarray((judged.Y.T @ judged.Y).todense())
    page_content |= {
        "worth": {"measures": model_metrics["measures"], "crossFitted": model_metrics["cross_fitted"]},
        "chosen": [label.chosen for label in label_tables],
        "thresholds": np.clip(judged.thresholds, -1e300, 1e300).tolist(),
        "judgedHits": model_metrics["hits"].tolist(),
        "judgedPredicted": model_metrics["predicted"].tolist(),
        "f1Low": model_metrics["f1_low"].tolist(),
        "f1High": model_metrics["f1_high"].tolist(),
        "reliability": numbers.calibration_errors(judged, p),
        "curves": reliability_curves(judged),
        "replaced": replaced_labels(judged),
        "together": [_find_partners(row, j) for j, row in enumerate(pair_counts)],
        "mistakes": _find_worst_rows(judged, page_rows),
    }
    page_arrays |= {
        "edges": np.concatenate([label.edges for label in label_tables]).astype(np.float32),
        "edgeStart": np.cumsum([0, *(len(label.edges) for label in label_tables)]).astype(np.uint32),
        "withLabel": np.concatenate([label.with_label for label in label_tables]).astype(np.uint32),
        "without": np.concatenate([label.without for label in label_tables]).astype(np.uint32),
        "buckets": np.stack([label.buckets[page_rows] for label in label_tables]),
    }


def _find_partners(pair_counts: np.ndarray, j: int) -> list[list[int]]:
    """Return the labels that appear with label j most often, with the number of rows."""
    pair_counts = pair_counts.copy()
    pair_counts[j] = 0
    top_partners = np.argsort(-pair_counts, kind="stable")[:8]
    return [[int(i), int(pair_counts[i])] for i in top_partners if pair_counts[i]]


def _find_worst_rows(judged: PageScores, page_rows: np.ndarray) -> list[list[list[int]]]:
    """Return for each label its positive rows with the lowest scores and negative rows with the highest."""
    rows_of_label = []
    for label_scores, has_label, known in zip(
        judged.scores[page_rows].T,
        numbers.rows_by_label(judged.Y[page_rows]),
        judged.known[page_rows].T,
        strict=True,
    ):
        score_order = np.argsort(label_scores, kind="stable")
        lowest_positives = score_order[has_label[score_order]][:_LISTED]
        highest_negatives = score_order[(known & ~has_label)[score_order]][::-1][:_LISTED]
        rows_of_label.append([lowest_positives.tolist(), highest_negatives.tolist()])
    return rows_of_label


def _add_model(
    model: Any,
    feature_names: Sequence[str] | None,
    rows: PageRows,
    page_rows: np.ndarray,
    options: PageOptions,
    page_content: dict[str, Any],
    page_arrays: dict[str, np.ndarray],
) -> None:
    page_content |= {"why": [], "vectoriser": None, "noTry": "", "features": None}
    n_labels, n_features = len(page_content["labels"]), getattr(model[-1], "n_features_in_", 0)
    if 8 * n_labels * n_features > _MOST_BYTES:
        page_content["noTry"] = (
            f"{n_features} features of {n_labels} labels are too many for a page: fit with --words."
        )
        return
    try:
        linear_model = linear_view(model, None, feature_names, list(range(n_labels)))
    except ValueError as error:
        page_content["noTry"] = f"The model cannot run in the page: {error}"
        return
    coef, intercept, column_names = linear_model.coef, linear_model.intercept, linear_model.names
    full_names = [f"x{i}" for i in range(coef.shape[1])] if column_names is None else map(str, column_names)
    short_names = [plain_feature(name, [*rows.text_columns]).replace("\n", " ") for name in full_names]
    of_names = np.broadcast_to(0.0, coef.shape) if linear_model.of_names is None else linear_model.of_names
    page_content["why"] = [
        _rank_features(word_weights, short_names, name_weights)
        for word_weights, name_weights in zip(coef, of_names, strict=True)
    ]
    try:
        n_numbers = len(feature_names or []) - rows.n_words
        blank_row = np.array([[*[""] * rows.n_words, *[np.nan] * n_numbers]], dtype=object)
        text_settings, word_factors, word_weights, base_scores = page_model(
            model[0], coef, intercept, column_names, blank_row, options.prune
        )
    except NotInPage as error:
        page_content["noTry"] = str(error)
        _add_features(rows, page_rows, short_names, page_content, page_arrays)
        return
    weight_bytes, weight_step = weight_planes(word_weights.T, text_settings["norm"])
    page_content |= {"vectoriser": text_settings, "step": weight_step, "base": base_scores.tolist()}
    page_arrays |= {"factor": word_factors.astype(np.float64), "weights": weight_bytes}


def _rank_features(
    weights: np.ndarray, feature_names: list[str], name_weights: np.ndarray
) -> list[list[list[Any]]]:
    """Return the features for and against a label, strongest first: name, weight, and what the name gives."""
    weight_order = np.argsort(weights, kind="stable")
    strongest = {"for": weight_order[::-1][:_WORDS], "against": weight_order[:_WORDS]}
    return [
        [
            [
                feature_names[i],
                round(float(weights[i]), 4),
                round(float(name_weights[i % len(name_weights)]), 4),
            ]
            for i in features
            if (weights[i] > 0 if side == "for" else weights[i] < 0)
        ]
        for side, features in strongest.items()
    ]


def _round_unless_zero(weight: float) -> list[float]:
    return [round(float(weight), 4)] if weight else []


def _add_features(
    rows: PageRows,
    page_rows: np.ndarray,
    feature_names: list[str],
    page_content: dict[str, Any],
    page_arrays: dict[str, np.ndarray],
) -> None:
    """Add the non-zero features of sparse rows: the page shows them in place of a text."""
    if rows.features is None:
        return
    X = rows.features[page_rows].tocsr()
    page_content["features"] = feature_names
    page_arrays |= {"featureStart": X.indptr.astype(np.uint32), "featureOf": X.indices.astype(np.uint32)}

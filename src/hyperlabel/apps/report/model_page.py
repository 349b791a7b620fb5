"""The page of one model: the numbers behind its thresholds, its labels on a map, its rows, and itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel import __version__
from hyperlabel.apps.report import model_numbers as numbers
from hyperlabel.apps.report.browser_model import NotInPage, page_model
from hyperlabel.apps.report.model_numbers import PageScores
from hyperlabel.apps.report.pack import pack_arrays, weight_planes
from hyperlabel.apps.report.page import template_environment
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.meta.linear_view import linear_view

_WORDS = 14  # for and against a label
_LISTED = 12  # mistakes of a label, each way
_SCRIPTS = ("pack", "words", "dom", "charts", "overview", "label", "map", "row", "try", "main")


@dataclass(frozen=True)
class PageRows:
    """What is known of the rows beside their scores.

    `export` tells the page how to write rows that ``hyperlabel update`` reads: the columns of text,
    numbers and labels; None where rows cannot be written from the page.
    """

    texts: Sequence[str] | None = None
    numbers: np.ndarray | None = None
    features: sparse.csr_array | None = None
    export: dict[str, Any] | None = None
    n_words: int = 1  # columns of words a row begins with


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
    p = Calibrators.fit(judged.scores, judged.Y).probabilities(judged.scores)
    order = numbers.row_review_order(judged, p)
    kept = np.sort(order[: options.max_rows])
    content, arrays = _rows_content(judged, rows, kept, order, p)
    content |= {
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
    _labels_content(judged, p, kept, content, arrays)
    _model_content(model, feature_names, rows, kept, options, content, arrays)
    return (
        template_environment()
        .get_template("model.html.j2")
        .render(
            title=title,
            data=pack_arrays(content, arrays),
            script=page_script(),
            live=options.live is not None,
        )
    )


def page_script() -> str:
    """Return the modules of the page as one: they import nothing from outside the file."""
    folder = Path(__file__).parent / "templates" / "model"
    lines = []
    for name in _SCRIPTS:
        for line in (folder / f"{name}.js").read_text(encoding="utf-8").splitlines():
            if not line.startswith("import "):
                lines.append(line.removeprefix("export "))
    return "\n".join(lines)


def _rows_content(
    judged: PageScores, rows: PageRows, kept: np.ndarray, order: np.ndarray, p: np.ndarray
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    place = np.full(judged.Y.shape[0], -1)
    place[kept] = np.arange(len(kept))
    Y = judged.Y[kept].tocsr()
    Y.sort_indices()
    content: dict[str, Any] = {
        "rows": (kept + 1).tolist(),
        "texts": None if rows.texts is None else [rows.texts[i] for i in kept],
        "numbers": None if rows.numbers is None else _finite_values(rows.numbers[kept]),
        "export": rows.export,
    }
    review = place[order]
    arrays = {
        "review": review[review >= 0].astype(np.uint32),
        "carriedStart": Y.indptr.astype(np.uint32),
        "carried": Y.indices.astype(np.uint32),
    }
    return content, arrays


def _finite_values(values: np.ndarray) -> list[list[float | None]]:
    return [[float(v) if np.isfinite(v) else None for v in row] for row in values]


def _labels_content(
    judged: PageScores,
    p: np.ndarray,
    kept: np.ndarray,
    content: dict[str, Any],
    arrays: dict[str, np.ndarray],
) -> None:
    tables = list(numbers.threshold_tables(judged))
    worth = numbers.summary_metrics(judged)
    together = np.asarray((judged.Y.T @ judged.Y).todense())
    content |= {
        "worth": {"measures": worth["measures"], "crossFitted": worth["cross_fitted"]},
        "chosen": [table.chosen for table in tables],
        "thresholds": np.clip(judged.thresholds, -1e300, 1e300).tolist(),
        "judgedHits": worth["hits"].tolist(),
        "judgedPredicted": worth["predicted"].tolist(),
        "f1Low": worth["f1_low"].tolist(),
        "f1High": worth["f1_high"].tolist(),
        "reliability": numbers.calibration_errors(judged, p),
        "together": [_most_frequent_partners(row, j) for j, row in enumerate(together)],
        "mistakes": _worst_rows(judged, kept),
    }
    arrays |= {
        "edges": np.concatenate([table.edges for table in tables]).astype(np.float32),
        "edgeStart": np.cumsum([0, *(len(table.edges) for table in tables)]).astype(np.uint32),
        "withLabel": np.concatenate([table.with_label for table in tables]).astype(np.uint32),
        "without": np.concatenate([table.without for table in tables]).astype(np.uint32),
        "buckets": np.stack([table.buckets[kept] for table in tables]),
    }


def _most_frequent_partners(row: np.ndarray, j: int) -> list[list[int]]:
    """Labels that appear with label j most often, with the rows."""
    row = row.copy()
    row[j] = 0
    best = np.argsort(-row, kind="stable")[:8]
    return [[int(i), int(row[i])] for i in best if row[i]]


def _worst_rows(judged: PageScores, kept: np.ndarray) -> list[list[list[int]]]:
    """For each label, the rows that carry it with the lowest scores and lack it with the highest."""
    found = []
    for scores, carries in zip(judged.scores[kept].T, numbers.rows_by_label(judged.Y[kept]), strict=True):
        order = np.argsort(scores, kind="stable")
        low, high = order[carries[order]][:_LISTED], order[~carries[order]][::-1][:_LISTED]
        found.append([low.tolist(), high.tolist()])
    return found


def _model_content(
    model: Any,
    feature_names: Sequence[str] | None,
    rows: PageRows,
    kept: np.ndarray,
    options: PageOptions,
    content: dict[str, Any],
    arrays: dict[str, np.ndarray],
) -> None:
    content |= {"why": [], "vectoriser": None, "noTry": "", "features": None}
    try:
        seen = linear_view(model, None, feature_names, list(range(len(content["labels"]))))
    except ValueError as error:
        content["noTry"] = f"The model cannot run in the page: {error}"
        return
    coef, intercept, names = seen.coef, seen.intercept, seen.names
    given = [f"x{i}" for i in range(coef.shape[1])] if names is None else map(str, names)
    named = [name.split("__", 1)[-1] for name in given]
    content["why"] = [_strongest_features(weights, named) for weights in coef]
    try:
        others = len(feature_names or []) - rows.n_words
        blank = np.array([[*[""] * rows.n_words, *[np.nan] * others]], dtype=object)
        found, factor, weights, base = page_model(model[0], coef, intercept, names, blank, options.prune)
    except NotInPage as error:
        content["noTry"] = str(error)
        _features_content(rows, kept, named, content, arrays)
        return
    planes, step = weight_planes(weights.T, found["norm"])
    content |= {"vectoriser": found, "step": step, "base": base.tolist()}
    arrays |= {"factor": factor.astype(np.float64), "weights": planes}


def _strongest_features(weights: np.ndarray, names: list[str]) -> list[list[list[Any]]]:
    """Features for and against a label, strongest first, with their weights."""
    order = np.argsort(weights, kind="stable")
    for_it = [[names[i], round(float(weights[i]), 4)] for i in order[::-1][:_WORDS] if weights[i] > 0]
    against = [[names[i], round(float(weights[i]), 4)] for i in order[:_WORDS] if weights[i] < 0]
    return [for_it, against]


def _features_content(
    rows: PageRows, kept: np.ndarray, names: list[str], content: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Put the non-zero features of sparse rows in: they stand where a text would."""
    if rows.features is None:
        return
    X = rows.features[kept].tocsr()
    content["features"] = names
    arrays |= {"featureStart": X.indptr.astype(np.uint32), "featureOf": X.indices.astype(np.uint32)}

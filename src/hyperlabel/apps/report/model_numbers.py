"""The numbers of a model's page: exact counts at every threshold, what they are worth, and a map of the
labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.stats import beta

from hyperlabel.decision import decide
from hyperlabel.metrics import reliability
from hyperlabel.model_selection import IterativeStratifiedKFold

EDGES = 254  # thresholds a label offers; a row then needs one byte for each label
_DRAWS = 200  # bootstrap draws of rows
_BOX = np.array([1.6, 1.0])  # width and height of the map
_NEAR_POSITIVES = 170  # of the edges; the rest follow the scores of all rows


@dataclass(frozen=True)
class PageScores:
    """Honest scores of labelled rows, and the thresholds they are judged by.

    `kind` says where the scores come from: "out of fold" or "as new rows". `tune` is how the thresholds
    were chosen on these very scores, None if on others; `rule` says so where the model decides otherwise than
    by a threshold for each label.
    """

    scores: np.ndarray
    Y: sparse.csr_array
    thresholds: np.ndarray
    kind: str
    tune: Callable[[np.ndarray, sparse.csr_array], np.ndarray] | None = None
    guarantee: float | None = None
    rule: str = ""


@dataclass(frozen=True)
class ThresholdTable:
    """Counts at every threshold of a label: bucket b of a row is the number of thresholds its score passes.

    Predicted at threshold t are the rows with b > t; t = −1 takes all rows, t = len(edges) none.
    """

    edges: np.ndarray
    chosen: int
    buckets: np.ndarray
    with_label: np.ndarray
    without: np.ndarray


def threshold_tables(judged: PageScores) -> Iterator[ThresholdTable]:
    """Go through the labels."""
    for scores, carries, threshold in zip(
        judged.scores.T, rows_by_label(judged.Y), judged.thresholds, strict=True
    ):
        yield threshold_table(scores, carries, float(threshold))


def rows_by_label(Y: sparse.csr_array) -> Iterator[np.ndarray]:
    """Say of each label which rows carry it."""
    columns = Y.tocsc()
    for j in range(Y.shape[1]):
        yield columns[:, [j]].toarray().ravel() > 0


def threshold_table(scores: np.ndarray, carries: np.ndarray, threshold: float) -> ThresholdTable:
    """Choose the thresholds worth offering for one label and count exactly what each of them does."""
    values = np.unique(scores)
    between = (values[1:] + values[:-1]) / 2
    between = between[(between > values[:-1]) & (between < values[1:])]
    edges = np.concatenate(
        [_thresholds_below(np.unique(scores[carries]), between), _thresholds_over_scores(between)]
    )
    edges = np.unique(edges)
    if np.isfinite(threshold):
        edges = np.unique(np.append(edges, threshold))
        chosen = int(np.searchsorted(edges, threshold))
    else:
        chosen = len(edges) if threshold > 0 else -1
    buckets = np.searchsorted(edges, scores, side="left").astype(np.uint8)
    size = len(edges) + 1
    return ThresholdTable(
        edges,
        chosen,
        buckets,
        np.bincount(buckets[carries], minlength=size),
        np.bincount(buckets[~carries], minlength=size),
    )


def _thresholds_below(positives: np.ndarray, between: np.ndarray) -> np.ndarray:
    """Thresholds just below the scores of rows that carry the label: between them F1 can only fall."""
    place = np.searchsorted(between, positives, side="left") - 1
    found = between[np.unique(place[place >= 0])]
    if len(found) <= _NEAR_POSITIVES:
        return found
    return found[np.linspace(0, len(found) - 1, _NEAR_POSITIVES).round().astype(int)]


def _thresholds_over_scores(between: np.ndarray) -> np.ndarray:
    """Thresholds over all scores, denser towards the high ones."""
    count = EDGES - 1 - _NEAR_POSITIVES
    if len(between) <= count:
        return between
    from_top = np.unique(np.geomspace(1, len(between), count).round().astype(int))
    return between[len(between) - from_top]


# -- what the model is worth ----------------------------------------------------------------------------


def summary_metrics(judged: PageScores) -> dict[str, Any]:
    """Macro- and micro-F1, precision and recall with 95 % intervals, and counts and intervals of each label.

    Thresholds tuned on these very scores would flatter: they are tuned anew on four fifths of the rows for
    each fifth. Every figure and its interval come from these decisions. Labels on no row do not count in the
    mean.
    """
    sets, Y = honest_sets(judged), judged.Y
    predicted = sparse.csr_array(sets.astype(np.int64))
    hits = predicted.multiply(Y).tocsr()
    n = Y.shape[0]
    draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_DRAWS).astype(np.float64)
    draws = np.vstack([np.ones(n), draws])
    tp, claimed, actual = (np.asarray((part.T @ draws.T).T) for part in (hits, predicted, Y))
    present = actual[0] > 0
    f1 = 2 * tp / np.maximum(claimed + actual, 1)
    micro_tp, micro_claimed, micro_actual = tp.sum(1), claimed.sum(1), actual.sum(1)
    found = {
        "f1_macro": f1[:, present].mean(1) if present.any() else np.zeros(len(draws)),
        "f1_micro": 2 * micro_tp / np.maximum(micro_claimed + micro_actual, 1),
        "precision": micro_tp / np.maximum(micro_claimed, 1),
        "recall": micro_tp / np.maximum(micro_actual, 1),
    }
    low, high = f1_interval(tp[0], claimed[0], actual[0])
    return {
        "cross_fitted": judged.tune is not None,
        "measures": {
            name: [float(v[0]), *map(float, _bootstrap_interval(v, n))] for name, v in found.items()
        },
        "hits": tp[0].astype(np.int64),
        "predicted": claimed[0].astype(np.int64),
        "f1_low": low,
        "f1_high": high,
    }


def f1_interval(hits: np.ndarray, predicted: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 95 % intervals of F1 from the counts of each label.

    Of the rows that carry a label or are given it, the hits are a binomial share J for independent rows, and
    F1 = 2J/(1 + J) rises with J. So the exact interval of a share (Clopper and Pearson) is one of F1: it
    contains the figure and has a width however few the rows.
    """
    union = predicted + actual - hits
    low = np.where(hits > 0, beta.ppf(0.025, np.maximum(hits, 1), union - hits + 1), 0.0)
    high = np.where(hits < union, beta.ppf(0.975, hits + 1, np.maximum(union - hits, 1)), 1.0)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def _bootstrap_interval(values: np.ndarray, n_rows: int) -> np.ndarray:
    """Return a 95 % interval around the figure itself: resampled rows repeat, which moves the centre.

    Rows without a mistake stay so however they are drawn: there the exact interval of a share of rows serves.
    """
    low, high = np.percentile(values[1:] - values[1:].mean(), [2.5, 97.5])
    low, high = np.clip(values[0] + np.array([min(low, 0.0), max(high, 0.0)]), 0, 1)
    if values[0] == 1:
        low = min(low, 0.025 ** (1 / n_rows))
    if values[0] == 0:
        high = max(high, 1 - 0.025 ** (1 / n_rows))
    return np.array([low, high])


def honest_sets(judged: PageScores) -> np.ndarray:
    """Label sets by thresholds that were chosen on other rows: anew for each fifth where they were not."""
    tune = judged.tune
    if tune is None:
        return decide(judged.scores, judged.thresholds)
    sets = np.zeros(judged.scores.shape, dtype=bool)
    folds = min(5, judged.scores.shape[0])
    splitter = IterativeStratifiedKFold(folds, shuffle=True, random_state=0)
    for train, test in splitter.split(judged.scores, judged.Y):
        sets[test] = decide(judged.scores[test], tune(judged.scores[train], judged.Y[train]))
    return sets


def calibration_errors(judged: PageScores, p: np.ndarray) -> list[float]:
    """How far probabilities are from what happens, label by label."""
    found = [reliability(judged.Y[:, [j]], p[:, [j]], n_bins=10) for j in range(p.shape[1])]
    return [round(float(one.calibration_error), 5) for one in found]


def row_review_order(judged: PageScores, p: np.ndarray) -> np.ndarray:
    """Rows by their most doubtful label, the most doubtful first."""
    doubt = p.copy()
    rows, columns = judged.Y.nonzero()
    doubt[rows, columns] = 1 - doubt[rows, columns]
    return np.argsort(-doubt.max(axis=1), kind="stable")


# -- a map of the labels --------------------------------------------------------------------------------


def label_map(Y: sparse.csr_array) -> dict[str, list[Any]]:
    """Places, sizes and clusters of labels by co-occurrence: near each other are labels of the same rows."""
    counts = np.asarray(Y.sum(axis=0)).ravel().astype(np.float64)
    together = np.asarray((Y.T @ Y).todense(), dtype=np.float64)
    alike = together / np.sqrt(np.maximum(np.outer(counts, counts), 1))
    np.fill_diagonal(alike, 1.0)
    radius = np.maximum(np.sqrt(counts / max(counts.max(), 1)), 0.18)
    free = _label_positions(alike)
    places = _push_apart(_fill_map(free), radius)
    return {
        "x": places[:, 0].round(4).tolist(),
        "y": places[:, 1].round(4).tolist(),
        "r": (radius * _largest_radius(radius)).round(4).tolist(),
        "cluster": _label_clusters(free, counts),
    }


def _fill_map(places: np.ndarray) -> np.ndarray:
    """Spread places over a box of width 1.6 and height 1: halfway to their ranks, so that no label far off
    leaves the rest in a corner.
    """
    k = len(places)
    ranks = np.argsort(np.argsort(places, axis=0, kind="stable"), axis=0, kind="stable") / max(k - 1, 1)
    low, high = np.percentile(places, [3, 97], axis=0)
    clipped = (np.clip(places, low, high) - low) / np.maximum(high - low, 1e-9)
    return (0.5 * ranks + 0.5 * clipped) * _BOX


def _largest_radius(radius: np.ndarray) -> float:
    """Radius of the largest label: the circles fill a fifth of the map."""
    return float(np.sqrt(0.2 * _BOX.prod() / (np.pi * (radius**2).sum())))


def _label_positions(alike: np.ndarray) -> np.ndarray:
    k = len(alike)
    if k < 5:
        angle = np.arange(k) * 2 * np.pi / max(k, 1)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    from sklearn.manifold import TSNE

    distance = np.sqrt(np.maximum(2 - 2 * np.clip(alike, 0, 1), 0))
    near = min(15.0, (k - 1) / 3)
    model = TSNE(metric="precomputed", init="random", perplexity=near, random_state=0)
    return np.asarray(model.fit_transform(distance), dtype=np.float64)


def _push_apart(places: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Push overlapping circles apart."""
    size = radius * _largest_radius(radius)
    places = places.copy()
    for _ in range(120):
        near = cKDTree(places).query_pairs(2.24 * float(size.max()), output_type="ndarray")
        i, j = near[:, 0], near[:, 1]
        gap = places[i] - places[j]
        distance = np.sqrt((gap**2).sum(axis=1)) + 1e-9
        push = np.maximum(1.12 * (size[i] + size[j]) - distance, 0)
        if not push.any():
            break
        move = 0.5 * gap * (push / distance)[:, None]
        np.add.at(places, i, move)
        np.subtract.at(places, j, move)
    return places - (places - size[:, None]).min(axis=0)


def _label_clusters(places: np.ndarray, counts: np.ndarray) -> list[int]:
    """Clusters of places (Ward), numbered by how many rows their labels have, the largest first."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(places) < 3:
        return [0] * len(places)
    found = fcluster(linkage(places, "ward"), t=min(8, max(2, len(places) // 8)), criterion="maxclust")
    weight = np.bincount(found, weights=counts)
    rank = np.empty(len(weight), dtype=int)
    rank[np.argsort(-weight, kind="stable")] = np.arange(len(weight))
    return [int(rank[c]) for c in found]

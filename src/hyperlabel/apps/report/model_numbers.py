"""The numbers of a model's page: exact counts at every threshold, measures with intervals, a label map."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.stats import beta

from hyperlabel.decision import decide
from hyperlabel.decision.strategies import OutOfFold, Strategy, cross_decide
from hyperlabel.metrics import reliability
from hyperlabel.model_selection.folds import make_folds

EDGES = 254  # thresholds a label offers; a row then needs one byte for each label
_DRAWS = 200  # bootstrap draws of rows
_BOX = np.array([1.6, 1.0])  # width and height of the map
_NEAR_POSITIVES = 170  # of the edges; the others follow the scores of all rows


@dataclass(frozen=True)
class PageScores:
    """Scores of labelled rows by models that did not see them, and the thresholds of the model.

    `kind` says where the scores come from: "out of fold" or "as new rows". `strategy` is how the thresholds
    were chosen on these very scores, None if on others; `rule` says so where the model decides otherwise than
    by a threshold for each label. Y is 0 where nobody knows a label, and `missing` says where that is.
    """

    scores: np.ndarray
    Y: sparse.csr_array
    thresholds: np.ndarray
    kind: str
    strategy: Strategy | None = None
    guarantee: float | None = None
    rule: str = ""
    missing: sparse.csr_array | None = None

    @cached_property
    def targets(self) -> sparse.csr_array:
        """Y with NaN where nobody knows."""
        return self.Y if self.missing is None else sparse.csr_array(self.Y + self.missing * np.nan)

    @cached_property
    def known(self) -> np.ndarray:
        """Which entries somebody knows."""
        if self.missing is None:
            return np.ones(self.Y.shape, dtype=bool)
        return np.asarray(self.missing.toarray() == 0)


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
    """Yield the threshold table of each label."""
    for label_scores, has_label, known, threshold in zip(
        judged.scores.T, rows_by_label(judged.Y), judged.known.T, judged.thresholds, strict=True
    ):
        yield threshold_table(label_scores, has_label, float(threshold), known)


def rows_by_label(Y: sparse.csr_array) -> Iterator[np.ndarray]:
    """Yield for each label whether each row carries it."""
    label_columns = Y.tocsc()
    for j in range(Y.shape[1]):
        yield label_columns[:, [j]].toarray().ravel() > 0


def threshold_table(
    scores: np.ndarray, has_label: np.ndarray, threshold: float, known: np.ndarray | None = None
) -> ThresholdTable:
    """Return the thresholds to offer for one label, with the exact counts of known rows at each of them."""
    lacks_label = ~has_label if known is None else known & ~has_label
    distinct_scores = np.unique(scores)
    score_midpoints = (distinct_scores[1:] + distinct_scores[:-1]) / 2
    score_midpoints = score_midpoints[
        (score_midpoints > distinct_scores[:-1]) & (score_midpoints < distinct_scores[1:])
    ]
    edges = np.concatenate(
        [
            _thresholds_below(np.unique(scores[has_label]), score_midpoints),
            _thresholds_over_scores(score_midpoints),
        ]
    )
    edges = np.unique(edges)
    if np.isfinite(threshold):
        edges = np.unique(np.append(edges, threshold))
        chosen_edge = int(np.searchsorted(edges, threshold))
    else:
        chosen_edge = len(edges) if threshold > 0 else -1
    buckets = np.searchsorted(edges, scores, side="left").astype(np.uint8)
    n_buckets = len(edges) + 1
    return ThresholdTable(
        edges,
        chosen_edge,
        buckets,
        np.bincount(buckets[has_label], minlength=n_buckets),
        np.bincount(buckets[lacks_label], minlength=n_buckets),
    )


def _thresholds_below(positive_scores: np.ndarray, score_midpoints: np.ndarray) -> np.ndarray:
    """Return the thresholds just below scores of positive rows: between them F1 can only fall."""
    midpoint_index = np.searchsorted(score_midpoints, positive_scores, side="left") - 1
    lower_midpoints = score_midpoints[np.unique(midpoint_index[midpoint_index >= 0])]
    if len(lower_midpoints) <= _NEAR_POSITIVES:
        return lower_midpoints
    return lower_midpoints[np.linspace(0, len(lower_midpoints) - 1, _NEAR_POSITIVES).round().astype(int)]


def _thresholds_over_scores(score_midpoints: np.ndarray) -> np.ndarray:
    """Return thresholds over all scores, denser towards the high ones."""
    max_edges = EDGES - 1 - _NEAR_POSITIVES
    if len(score_midpoints) <= max_edges:
        return score_midpoints
    ranks_from_top = np.unique(np.geomspace(1, len(score_midpoints), max_edges).round().astype(int))
    return score_midpoints[len(score_midpoints) - ranks_from_top]


# -- measures and their intervals -----------------------------------------------------------------------


def summary_metrics(judged: PageScores) -> dict[str, Any]:
    """Return macro- and micro-F1, precision and recall with 95 % intervals, and counts of each label.

    Thresholds tuned on these very scores would flatter: they are tuned anew on four fifths of the rows for
    each fifth. Every figure and its interval come from these decisions. Labels on no row do not count in the
    mean.
    """
    label_sets, Y = honest_sets(judged) & judged.known, judged.Y
    predicted_sets = sparse.csr_array(label_sets.astype(np.int64))
    hit_sets = predicted_sets.multiply(Y).tocsr()
    n = Y.shape[0]
    row_weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_DRAWS).astype(np.float64)
    row_weights = np.vstack([np.ones(n), row_weights])
    hit_counts, predicted_counts, actual_counts = (
        np.asarray((indicators.T @ row_weights.T).T) for indicators in (hit_sets, predicted_sets, Y)
    )
    has_positives = actual_counts[0] > 0
    f1 = 2 * hit_counts / np.maximum(predicted_counts + actual_counts, 1)
    micro_hits, micro_predicted = hit_counts.sum(1), predicted_counts.sum(1)
    micro_actual = actual_counts.sum(1)
    measure_draws = {
        "f1_macro": f1[:, has_positives].mean(1) if has_positives.any() else np.zeros(len(row_weights)),
        "f1_micro": 2 * micro_hits / np.maximum(micro_predicted + micro_actual, 1),
        "precision": micro_hits / np.maximum(micro_predicted, 1),
        "recall": micro_hits / np.maximum(micro_actual, 1),
    }
    f1_low, f1_high = f1_interval(hit_counts[0], predicted_counts[0], actual_counts[0])
    return {
        "cross_fitted": judged.strategy is not None,
        "measures": {
            name: [float(v[0]), *map(float, _bootstrap_interval(v, n))] for name, v in measure_draws.items()
        },
        "hits": hit_counts[0].astype(np.int64),
        "predicted": predicted_counts[0].astype(np.int64),
        "f1_low": f1_low,
        "f1_high": f1_high,
    }


def f1_interval(hits: np.ndarray, predicted: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 95 % intervals of F1 from the counts of each label.

    Of the rows that carry a label or are predicted to, the hits are a binomial share J (independent rows).
    F1 = 2J/(1 + J) rises with J. So the exact interval of a share (Clopper and Pearson) is one of F1: it
    contains the figure and has a width however few the rows.
    """
    union_counts = predicted + actual - hits
    share_low = np.where(hits > 0, beta.ppf(0.025, np.maximum(hits, 1), union_counts - hits + 1), 0.0)
    share_high = np.where(
        hits < union_counts, beta.ppf(0.975, hits + 1, np.maximum(union_counts - hits, 1)), 1.0
    )
    return 2 * share_low / (1 + share_low), 2 * share_high / (1 + share_high)


def _bootstrap_interval(measure_draws: np.ndarray, n_rows: int) -> np.ndarray:
    """Return a 95 % interval around the figure itself: resampled rows repeat, which moves the centre.

    Rows without a mistake stay so however they are drawn: there the exact interval of a share of rows serves.
    """
    lower_bound, upper_bound = np.percentile(measure_draws[1:] - measure_draws[1:].mean(), [2.5, 97.5])
    lower_bound, upper_bound = np.clip(
        measure_draws[0] + np.array([min(lower_bound, 0.0), max(upper_bound, 0.0)]), 0, 1
    )
    if measure_draws[0] == 1:
        lower_bound = min(lower_bound, 0.025 ** (1 / n_rows))
    if measure_draws[0] == 0:
        upper_bound = max(upper_bound, 1 - 0.025 ** (1 / n_rows))
    return np.array([lower_bound, upper_bound])


def honest_sets(judged: PageScores) -> np.ndarray:
    """Return label sets by thresholds chosen on other rows: chosen again for each fifth where needed."""
    if judged.strategy is None:
        return decide(judged.scores, judged.thresholds)
    return decide_by_folds(judged.strategy, OutOfFold(judged.scores, judged.targets))


def decide_by_folds(strategy: Strategy, data: OutOfFold) -> np.ndarray:
    """Return the label sets of each fifth of the rows, by a rule fitted on the others."""
    folds = make_folds(5, data.Y, at_most_rows=True, shuffle=True, random_state=0)
    return cross_decide(strategy, data, folds)


def calibration_errors(judged: PageScores, p: np.ndarray) -> list[float]:
    """Return the calibration error of each label's probabilities."""
    label_curves = [
        reliability(judged.targets[:, [j]], p[:, [j]], n_bins=10) if judged.known[:, j].any() else None
        for j in range(p.shape[1])
    ]
    return [0.0 if curve is None else round(float(curve.calibration_error), 5) for curve in label_curves]


def row_review_order(judged: PageScores, p: np.ndarray) -> np.ndarray:
    """Return the rows ordered by their most doubtful label, the most doubtful first."""
    label_doubt = p.copy()
    positive_rows, positive_labels = judged.Y.nonzero()
    label_doubt[positive_rows, positive_labels] = 1 - label_doubt[positive_rows, positive_labels]
    label_doubt = np.where(judged.known, label_doubt, np.minimum(p, 1 - p))
    return np.argsort(-label_doubt.max(axis=1), kind="stable")


# -- a map of the labels --------------------------------------------------------------------------------


def label_map(Y: sparse.csr_array) -> dict[str, list[Any]]:
    """Return positions, sizes and clusters of labels: labels of the same rows are near each other."""
    label_counts = np.asarray(Y.sum(axis=0)).ravel().astype(np.float64)
    pair_counts = np.asarray((Y.T @ Y).todense(), dtype=np.float64)
    label_similarity = pair_counts / np.sqrt(np.maximum(np.outer(label_counts, label_counts), 1))
    np.fill_diagonal(label_similarity, 1.0)
    relative_radius = np.maximum(np.sqrt(label_counts / max(label_counts.max(), 1)), 0.18)
    embedded_labels = _embed_labels(label_similarity)
    map_positions = _push_apart(_fill_map(embedded_labels), relative_radius)
    return {
        "x": map_positions[:, 0].round(4).tolist(),
        "y": map_positions[:, 1].round(4).tolist(),
        "r": (relative_radius * _largest_radius(relative_radius)).round(4).tolist(),
        "cluster": _cluster_labels(embedded_labels, label_counts),
    }


def _fill_map(embedded_labels: np.ndarray) -> np.ndarray:
    """Return positions in the box of the map, halfway to their ranks so that outliers do not shrink it."""
    k = len(embedded_labels)
    label_ranks = np.argsort(np.argsort(embedded_labels, axis=0, kind="stable"), axis=0, kind="stable")
    low_percentile, high_percentile = np.percentile(embedded_labels, [3, 97], axis=0)
    clipped_offsets = np.clip(embedded_labels, low_percentile, high_percentile) - low_percentile
    clipped_shares = clipped_offsets / np.maximum(high_percentile - low_percentile, 1e-9)
    return (0.5 * (label_ranks / max(k - 1, 1)) + 0.5 * clipped_shares) * _BOX


def _largest_radius(relative_radius: np.ndarray) -> float:
    """Return the radius of the largest label: the circles fill a fifth of the map."""
    return float(np.sqrt(0.2 * _BOX.prod() / (np.pi * (relative_radius**2).sum())))


def _embed_labels(label_similarity: np.ndarray) -> np.ndarray:
    k = len(label_similarity)
    if k < 5:
        circle_angles = np.arange(k) * 2 * np.pi / max(k, 1)
        return np.column_stack([np.cos(circle_angles), np.sin(circle_angles)])
    from sklearn.manifold import TSNE

    label_distance = np.sqrt(np.maximum(2 - 2 * np.clip(label_similarity, 0, 1), 0))
    n_neighbors = min(15.0, (k - 1) / 3)
    tsne_model = TSNE(metric="precomputed", init="random", perplexity=n_neighbors, random_state=0)
    return np.asarray(tsne_model.fit_transform(label_distance), dtype=np.float64)


def _push_apart(map_positions: np.ndarray, relative_radius: np.ndarray) -> np.ndarray:
    """Push overlapping circles apart."""
    circle_radius = relative_radius * _largest_radius(relative_radius)
    map_positions = map_positions.copy()
    for _ in range(120):
        near_pairs = cKDTree(map_positions).query_pairs(
            2.24 * float(circle_radius.max()), output_type="ndarray"
        )
        i, j = near_pairs[:, 0], near_pairs[:, 1]
        pair_offset = map_positions[i] - map_positions[j]
        pair_distance = np.sqrt((pair_offset**2).sum(axis=1)) + 1e-9
        pair_overlap = np.maximum(1.12 * (circle_radius[i] + circle_radius[j]) - pair_distance, 0)
        if not pair_overlap.any():
            break
        pair_shift = 0.5 * pair_offset * (pair_overlap / pair_distance)[:, None]
        np.add.at(map_positions, i, pair_shift)
        np.subtract.at(map_positions, j, pair_shift)
    return map_positions - (map_positions - circle_radius[:, None]).min(axis=0)


def _cluster_labels(embedded_labels: np.ndarray, label_counts: np.ndarray) -> list[int]:
    """Return the Ward clusters of labels, numbered by how many rows their labels have, the largest first."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(embedded_labels) < 3:
        return [0] * len(embedded_labels)
    cluster_of_label = fcluster(
        linkage(embedded_labels, "ward"), t=min(8, max(2, len(embedded_labels) // 8)), criterion="maxclust"
    )
    cluster_rows = np.bincount(cluster_of_label, weights=label_counts)
    cluster_rank = np.empty(len(cluster_rows), dtype=int)
    cluster_rank[np.argsort(-cluster_rows, kind="stable")] = np.arange(len(cluster_rows))
    return [int(cluster_rank[c]) for c in cluster_of_label]

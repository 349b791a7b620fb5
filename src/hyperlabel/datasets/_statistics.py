"""Statistics of a label indicator: cardinality, imbalance, correlated pairs of labels."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

_FEWEST_TOGETHER = 5  # rows that must have both labels of a pair: φ of rarer pairs is noise
_MOST_PAIR_LABELS = 2000  # pairs are looked for among the most frequent labels beyond this many


def describe_labels(Y: sparse.csr_array, label_names: Any = None, *, n_pairs: int = 10) -> dict[str, Any]:
    """Return statistics of an indicator matrix; see `Dataset.describe`."""
    n_rows, n_labels = Y.shape
    set_sizes = np.diff(Y.indptr)
    label_counts = np.bincount(Y.indices, minlength=n_labels)
    positive_counts = label_counts[label_counts > 0]
    imbalance_ratios = positive_counts.max() / positive_counts if positive_counts.size else np.zeros(0)
    n_distinct_sets = len({Y.indices[a:b].tobytes() for a, b in pairwise(Y.indptr)})
    cardinality = float(set_sizes.mean()) if n_rows else 0.0
    return {
        "cardinality": cardinality,
        "density": cardinality / n_labels if n_labels else 0.0,
        "max_labels_per_row": int(set_sizes.max(initial=0)),
        "distinct_label_sets": n_distinct_sets,
        "hypercube_sparsity_log2": float(np.log2(n_distinct_sets) - n_labels) if n_distinct_sets else None,
        "rows_without_labels": int((set_sizes == 0).sum()),
        "labels_without_positives": int((label_counts == 0).sum()),
        "rarest_label": int(positive_counts.min()) if positive_counts.size else 0,
        "most_frequent_label": int(label_counts.max(initial=0)),
        "mean_imbalance_ratio": float(imbalance_ratios.mean()) if imbalance_ratios.size else None,
        "max_imbalance_ratio": float(imbalance_ratios.max()) if imbalance_ratios.size else None,
        "correlated_pairs": correlated_pairs(Y, label_names, n_pairs=n_pairs),
    }


def correlated_pairs(
    Y: sparse.csr_array, label_names: Any = None, *, n_pairs: int = 10
) -> list[dict[str, Any]]:
    """Return the pairs of labels with the largest φ coefficient, among pairs with enough rows together.

    φ is the correlation of two 0/1 columns,
    ``(n·n_ab − n_a·n_b) / sqrt(n_a (n − n_a) n_b (n − n_b))``.
    """
    n_rows, n_labels = Y.shape
    label_counts = np.bincount(Y.indices, minlength=n_labels)
    pair_labels = np.flatnonzero((label_counts > 0) & (label_counts < n_rows))
    if len(pair_labels) > _MOST_PAIR_LABELS:
        pair_labels = np.sort(
            pair_labels[np.argsort(-label_counts[pair_labels], kind="stable")[:_MOST_PAIR_LABELS]]
        )
    if len(pair_labels) < 2:
        return []
    pair_indicator = Y[:, pair_labels].astype(np.float64)
    joint_counts = sparse.triu(pair_indicator.T @ pair_indicator, k=1, format="coo")
    a, b = (np.asarray(axis) for axis in joint_counts.coords)
    na, nb = (label_counts[pair_labels][pair_side].astype(np.float64) for pair_side in (a, b))
    phi = (n_rows * joint_counts.data - na * nb) / np.sqrt(na * (n_rows - na) * nb * (n_rows - nb))
    phi = np.where(joint_counts.data >= _FEWEST_TOGETHER, phi, -np.inf)
    best_pairs = [i for i in np.argsort(-phi, kind="stable")[:n_pairs] if np.isfinite(phi[i])]
    names = range(n_labels) if label_names is None else label_names
    return [
        {
            "labels": [str(names[int(pair_labels[a[i]])]), str(names[int(pair_labels[b[i]])])],
            "phi": float(phi[i]),
            "together": int(joint_counts.data[i]),
        }
        for i in best_pairs
    ]

"""What a multi-label data set looks like, in numbers."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

_FEWEST_TOGETHER = 5  # rows that must have both labels of a pair: φ of rarer ones is chance
_MOST_PAIR_LABELS = 2000  # pairs are looked for among the most frequent labels beyond this many


def describe_labels(Y: sparse.csr_array, label_names: Any = None, *, n_pairs: int = 10) -> dict[str, Any]:
    """Return statistics of an indicator matrix; see `Dataset.describe`."""
    n_rows, n_labels = Y.shape
    sizes = np.diff(Y.indptr)
    counts = np.bincount(Y.indices, minlength=n_labels)
    present = counts[counts > 0]
    ratio = present.max() / present if present.size else np.zeros(0)
    distinct = len({Y.indices[a:b].tobytes() for a, b in pairwise(Y.indptr)})
    cardinality = float(sizes.mean()) if n_rows else 0.0
    return {
        "cardinality": cardinality,
        "density": cardinality / n_labels if n_labels else 0.0,
        "max_labels_per_row": int(sizes.max(initial=0)),
        "distinct_label_sets": distinct,
        "hypercube_sparsity_log2": float(np.log2(distinct) - n_labels) if distinct else None,
        "rows_without_labels": int((sizes == 0).sum()),
        "labels_without_positives": int((counts == 0).sum()),
        "rarest_label": int(present.min()) if present.size else 0,
        "most_frequent_label": int(counts.max(initial=0)),
        "mean_imbalance_ratio": float(ratio.mean()) if ratio.size else None,
        "max_imbalance_ratio": float(ratio.max()) if ratio.size else None,
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
    counts = np.bincount(Y.indices, minlength=n_labels)
    kept = np.flatnonzero((counts > 0) & (counts < n_rows))
    if len(kept) > _MOST_PAIR_LABELS:
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:_MOST_PAIR_LABELS]])
    if len(kept) < 2:
        return []
    part = Y[:, kept].astype(np.float64)
    together = sparse.triu(part.T @ part, k=1, format="coo")
    a, b = (np.asarray(axis) for axis in together.coords)
    na, nb = (counts[kept][side].astype(np.float64) for side in (a, b))
    phi = (n_rows * together.data - na * nb) / np.sqrt(na * (n_rows - na) * nb * (n_rows - nb))
    phi = np.where(together.data >= _FEWEST_TOGETHER, phi, -np.inf)
    best = [i for i in np.argsort(-phi, kind="stable")[:n_pairs] if np.isfinite(phi[i])]
    names = range(n_labels) if label_names is None else label_names
    return [
        {
            "labels": [str(names[int(kept[a[i]])]), str(names[int(kept[b[i]])])],
            "phi": float(phi[i]),
            "together": int(together.data[i]),
        }
        for i in best
    ]

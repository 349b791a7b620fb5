"""A portrait of a data set: what a report shows of the data, as plain JSON."""

from typing import Any

import numpy as np

from hyperlabel.apps.comparison.protocol import data_facts
from hyperlabel.datasets import Dataset
from hyperlabel.geometry.hypercube import distinct_vertices

MOST_LABELS = 25
MOST_POINTS = 500
EXPANSIONS = ("clique", "star", "zhou")


def data_profile(data: Dataset) -> dict[str, Any]:
    """Describe a data set in plain JSON: sizes, label counts, co-occurrence, spectrum, an embedding."""
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    sizes = np.asarray(data.Y.sum(axis=1)).ravel()
    return {
        **data_facts(data),
        "label_names": list(data.label_names),
        "label_counts": [int(c) for c in counts],
        "rows_without_labels": int((sizes == 0).sum()),
        "labels_without_rows": int((counts == 0).sum()),
        "distinct_label_sets": len(distinct_vertices(data.Y).counts),
        "cooccurrence": label_cooccurrence(data),
        "spectrum": similarity_spectrum(data.Y),
        "embedding": _embed_rows(data, counts),
    }


def label_cooccurrence(data: Dataset) -> dict[str, Any]:
    """Return P(column | row) among the most frequent labels."""
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    top = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    top = top[counts[top] > 0]
    Y = data.Y[:, top]
    share = (Y.T @ Y).toarray() / counts[top][:, None]
    return {"labels": [data.label_names[j] for j in top], "share": share.round(4).tolist()}


def similarity_spectrum(Y: Any) -> dict[str, list[float]]:
    """Return the eigenvalues of the normalised similarity S = I − L: how few directions carry the labels."""
    from hyperlabel.geometry import LabelHypergraph

    graph = LabelHypergraph(Y)
    found = {}
    for name in EXPANSIONS:
        factor = graph.factor(name).tosparse()
        if factor.shape[1] > 2000:  # a k×k Gram is meant to be small
            continue
        values = np.linalg.eigvalsh((factor.T @ factor).toarray())[::-1]
        found[name] = [round(float(v), 6) for v in np.clip(values, 0.0, None)[:100]]
    return found


def _embed_rows(data: Dataset, counts: np.ndarray) -> dict[str, Any] | None:
    """Two hypergraph components fitted on one half of the rows, shown for rows of the other half."""
    from hyperlabel import HypergraphSpectral

    if data.n_labels < 3 or data.n_rows < 20:
        return None
    order = np.random.default_rng(0).permutation(data.n_rows)
    half = data.n_rows // 2
    fit, show = order[:half][:4000], order[half:][:MOST_POINTS]
    Y = data.Y[fit]
    if (np.asarray(Y.sum(axis=0)).ravel() > 0).sum() < 3:
        return None
    model = HypergraphSpectral(2, expansion="zhou", alpha=_default_alpha(data.X[fit])).fit(data.X[fit], Y)
    points = model.transform(data.X[show])
    top = [int(j) for j in np.argsort(-counts, kind="stable")[:5]]
    shown = data.Y[show].toarray() > 0
    # A row is drawn in the colour of its rarest label among the five most frequent ones.
    colour = [next((i for i in reversed(range(len(top))) if row[top[i]]), -1) for row in shown]
    return {
        "points": np.asarray(points).round(5).tolist(),
        "colour": colour,
        "labels": [data.label_names[j] for j in top],
    }


def _default_alpha(X: Any) -> float:
    """A ridge in the units of X: a tenth of the mean squared column norm."""
    squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.square(X).sum()
    return float(max(0.1 * squares / X.shape[1], 1e-8))

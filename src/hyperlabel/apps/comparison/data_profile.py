"""The profile of a data set that a report shows, as plain JSON."""

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
    label_counts = np.asarray(data.Y.sum(axis=0)).ravel()
    set_sizes = np.asarray(data.Y.sum(axis=1)).ravel()
    return {
        **data_facts(data),
        "label_names": list(data.label_names),
        "label_counts": [int(c) for c in label_counts],
        "rows_without_labels": int((set_sizes == 0).sum()),
        "labels_without_rows": int((label_counts == 0).sum()),
        "distinct_label_sets": len(distinct_vertices(data.Y).counts),
        "cooccurrence": label_cooccurrence(data),
        "spectrum": similarity_spectrum(data.Y),
        "embedding": _embed_rows(data, label_counts),
    }


def label_cooccurrence(data: Dataset) -> dict[str, Any]:
    """Return P(column | row) among the most frequent labels."""
    label_counts = np.asarray(data.Y.sum(axis=0)).ravel()
    top_labels = np.argsort(-label_counts, kind="stable")[:MOST_LABELS]
    top_labels = top_labels[label_counts[top_labels] > 0]
    Y = data.Y[:, top_labels]
    pair_share = (Y.T @ Y).toarray() / label_counts[top_labels][:, None]
    return {"labels": [data.label_names[j] for j in top_labels], "share": pair_share.round(4).tolist()}


def similarity_spectrum(Y: Any) -> dict[str, list[float]]:
    """Return the eigenvalues of the normalised similarity S = I − L: how few directions carry the labels."""
    from hyperlabel.geometry import LabelHypergraph

    label_graph = LabelHypergraph(Y)
    spectrum_of_expansion = {}
    for name in EXPANSIONS:
        label_factor = label_graph.factor(name).tosparse()
        if label_factor.shape[1] > 2000:  # a k×k Gram is meant to be small
            continue
        eigenvalues = np.linalg.eigvalsh((label_factor.T @ label_factor).toarray())[::-1]
        spectrum_of_expansion[name] = [round(float(v), 6) for v in np.clip(eigenvalues, 0.0, None)[:100]]
    return spectrum_of_expansion


def _embed_rows(data: Dataset, label_counts: np.ndarray) -> dict[str, Any] | None:
    """Return two hypergraph components of rows not used in their fit, and the colour of each row."""
    from hyperlabel import HypergraphSpectral

    if data.n_labels < 3 or data.n_rows < 20:
        return None
    row_order = np.random.default_rng(0).permutation(data.n_rows)
    n_half = data.n_rows // 2
    fit_rows, display_rows = row_order[:n_half][:4000], row_order[n_half:][:MOST_POINTS]
    Y = data.Y[fit_rows]
    if (np.asarray(Y.sum(axis=0)).ravel() > 0).sum() < 3:
        return None
    model = HypergraphSpectral(2, expansion="zhou", alpha=_default_alpha(data.X[fit_rows])).fit(
        data.X[fit_rows], Y
    )
    embedded_rows = model.transform(data.X[display_rows])
    top_labels = [int(j) for j in np.argsort(-label_counts, kind="stable")[:5]]
    has_label = data.Y[display_rows].toarray() > 0
    # A row is drawn in the colour of its rarest label among the five most frequent ones.
    row_colours = [
        next((i for i in reversed(range(len(top_labels))) if row[top_labels[i]]), -1) for row in has_label
    ]
    return {
        "points": np.asarray(embedded_rows).round(5).tolist(),
        "colour": row_colours,
        "labels": [data.label_names[j] for j in top_labels],
    }


def _default_alpha(X: Any) -> float:
    """Return a ridge penalty in the units of X: a tenth of the mean squared column norm."""
    squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.square(X).sum()
    return float(max(0.1 * squares / X.shape[1], 1e-8))

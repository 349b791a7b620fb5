"""A seeded generator of multi-label data, from a handful of labels to 10⁵."""

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets._dataset import Dataset

_ROUNDS = 30  # redraws of labels a row already has; the last half ignore topics


def make_multilabel(
    n_rows: int = 1000,
    n_features: int = 50,
    n_labels: int = 10,
    *,
    cardinality: float = 2.0,
    correlation: float = 0.5,
    exponent: float = 0.0,
    density: float = 1.0,
    noise: float = 0.5,
    random_state: int | np.random.Generator | None = None,
    name: str = "synthetic",
) -> Dataset:
    r"""Draw label sets from topics, and features from the labels.

    Row i has one of about √k topics, t_i, and c_i labels. Each label comes from the labels of its topic with
    probability ρ, otherwise from all labels, always in proportion to the weights
    :math:`w_j \propto j^{-a}`; so labels of one topic appear together the more the larger ρ is, and ρ leaves
    their frequencies alone. Features follow the labels:

    .. math:: x_i = \frac{1}{\sqrt{c_i}} \sum_{j \in Y_i} p_j + \sigma e_i ,

    or, when sparse, counts of words drawn from the word lists of the row's labels.

    where:

    - :math:`c_i` is ``1 + Poisson(cardinality − 1)``, plain ``Poisson`` when cardinality < 1;
    - ρ is ``correlation``, a is ``exponent``, σ is ``noise``;
    - :math:`p_j, e_i` are standard normal (dense).

    Parameters
    ----------
    n_rows, n_features, n_labels : int
        Sizes n, d, k.
    cardinality : float
        Mean number of labels of a row.
    correlation : float in [0, 1]
        0: labels appear independently of each other; 1: a row stays inside its topic.
    exponent : float ≥ 0
        0: labels are equally frequent; 1 to 1.5: the power law of large tag collections.
    density : float in (0, 1]
        1 gives a dense X; less gives a ``csr_array`` with about this share of non-zeros.
    noise : float ≥ 0
        Dense: standard deviation of the noise. Sparse: share (capped at 1) of words that have
        nothing to do with the labels.
    random_state : int, Generator or None
        Seed. The same seed gives the same data.
    name : str
        Name of the data set.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from hyperlabel.datasets import make_multilabel
    >>> make_multilabel(100, 20, 5, random_state=0)
    Dataset('synthetic', n=100, d=20, k=5, dense)
    >>> make_multilabel(100, 500, 10_000, density=0.02, exponent=1.0, random_state=0)
    Dataset('synthetic', n=100, d=500, k=10000, sparse)
    """
    if min(n_rows, n_features, n_labels) < 1:
        raise ValueError("n_rows, n_features and n_labels must be at least 1.")
    if not 0 <= cardinality <= n_labels:
        raise ValueError(f"cardinality must lie between 0 and n_labels={n_labels}, not {cardinality}.")
    if not 0 <= correlation <= 1:
        raise ValueError(f"correlation must lie between 0 and 1, not {correlation}.")
    if not 0 < density <= 1:
        raise ValueError(f"density must be above 0 and at most 1, not {density}.")
    if exponent < 0 or noise < 0:
        raise ValueError("exponent and noise must not be negative.")
    rng = np.random.default_rng(random_state)
    Y = _draw_labels(rng, n_rows, n_labels, cardinality, correlation, exponent)
    X: Any
    if density == 1:
        label_counts = np.maximum(np.diff(Y.indptr), 1)
        label_prototypes = rng.standard_normal((n_labels, n_features))
        X = (Y @ label_prototypes) / np.sqrt(label_counts)[:, None]
        X += noise * rng.standard_normal((n_rows, n_features))
    else:
        X = _draw_words(rng, Y, n_features, density, min(noise, 1.0))
    return Dataset(X, Y, name=name)


def _draw_labels(
    rng: np.random.Generator,
    n_rows: int,
    n_labels: int,
    cardinality: float,
    correlation: float,
    exponent: float,
) -> sparse.csr_array:
    label_weights = np.arange(1, n_labels + 1, dtype=np.float64) ** -exponent
    n_topics = max(1, round(n_labels**0.5))
    topic_of_label = rng.permutation(n_labels) % n_topics
    label_order = np.argsort(topic_of_label, kind="stable")  # labels of one topic side by side
    cumulative_weights = np.concatenate([[0.0], np.cumsum(label_weights[label_order])])
    topic_edges = cumulative_weights[np.searchsorted(topic_of_label[label_order], np.arange(n_topics + 1))]
    row_topics = np.searchsorted(topic_edges, rng.random(n_rows) * cumulative_weights[-1], side="right") - 1
    row_topics = np.minimum(row_topics, n_topics - 1)
    set_sizes = (
        rng.poisson(cardinality - 1, n_rows) + 1 if cardinality >= 1 else rng.poisson(cardinality, n_rows)
    )
    set_sizes = np.minimum(set_sizes, n_labels)
    entry_keys = np.empty(0, dtype=np.int64)  # row · n_labels + label, distinct and sorted
    for redraw in range(_ROUNDS):
        n_missing = set_sizes - np.bincount(entry_keys // n_labels, minlength=n_rows)
        row_index = np.repeat(np.arange(n_rows), n_missing)
        if not row_index.size:
            break
        in_topic = (
            rng.random(row_index.size) < correlation
            if redraw < _ROUNDS // 2
            else np.zeros(row_index.size, bool)
        )
        low_weights = np.where(in_topic, topic_edges[row_topics[row_index]], 0.0)
        high_weights = np.where(in_topic, topic_edges[row_topics[row_index] + 1], cumulative_weights[-1])
        drawn_weights = low_weights + rng.random(row_index.size) * (high_weights - low_weights)
        drawn_positions = np.searchsorted(cumulative_weights, drawn_weights, side="right") - 1
        drawn_labels = label_order[np.minimum(drawn_positions, n_labels - 1)]
        entry_keys = np.union1d(entry_keys, row_index * np.int64(n_labels) + drawn_labels)
    row_index, drawn_labels = np.divmod(entry_keys, n_labels)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row_index, minlength=n_rows))])
    return sparse.csr_array(
        (np.ones(len(entry_keys), dtype=np.int64), drawn_labels, indptr), shape=(n_rows, n_labels)
    )


def _draw_words(
    rng: np.random.Generator, Y: sparse.csr_array, n_features: int, density: float, noise: float
) -> sparse.csr_array:
    """Draw the words of a row from the lists of its labels, or (with probability ``noise``) any word."""
    n_rows, n_labels = Y.shape
    # A word drawn again adds to its count instead of a new entry; −d·log(1 − density) draws make up for it.
    mean_length = -n_features * np.log1p(-density)
    row_lengths = rng.poisson(mean_length, n_rows)
    row_index = np.repeat(np.arange(n_rows), row_lengths)
    set_sizes = np.diff(Y.indptr)
    list_length = max(4, int(np.ceil(2 * density * n_features)))
    word_lists = rng.integers(0, n_features, size=(n_labels, min(list_length, 64)))
    drawn_words = rng.integers(0, n_features, size=row_index.size)
    label_draws = np.flatnonzero((rng.random(row_index.size) >= noise) & (set_sizes[row_index] > 0))
    draw_rows = row_index[label_draws]
    label_entries = Y.indptr[draw_rows] + (rng.random(label_draws.size) * set_sizes[draw_rows]).astype(
        np.int64
    )
    drawn_words[label_draws] = word_lists[
        Y.indices[label_entries], rng.integers(0, word_lists.shape[1], size=label_draws.size)
    ]
    return sparse.coo_array(
        (np.ones(row_index.size), (row_index, drawn_words)), shape=(n_rows, n_features)
    ).tocsr()

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
        sizes = np.maximum(np.diff(Y.indptr), 1)
        prototypes = rng.standard_normal((n_labels, n_features))
        X = (Y @ prototypes) / np.sqrt(sizes)[:, None]
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
    weights = np.arange(1, n_labels + 1, dtype=np.float64) ** -exponent
    n_topics = max(1, round(n_labels**0.5))
    home = rng.permutation(n_labels) % n_topics
    order = np.argsort(home, kind="stable")  # labels of one topic side by side
    mass = np.concatenate([[0.0], np.cumsum(weights[order])])
    edges = mass[np.searchsorted(home[order], np.arange(n_topics + 1))]
    topic = np.searchsorted(edges, rng.random(n_rows) * mass[-1], side="right") - 1
    topic = np.minimum(topic, n_topics - 1)
    sizes = rng.poisson(cardinality - 1, n_rows) + 1 if cardinality >= 1 else rng.poisson(cardinality, n_rows)
    sizes = np.minimum(sizes, n_labels)
    keys = np.empty(0, dtype=np.int64)  # row · n_labels + label, distinct and sorted
    for turn in range(_ROUNDS):
        missing = sizes - np.bincount(keys // n_labels, minlength=n_rows)
        rows = np.repeat(np.arange(n_rows), missing)
        if not rows.size:
            break
        inside = rng.random(rows.size) < correlation if turn < _ROUNDS // 2 else np.zeros(rows.size, bool)
        low = np.where(inside, edges[topic[rows]], 0.0)
        high = np.where(inside, edges[topic[rows] + 1], mass[-1])
        drawn = np.searchsorted(mass, low + rng.random(rows.size) * (high - low), side="right") - 1
        labels = order[np.minimum(drawn, n_labels - 1)]
        keys = np.union1d(keys, rows * np.int64(n_labels) + labels)
    rows, labels = np.divmod(keys, n_labels)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
    return sparse.csr_array((np.ones(len(keys), dtype=np.int64), labels, indptr), shape=(n_rows, n_labels))


def _draw_words(
    rng: np.random.Generator, Y: sparse.csr_array, n_features: int, density: float, noise: float
) -> sparse.csr_array:
    """Words of a row: from the lists of its labels, or (with probability ``noise``) any word."""
    n_rows, n_labels = Y.shape
    # A word drawn again adds to its count instead of a new entry; −d·log(1 − density) draws make up for it.
    mean = -n_features * np.log1p(-density)
    lengths = rng.poisson(mean, n_rows)
    rows = np.repeat(np.arange(n_rows), lengths)
    sizes = np.diff(Y.indptr)
    listed = max(4, int(np.ceil(2 * density * n_features)))
    lists = rng.integers(0, n_features, size=(n_labels, min(listed, 64)))
    words = rng.integers(0, n_features, size=rows.size)
    meant = np.flatnonzero((rng.random(rows.size) >= noise) & (sizes[rows] > 0))
    pick = Y.indptr[rows[meant]] + (rng.random(meant.size) * sizes[rows[meant]]).astype(np.int64)
    words[meant] = lists[Y.indices[pick], rng.integers(0, lists.shape[1], size=meant.size)]
    return sparse.coo_array((np.ones(rows.size), (rows, words)), shape=(n_rows, n_features)).tocsr()

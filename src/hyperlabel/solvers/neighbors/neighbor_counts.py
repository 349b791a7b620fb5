"""ML-kNN's counting: how many neighbours carry a label, among rows that do and rows that don't.

Notation
--------
code           meaning (Zhang & Zhou 2007)                                shape
neighbors      the k neighbours of each row                               m×k
Y              labels of the rows searched, CSR of ones                   n×K
with_label     c[l][j]: rows with label l, j of whose neighbours have it  K×(k+1)
without_label  c′[l][j]: the same for rows without label l                K×(k+1)
log_odds_table log-odds of label l given j neighbours with it             K×(k+1)

Only labels met among the neighbours are touched, so the cost is O(Σ labels of neighbours),
not O(m·K), except for writing dense scores.
"""

import numpy as np
from scipy import sparse
from scipy.special import log_expit

from hyperlabel.solvers.compiling import check_csr_indices


def count_tables(neighbors: np.ndarray, Y: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return c and c′ of the training rows, whose neighbours are given."""
    _check_neighbors(neighbors, Y)
    if len(neighbors) != Y.shape[0]:
        raise ValueError(f"Each of the {Y.shape[0]} rows of Y needs its neighbours, got {len(neighbors)}.")
    counts = _count_labels(neighbors, Y)
    n_counts, own_counts = neighbors.shape[1] + 1, sparse.csr_array(counts.multiply(_ones(Y)))
    all_rows = _tabulate(counts, n_counts, np.full(Y.shape[1], len(neighbors)))
    with_label = _tabulate(own_counts, n_counts, np.bincount(Y.indices, minlength=Y.shape[1]))
    return with_label, all_rows - with_label


def log_odds(with_label: np.ndarray, without_label: np.ndarray, smoothing: float) -> np.ndarray:
    """Return log P(H₁)P(E_j|H₁) − log P(H₀)P(E_j|H₀) for every label and every count j.

    P(H₁) = (s + Σc)/(2s + n) and P(E_j|H₁) = (s + c_j)/(s(k+1) + Σc), likewise for H₀ with c′
    (equations 5–8 of the paper); c and c′ sum to the rows with and without the label.
    """
    return _log_evidence(with_label, smoothing) - _log_evidence(without_label, smoothing)


def leave_one_out_loss(with_label: np.ndarray, without_label: np.ndarray, smoothing: float) -> float:
    """Return the log loss over all training rows and labels, every row being left out of its own counts.

    A row with label l and j neighbours that have it is one of c[l][j] alike, so the tables say it all.
    """
    log_loss = 0.0
    for own_counts, opposite_counts in ((with_label, without_label), (without_label, with_label)):
        is_occupied = own_counts > 0  # counts that some row has
        own_evidence = _log_evidence(
            np.where(is_occupied, own_counts, 1), smoothing, own_counts.sum(axis=1) - 1, left_out=1
        )
        log_loss -= float(
            (own_counts * log_expit(own_evidence - _log_evidence(opposite_counts, smoothing)))[
                is_occupied
            ].sum()
        )
    return log_loss


def _log_evidence(
    counts: np.ndarray, smoothing: float, row_totals: np.ndarray | None = None, left_out: int = 0
) -> np.ndarray:
    """Return log P(H)P(E_j|H) but for the factor 1/(2s + n), which H₁ and H₀ share."""
    row_totals = (counts.sum(axis=1) if row_totals is None else np.maximum(row_totals, 0))[:, None]
    log_prior, log_normalizer = (
        np.log(smoothing + row_totals),
        np.log(smoothing * counts.shape[1] + row_totals),
    )
    return log_prior + np.log(smoothing + counts - left_out) - log_normalizer


def look_up(neighbors: np.ndarray, Y: sparse.csr_array, log_odds_table: np.ndarray) -> np.ndarray:
    """Return log_odds_table[l, count of l among the neighbours] for every row and label, m×K."""
    _check_neighbors(neighbors, Y)
    n_counts = neighbors.shape[1] + 1
    if log_odds_table.shape != (Y.shape[1], n_counts):
        raise ValueError(
            f"The table must be labels × counts, {Y.shape[1]}×{n_counts}; got {log_odds_table.shape}."
        )
    scores = np.empty((len(neighbors), Y.shape[1]))
    scores[:] = log_odds_table[:, 0]
    counts = _count_labels(neighbors, Y)
    row_index = np.repeat(np.arange(len(neighbors)), np.diff(counts.indptr))
    scores[row_index, counts.indices] = log_odds_table[counts.indices, counts.data]
    return scores


def known_counts(neighbors: np.ndarray, Y: sparse.csr_array, missing: sparse.csr_array) -> np.ndarray:
    """Return how many of k neighbours carry each label, as if the unknown ones were like the known, m×K.

    j of r neighbours that know the label count as k·j/r, rounded, a half up; −1 where none knows it.
    `missing` is the indicator of the unknown entries.
    """
    _check_neighbors(neighbors, Y)
    n, k = neighbors.shape
    neighborhood = sparse.csr_array(
        (np.ones(n * k), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, Y.shape[0])
    )
    positives, n_known = (neighborhood @ Y).toarray(), k - (neighborhood @ missing).toarray()
    shares = np.divide(positives, n_known, out=np.zeros_like(positives), where=n_known > 0)
    return np.where(n_known > 0, np.floor(k * shares + 0.5), -1).astype(np.int64)


def known_count_tables(
    neighbors: np.ndarray, Y: sparse.csr_array, missing: sparse.csr_array
) -> tuple[np.ndarray, np.ndarray]:
    """Return c and c′ over the entries that are known, and known to some neighbour: see `known_counts`."""
    counts, n_counts = known_counts(neighbors, Y, missing), neighbors.shape[1] + 1
    cells = counts + n_counts * np.arange(Y.shape[1])
    has_label, counts_in = Y.toarray() > 0, (counts >= 0) & ~(missing.toarray() > 0)
    tables = (
        np.bincount(cells[counts_in & side], minlength=n_counts * Y.shape[1])
        for side in (has_label, ~has_label)
    )
    with_label, without_label = (table.reshape(Y.shape[1], n_counts).astype(float) for table in tables)
    return with_label, without_label


def look_up_known(
    neighbors: np.ndarray,
    Y: sparse.csr_array,
    missing: sparse.csr_array,
    log_odds_table: np.ndarray,
    log_prior_odds: np.ndarray,
) -> np.ndarray:
    """Return log_odds_table[l, `known_counts`] of every row and label; the prior where none knows."""
    counts = known_counts(neighbors, Y, missing)
    scores = log_odds_table[np.arange(Y.shape[1]), counts]
    return np.where(counts >= 0, scores, log_prior_odds)


def _check_neighbors(neighbors: np.ndarray, Y: sparse.csr_array) -> None:
    check_csr_indices(Y)
    if not Y.has_canonical_format:  # a label met twice in one row would be counted past the table's end
        raise ValueError("Y must hold every label of a row once: call sum_duplicates() on it.")
    if neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < Y.shape[0]:
        raise ValueError(f"Neighbours must be rows of Y, 0 … {Y.shape[0] - 1}.")


def _count_labels(neighbors: np.ndarray, Y: sparse.csr_array) -> sparse.csr_array:
    """Return how many neighbours of a row carry each label, m×K; nothing is stored where none does."""
    row_starts = np.arange(len(neighbors) + 1) * neighbors.shape[1]
    is_neighbor = sparse.csr_array(
        (np.ones(neighbors.size, dtype=np.int64), neighbors.ravel(), row_starts),
        shape=(len(neighbors), Y.shape[0]),
    )
    return is_neighbor @ _ones(Y)


def _ones(Y: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)


def _tabulate(counts: sparse.csr_array, n_counts: int, n_rows: np.ndarray) -> np.ndarray:
    """Return how many of its `n_rows` rows have count 0, 1, … of a label, K×n_counts."""
    n_labels = counts.shape[1]
    table = np.bincount(
        counts.indices.astype(np.int64) * n_counts + counts.data, minlength=n_labels * n_counts
    )
    table = table.reshape(n_labels, n_counts).astype(np.float64)
    table[:, 0] = n_rows - table.sum(axis=1)
    return table

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

from hyperlabel.solvers.compiling import check_rows, compiled, csr_parts


def count_tables(neighbors: np.ndarray, Y: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return c and c′ of the training rows, whose neighbours are given."""
    _check_neighbors(neighbors, Y)
    if len(neighbors) != Y.shape[0]:
        raise ValueError(f"Each of the {Y.shape[0]} rows of Y needs its neighbours, got {len(neighbors)}.")
    return _count_all_rows(np.ascontiguousarray(neighbors, dtype=np.int64), *csr_parts(Y)[:2], Y.shape[1])


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
    neighbors = np.ascontiguousarray(neighbors, dtype=np.int64)
    _fill_scores(neighbors, *csr_parts(Y)[:2], np.ascontiguousarray(log_odds_table), scores)
    return scores


def _check_neighbors(neighbors: np.ndarray, Y: sparse.csr_array) -> None:
    check_rows(Y)
    if not Y.has_canonical_format:  # a label met twice in one row would be counted past the table's end
        raise ValueError("Y must hold every label of a row once: call sum_duplicates() on it.")
    if neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < Y.shape[0]:
        raise ValueError(f"Neighbours must be rows of Y, 0 … {Y.shape[0] - 1}.")


@compiled
def _count_labels(neighbors, indptr, indices, label_counts, met_labels):
    """Count the labels of the neighbours; return how many different ones were met."""
    n_met = 0
    for neighbor in neighbors:
        for p in range(indptr[neighbor], indptr[neighbor + 1]):
            label = indices[p]
            if label_counts[label] == 0:
                met_labels[n_met] = label
                n_met += 1
            label_counts[label] += 1
    return n_met


@compiled
def _count_all_rows(neighbors, indptr, indices, n_labels):
    n, k = neighbors.shape
    all_rows = np.zeros((n_labels, k + 1))
    with_label = np.zeros((n_labels, k + 1))
    label_counts, met_labels = np.zeros(n_labels, np.int64), np.empty(n_labels, np.int64)
    all_rows[:, 0] = n
    for i in range(n):
        n_met = _count_labels(neighbors[i], indptr, indices, label_counts, met_labels)
        for p in range(indptr[i], indptr[i + 1]):
            with_label[indices[p], label_counts[indices[p]]] += 1
        for m in range(n_met):
            all_rows[met_labels[m], label_counts[met_labels[m]]] += 1
            all_rows[met_labels[m], 0] -= 1
            label_counts[met_labels[m]] = 0
    return with_label, all_rows - with_label


@compiled
def _fill_scores(neighbors, indptr, indices, log_odds_table, scores):
    n_labels = len(log_odds_table)
    label_counts, met_labels = np.zeros(n_labels, np.int64), np.empty(n_labels, np.int64)
    for i in range(len(neighbors)):
        n_met = _count_labels(neighbors[i], indptr, indices, label_counts, met_labels)
        for m in range(n_met):
            scores[i, met_labels[m]] = log_odds_table[met_labels[m], label_counts[met_labels[m]]]
            label_counts[met_labels[m]] = 0

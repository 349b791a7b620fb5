"""A tree whose nodes part rows by their labels, in a way that new rows can follow.

Notation
--------
code        meaning                                                     shape
X           rows of unit length, ``csr_array``                          n×d
Y           label sets of unit length, ``csr_array``                    n×k
pull        difference of the centres of two groups of label sets       k
w           difference of the mean rows of the two groups               d

At each node
1. two rows with different labels, drawn at random, are the first centres of two groups;
2. rows join the centre nearer to their labels (cosine), and the centres move, `STEPS` times;
3. w keeps its largest entries, `KEPT` of its squared length;
4. a row goes to the second child where w·x lies above the middle of the two groups' means.
Nodes of at most `leaf_size` rows, of one label set, or whose groups have the same mean row are leaves.
A level costs O(nnz(X) + nnz(Y)), whatever the number of labels; a node takes 8 bytes for each entry of its w.

References
----------
Y. Prabhu, M. Varma, *FastXML*, KDD 2014 (rows parted by labels, linear splits); W. Siblini, P. Kuntz,
F. Meyer, *CRAFTML*, ICML 2018 (means of clusters of label sets tell new rows where to go).
"""

import numpy as np
from scipy import sparse

from hyperlabel.solvers.compiling import check_rows, check_shape, compiled, csr_parts

STEPS = 2
KEPT = 0.97
SAME = 1.0 - 1e-9  # the cosine of label sets that do not differ
TIE = 1e-9

Tree = tuple[
    sparse.csr_array, np.ndarray, np.ndarray
]  # w of each node, thresholds, children (a leaf's: itself)


def grow_tree(X: sparse.csr_array, Y: sparse.csr_array, leaf_size: int, seed: int) -> Tree:
    """Grow a tree on rows X with label sets Y down to nodes of at most `leaf_size` rows."""
    for A in (X, Y):
        check_rows(A)
    if X.shape[0] != Y.shape[0] or min(X.shape[0], leaf_size) < 1:  # compiled code trusts it
        raise ValueError(
            f"X and Y must have as many rows, at least one, and leaves some: {X.shape}, {Y.shape}, "
            f"{leaf_size}."
        )
    node_draws = np.random.default_rng(seed).random((2 * X.shape[0], 2))
    children, split_thresholds, *split_arrays = _grow_nodes(
        csr_parts(X), csr_parts(Y), X.shape[1], Y.shape[1], leaf_size, node_draws
    )
    return (
        sparse.csr_array(tuple(split_arrays[::-1]), shape=(len(split_thresholds), X.shape[1])),
        split_thresholds,
        children,
    )


def find_leaves(X: sparse.csr_array, forest: Tree, roots: np.ndarray) -> np.ndarray:
    """Return the leaf that each row reaches from each root; a forest from a file cannot lead astray."""
    check_rows(X)
    splits, split_thresholds, children = forest
    n_nodes = splits.shape[0]
    if n_nodes < 1 or len(roots) < 1:
        raise ValueError("A forest must have at least one tree with at least one node.")
    check_shape("threshold", split_thresholds, (n_nodes,))
    check_shape("children", children, (n_nodes, 2))
    check_shape("roots", roots, (len(roots),))
    leaves = np.empty((X.shape[0], len(roots)), dtype=np.int32)
    split_rows = splits.indptr, splits.indices, splits.data.astype(np.float32, copy=False)
    node_arrays = (array.astype(np.int32, copy=False) for array in (children, roots))
    _fill_leaves(
        csr_parts(X),
        X.shape[1],
        split_rows,
        split_thresholds.astype(np.float64, copy=False),
        *node_arrays,
        leaves,
    )
    return leaves


def leaf_frequencies(leaves: np.ndarray, edges: sparse.csr_array, Y: sparse.csr_array) -> np.ndarray:
    """Mean over each row's leaves (m×T) of the label frequencies among the rows that each leaf joins."""
    met_leaves, leaf_index = np.unique(leaves, return_inverse=True)
    met_edges = edges[met_leaves]
    leaf_shares = sparse.diags_array(1.0 / np.maximum(np.diff(met_edges.indptr), 1) / leaves.shape[1])
    row_starts = np.arange(0, leaves.size + 1, leaves.shape[1])
    leaf_memberships = sparse.csr_array(
        (np.ones(leaves.size), leaf_index.ravel(), row_starts), shape=(len(leaves), len(met_leaves))
    )
    return (leaf_memberships @ (leaf_shares @ (met_edges @ Y))).toarray()


@compiled
def _grow_nodes(X, Y, n_columns, n_labels, leaf_size, node_draws):
    """Part node after node, breadth first; return children, thresholds and the parts of all w."""
    n = len(X[0]) - 1
    children, split_thresholds = np.empty((2 * n, 2), dtype=np.int32), np.zeros(2 * n)
    node_bounds, row_order = np.zeros((2 * n, 2), dtype=np.int64), np.arange(n)
    node, n_nodes, n_weights = 0, 1, 0
    node_bounds[0, 1] = n
    row_side, row_scores = np.empty(n, dtype=np.int8), np.empty(n)
    pull, group_sums, group_means = np.empty(n_labels), np.empty((2, n_labels)), np.empty((2, n_columns))
    label_list, label_last_node = np.empty(n_labels, dtype=np.int64), np.full(n_labels, -1)
    column_list, column_last_node = np.empty(n_columns, dtype=np.int64), np.full(n_columns, -1)
    indptr = np.zeros(2 * n + 1, dtype=np.int64)
    indices, data = np.empty(4 * n, dtype=np.int32), np.empty(4 * n, dtype=np.float32)
    while node < n_nodes:
        children[node], indptr[node + 1] = node, n_weights
        first_row, last_row = node_bounds[node]
        rows, n_second = row_order[first_row:last_row], 0
        if len(rows) > leaf_size:
            met_columns = label_list[: _list_columns(Y, rows, node, label_last_node, label_list)]
            n_second = _group_by_labels(Y, rows, met_columns, node_draws[node], pull, group_sums, row_side)
        if 0 < n_second < len(rows):
            met_columns = column_list[: _list_columns(X, rows, node, column_last_node, column_list)]
            split_threshold = _split_by_features(
                X, rows, met_columns, row_side, n_second, group_means, row_scores
            )
            is_above = row_scores[rows] > split_threshold
            split_position = last_row - np.sum(is_above)
            rows[:] = np.concatenate((rows[~is_above], rows[is_above]))
            if first_row < split_position < last_row:
                max_weights = n_weights + len(met_columns)
                if max_weights > len(data):
                    indices, data = _grow_array(indices, max_weights), _grow_array(data, max_weights)
                for c in np.sort(met_columns):
                    if group_means[0, c] != 0.0:
                        indices[n_weights], data[n_weights] = c, group_means[0, c]
                        n_weights += 1
                indptr[node + 1], split_thresholds[node] = n_weights, split_threshold
                node_bounds[n_nodes] = first_row, split_position
                node_bounds[n_nodes + 1] = split_position, last_row
                children[node] = n_nodes, n_nodes + 1
                n_nodes += 2
        node += 1
    return (
        children[:n_nodes],
        split_thresholds[:n_nodes],
        indptr[: n_nodes + 1],
        indices[:n_weights],
        data[:n_weights],
    )


@compiled
def _list_columns(A, rows, node, last_node, column_list):
    """List the columns that these rows hold, each once, and return how many."""
    indptr, indices, _ = A
    n_columns = 0
    for r in rows:
        for p in range(indptr[r], indptr[r + 1]):
            if last_node[indices[p]] != node:
                last_node[indices[p]] = node
                column_list[n_columns] = indices[p]
                n_columns += 1
    return n_columns


@compiled
def _multiply_row(A, r, dense):
    """Return row r of A times a dense vector."""
    indptr, indices, data = A
    dot_product = 0.0
    for p in range(indptr[r], indptr[r + 1]):
        dot_product += data[p] * dense[indices[p]]
    return dot_product


@compiled
def _add_row(A, r, dense):
    """Add row r of A to a dense vector."""
    indptr, indices, data = A
    for p in range(indptr[r], indptr[r + 1]):
        dense[indices[p]] += data[p]


@compiled
def _group_by_labels(Y, rows, labels, draw, pull, group_sums, row_side):
    """Part these rows by labels into `row_side`; return the size of the second group, 0 if all agree."""
    for j in labels:
        pull[j] = 0.0
    _add_row(Y, rows[int(draw[0] * len(rows))], pull)
    n_different = 0
    for r in rows:
        row_side[r] = _multiply_row(Y, r, pull) < SAME
        n_different += row_side[r]
    if n_different == 0:
        return 0
    nth_different = int(draw[1] * n_different)
    for j in labels:
        pull[j] = -pull[j]
    for r in rows:
        if row_side[r]:
            if nth_different == 0:
                _add_row(Y, r, pull)
                break
            nth_different -= 1
    n_second = 0
    for _ in range(STEPS):
        n_second = 0
        for j in labels:
            group_sums[0, j] = group_sums[1, j] = 0.0
        for r in rows:
            row_side[r] = _multiply_row(Y, r, pull) > TIE
            n_second += row_side[r]
            _add_row(Y, r, group_sums[row_side[r]])
        first_square = second_square = 0.0
        for j in labels:
            first_square += group_sums[0, j] * group_sums[0, j]
            second_square += group_sums[1, j] * group_sums[1, j]
        if first_square == 0.0 or second_square == 0.0:
            return 0
        for j in labels:
            pull[j] = group_sums[1, j] / np.sqrt(second_square) - group_sums[0, j] / np.sqrt(first_square)
    return n_second


@compiled
def _split_by_features(X, rows, columns, row_side, n_second, group_means, row_scores):
    """Leave w in the first of `group_means` and its products in `row_scores`; return the threshold."""
    for c in columns:
        group_means[0, c] = group_means[1, c] = 0.0
    for r in rows:
        _add_row(X, r, group_means[row_side[r]])
    w = np.empty(len(columns))
    for i, c in enumerate(columns):
        w[i] = group_means[1, c] / n_second - group_means[0, c] / (len(rows) - n_second)
        group_means[0, c] = 0.0
    missing_square = KEPT * np.sum(w * w)
    for i in np.argsort(-np.abs(w)):
        if missing_square <= 0.0:
            break
        missing_square -= w[i] * w[i]
        # rounded as it is stored: training rows and new rows then go the same way
        group_means[0, columns[i]] = np.float32(w[i])
    score_sums = np.zeros(2)
    for r in rows:
        row_scores[r] = _multiply_row(X, r, group_means[0])
        score_sums[row_side[r]] += row_scores[r]
    return (score_sums[1] / n_second + score_sums[0] / (len(rows) - n_second)) / 2.0


@compiled
def _grow_array(values, min_length):
    """Return a copy of at least twice the length."""
    longer_array = np.empty(2 * max(len(values), min_length), dtype=values.dtype)
    longer_array[: len(values)] = values
    return longer_array


@compiled
def _fill_leaves(X, n_columns, splits, split_thresholds, children, roots, row_leaves):
    """Fill `row_leaves`; a child that does not come after its parent ends the descent."""
    indptr, indices, data = X
    split_indptr, split_indices, split_weights = splits
    x, n_nodes = np.zeros(n_columns), min(len(split_thresholds), len(children), len(split_indptr) - 1)
    for t in range(len(roots)):  # tree by tree: its weights stay at hand
        for r in range(len(indptr) - 1):
            for p in range(indptr[r], indptr[r + 1]):
                x[indices[p]] = data[p]
            node = min(max(roots[t], 0), n_nodes - 1)
            while True:
                split_score = 0.0
                for p in range(
                    max(split_indptr[node], 0),
                    min(split_indptr[node + 1], len(split_weights), len(split_indices)),
                ):
                    if 0 <= split_indices[p] < n_columns:
                        split_score += split_weights[p] * x[split_indices[p]]
                child_node = children[node, 1 if split_score > split_thresholds[node] else 0]
                if not node < child_node < n_nodes:
                    break
                node = child_node
            row_leaves[r, t] = node
            for p in range(indptr[r], indptr[r + 1]):
                x[indices[p]] = 0.0

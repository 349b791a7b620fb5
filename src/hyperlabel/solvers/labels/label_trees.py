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

from hyperlabel.solvers.compiling import check_csr_indices, check_shape, compiled, csr_parts

STEPS = 2
KEPT = 0.97
HALVINGS = 12  # the last entry kept is known to 2⁻¹² of the largest; those that close are taken in turn
SAME = 1.0 - 1e-9  # the cosine of label sets that do not differ
TIE = 1e-9

Tree = tuple[
    sparse.csr_array, np.ndarray, np.ndarray
]  # w of each node, thresholds, children (a leaf's: itself)
_Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # indptr, indices, data


def grow_tree(X: sparse.csr_array, Y: sparse.csr_array, leaf_size: int, seed: int) -> Tree:
    """Grow a tree on rows X with label sets Y down to nodes of at most `leaf_size` rows."""
    for A in (X, Y):
        check_csr_indices(A)
    if X.shape[0] != Y.shape[0] or min(X.shape[0], leaf_size) < 1:  # compiled code trusts it
        raise ValueError(
            f"X and Y must have as many rows, at least one, and leaves some: {X.shape}, {Y.shape}, "
            f"{leaf_size}."
        )
    node_draws = np.random.default_rng(seed).random((2 * X.shape[0], 2))
    children, split_thresholds, *split_arrays = _grow_nodes(
        csr_parts(X), csr_parts(Y), X.shape[1], Y.shape[1], leaf_size, node_draws
    )
    splits = sparse.csr_array(tuple(split_arrays[::-1]), shape=(len(split_thresholds), X.shape[1]))
    splits.sort_indices()
    return splits, split_thresholds, children


def find_leaves(X: sparse.csr_array, forest: Tree, roots: np.ndarray) -> np.ndarray:
    """Return the leaf that each row reaches from each root; a forest from a file cannot lead astray."""
    check_csr_indices(X)
    splits, split_thresholds, children = forest
    n_nodes = splits.shape[0]
    if n_nodes < 1 or len(roots) < 1:
        raise ValueError("A forest must have at least one tree with at least one node.")
    check_shape("threshold", split_thresholds, (n_nodes,))
    check_shape("children", children, (n_nodes, 2))
    check_shape("roots", roots, (len(roots),))
    leaves = np.empty((X.shape[0], len(roots)), dtype=np.int32)
    n_weights = min(len(splits.data), len(splits.indices))
    _fill_leaves(
        *csr_parts(X), np.clip(splits.indptr, 0, n_weights), splits.indices,
        splits.data.astype(np.float32, copy=False), split_thresholds.astype(np.float64, copy=False),
        children.astype(np.int32, copy=False), np.clip(roots, 0, n_nodes - 1).astype(np.int32),
        np.zeros(X.shape[1]), leaves,
    )  # fmt: skip
    return leaves


def leaf_frequencies(
    leaves: np.ndarray,
    edges: sparse.csr_array,
    Y: sparse.csr_array,
    missing: sparse.csr_array | None = None,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """Mean over each row's leaves (m×T) of the label frequencies among the rows that each leaf joins.

    With `missing`, the indicator of unknown entries, frequencies are those among the rows that know the
    label; a leaf where none does answers with the label's share.
    """
    met_leaves, leaf_index = np.unique(leaves, return_inverse=True)
    met_edges = edges[met_leaves]
    leaf_shares = sparse.diags_array(1.0 / np.maximum(np.diff(met_edges.indptr), 1) / leaves.shape[1])
    frequencies = leaf_shares @ (met_edges @ Y)
    if missing is not None and shares is not None:
        unknown_share = sparse.csr_array(leaf_shares @ (met_edges @ missing)) * leaves.shape[1]
        frequencies = _among_known(sparse.csr_array(frequencies), unknown_share, shares / leaves.shape[1])
    row_starts = np.arange(0, leaves.size + 1, leaves.shape[1])
    leaf_memberships = sparse.csr_array(
        (np.ones(leaves.size), leaf_index.ravel(), row_starts), shape=(len(leaves), len(met_leaves))
    )
    return (leaf_memberships @ frequencies).toarray()


def _among_known(
    frequencies: sparse.csr_array, unknown_share: sparse.csr_array, shares: np.ndarray
) -> sparse.csr_array:
    """Divide frequencies by the share of the rows that know the label; its share where none does."""
    raised, filled = unknown_share.copy(), unknown_share.copy()
    is_unknown = unknown_share.data > 1 - 1e-6
    known_share = np.where(is_unknown, 1.0, 1.0 - unknown_share.data)
    raised.data = 1.0 / known_share - 1.0
    filled.data = np.where(is_unknown, shares[unknown_share.indices], 0.0)
    return sparse.csr_array(frequencies + frequencies.multiply(raised) + filled)


def _grow_nodes(
    X: _Rows, Y: _Rows, n_columns: int, n_labels: int, leaf_size: int, node_draws: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Part node after node, breadth first; return children, thresholds and the parts of all w."""
    n = len(X[0]) - 1
    children, split_thresholds = np.empty((2 * n, 2), dtype=np.int32), np.zeros(2 * n)
    node_bounds, row_order = np.zeros((2 * n, 2), dtype=np.int64), np.arange(n)
    node_bounds[0, 1] = n
    indptr, counts = np.zeros(2 * n + 1, dtype=np.int64), np.array([0, 1, 0])
    indices, data = np.empty(4 * n, dtype=np.int32), np.empty(4 * n, dtype=np.float32)
    row_side, row_floats = np.empty(n, dtype=np.int8), np.empty((2, n))
    label_floats, column_floats = np.empty((3, n_labels)), np.empty((3, n_columns))
    label_list, column_list = np.empty((2, n_labels), np.int64), np.empty((2, n_columns), np.int64)
    label_list[1] = column_list[1] = -1
    # The kernel stops when the parts of w are full: arrays that grow in compiled code compile slowly.
    while not _part_nodes(
        *X, *Y, leaf_size, node_draws, children, split_thresholds, node_bounds, row_order, indptr, indices,
        data, counts, row_side, row_floats, label_floats, column_floats, label_list, column_list,
    ):  # fmt: skip
        indices, data = (
            np.concatenate([part, np.empty(max(len(part), n_columns), part.dtype)])
            for part in (indices, data)
        )
        label_list[1] = column_list[1] = -1  # the node in hand comes again
    _, n_nodes, n_weights = counts
    return (
        children[:n_nodes],
        split_thresholds[:n_nodes],
        indptr[: n_nodes + 1],
        indices[:n_weights],
        data[:n_weights],
    )


@compiled
def _part_nodes(
    x_ptr, x_cols, x_data, y_ptr, y_cols, y_data, leaf_size, node_draws, children, split_thresholds,
    node_bounds, row_order, indptr, indices, data, counts, row_side, row_floats, label_floats, column_floats,
    label_list, column_list,
):  # fmt: skip
    """Part nodes from the first unfinished one on; return whether all are, or the parts of w are full."""
    node, n_nodes, n_weights = counts[0], counts[1], counts[2]
    pull, group_means, row_scores = label_floats[0], column_floats[0], row_floats[0]
    while node < n_nodes:
        children[node, 0] = children[node, 1] = node
        indptr[node + 1] = n_weights
        first_row, last_row = node_bounds[node, 0], node_bounds[node, 1]
        rows, n_second, n_met = row_order[first_row:last_row], 0, 0
        if len(rows) > leaf_size:
            n_met = _list_columns(y_ptr, y_cols, rows, node, label_list[1], label_list[0])
            n_second = _group_by_labels(
                y_ptr, y_cols, y_data, rows, label_list[0], n_met, node_draws[node], pull, label_floats[1],
                label_floats[2], row_side,
            )  # fmt: skip
        if 0 < n_second < len(rows):
            n_met = _list_columns(x_ptr, x_cols, rows, node, column_list[1], column_list[0])
            if n_weights + n_met > len(data):
                counts[0], counts[1], counts[2] = node, n_nodes, n_weights
                return False
            split_threshold = _split_by_features(
                x_ptr, x_cols, x_data, rows, column_list[0], n_met, row_side, n_second, group_means,
                column_floats[1], column_floats[2], row_scores,
            )  # fmt: skip
            n_below = _part_rows(rows, row_scores, split_threshold, row_floats[1])
            if 0 < n_below < len(rows):
                for i in range(n_met):
                    c = column_list[0, i]
                    if group_means[c] != 0.0:
                        indices[n_weights] = c
                        data[n_weights] = group_means[c]
                        n_weights += 1
                indptr[node + 1], split_thresholds[node] = n_weights, split_threshold
                node_bounds[n_nodes, 0], node_bounds[n_nodes, 1] = first_row, first_row + n_below
                node_bounds[n_nodes + 1, 0], node_bounds[n_nodes + 1, 1] = first_row + n_below, last_row
                children[node, 0], children[node, 1] = n_nodes, n_nodes + 1
                n_nodes += 2
        node += 1
    counts[0], counts[1], counts[2] = node, n_nodes, n_weights
    return True


@compiled
def _part_rows(rows, row_scores, split_threshold, rows_above):
    """Put the rows up to the threshold first, both parts in their order; return how many they are."""
    n_below, n_above = 0, 0
    for i in range(len(rows)):
        if row_scores[rows[i]] > split_threshold:
            rows_above[n_above] = rows[i]
            n_above += 1
        else:
            rows[n_below] = rows[i]
            n_below += 1
    for i in range(n_above):
        rows[n_below + i] = int(rows_above[i])
    return n_below


@compiled
def _list_columns(indptr, indices, rows, node, last_node, column_list):
    """List the columns that these rows hold, each once, and return how many."""
    n_columns = 0
    for i in range(len(rows)):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if last_node[indices[p]] != node:
                last_node[indices[p]] = node
                column_list[n_columns] = indices[p]
                n_columns += 1
    return n_columns


@compiled
def _multiply_row(indptr, indices, data, r, dense):
    """Return row r of A times a dense vector."""
    dot_product = 0.0
    for p in range(indptr[r], indptr[r + 1]):
        dot_product += data[p] * dense[indices[p]]
    return dot_product


@compiled
def _add_row(indptr, indices, data, r, dense):
    """Add row r of A to a dense vector."""
    for p in range(indptr[r], indptr[r + 1]):
        dense[indices[p]] += data[p]


@compiled
def _group_by_labels(
    indptr, indices, data, rows, labels, n_met, draw, pull, first_sums, second_sums, row_side
):  # fmt: skip
    """Part these rows by labels into `row_side`; return the size of the second group, 0 if all agree."""
    for i in range(n_met):
        pull[labels[i]] = 0.0
    _add_row(indptr, indices, data, rows[int(draw[0] * len(rows))], pull)
    n_different = 0
    for i in range(len(rows)):
        row_side[rows[i]] = _multiply_row(indptr, indices, data, rows[i], pull) < SAME
        n_different += row_side[rows[i]]
    if n_different == 0:
        return 0
    nth_different = int(draw[1] * n_different)
    for i in range(n_met):
        pull[labels[i]] = -pull[labels[i]]
    for i in range(len(rows)):
        if row_side[rows[i]]:
            if nth_different == 0:
                _add_row(indptr, indices, data, rows[i], pull)
                break
            nth_different -= 1
    n_second = 0
    for _ in range(STEPS):
        n_second = 0
        for i in range(n_met):
            first_sums[labels[i]] = second_sums[labels[i]] = 0.0
        for i in range(len(rows)):
            r = rows[i]
            row_side[r] = _multiply_row(indptr, indices, data, r, pull) > TIE
            n_second += row_side[r]
            _add_row(indptr, indices, data, r, second_sums if row_side[r] else first_sums)
        first_square = second_square = 0.0
        for i in range(n_met):
            first_square += first_sums[labels[i]] * first_sums[labels[i]]
            second_square += second_sums[labels[i]] * second_sums[labels[i]]
        if first_square == 0.0 or second_square == 0.0:
            return 0
        for i in range(n_met):
            j = labels[i]
            pull[j] = second_sums[j] / np.sqrt(second_square) - first_sums[j] / np.sqrt(first_square)
    return n_second


@compiled
def _split_by_features(
    indptr, indices, data, rows, columns, n_met, row_side, n_second, first_means, second_means, w, row_scores,
):  # fmt: skip
    """Leave w in `first_means` and its products in `row_scores`; return the threshold."""
    for i in range(n_met):
        first_means[columns[i]] = second_means[columns[i]] = 0.0
    for i in range(len(rows)):
        r = rows[i]
        _add_row(indptr, indices, data, r, second_means if row_side[r] else first_means)
    total_square = largest = 0.0
    for i in range(n_met):
        c = columns[i]
        w[i] = second_means[c] / n_second - first_means[c] / (len(rows) - n_second)
        first_means[c] = 0.0
        total_square += w[i] * w[i]
        if abs(w[i]) > largest:
            largest = abs(w[i])
    # Entries above `high` are too few, entries above `low` enough: halving finds the last one needed.
    low, high, missing_square = 0.0, largest, KEPT * total_square
    for _ in range(HALVINGS):
        middle, square = (low + high) / 2.0, 0.0
        for i in range(n_met):
            if abs(w[i]) > middle:
                square += w[i] * w[i]
        if square < missing_square:
            high = middle
        else:
            low = middle
    for i in range(n_met):
        if abs(w[i]) > high:
            missing_square -= w[i] * w[i]
            # rounded as it is stored: training rows and new rows then go the same way
            first_means[columns[i]] = np.float32(w[i])
    for i in range(n_met):
        if missing_square > 0.0 and low < abs(w[i]) <= high:
            missing_square -= w[i] * w[i]
            first_means[columns[i]] = np.float32(w[i])
    first_score = second_score = 0.0
    for i in range(len(rows)):
        r = rows[i]
        row_scores[r] = _multiply_row(indptr, indices, data, r, first_means)
        if row_side[r]:
            second_score += row_scores[r]
        else:
            first_score += row_scores[r]
    return (second_score / n_second + first_score / (len(rows) - n_second)) / 2.0


@compiled
def _fill_leaves(
    indptr, indices, data, split_indptr, split_indices, split_weights, split_thresholds, children, roots, x,
    row_leaves,
):  # fmt: skip
    """Fill `row_leaves`; a child that does not come after its parent ends the descent."""
    n_nodes, n_columns = len(split_thresholds), len(x)
    for t in range(len(roots)):  # tree by tree: its weights stay at hand
        for r in range(len(indptr) - 1):
            for p in range(indptr[r], indptr[r + 1]):
                x[indices[p]] = data[p]
            node = roots[t]
            while True:
                split_score = 0.0
                for p in range(split_indptr[node], split_indptr[node + 1]):
                    if 0 <= split_indices[p] < n_columns:
                        split_score += split_weights[p] * x[split_indices[p]]
                child_node = children[node, 1 if split_score > split_thresholds[node] else 0]
                if not node < child_node < n_nodes:
                    break
                node = child_node
            row_leaves[r, t] = node
            for p in range(indptr[r], indptr[r + 1]):
                x[indices[p]] = 0.0

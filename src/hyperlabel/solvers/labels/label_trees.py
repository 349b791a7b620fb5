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
Nodes of at most `most` rows, of one label set, or whose groups have the same mean row are leaves. A level
costs O(nnz(X) + nnz(Y)), whatever the number of labels; a node takes 8 bytes for each entry of its w.

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


def grow_tree(X: sparse.csr_array, Y: sparse.csr_array, most: int, seed: int) -> Tree:
    """Grow a tree on rows X with label sets Y down to nodes of at most `most` rows."""
    for A in (X, Y):
        check_rows(A)
    if X.shape[0] != Y.shape[0] or min(X.shape[0], most) < 1:  # compiled code trusts it
        raise ValueError(
            f"X and Y must have as many rows, at least one, and leaves some: {X.shape}, {Y.shape}, {most}."
        )
    draws = np.random.default_rng(seed).random((2 * X.shape[0], 2))
    children, threshold, *parts = _grow_nodes(csr_parts(X), csr_parts(Y), X.shape[1], Y.shape[1], most, draws)
    return sparse.csr_array(tuple(parts[::-1]), shape=(len(threshold), X.shape[1])), threshold, children


def find_leaves(X: sparse.csr_array, forest: Tree, roots: np.ndarray) -> np.ndarray:
    """Return the leaf that each row reaches from each root; a forest from a file cannot lead astray."""
    check_rows(X)
    splits, threshold, children = forest
    n_nodes = splits.shape[0]
    if n_nodes < 1 or len(roots) < 1:
        raise ValueError("A forest must have at least one tree with at least one node.")
    check_shape("threshold", threshold, (n_nodes,))
    check_shape("children", children, (n_nodes, 2))
    check_shape("roots", roots, (len(roots),))
    leaves = np.empty((X.shape[0], len(roots)), dtype=np.int32)
    lines = splits.indptr, splits.indices, splits.data.astype(np.float32, copy=False)
    nodes = (array.astype(np.int32, copy=False) for array in (children, roots))
    _find_leaf_rows(csr_parts(X), X.shape[1], lines, threshold.astype(np.float64, copy=False), *nodes, leaves)
    return leaves


def leaf_frequencies(leaves: np.ndarray, edges: sparse.csr_array, Y: sparse.csr_array) -> np.ndarray:
    """Mean over each row's leaves (m×T) of the label frequencies among the rows that each leaf joins."""
    met, place = np.unique(leaves, return_inverse=True)
    some = edges[met]
    share = sparse.diags_array(1.0 / np.maximum(np.diff(some.indptr), 1) / leaves.shape[1])
    starts = np.arange(0, leaves.size + 1, leaves.shape[1])
    walks = sparse.csr_array((np.ones(leaves.size), place.ravel(), starts), shape=(len(leaves), len(met)))
    return (walks @ (share @ (some @ Y))).toarray()


@compiled
def _grow_nodes(X, Y, n_columns, n_labels, most, draws):
    """Part node after node, breadth first; return children, thresholds and the parts of all w."""
    n = len(X[0]) - 1
    children, threshold = np.empty((2 * n, 2), dtype=np.int32), np.zeros(2 * n)
    bounds, order, count, node, used = np.zeros((2 * n, 2), dtype=np.int64), np.arange(n), 1, 0, 0
    bounds[0, 1] = n
    side, score = np.empty(n, dtype=np.int8), np.empty(n)
    pull, sums, means = np.empty(n_labels), np.empty((2, n_labels)), np.empty((2, n_columns))
    labels, label_seen = np.empty(n_labels, dtype=np.int64), np.full(n_labels, -1)
    columns, column_seen = np.empty(n_columns, dtype=np.int64), np.full(n_columns, -1)
    indptr = np.zeros(2 * n + 1, dtype=np.int64)
    indices, data = np.empty(4 * n, dtype=np.int32), np.empty(4 * n, dtype=np.float32)
    while node < count:
        children[node], indptr[node + 1] = node, used
        start, stop = bounds[node]
        rows, ones = order[start:stop], 0
        if len(rows) > most:
            met = labels[: _list_columns(Y, rows, node, label_seen, labels)]
            ones = _part_labels(Y, rows, met, draws[node], pull, sums, side)
        if 0 < ones < len(rows):
            met = columns[: _list_columns(X, rows, node, column_seen, columns)]
            split_value = _part_rows(X, rows, met, side, ones, means, score)
            above = score[rows] > split_value
            middle = stop - np.sum(above)
            rows[:] = np.concatenate((rows[~above], rows[above]))
            if start < middle < stop:
                if used + len(met) > len(data):
                    indices, data = _grow_array(indices, used + len(met)), _grow_array(data, used + len(met))
                for c in np.sort(met):
                    if means[0, c] != 0.0:
                        indices[used], data[used] = c, means[0, c]
                        used += 1
                indptr[node + 1], threshold[node] = used, split_value
                bounds[count], bounds[count + 1] = (start, middle), (middle, stop)
                children[node] = count, count + 1
                count += 2
        node += 1
    return children[:count], threshold[:count], indptr[: count + 1], indices[:used], data[:used]


@compiled
def _list_columns(A, rows, node, seen, found):
    """List the columns that these rows hold, each once, and return how many."""
    indptr, indices, _ = A
    count = 0
    for r in rows:
        for p in range(indptr[r], indptr[r + 1]):
            if seen[indices[p]] != node:
                seen[indices[p]] = node
                found[count] = indices[p]
                count += 1
    return count


@compiled
def _row_dot(A, r, dense):
    """Return row r of A times a dense vector."""
    indptr, indices, data = A
    total = 0.0
    for p in range(indptr[r], indptr[r + 1]):
        total += data[p] * dense[indices[p]]
    return total


@compiled
def _add_row(A, r, dense):
    """Add row r of A to a dense vector."""
    indptr, indices, data = A
    for p in range(indptr[r], indptr[r + 1]):
        dense[indices[p]] += data[p]


@compiled
def _part_labels(Y, rows, labels, draw, pull, sums, side):
    """Part these rows by labels into `side`; return the size of the second group, 0 if all agree."""
    for j in labels:
        pull[j] = 0.0
    _add_row(Y, rows[int(draw[0] * len(rows))], pull)
    others = 0
    for r in rows:
        side[r] = _row_dot(Y, r, pull) < SAME
        others += side[r]
    if others == 0:
        return 0
    nth = int(draw[1] * others)
    for j in labels:
        pull[j] = -pull[j]
    for r in rows:
        if side[r]:
            if nth == 0:
                _add_row(Y, r, pull)
                break
            nth -= 1
    ones = 0
    for _ in range(STEPS):
        ones = 0
        for j in labels:
            sums[0, j] = sums[1, j] = 0.0
        for r in rows:
            side[r] = _row_dot(Y, r, pull) > TIE
            ones += side[r]
            _add_row(Y, r, sums[side[r]])
        first = second = 0.0
        for j in labels:
            first += sums[0, j] * sums[0, j]
            second += sums[1, j] * sums[1, j]
        if first == 0.0 or second == 0.0:
            return 0
        for j in labels:
            pull[j] = sums[1, j] / np.sqrt(second) - sums[0, j] / np.sqrt(first)
    return ones


@compiled
def _part_rows(X, rows, columns, side, ones, means, score):
    """Leave w in the first of `means`, its products in `score`, and return where they are cut."""
    for c in columns:
        means[0, c] = means[1, c] = 0.0
    for r in rows:
        _add_row(X, r, means[side[r]])
    w = np.empty(len(columns))
    for i, c in enumerate(columns):
        w[i] = means[1, c] / ones - means[0, c] / (len(rows) - ones)
        means[0, c] = 0.0
    needed = KEPT * np.sum(w * w)
    for i in np.argsort(-np.abs(w)):
        if needed <= 0.0:
            break
        needed -= w[i] * w[i]
        means[0, columns[i]] = np.float32(w[i])
    total = np.zeros(2)
    for r in rows:
        score[r] = _row_dot(X, r, means[0])
        total[side[r]] += score[r]
    return (total[1] / ones + total[0] / (len(rows) - ones)) / 2.0


@compiled
def _grow_array(values, least):
    """Return a copy with room for twice as many, or more."""
    found = np.empty(2 * max(len(values), least), dtype=values.dtype)
    found[: len(values)] = values
    return found


@compiled
def _find_leaf_rows(X, n_columns, splits, threshold, children, roots, found):
    """Fill `found` with leaves; children lie behind their parent, or the walk ends."""
    indptr, indices, data = X
    ends, places, weights = splits
    x, n_nodes = np.zeros(n_columns), min(len(threshold), len(children), len(ends) - 1)
    for t in range(len(roots)):  # tree by tree: its weights stay at hand
        for r in range(len(indptr) - 1):
            for p in range(indptr[r], indptr[r + 1]):
                x[indices[p]] = data[p]
            node = min(max(roots[t], 0), n_nodes - 1)
            while True:
                score = 0.0
                for p in range(max(ends[node], 0), min(ends[node + 1], len(weights), len(places))):
                    if 0 <= places[p] < n_columns:
                        score += weights[p] * x[places[p]]
                below = children[node, 1 if score > threshold[node] else 0]
                if not node < below < n_nodes:
                    break
                node = below
            found[r, t] = node
            for p in range(indptr[r], indptr[r + 1]):
                x[indices[p]] = 0.0

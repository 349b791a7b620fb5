"""Trees of label means against the same steps written with dense matrices, one node at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from hyperlabel.solvers.labels.label_trees import KEPT, STEPS, find_leaves, grow_tree

ROOT = np.zeros(1, dtype=np.int32)


def drawn(seed, n=60, d=15, k=5):
    """Rows of words and the label sets that shape them, both of unit length."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, k)) < rng.uniform(0.1, 0.6, size=k)
    Y[~Y.any(axis=1), 0] = True
    X = rng.poisson(0.15 + Y @ rng.gamma(0.4, size=(k, d))).astype(float)
    return normalize(X), normalize(Y * rng.uniform(0.5, 2.0, size=k))


def part_labels(Y, draw):
    """The second group of label sets, or None where all agree."""
    first = Y[int(draw[0] * len(Y))]
    others = np.flatnonzero(Y @ first < 1 - 1e-9)
    if not len(others):
        return None
    centres = np.array([first, Y[others[int(draw[1] * len(others))]]])
    for _ in range(STEPS):
        group = Y @ centres[1] - Y @ centres[0] > 1e-9
        centres = normalize([Y[~group].sum(axis=0), Y[group].sum(axis=0)])
    return group


def split(X, Y, draw):
    """Weights and threshold of a node, or None for a leaf."""
    group = part_labels(Y, draw)
    if group is None or not 0 < group.sum() < len(group):
        return None
    w = X[group].mean(axis=0) - X[~group].mean(axis=0)
    if not w.any():
        return None
    order = np.argsort(-np.abs(w), kind="stable")
    needed = np.searchsorted(np.cumsum(w[order] ** 2), KEPT * (w**2).sum()) + 1
    w[order[needed:]] = 0.0
    w = w.astype(np.float32).astype(float)
    return w, (np.mean(X[group] @ w) + np.mean(X[~group] @ w)) / 2


def grown(X, Y, most, seed):
    """The whole tree: weights, thresholds and children of nodes in the order they were met."""
    draws = np.random.default_rng(seed).random((2 * len(X), 2))
    members, weights, thresholds, children = [np.arange(len(X))], [], [], []
    for node, draw in enumerate(draws):
        if node == len(members):
            break
        rows = members[node]
        found = split(X[rows], Y[rows], draw) if len(rows) > most else None
        weights.append(np.zeros(X.shape[1]) if found is None else found[0])
        thresholds.append(0.0 if found is None else found[1])
        children.append((node, node) if found is None else (len(members), len(members) + 1))
        if found is not None:
            above = X[rows] @ found[0] > found[1]
            members += [rows[~above], rows[above]]
    return np.array(weights), np.array(thresholds), np.array(children)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [1, 7])
def test_the_tree_is_the_one_that_dense_steps_grow(seed, most):
    X, Y = drawn(seed)
    weights, thresholds, children = grow_tree(sparse.csr_array(X), sparse.csr_array(Y), most, seed)
    expected = grown(X, Y, most, seed)
    assert_array_equal(children, expected[2])
    assert_allclose(weights.toarray(), expected[0], atol=1e-7)
    assert_allclose(thresholds, expected[1], atol=1e-7)
    assert len(thresholds) > 5


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_leaves_hold_few_rows_or_rows_that_nothing_tells_apart(seed, most):
    X, Y = drawn(seed, n=40, d=6, k=3)
    X[::3] = X[0]
    tree = grow_tree(sparse.csr_array(X), sparse.csr_array(Y), most, seed)
    leaves = find_leaves(sparse.csr_array(X), tree, ROOT)[:, 0]
    assert (tree[2][leaves] == leaves[:, None]).all()
    for leaf in np.unique(leaves):
        rows = np.flatnonzero(leaves == leaf)
        if len(rows) > most:
            group = part_labels(Y[rows], np.random.default_rng(seed).random((2 * len(X), 2))[leaf])
            if group is not None:
                assert_allclose(X[rows][group].mean(axis=0), X[rows][~group].mean(axis=0), atol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_order_of_labels_does_not_matter(seed):
    X, Y = drawn(seed)
    order = np.random.default_rng(seed).permutation(Y.shape[1])
    one, other = (grow_tree(sparse.csr_array(X), sparse.csr_array(y), 5, seed) for y in (Y, Y[:, order]))
    assert_array_equal(one[2], other[2])
    assert_allclose(one[0].toarray(), other[0].toarray(), atol=1e-7)


def test_rare_labels_part_the_root_whatever_is_drawn():
    X = sparse.csr_array(np.vstack([np.tile([1.0, 0.0], (99, 1)), [[0.0, 1.0]]]))
    Y = sparse.csr_array(np.vstack([np.tile([1.0, 0.0], (99, 1)), [[0.0, 1.0]]]))
    for seed in range(30):
        tree = grow_tree(X, Y, 5, seed)
        assert len(tree[1]) == 3
        leaves = find_leaves(X, tree, ROOT)[:, 0]
        assert leaves[-1] != leaves[0]
        assert len(set(leaves[:-1])) == 1


def test_one_label_set_or_one_row_is_one_leaf():
    X, Y = drawn(0)
    same = sparse.csr_array(np.tile(Y[:1], (len(Y), 1)))
    for tree in (
        grow_tree(sparse.csr_array(X), same, 1, 0),
        grow_tree(sparse.csr_array(X[:1]), sparse.csr_array(Y[:1]), 1, 0),
        grow_tree(sparse.csr_array(np.zeros_like(X)), sparse.csr_array(Y), 1, 0),
    ):
        assert_array_equal(tree[2], [[0, 0]])
        assert tree[0].nnz == 0


def test_a_forged_forest_ends_in_some_node():
    X, Y = drawn(1)
    rows = sparse.csr_array(X)
    weights, thresholds, children = grow_tree(rows, sparse.csr_array(Y), 3, 0)
    nodes = len(thresholds)
    for wrong in (
        np.roll(np.arange(nodes), 1),
        np.full(nodes, -5),
        np.full(nodes, 10**6),
        np.zeros(nodes, int),
    ):
        forged = np.column_stack([wrong, wrong]).astype(np.int32)
        found = find_leaves(rows, (weights, thresholds, forged), np.array([0, -3, 10**6], dtype=np.int32))
        assert ((found >= 0) & (found < nodes)).all()
    astray = weights.copy()
    astray.indices[:] = 10**6
    astray.indptr[1:] = 2**30
    find_leaves(rows, (astray, thresholds, children), ROOT)


def test_rows_and_label_sets_must_match():
    X, Y = (sparse.csr_array(part) for part in drawn(2))
    with pytest.raises(ValueError, match="as many rows"):
        grow_tree(X, Y[:5], 3, 0)
    with pytest.raises(ValueError, match="as many rows"):
        grow_tree(X, Y, 0, 0)

"""Trees of labels: ancestors, consistent scores, circles; against literal walks over random graphs."""

import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from hyperlabel.geometry import LabelTree
from hyperlabel.model_selection import IterativeStratifiedKFold


def draw_graph(seed, k=12, most=3):
    """A random DAG: parents come from labels of smaller number, in a shuffled naming."""
    rng = np.random.default_rng(seed)
    names = [f"l{j}" for j in rng.permutation(k)]
    parents = {}
    for j in rng.permutation(k):
        count = min(j, rng.integers(0, most + 1))
        parents[names[j]] = [names[i] for i in rng.choice(j, count, replace=False)] if count else []
    return names, parents


def walk_up(parents, name):
    found = set()
    for parent in parents.get(name, ()):
        found |= {parent} | walk_up(parents, parent)
    return found


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs_agree_with_a_walk(seed):
    names, parents = draw_graph(seed)
    rng = np.random.default_rng(100 + seed)
    tree = LabelTree(parents)
    ancestors = {name: walk_up(parents, name) for name in names}
    for name in names:
        assert set(tree.ancestors(name)) == ancestors[name]
    columns = [name for name in rng.permutation(names) if rng.random() < 0.8] or names
    between = tree.columns(columns)
    scores = rng.normal(size=(7, len(columns)))
    wanted = scores.copy()
    for j, name in enumerate(columns):
        below = [i for i, other in enumerate(columns) if name in ancestors[other]]
        wanted[:, j] = scores[:, [j, *below]].max(axis=1)
    np.testing.assert_array_equal(between.raise_scores(scores), wanted)
    Y = (rng.random((9, len(columns))) < 0.2).astype(int)
    np.testing.assert_array_equal(tree.imply(Y, columns), between.raise_scores(Y.astype(float)).astype(int))
    np.testing.assert_array_equal(tree.imply(sparse.csr_array(Y), columns).toarray(), tree.imply(Y, columns))
    sets = [[name for name, on in zip(columns, row, strict=True) if on] for row in Y]
    assert tree.imply(sets) == [sorted(set(row).union(*(ancestors[name] for name in row))) for row in sets]
    thresholds = np.where(rng.random(len(columns)) < 0.5, np.inf, rng.normal(size=len(columns)))
    raised = between.raise_thresholds(thresholds)
    sets_given = between.raise_scores(scores) > raised
    for j, name in enumerate(columns):
        for i, other in enumerate(columns):
            if other in ancestors[name] and np.isfinite(raised[i]):
                assert not (sets_given[:, j] & ~sets_given[:, i]).any()
    instead = between.nearest(np.isfinite(thresholds))
    for j, name in enumerate(columns):
        guaranteed = {i for i, other in enumerate(columns) if other in ancestors[name] | {name}} & set(
            np.flatnonzero(np.isfinite(thresholds))
        )
        assert (instead[j] in guaranteed) if guaranteed else instead[j] == -1
        assert not np.isfinite(thresholds[j]) or instead[j] == j


def test_the_nearest_ancestor_is_the_nearest():
    tree = LabelTree({"d": "c", "c": "b", "b": "a"})
    instead = tree.columns(["a", "b", "c", "d"]).nearest(np.array([True, True, False, False]))
    assert instead.tolist() == [0, 1, 1, 1]


def test_a_circle_is_refused_by_name():
    with pytest.raises(ValueError, match="'b' → 'a' → 'c' → 'b'"):
        LabelTree({"b": "a", "c": ["x", "b"], "a": "c"})
    with pytest.raises(ValueError, match="'a' → 'a'"):
        LabelTree({"a": "a"})


@pytest.mark.parametrize("seed", range(10))
def test_closing_any_path_of_a_graph_makes_a_circle(seed):
    names, parents = draw_graph(seed, most=2)
    name = max(names, key=lambda label: len(walk_up(parents, label)))
    top = next(label for label in walk_up(parents, name) if not parents[label])
    with pytest.raises(ValueError, match="in a circle"):
        LabelTree(parents | {top: [name]})


def test_paths_and_pairs_say_the_same():
    by_path = LabelTree.from_paths(["a/b/c", "a/d", "e"])
    by_pair = LabelTree.from_pairs([("a/b/c", "a/b"), ("a/b", "a"), ("a/d", "a"), ("e", "")])
    assert by_path.parents == by_pair.parents
    assert LabelTree.from_paths(["a.b"], separator=".").parents == {"a.b": ("a",), "a": ()}
    with pytest.raises(ValueError, match="separator"):
        LabelTree.from_paths(["a"], separator="")
    with pytest.raises(ValueError, match="text"):
        LabelTree({1: ["a"]})
    with pytest.raises(ValueError, match="label_names"):
        by_path.imply(np.eye(3))


def test_four_thousand_labels_take_seconds():
    names = [f"{a}/{b}/{c}" for a in range(16) for b in range(16) for c in range(16)]
    rng = np.random.default_rng(0)
    start = time.process_time()
    tree = LabelTree.from_paths(names)
    columns = tree.columns(sorted(tree.parents))
    raised = columns.raise_scores(rng.normal(size=(1000, len(tree))))
    Y = sparse.random_array((20_000, len(tree)), density=1e-3, rng=rng, format="csr")
    Y.data[:] = 1
    closed = columns.imply(Y)
    assert time.process_time() - start < 5
    assert len(tree) == 16 + 16**2 + 16**3
    assert (raised[:, columns.parent] >= raised[:, columns.child]).all()
    assert closed.nnz > Y.nnz


def test_labels_nobody_knows_imply_no_ancestor():
    tree = LabelTree({"c": "b", "b": "a"}).columns(["a", "b", "c"])
    nan = np.nan
    gaps = [[0, 0, nan], [nan, 1, nan], [nan, nan, 1], [nan, 0, 0.25], [nan, nan, nan]]
    want = [[0, 0, nan], [1, 1, nan], [1, 1, 1], [nan, 0.25, 0.25], [nan, nan, nan]]
    np.testing.assert_array_equal(tree.imply(sparse.csr_array(gaps)).toarray(), want)


def test_folds_are_stratified_on_every_level_of_a_tree():
    """Ancestors are labels like any other once they are implied: no fold lacks the rows of a branch."""
    rng = np.random.default_rng(0)
    paths = [f"a/{i}" for i in range(5)] + [f"b/{i}/{j}" for i in range(3) for j in range(3)]
    tree = LabelTree.from_paths(paths)
    label_sets = [set(rng.choice(paths, size=rng.integers(1, 4), replace=False)) for _ in range(600)]
    Y = MultiLabelBinarizer().fit_transform(tree.imply(label_sets))
    assert Y.shape[1] == len(paths) + 5
    for _, test_rows in IterativeStratifiedKFold(5, shuffle=True, random_state=0).split(Y, Y):
        assert np.abs(Y[test_rows].sum(axis=0) - Y.sum(axis=0) / 5).max() <= 4

"""LabelForest against a plain loop over the leaves of its trees, scikit-learn's or the solver's own."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize
from sklearn.tree import ExtraTreeRegressor

import hyperlabel
from hyperlabel import LabelForest, ThresholdTuner
from hyperlabel.forest import _label_forest
from hyperlabel.solvers.labels.label_trees import find_leaves, grow_tree, leaf_frequencies


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=150, n_features=12, n_classes=6, random_state=0)
    return X[:110], Y[:110], X[110:]


def grown(model, X, codes, splits):
    """The same trees, grown by scikit-learn alone."""
    seeds = np.random.RandomState(model.random_state).randint(np.iinfo(np.int32).max, size=model.n_estimators)
    for t, seed in enumerate(seeds):
        train = splits[t % len(splits)][0]
        tree = ExtraTreeRegressor(max_features="sqrt", min_samples_leaf=2, random_state=seed)
        yield t, tree.fit(X[train].astype(np.float32), codes[train])


def naive(tree, X_known, Y_known, x):
    """Mean label set of the known rows that share the leaf of x."""
    leaf = tree.apply(x[None].astype(np.float32))[0]
    mates = [i for i in range(len(X_known)) if tree.apply(X_known[[i]].astype(np.float32))[0] == leaf]
    return Y_known[mates].mean(axis=0)


@pytest.mark.parametrize("cv", [None, KFold(3)])
def test_scores_are_mean_label_frequencies_of_the_leaves(data, cv):
    X, Y, X_new = data
    model = LabelForest(6, cv=cv, random_state=0).fit(X, Y)
    splits = [(np.arange(len(X)), None)] if cv is None else list(cv.split(X))
    expected = np.zeros((5, Y.shape[1]))
    for _, tree in grown(model, X, Y.astype(float), splits):
        expected += [naive(tree, X, Y, x) for x in X_new[:5]]
    assert_allclose(model.decision_function(X_new[:5]) + 0.5, expected / 6, atol=1e-12)
    assert_allclose(model.predict_proba(X_new[:5]), np.clip(expected / 6, 1e-7, 1 - 1e-7), atol=1e-6)


def test_out_of_fold_scores_come_from_trees_and_leaves_without_the_fold(data):
    X, Y, _ = data
    folds = list(KFold(3).split(X))
    model = LabelForest(6, cv=folds, random_state=1).fit(X, Y)
    for fold, (train, test) in enumerate(folds):
        expected = np.zeros((4, Y.shape[1]))
        for t, tree in grown(model, X, Y.astype(float), folds):
            if t % 3 == fold:
                expected += [naive(tree, X[train], Y[train], x) for x in X[test[:4]]]
        assert_allclose(model.oof_scores_[test[:4]] + 0.5, expected / 2, atol=1e-12)


@pytest.mark.parametrize("n_codes", [2, 40])
def test_labels_of_the_fold_do_not_reach_its_scores(data, n_codes):
    X, Y, _ = data
    folds = [(np.arange(60), np.arange(60, 110))]
    other = Y.copy()
    other[60:] = 1 - other[60:]
    scores = [
        LabelForest(5, n_codes=n_codes, cv=folds, random_state=0).fit(X, y).oof_scores_ for y in (Y, other)
    ]
    assert_allclose(scores[0][60:], scores[1][60:])
    assert np.isnan(scores[0][:60]).all()


def test_a_leaf_shared_by_all_rows_gives_the_label_means():
    Y = sparse.csr_array(np.array([[1.0, 0], [1, 1], [0, 0]]))
    edges = sparse.csr_array(np.array([[1.0, 1, 1], [1, 0, 0], [0, 1, 1]]))
    assert_allclose(
        leaf_frequencies(np.array([[0, 2]]), edges, Y), [[(2 / 3 + 1 / 2) / 2, (1 / 3 + 1 / 2) / 2]]
    )


def test_sparse_rows_wide_rows_and_dense_rows_give_one_model(data, monkeypatch):
    X, Y, X_new = data
    X, X_new = np.where(X > 3, X, 0.0), np.where(X_new > 3, X_new, 0.0)
    dense = LabelForest(4, splits="columns", random_state=0).fit(X, Y)
    opened = clone(dense).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert_allclose(dense.decision_function(X_new), opened.decision_function(sparse.csr_array(X_new)))
    monkeypatch.setattr(_label_forest, "DENSE_BYTES", 0)
    wide = clone(dense).set_params(n_estimators=30).fit(sparse.csr_array(X), Y)
    monkeypatch.undo()
    many = clone(dense).set_params(n_estimators=30).fit(X, Y)
    gap = np.abs(wide.decision_function(X_new) - many.decision_function(X_new)).mean()
    assert gap < 0.1  # scikit-learn draws other thresholds on sparse columns


def test_more_labels_than_codes(data):
    X, _, X_new = data
    rng = np.random.default_rng(0)
    Y = ((X - X.mean(axis=0)) @ rng.normal(size=(12, 60)) > 6).astype(int)
    model = LabelForest(20, n_codes=5, random_state=0, cv=3).fit(X, Y)
    assert model.decision_function(X_new).shape == (len(X_new), 60)
    best = model.oof_scores_.argmax(axis=1)
    assert Y[np.arange(len(X)), best].mean() > Y.mean(axis=0).max() + 0.1


def test_thresholds_take_its_out_of_fold_scores_without_a_refit(data, monkeypatch):
    X, Y, X_new = data
    fits = []
    plain = LabelForest.fit
    monkeypatch.setattr(LabelForest, "fit", lambda self, *a, **k: fits.append(1) or plain(self, *a, **k))
    tuner = ThresholdTuner(LabelForest(9, cv=3, random_state=0)).fit(X, Y)
    assert len(fits) == 1
    assert tuner.predict(X_new).shape == (len(X_new), 6)


def test_a_file_brings_the_same_forest_back_without_pickle(data, tmp_path):
    X, Y, X_new = data
    model = LabelForest(5, random_state=0).fit(X, Y)
    hyperlabel.save(model, tmp_path / "forest.hlm")
    again = hyperlabel.load(tmp_path / "forest.hlm")
    assert_array_equal(again.decision_function(X_new), model.decision_function(X_new))


@pytest.mark.parametrize("splits", ["columns", "means"])
def test_memory_is_a_few_numbers_for_each_row_tree_node_and_weight(data, splits):
    X, Y, _ = data
    model = LabelForest(7, splits=splits, random_state=0).fit(X, Y)
    weights, nodes = model._weights, len(model._threshold)
    parts = [model._threshold, model._children, weights.data, weights.indices, weights.indptr]
    parts += [model._edges.data, model._edges.indices]
    assert nodes < 7 * len(X)  # two rows and more in a leaf
    assert sum(part.nbytes for part in parts) <= 8 * len(X) * 7 + 24 * (nodes + 1) + 8 * weights.nnz
    assert splits == "means" or weights.nnz < nodes / 2


def test_trees_that_lead_in_circles_end(data):
    X, Y, X_new = data
    model = LabelForest(200, random_state=0).fit(X, Y)
    model._children[:] = np.roll(np.arange(len(model._children)), 1)[:, None]  # back to the node before
    assert model.decision_function(X_new).shape == (len(X_new), Y.shape[1])


def words(seed, n=400, d=300, k=30):
    """Rows of few words, each label with words of its own."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, k)) < 0.08
    X = rng.poisson(0.02 + Y @ (rng.random((k, d)) < 0.03) * 0.5)
    return X.astype(float), Y.astype(int)


def test_means_are_grown_on_sets_of_labels_and_their_rows():
    """Every leaf joins the rows that the solver's own tree sends there."""
    X, Y = words(0)
    model = LabelForest(3, splits="means", min_samples_leaf=2, random_state=4).fit(X, Y)
    rows = sparse.csr_array(normalize(X)).astype(np.float32)
    none = Y.sum(axis=1, keepdims=True) == 0
    sets = TfidfTransformer().fit_transform(sparse.csr_array(np.hstack([Y, none]).astype(float)))
    seeds = np.random.RandomState(4).randint(np.iinfo(np.int32).max, size=3)
    expected = np.zeros(Y.shape)
    for seed in seeds:
        leaves = find_leaves(rows, grow_tree(rows, sparse.csr_array(sets), 4, seed), np.zeros(1, np.int32))[
            :, 0
        ]
        expected += [Y[leaves == leaf].mean(axis=0) / 3 for leaf in leaves]
    assert_allclose(model.decision_function(X) + 0.5, expected, atol=1e-12)


def test_rows_of_mostly_zeros_are_parted_by_means_however_they_are_stored(data):
    X, Y = words(1)
    model = LabelForest(5, random_state=0).fit(X, Y)
    scores = model.decision_function(X)
    assert_array_equal(LabelForest(5, splits="means", random_state=0).fit(X, Y).decision_function(X), scores)
    unsorted = sparse.csr_array(X)
    for start, stop in pairwise(unsorted.indptr):
        unsorted.indices[start:stop] = unsorted.indices[start:stop][::-1].copy()
        unsorted.data[start:stop] = unsorted.data[start:stop][::-1].copy()
    unsorted.has_sorted_indices = False
    for form in (sparse.csr_array(X), sparse.csc_array(X), unsorted, X.astype(np.float32)):
        again = LabelForest(5, random_state=0).fit(form, Y).decision_function(form)
        assert_array_equal(again, scores.astype(form.dtype))
    X, Y, _ = data
    whole = [
        LabelForest(5, splits=splits, random_state=0).fit(X, Y)._weights for splits in ("auto", "columns")
    ]
    assert_array_equal(whole[0].indices, whole[1].indices)


def test_means_find_what_no_single_word_tells():
    X, Y = words(2, n=900)
    scores = {
        splits: LabelForest(50, splits=splits, random_state=0)
        .fit(X[:600], Y[:600])
        .decision_function(X[600:])
        for splits in ("columns", "means")
    }
    best = {key: Y[600:][np.arange(300), s.argmax(axis=1)].mean() for key, s in scores.items()}
    assert best["means"] > best["columns"] + 0.05


def test_rows_without_labels_and_without_words_have_their_place():
    X, Y = words(3)
    X[::5], Y[1::3] = 0.0, 0
    model = LabelForest(10, cv=3, random_state=0).fit(X, Y)
    assert np.isfinite(model.oof_scores_).all()
    found = model.predict_proba(X[[0, 1]])
    assert found[1].max() < 0.5 < model.predict_proba(X[2:3]).max() + 0.5
    nothing = LabelForest(3, random_state=0).fit(X, np.zeros_like(Y))
    assert not nothing.predict(X).any()


def test_a_file_brings_means_back_too(tmp_path):
    X, Y = words(4)
    model = LabelForest(5, random_state=0).fit(X, Y)
    hyperlabel.save(model, tmp_path / "forest.hlm")
    assert_array_equal(
        hyperlabel.load(tmp_path / "forest.hlm").decision_function(X), model.decision_function(X)
    )

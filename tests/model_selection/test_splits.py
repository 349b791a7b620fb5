"""Splitters: conventions, sizes, balance, corner cases."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from tests.optional import optional

from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.datasets import Dataset
from hyperlabel.decision import guarantee_recall
from hyperlabel.model_selection import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    TimeOrderedSplit,
    iterative_train_test_split,
    resolve_cv,
)

pd = optional("pandas")


@pytest.fixture(scope="module")
def Y():
    rng = np.random.default_rng(0)
    Y = (rng.random((203, 12)) < np.geomspace(0.5, 0.01, 12)).astype(int)
    Y[:, 5] = 0  # a label without positives
    Y[:20] = 0  # rows without labels
    Y[30, :] = 1
    Y[:, 11] = 0
    Y[[50, 60], 11] = 1  # fewer positives than folds
    return Y


def parts_of(splitter, Y, **kwargs):
    return [test for _, test in splitter.split(np.zeros((Y.shape[0], 1)), Y, **kwargs)]


def test_folds_partition_the_rows_and_keep_the_shares(Y):
    splitter = IterativeStratifiedKFold(5, shuffle=True, random_state=0)
    tests = parts_of(splitter, Y)
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(203))
    assert sorted(map(len, tests)) == [40, 40, 41, 41, 41]
    positives = np.array([Y[test].sum(axis=0) for test in tests])
    assert np.abs(positives - Y.sum(axis=0) / 5).max() < 2
    assert positives[:, 11].max() == 1
    for train, test in splitter.split(None, Y):
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(203))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, pd.DataFrame, np.asfortranarray])
def test_every_form_of_y_gives_the_same_folds(Y, form):
    splitter = IterativeStratifiedKFold(4, shuffle=True, random_state=3)
    for a, b in zip(parts_of(splitter, Y), parts_of(splitter, form(Y)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_seed_fixes_the_folds_and_none_of_it_is_needed_without_shuffle(Y):
    def fold(**kwargs):
        return np.concatenate(parts_of(IterativeStratifiedKFold(5, **kwargs), Y)).tolist()

    assert fold() == fold()
    assert fold(shuffle=True, random_state=1) == fold(shuffle=True, random_state=1)
    assert fold(random_state=1) == fold(random_state=1)
    assert fold(shuffle=True, random_state=1) != fold(shuffle=True, random_state=2)
    assert fold(random_state=1) != fold(random_state=2)


def test_unknown_entries_count_as_absent(Y):
    partial = Y.astype(float)
    partial[0, 0] = np.nan
    partial[40:60, 3] = np.nan
    zeroed = np.nan_to_num(partial)
    for a, b in zip(*(parts_of(IterativeStratifiedKFold(3), y) for y in (partial, zeroed)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_are_balanced_as_by_scikit_learn(n_classes):
    y = np.random.default_rng(0).integers(0, n_classes, 101)
    ours = [np.bincount(y[test]) for test in parts_of(IterativeStratifiedKFold(5), y)]
    twin = [np.bincount(y[test]) for _, test in StratifiedKFold(5).split(y, y)]
    assert (np.ptp(ours, axis=0) <= 1).all()
    assert (np.ptp(twin, axis=0) <= 1).all()


def test_groups_are_never_split(Y):
    groups = np.random.default_rng(1).integers(0, 30, 203).astype(str)
    splitter = IterativeStratifiedGroupKFold(5, shuffle=True, random_state=0)
    sizes, positives = [], []
    for train, test in splitter.split(Y, sparse.csr_array(Y), groups):
        assert not set(groups[train]) & set(groups[test])
        sizes.append(len(test))
        positives.append(Y[test].sum(axis=0))
    assert sum(sizes) == 203
    assert np.ptp(sizes) < 25
    frequent = Y.sum(axis=0) > 20
    assert (np.ptp(positives, axis=0)[frequent] < 10).all()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    ("sizes", "n_splits"),
    [([60] + [1] * 60, 2), ([30, 20, 10, 10, 10, 10] + [1] * 30, 4), ([1] * 40 + [40], 2)],
)
def test_folds_by_group_are_balanced_in_rows_not_in_groups(sizes, n_splits, shuffle):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    Y = np.ones((len(groups), 1), dtype=int)
    splitter = IterativeStratifiedGroupKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    rows_per_fold = [len(test) for test in parts_of(splitter, Y, groups=groups)]
    assert max(rows_per_fold) - min(rows_per_fold) <= 1
    without_labels = parts_of(splitter, np.zeros_like(Y), groups=groups)
    assert max(map(len, without_labels)) - min(map(len, without_labels)) <= 1


HOLES = [
    (lambda: np.array(["a", None, "b", None, "c", "c"], dtype=object), "in 2 of 6 rows (first in row 1)"),
    (lambda: [1.0, 2.0, np.nan, 2.0, 1.0, np.nan], "in 2 of 6 rows (first in row 2)"),
    (lambda: np.array(["2026-01-01", "NaT"] * 3, dtype="datetime64[D]"), "in 3 of 6 rows (first in row 1)"),
    (lambda: pd.Series(["a", pd.NA, "b", "b", "a", "c"], dtype="string"), "in 1 of 6 rows (first in row 1)"),
    (lambda: pd.Series([1, 2, None, 2, 1, 3], dtype="Int64"), "in 1 of 6 rows (first in row 2)"),
    (lambda: np.array([1, "b", 2, "b", 1, 2], dtype=object), "values of several types"),
]


@pytest.mark.parametrize(("make_groups", "sentence"), HOLES)
def test_rows_without_a_group_are_refused_not_taken_for_one_group(make_groups, sentence):
    groups = make_groups()
    y = np.tile([[1, 0], [0, 1]], (3, 1))
    X = np.arange(12.0).reshape(6, 2)
    for ask in (
        lambda: parts_of(IterativeStratifiedGroupKFold(2), y, groups=groups),
        lambda: iterative_train_test_split(X, y, groups=groups, test_size=0.5),
        lambda: BinaryRelevance(cv=2).fit(X, y, groups=groups),
        lambda: ThresholdTuner(BinaryRelevance(), cv=2).fit(X, y, groups=groups),
        lambda: ThresholdTuner(BinaryRelevance(), cv="split", strategy="recall_at_least", recall=0.5).fit(
            X, y, groups=groups
        ),
        lambda: guarantee_recall(y.astype(float), sparse.csr_array(y), 0.5, groups=np.asarray(groups)),
        lambda: Dataset(X, y, groups=groups).describe(),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            ask()


def test_no_fold_stays_empty_however_uneven_the_groups():
    groups = np.repeat([0, 1, 2], [1, 1, 98])
    tests = parts_of(IterativeStratifiedGroupKFold(3), np.eye(2)[np.arange(100) % 2], groups=groups)
    assert sorted(map(len, tests)) == [1, 1, 98]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, (182, 21)),
        ({"test_size": 0.25}, (152, 51)),
        ({"test_size": 30, "train_size": 100}, (100, 30)),
        ({"train_size": 0.5}, (101, 102)),
    ],
)
def test_shuffle_split_keeps_the_sizes_to_the_row(Y, sizes, expected):
    splitter = IterativeStratifiedShuffleSplit(3, random_state=0, **sizes)
    seen = []
    for train, test in splitter.split(None, Y):
        assert (len(train), len(test)) == expected
        assert not set(train) & set(test)
        share = Y[test].sum(axis=0) - Y.sum(axis=0) * len(test) / 203
        assert np.abs(share).max() < 2
        seen.append(test.tolist())
    assert seen[0] != seen[1] != seen[2]
    assert seen == [test.tolist() for _, test in splitter.split(None, Y)]
    assert splitter.get_n_splits() == 3


def test_train_test_split_gives_every_array_back_in_its_form(Y):
    X = pd.DataFrame(np.arange(406).reshape(203, 2), columns=["a", "b"])
    S = sparse.csr_array(Y)
    ids = list(range(203))
    X_train, X_test, i_train, i_test, _, Y_test = iterative_train_test_split(
        X, ids, S, test_size=0.3, random_state=0
    )
    assert list(X_test.columns) == ["a", "b"]
    assert isinstance(i_test, list)
    assert isinstance(Y_test, sparse.csr_array)
    assert len(X_test) == len(i_test) == Y_test.shape[0] == 61
    assert len(X_train) + len(X_test) == len(i_train) + len(i_test) == 203
    np.testing.assert_array_equal(X_test.index, i_test)
    np.testing.assert_array_equal(Y_test.toarray(), Y[i_test])
    again = iterative_train_test_split(X, ids, S, test_size=0.3, random_state=0)
    assert again[3] == i_test


def test_train_test_split_by_separate_labels_without_shuffle_and_with_groups(Y):
    train, test = iterative_train_test_split(np.arange(203), y=Y, test_size=50, shuffle=False)
    assert len(test) == 50
    assert (np.diff(test) > 0).all()
    np.testing.assert_array_equal(
        test, iterative_train_test_split(np.arange(203), y=Y, test_size=50, shuffle=False)[1]
    )
    groups = np.arange(203) // 7
    train, test = iterative_train_test_split(np.arange(203), y=Y, groups=groups, random_state=0)
    assert not set(groups[train]) & set(groups[test])
    assert 35 <= len(test) <= 65


def test_time_order_trains_strictly_on_the_past():
    times = np.random.default_rng(0).integers(0, 12, 100)
    splitter = TimeOrderedSplit(4)
    tests = []
    for train, test in splitter.split(np.zeros((100, 1)), groups=times):
        assert times[train].max() < times[test].min()
        tests.append(test)
    assert len(np.unique(np.concatenate(tests))) == sum(map(len, tests))
    assert times.max() in times[tests[-1]]
    assert splitter.get_n_splits() == 4


def test_time_order_without_times_gap_and_window():
    found = list(TimeOrderedSplit(2, test_size=2, gap=1, max_train_size=3).split(np.zeros((10, 1))))
    assert [(a.tolist(), b.tolist()) for a, b in found] == [([2, 3, 4], [6, 7]), ([4, 5, 6], [8, 9])]


def test_grid_search_takes_the_splitters(Y):
    X = np.random.default_rng(0).random((203, 3))
    for cv, extra in (
        (IterativeStratifiedKFold(3), {}),
        (IterativeStratifiedGroupKFold(3), {"groups": np.arange(203) // 3}),
        (IterativeStratifiedShuffleSplit(2, random_state=0), {}),
        (TimeOrderedSplit(2), {"groups": np.arange(203)}),
    ):
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=cv, scoring="f1_micro")
        assert np.isfinite(search.fit(X, Y, **extra).cv_results_["mean_test_score"]).all()


def test_resolve_cv(Y):
    assert isinstance(resolve_cv(None, Y), IterativeStratifiedKFold)
    assert resolve_cv(np.int64(3), Y).n_splits == 3
    assert isinstance(resolve_cv(3, Y, groups=np.arange(203)), IterativeStratifiedGroupKFold)
    own = IterativeStratifiedShuffleSplit(2)
    assert resolve_cv(own, Y) is own
    pairs = [(np.arange(100), np.arange(100, 203))]
    assert next(iter(resolve_cv(pairs, sparse.csr_array(Y)).split(Y, Y)))[1][0] == 100


@pytest.mark.parametrize(
    ("splitter", "y", "kwargs", "message"),
    [
        (IterativeStratifiedKFold(5), np.eye(3), {}, "Cannot make 5 folds of 3 rows"),
        (IterativeStratifiedKFold(2), None, {}, "stratifies by y"),
        (IterativeStratifiedKFold(2), np.array([[1.5, 1], [0, 1], [1, 1]]), {}, "only 0 and 1"),
        (IterativeStratifiedGroupKFold(2), np.eye(3), {}, "groups"),
        (IterativeStratifiedGroupKFold(2), np.eye(3), {"groups": [1, 1]}, "one group per row"),
        (IterativeStratifiedGroupKFold(2), np.eye(3), {"groups": [1, 1, 1]}, "2 folds of 1 groups"),
        (TimeOrderedSplit(5), np.eye(3), {}, "leave no training rows"),
        (TimeOrderedSplit(2), np.eye(3), {"groups": [1, 1, 1]}, "share one moment"),
        (TimeOrderedSplit(2), np.eye(3), {"groups": [1]}, "one per row"),
    ],
)
def test_bad_input_gets_one_sentence(splitter, y, kwargs, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(np.zeros((3, 1)), y, **kwargs))


def test_bad_parameters():
    with pytest.raises(ValueError, match="at least 2"):
        IterativeStratifiedKFold(1)
    with pytest.raises(ValueError, match="at least one array"):
        iterative_train_test_split()
    with pytest.raises(ValueError, match="No whole group fits"):
        iterative_train_test_split(np.eye(10), groups=np.arange(10) // 5, test_size=0.1)


@pytest.mark.parametrize("kind", [IterativeStratifiedKFold, IterativeStratifiedShuffleSplit])
def test_groups_that_a_splitter_tears_apart_are_warned_of(kind):
    """They were taken and ignored: rows of one group leaked from training to test."""
    Y = np.eye(3, dtype=int)[np.arange(30) % 3]
    with pytest.warns(UserWarning, match="ignores groups: IterativeStratifiedGroupKFold"):
        list(kind(2).split(Y, Y, np.arange(30) // 2))

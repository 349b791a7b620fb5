"""Stratified splitters for multi-label data, with scikit-learn's splitter conventions."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state, indexable

from hyperlabel._missing_labels import harden, split_missing
from hyperlabel._sklearn_compat import num_samples, safe_indexing, validate_shuffle_split
from hyperlabel._validation import check_targets, number_groups
from hyperlabel.solvers.labels.stratify import solve_stratify


class StratifiedSplitter(BaseCrossValidator, ABC):
    """What the stratified splitters share: parameters checked, y let in, rows dealt."""

    n_splits: int
    random_state: Any

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; the arguments are ignored."""
        return self.n_splits

    def _warn_of_groups(self, groups: Any) -> None:
        """Say that a splitter tears groups apart, as scikit-learn's do."""
        if groups is not None:
            better = "IterativeStratifiedGroupKFold keeps them together"
            warnings.warn(f"{type(self).__name__} ignores groups: {better}.", UserWarning, stacklevel=3)

    @abstractmethod
    def deal(self, Y: sparse.csr_array, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Return the training and test rows of each split of a validated indicator."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and test rows of each split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its number of rows is used; None is allowed.
        y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
            The labels to stratify by; unknown entries (NaN) count as absent.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, for splitters that keep groups whole.

        Yields
        ------
        train, test : ndarray of int
            Row indices.
        """
        return self.deal(check_labels(type(self).__name__, X, y), groups)


def check_labels(name: str, X: Any, y: Any) -> sparse.csr_array:
    """Return the indicator to stratify by; unknown entries (NaN) count as absent, shares as the likelier."""
    if y is None:
        raise ValueError(f"{name} stratifies by y: pass the label indicator matrix.")
    Y, _ = check_targets(y, n_rows=None if X is None else num_samples(X), name=name, missing=True, soft=True)
    return split_missing(harden(Y))[0]


@dataclass(eq=False, repr=False)
class _Folds(StratifiedSplitter):
    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Any = None

    def __post_init__(self) -> None:
        n = self.n_splits
        if isinstance(n, bool) or int(n) != n or n < 2:
            raise ValueError(f"n_splits must be a whole number of at least 2, got {n!r}.")
        self.n_splits = int(n)

    @abstractmethod
    def _fold_of_row(self, Y: sparse.csr_array, groups: Any) -> np.ndarray:
        """Return the fold of each row."""

    def deal(self, Y: sparse.csr_array, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        fold_of_row = self._fold_of_row(Y, groups)
        folds = range(self.n_splits)
        return iter([(np.flatnonzero(fold_of_row != f), np.flatnonzero(fold_of_row == f)) for f in folds])


class IterativeStratifiedKFold(_Folds):
    r"""K folds in which every label keeps its share of positives.

    Rows are dealt to folds, the rarest label first [1]_, each to the fold where

    .. math:: \chi^2 = \sum_{j,f} (c_{jf} - d_j/K)^2 / (d_j/K)

    falls most, where:

    * :math:`c_{jf}` is the number of positives of label j dealt to fold f so far,
    * :math:`d_j` is the number of positives of label j, K the number of folds.

    Fold sizes differ by at most one row. Rows without labels fill the folds up. Y may be sparse
    and is never densified: the cost is O(nnz(Y)·(K + log k)).

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds K.
    shuffle : bool, default=False
        Visit the rows in random order instead of the given one.
    random_state : int, RandomState or None, default=None
        Seed of the order and of ties. With None and `shuffle=False` ties go to the first
        fold, so the folds depend on the data alone.

    References
    ----------
    .. [1] K. Sechidis, G. Tsoumakas, I. Vlahavas, "On the Stratification of Multi-Label
       Data", ECML PKDD 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.model_selection import IterativeStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> folds = IterativeStratifiedKFold(2)
    >>> [Y[test].sum(axis=0).tolist() for train, test in folds.split(np.zeros((6, 1)), Y)]
    [[2, 1], [2, 1]]
    """

    def _fold_of_row(self, Y: sparse.csr_array, groups: Any) -> np.ndarray:
        self._warn_of_groups(groups)
        n = Y.shape[0]
        if n < self.n_splits:
            raise ValueError(f"Cannot make {self.n_splits} folds of {n} rows: lower n_splits.")
        rows_per_fold = np.full(self.n_splits, n // self.n_splits)
        rows_per_fold[: n % self.n_splits] += 1
        return _deal_rows(Y, rows_per_fold, shuffle=self.shuffle, random_state=self.random_state)


class IterativeStratifiedGroupKFold(_Folds):
    """K folds that never split a group and keep every label's share as well as groups allow.

    The rule of `IterativeStratifiedKFold` with whole groups instead of rows, large groups
    first; the number of rows per fold is balanced like one more label.

    Parameters
    ----------
    n_splits, shuffle, random_state
        As in :class:`IterativeStratifiedKFold`, with groups of equal size for rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.model_selection import IterativeStratifiedGroupKFold
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    >>> person = np.array(["ann", "ann", "bob", "bob", "cy", "dee"])
    >>> folds = IterativeStratifiedGroupKFold(2)
    >>> [sorted(set(person[test].tolist())) for _, test in folds.split(Y, Y, person)]
    [['ann', 'dee'], ['bob', 'cy']]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012 (scikit-learn's declaration form)

    def _fold_of_row(self, Y: sparse.csr_array, groups: Any) -> np.ndarray:
        n_groups = int(number_groups(groups, Y.shape[0]).max(initial=-1)) + 1
        if n_groups < self.n_splits:
            raise ValueError(f"Cannot make {self.n_splits} folds of {n_groups} groups: lower n_splits.")
        shares = np.full(self.n_splits, 1.0 / self.n_splits)
        # An empty fold wants everything most, so no fold stays empty.
        return _deal_groups(Y, groups, shares, shuffle=self.shuffle, random_state=self.random_state)


@dataclass(eq=False, repr=False)
class IterativeStratifiedShuffleSplit(StratifiedSplitter):
    """Random train/test splits in which every label keeps its share of positives.

    The rule of `IterativeStratifiedKFold` with two (unequal) parts; the sizes asked for are
    kept to the row.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size, train_size : float or int, default=None
        Share or number of rows; as in scikit-learn, the test part is 10 % if both are None,
        and rows in neither part are left out.
    random_state : int, RandomState or None, default=None
        Seed; the splits differ from each other, and an int gives the same ones each time.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.model_selection import IterativeStratifiedShuffleSplit
    >>> Y = np.tile([[1, 0], [0, 1]], (10, 1))
    >>> splits = IterativeStratifiedShuffleSplit(2, test_size=0.2, random_state=0)
    >>> [Y[test].sum(axis=0).tolist() for train, test in splits.split(Y, Y)]
    [[2, 2], [2, 2]]
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: float | int | None = None
    train_size: float | int | None = None
    random_state: Any = None

    def deal(self, Y: sparse.csr_array, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self._warn_of_groups(groups)
        n = Y.shape[0]
        n_train, n_test = validate_shuffle_split(n, self.test_size, self.train_size, default_test_size=0.1)
        subset_sizes = np.array([n_train, n_test, n - n_train - n_test])
        random = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            subset_of_row = _deal_rows(Y, subset_sizes[subset_sizes > 0], shuffle=True, random_state=random)
            yield tuple(random.permutation(np.flatnonzero(subset_of_row == p)) for p in (0, 1))


def iterative_train_test_split(
    *arrays: Any,
    y: Any = None,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    groups: Any = None,
) -> list[Any]:
    """Split arrays into a training and a test part that keep every label's share.

    Parameters
    ----------
    *arrays : array-likes of the same number of rows
        ndarrays, sparse matrices, DataFrames, lists; each comes back as it is. The last one
        holds the labels unless `y` is given.
    y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,), default=None
        The labels to stratify by when they are not the last array; not returned.
    test_size, train_size : float or int, default=None
        Share or number of rows, kept to the row (25 % for testing if both are None).
    random_state : int, RandomState or None, default=None
        Seed.
    shuffle : bool, default=True
        False keeps the given order in both parts and breaks ties the same way each time.
    groups : array-like of shape (n_samples,), default=None
        Groups to keep whole; the sizes are then met as closely as whole groups allow.

    Returns
    -------
    splitting : list of length 2·len(arrays)
        The training and test part of each array in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from hyperlabel.model_selection import iterative_train_test_split
    >>> X, Y = np.arange(16).reshape(8, 2), sparse.csr_array(np.tile([[1, 0], [1, 1]], (4, 1)))
    >>> X_train, X_test, Y_train, Y_test = iterative_train_test_split(
    ...     X, Y, test_size=0.5, random_state=0)
    >>> Y_train.sum(axis=0).tolist(), Y_test.sum(axis=0).tolist()
    ([4, 2], [4, 2])
    """
    if not arrays:
        raise ValueError("Pass at least one array to split.")
    checked_arrays = indexable(*arrays)
    Y = check_labels("iterative_train_test_split", checked_arrays[0], checked_arrays[-1] if y is None else y)
    n = Y.shape[0]
    split_sizes = np.array(validate_shuffle_split(n, test_size, train_size, default_test_size=0.25))
    subset_sizes = np.append(split_sizes, n - split_sizes.sum())
    random = check_random_state(random_state) if shuffle else random_state
    if groups is None:
        subset_of_row = _deal_rows(Y, subset_sizes[subset_sizes > 0], shuffle=shuffle, random_state=random)
    else:
        subset_of_row = _deal_groups(
            Y, groups, subset_sizes[subset_sizes > 0] / n, shuffle=shuffle, random_state=random
        )
    subset_rows = [np.flatnonzero(subset_of_row == p) for p in (0, 1)]
    if not (len(subset_rows[0]) and len(subset_rows[1])):
        raise ValueError("No whole group fits the smaller part: raise its size or use smaller groups.")
    if shuffle:
        subset_rows = [random.permutation(rows) for rows in subset_rows]
    return [safe_indexing(array, rows) for array in checked_arrays for rows in subset_rows]


# -- dealing ------------------------------------------------------------------------------------


def _as_generator(random_state: Any, shuffle: bool) -> np.random.Generator | None:
    """Turn scikit-learn's random_state into a Generator; None where nothing is left to chance."""
    if random_state is None and not shuffle:
        return None
    return np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1, size=4))


def _deal_rows(
    Y: sparse.csr_array, rows_per_fold: np.ndarray, *, shuffle: bool, random_state: Any
) -> np.ndarray:
    n = Y.shape[0]
    rng = _as_generator(random_state, shuffle)
    row_order = rng.permutation(n) if rng is not None and shuffle else np.arange(n)
    fold_of_row = np.empty(n, dtype=np.int64)
    fold_assignment = solve_stratify(Y[row_order], rows_per_fold / n, rows_per_fold=rows_per_fold, rng=rng)
    fold_of_row[row_order] = fold_assignment.fold
    return fold_of_row


def _deal_groups(
    Y: sparse.csr_array, groups: Any, shares: np.ndarray, *, shuffle: bool, random_state: Any
) -> np.ndarray:
    n = Y.shape[0]
    group_of_row = number_groups(groups, n)
    rng = _as_generator(random_state, shuffle)
    if rng is not None and shuffle:
        group_of_row = rng.permutation(group_of_row.max() + 1)[group_of_row]
    rows_per_group = np.bincount(group_of_row)
    matrix_entries = (np.ones(n), (group_of_row, np.arange(n)))
    group_rows = sparse.csr_array(matrix_entries, shape=(len(rows_per_group), n))
    fold_assignment = solve_stratify(sparse.csr_array(group_rows @ Y), shares, size=rows_per_group, rng=rng)
    return fold_assignment.fold[group_of_row]

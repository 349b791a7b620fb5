"""The one maker of folds: what `cv=` means, as row numbers of training and test rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv

from hyperlabel._missing_labels import harden, rows_with_known_labels, split_missing
from hyperlabel._validation import number_groups
from hyperlabel.model_selection._splits import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    StratifiedSplitter,
)

Split = tuple[np.ndarray, np.ndarray]


def is_number(cv: Any) -> bool:
    """Whether `cv` is a number of folds."""
    return isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)


def make_splitter(cv: Any, groups: Any = None, y: Any = None, **options: Any) -> Any:
    """Return the splitter that `cv` stands for; options are those of the stratified ones."""
    if is_number(cv):
        stratified = IterativeStratifiedKFold if groups is None else IterativeStratifiedGroupKFold
        return stratified(int(cv), **options)
    return check_cv(cv, y)


def resolve_cv(cv: Any, y: Any, groups: Any = None) -> Any:
    """Return a splitter for whatever `cv=` was given.

    Parameters
    ----------
    cv : None, int, splitter or iterable of (train, test)
        None means 5 folds. A number gives `IterativeStratifiedKFold`, or
        `IterativeStratifiedGroupKFold` when `groups` is given; the rest is left as it is.
    y : array-like or sparse matrix
        The labels.
    groups : array-like of shape (n_samples,), default=None
        The group of each row.

    Examples
    --------
    >>> from hyperlabel.model_selection import resolve_cv
    >>> resolve_cv(3, [[1, 0], [0, 1]])
    IterativeStratifiedKFold(n_splits=3, random_state=None, shuffle=False)
    """
    return make_splitter(5 if cv is None else cv, groups, y)


def make_folds(
    cv: Any,
    Y: sparse.csr_array,
    groups: Any = None,
    *,
    X: Any = None,
    y: Any = None,
    default: int = 5,
    at_most_rows: bool = False,
    shuffle: bool = False,
    random_state: Any = None,
) -> list[Split]:
    """Return the (train, test) row numbers of every fold.

    Parameters
    ----------
    cv : None, int, splitter or iterable of (train, test)
        None means `default` folds. A number means stratified folds, which keep `groups` whole.
    Y : csr_array of shape (n_samples, n_labels)
        The validated indicator, by which rows are dealt; labels nobody knows count as absent. A number of
        folds tests no row without a known label.
    groups : array-like of shape (n_samples,), default=None
        Group (or time) of each row.
    X, y : default=None
        What splitters of others are shown; None: row numbers and `Y`.
    default : int, default=5
        Number of folds where `cv` is None.
    at_most_rows : bool, default=False
        Whether a number of folds above that of rows (groups) is lowered instead of refused.
    shuffle, random_state
        Of stratified folds.

    Returns
    -------
    folds : list of tuple (train, test)

    Examples
    --------
    >>> Y = sparse.csr_array([[1.0], [1.0], [0.0], [0.0]])
    >>> [test.tolist() for _, test in make_folds(2, Y)]
    [[0, 2], [1, 3]]
    """
    cv = default if cv is None else cv
    deals_rows, rows, hard, known = is_number(cv), None, Y, Y
    if not (Y.data == 1.0).all():  # shares, and labels nobody knows
        hard = harden(Y)
        rows, known = rows_with_known_labels(hard), split_missing(hard)[0]
    if deals_rows and rows is not None:
        options: Any = {"at_most_rows": at_most_rows, "shuffle": shuffle, "random_state": random_state}
        return _make_known_folds(cv, hard, rows, groups, **options)
    if at_most_rows and deals_rows:
        n_units = count_units(Y.shape[0], groups)
        cv = min(int(cv), n_units) if n_units > 1 else cv
    options = {"shuffle": shuffle, "random_state": random_state} if deals_rows else {}
    y = hard if y is None else y
    splitter = make_splitter(cv, groups, y, **options)
    if isinstance(splitter, StratifiedSplitter):
        return list(splitter.deal(known, groups))
    X = np.arange(Y.shape[0])[:, None] if X is None else X
    grouping = {} if groups is None else {"groups": groups}
    return [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, **grouping)]


def _make_known_folds(
    cv: Any, Y: sparse.csr_array, rows: np.ndarray, groups: Any, **options: Any
) -> list[Split]:
    """Deal the rows with a known label; the others are tested nowhere, and move no other row."""
    unknown_rows = np.setdiff1d(np.arange(Y.shape[0]), rows)
    known_groups = None if groups is None else np.asarray(groups)[rows]
    known_folds = make_folds(cv, Y[rows], known_groups, **options)
    return [(np.sort(np.r_[rows[train], unknown_rows]), rows[test]) for train, test in known_folds]


def count_units(n_rows: int, groups: Any = None) -> int:
    """Return the number of rows, or of groups where there are some: at most so many folds are possible."""
    return n_rows if groups is None else int(number_groups(groups, n_rows).max(initial=-1)) + 1

"""Scores of each row by a model that has not seen it, for any classifier."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from hyperlabel._base import fit_checked, score_rows
from hyperlabel._sklearn_compat import check_method_params, num_samples, routing_enabled, safe_indexing
from hyperlabel._validation import CheckedTargets, indicator_of_names, read_targets, target_check_options
from hyperlabel.model_selection.folds import make_folds
from hyperlabel.model_selection.groups import groups_for_fit


def out_of_fold_scores(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the out-of-fold scores: of each row, by a model that has not seen it.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted for each fold.
    X : array-like, DataFrame, sparse matrix or list of shape (n_samples, …)
        Anything the estimator takes.
    y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
        The labels; NaN where nobody knows, if the estimator takes it.
    cv : None, int, splitter or iterable of (train, test), default=None
        See :func:`hyperlabel.model_selection.resolve_cv`; None means 5 stratified folds.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together, also in the folds that the estimator makes itself.
    params : dict, default=None
        Passed to `fit`; values with one entry for each row are limited to the fold.
    n_jobs : int, default=None
        Folds fitted in parallel.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_columns)
        The mean where a row is tested several times; NaN in rows that never are (the first block of a
        time-ordered split).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.model_selection import out_of_fold_scores
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> out_of_fold_scores(BinaryRelevance(), X, y).shape
    (100, 5)
    """
    name = type(estimator).__name__
    targets = read_targets(y, n_rows=num_samples(X), name=name, **target_check_options(estimator))
    y = indicator_of_names(y, targets.Y, targets.layout)
    return score_out_of_fold(estimator, X, y, targets, cv=cv, groups=groups, params=params, n_jobs=n_jobs)


def score_out_of_fold(
    estimator: Any,
    X: Any,
    y: Any,
    targets: CheckedTargets,
    *,
    cv: Any,
    groups: Any,
    params: dict[str, Any] | None,
    n_jobs: int | None,
) -> np.ndarray:
    """Return the out-of-fold scores of a y that is validated already (`targets`)."""
    n, layout = targets.Y.shape[0], targets.layout
    X, y, groups = indexable(X, y, groups)
    fold_rows = make_folds(cv, targets.Y, groups, X=X, y=y, at_most_rows=True)
    params = dict(params or {})
    if not routing_enabled():
        params = groups_for_fit(estimator, groups) | params
    fold_scores = Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(clone(estimator), X, y, targets, train, test, params) for train, test in fold_rows
    )
    score_sum, times_tested = np.zeros((n, layout.n_columns)), np.zeros(n)
    for (_, test), scores in zip(fold_rows, fold_scores, strict=True):
        np.add.at(score_sum, test, scores)
        np.add.at(times_tested, test, 1.0)
    return np.divide(
        score_sum, times_tested[:, None], out=np.full_like(score_sum, np.nan), where=times_tested[:, None] > 0
    )


def _fit_fold(
    model: Any,
    X: Any,
    y: Any,
    targets: CheckedTargets,
    train: np.ndarray,
    test: np.ndarray,
    params: dict[str, Any],
) -> np.ndarray:
    fold_params = check_method_params(X, params=params, indices=train)
    fit_checked(model, safe_indexing(X, train), safe_indexing(y, train), targets.take(train), fold_params)
    return score_rows(model, safe_indexing(X, test), targets.layout)

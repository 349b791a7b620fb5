"""Scores of two files that can be compared: a row of the fit is scored by a model that has not seen it."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from hyperlabel._base import score_rows
from hyperlabel.apps.cli._fit_rows import find_fit_rows
from hyperlabel.apps.cli._guarantees import learned_rows
from hyperlabel.meta.wrapper_base import has_closed_form_cv
from hyperlabel.model_selection import resolve_cv
from hyperlabel.tabular.model_file import aligned_labels
from hyperlabel.tabular.wording import plural

_FOLDS = 5


def comparable_scores(
    file: Any, before: Any, after: Any, groups: np.ndarray | None, seed: int
) -> tuple[np.ndarray | None, str]:
    """Return scores of the old and then the new rows, and a sentence where they are not simply the model's.

    Scores of rows of the fit are fitted ones, those of other rows are not: comparing them always alarms. If
    OLD holds rows of the fit, every row is scored by a model of OLD's other folds, its words included.
    New rows are dealt to the folds, so that old and new rows of a fold meet the same model.
    """
    columns = file.columns
    rows = [columns.inputs(data) for data in (before, after)]
    if not columns.row_hashes:
        return None, "the model file does not say which rows it was fitted on: fit it again"
    n_old, n_new = (find_fit_rows(columns, one).n_in_fit for one in rows)
    if not n_old and not n_new:
        return np.vstack([file.scores(one) for one in rows]), ""
    if n_new:
        return None, f"{plural(n_new, 'row')} of NEW are rows of the fit"
    reason = f"{plural(n_old, 'row')} of OLD are rows of the fit, and "
    inside = file.model[-1]
    fitted = getattr(inside, "estimator_", inside)
    if not has_closed_form_cv(fitted):
        return None, reason + f"{columns.method} models take too long to be fitted without them"
    if not before.n_labels or (before.missing is not None and before.missing.nnz):
        return None, reason + "OLD lacks the labels to fit the model without them"
    Y, _ = aligned_labels(before, columns.label_names, normalise=columns.normalise)
    estimator = clone(fitted).set_params(alpha=fitted.alpha_, cv=None)
    features = clone(file.model[0])
    scores = cross_fitted_scores(features, estimator, rows, Y, groups, np.random.default_rng(seed))
    return scores, reason + f"all scores come from {_FOLDS} models fitted on the other rows of OLD"


def cross_fitted_scores(
    features: Any, estimator: Any, rows: list[Any], Y: Any, groups: np.ndarray | None, rng: Any
) -> np.ndarray:
    """Score each row by a model of OLD's other folds; groups stay whole, also where both files share them."""
    n_old, n_new = Y.shape[0], len(rows[1]) if isinstance(rows[1], list) else rows[1].shape[0]
    units = np.arange(n_old + n_new) if groups is None else np.unique(groups, return_inverse=True)[1]
    old_groups = None if groups is None else units[:n_old]
    n_folds = min(_FOLDS, len(np.unique(units[:n_old])))
    splitter = resolve_cv(n_folds, Y, old_groups)
    folds = list(splitter.split(np.zeros((n_old, 1)), Y, old_groups))
    fold_sizes = np.array([len(test) for _, test in folds])
    fold_of_unit = rng.choice(n_folds, size=units.max() + 1, p=fold_sizes / n_old)
    for fold, (_, test) in enumerate(folds):
        fold_of_unit[units[test]] = fold
    scores = np.zeros((n_old + n_new, Y.shape[1]))
    for fold, (train, test) in enumerate(folds):
        numbers = learned_rows(features, _safe_indexing(rows[0], train), None, None)
        model = clone(estimator).fit(numbers, Y[train])
        dealt = np.flatnonzero(fold_of_unit[units[n_old:]] == fold)
        for of_file, index, start in ((rows[0], test, 0), (rows[1], dealt, n_old)):
            if len(index):
                scores[start + index] = score_rows(model, features.transform(_safe_indexing(of_file, index)))
    return scores

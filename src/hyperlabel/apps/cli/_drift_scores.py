"""Scores of two files that can be compared: a row of the fit is scored by a model that has not seen it."""

from typing import Any

import numpy as np
from sklearn.base import clone

from hyperlabel._base import score_rows
from hyperlabel._sklearn_compat import safe_indexing
from hyperlabel.meta.wrapper_base import has_closed_form_cv
from hyperlabel.model_selection import resolve_cv
from hyperlabel.tabular.fit_rows import find_fit_rows
from hyperlabel.tabular.label_text import move_label_rows
from hyperlabel.tabular.model_file import aligned_labels
from hyperlabel.tabular.pipeline import learned_rows
from hyperlabel.tabular.wording import plural

_FOLDS = 5


def comparable_scores(
    file: Any, old_table: Any, new_table: Any, groups: np.ndarray | None, seed: int
) -> tuple[np.ndarray | None, str]:
    """Return scores of the old and then the new rows, and a sentence where they are not simply the model's.

    Scores of rows of the fit are fitted ones, those of other rows are not: comparing them always alarms. If
    OLD holds rows of the fit, every row is scored by a model of OLD's other folds, its words included.
    New rows are dealt to the folds, so that old and new rows of a fold meet the same model.
    """
    columns = file.columns
    rows_by_file = [columns.inputs(dataset) for dataset in (old_table, new_table)]
    if not columns.row_hashes:
        return None, "the model file does not say which rows it was fitted on: fit it again"
    n_old, n_new = (find_fit_rows(columns, file_rows).n_in_fit for file_rows in rows_by_file)
    if not n_old and not n_new:
        return np.vstack([file.scores(file_rows) for file_rows in rows_by_file]), ""
    if n_new:
        return None, f"{plural(n_new, 'row')} of NEW are rows of the fit"
    overlap_reason = f"{plural(n_old, 'row')} of OLD are rows of the fit, and "
    last_step = file.model[-1]
    fitted_estimator = getattr(last_step, "estimator_", last_step)
    if not has_closed_form_cv(fitted_estimator):
        return None, overlap_reason + f"{columns.method} models take too long to be fitted without them"
    if not old_table.n_labels or (old_table.missing is not None and old_table.missing.nnz):
        return None, overlap_reason + "OLD lacks the labels to fit the model without them"
    Y, _ = aligned_labels(old_table, columns.label_names, normalise=columns.normalise)
    unfitted_estimator = clone(fitted_estimator).set_params(alpha=fitted_estimator.alpha_, cv=None)
    if hasattr(fitted_estimator, "label_features_"):  # labels may have come and gone since the fit
        unfitted_estimator.set_params(label_features=fitted_estimator.label_features_)
    row_scores = cross_fitted_scores(
        file.model[0], unfitted_estimator, rows_by_file, Y, groups, np.random.default_rng(seed)
    )
    overlap_reason += f"all scores come from {_FOLDS} models fitted on the other rows of OLD"
    return row_scores, overlap_reason


def cross_fitted_scores(
    features: Any, estimator: Any, rows_by_file: list[Any], Y: Any, groups: np.ndarray | None, rng: Any
) -> np.ndarray:
    """Score each row by a model of OLD's other folds; groups stay whole, also where both files share them.

    `features` are those of the model file: each fold learns its own, and names of labels move to them.
    """
    old_rows, new_rows = rows_by_file
    n_old, n_new = Y.shape[0], len(new_rows) if isinstance(new_rows, list) else new_rows.shape[0]
    group_of_row = np.arange(n_old + n_new) if groups is None else np.unique(groups, return_inverse=True)[1]
    old_groups = None if groups is None else group_of_row[:n_old]
    n_folds = min(_FOLDS, len(np.unique(group_of_row[:n_old])))
    splitter = resolve_cv(n_folds, Y, old_groups)
    fold_rows = list(splitter.split(np.zeros((n_old, 1)), Y, old_groups))
    fold_sizes = np.array([len(test_rows) for _, test_rows in fold_rows])
    fold_of_group = rng.choice(n_folds, size=group_of_row.max() + 1, p=fold_sizes / n_old)
    for fold, (_, test_rows) in enumerate(fold_rows):
        fold_of_group[group_of_row[test_rows]] = fold
    row_scores = np.zeros((n_old + n_new, Y.shape[1]))
    for fold, (train_rows, test_rows) in enumerate(fold_rows):
        fold_features = clone(features)
        train_features = learned_rows(fold_features, safe_indexing(old_rows, train_rows), None, None)
        fold_model = clone(estimator)
        if getattr(estimator, "label_features", None) is not None:
            label_rows = move_label_rows(estimator.label_features, features, fold_features)
            fold_model.set_params(label_features=label_rows)
        fold_model.fit(train_features, Y[train_rows])
        new_test_rows = np.flatnonzero(fold_of_group[group_of_row[n_old:]] == fold)
        for file_rows, row_index, first_row in ((old_rows, test_rows, 0), (new_rows, new_test_rows, n_old)):
            if len(row_index):
                test_features = fold_features.transform(safe_indexing(file_rows, row_index))
                row_scores[first_row + row_index] = score_rows(fold_model, test_features)
    return row_scores

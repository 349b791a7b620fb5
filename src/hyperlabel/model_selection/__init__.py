"""Stratified, grouped and time-ordered splits, and cross-validation that takes sparse Y."""

from hyperlabel.model_selection._scores import cross_val_scores
from hyperlabel.model_selection._splits import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    iterative_train_test_split,
)
from hyperlabel.model_selection._time import TimeOrderedSplit
from hyperlabel.model_selection.folds import resolve_cv
from hyperlabel.model_selection.out_of_fold import out_of_fold_scores

__all__ = [
    "IterativeStratifiedKFold",
    "IterativeStratifiedGroupKFold",
    "IterativeStratifiedShuffleSplit",
    "TimeOrderedSplit",
    "iterative_train_test_split",
    "cross_val_scores",
    "out_of_fold_scores",
    "resolve_cv",
]

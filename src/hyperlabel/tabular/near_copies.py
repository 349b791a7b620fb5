"""Near copies among the rows of a file: counted, and kept in one fold where they are many."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperlabel.tabular.wording import plural

# Copies in other folds lift a score by at most their share of the rows: below a tenth that is about the
# standard error which fit states beside it, and rows keep the folds they always had.
MANY = 0.1
_SOME = 0.01  # share of the rows worth a word
_LARGEST = 0.5  # share of the rows in one group beyond which folds cannot be made of groups


@dataclass(frozen=True)
class NearDuplicates:
    """The groups of near copies of a data set, and whether folds keep them whole."""

    group: np.ndarray
    n_rows: int  # that have a near copy
    stay_together: bool

    @property
    def sentence(self) -> str | None:
        """Say how many there are and what follows; None where they are few."""
        if self.n_rows < _SOME * len(self.group):
            return None
        verb = "has" if self.n_rows == 1 else "have"
        count_clause = f"{self.n_rows} of {plural(len(self.group), 'row')} {verb} a near twin"
        if self.stay_together:
            return (
                f"{count_clause}: twins stay in one fold, or the stated score would be too good. Say --group "
                "COLUMN to keep other rows together, --group '' to let each row stand alone."
            )
        return (
            f"{count_clause}, so the stated score is too good for rows that have none: --group COLUMN keeps "
            "rows of one origin in one fold."
        )


def find_near_duplicates(dataset: Any, columns: Any) -> NearDuplicates:
    """Find the near copies among the rows of a data set whose columns are known."""
    from hyperlabel.model_selection.near_duplicates import count_near_duplicates, near_duplicate_groups

    word_columns = columns.cells(dataset) if columns.text_columns else []
    texts, category_columns = word_columns[: len(columns.text)], word_columns[len(columns.text) :]
    joined_texts = ["\n".join(row_texts) for row_texts in zip(*texts, strict=True)] if texts else None
    row_numbers = dataset.X
    if category_columns:
        category_codes = [np.unique(column, return_inverse=True)[1] for column in category_columns]
        row_numbers = np.column_stack([*category_codes, *([dataset.X] if columns.n_features else [])])
    group_of_row = near_duplicate_groups(joined_texts, row_numbers)
    n_rows, group_sizes = count_near_duplicates(group_of_row), np.bincount(group_of_row)
    are_many, can_be_split = n_rows >= MANY * len(group_of_row), len(group_sizes) > 1
    stay_together = are_many and can_be_split and group_sizes.max() <= _LARGEST * len(group_of_row)
    return NearDuplicates(group_of_row, n_rows, bool(stay_together))


def keep_together(dataset: Any, columns: Any) -> tuple[Any, str | None]:
    """Return a data set with near copies as groups, where they are many, and what to say about them.

    Groups that the user named stay as they are, and then there is nothing to say.
    """
    if dataset.groups is not None or columns.group == "":
        return dataset, None
    near_duplicates = find_near_duplicates(dataset, columns)
    if near_duplicates.stay_together:
        dataset = replace(dataset, groups=near_duplicates.group)
    return dataset, near_duplicates.sentence


def count_near_copies(dataset: Any, path: str, settled: dict[str, Any]) -> int:
    """Count the rows of a data set, read as `fit` would, that have a near copy."""
    from hyperlabel.datasets import data_format
    from hyperlabel.tabular.model_file import ModelColumns
    from hyperlabel.tabular.training_table import word_columns

    file_format = "npz" if path == "debtags" else data_format(path)
    text_names, category_names = word_columns(dataset, file_format, settled.get("text") or [])
    model_columns = ModelColumns(
        file_format, [], n_features=dataset.n_features, text=text_names, categories=category_names
    )
    return find_near_duplicates(dataset, model_columns).n_rows

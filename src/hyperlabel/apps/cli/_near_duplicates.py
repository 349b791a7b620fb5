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
        counted = f"{self.n_rows} of {plural(len(self.group), 'row')} {verb} a near twin"
        if self.stay_together:
            return (
                f"{counted}: twins stay in one fold, or the stated score would be too good. Say --group "
                "COLUMN to keep other rows together, --group '' to let each row stand alone."
            )
        return (
            f"{counted}, so the stated score is too good for rows that have none: --group COLUMN keeps rows "
            "of one origin in one fold."
        )


def find_near_duplicates(table: Any, columns: Any) -> NearDuplicates:
    """Find the near copies among the rows of a data set whose columns are known."""
    from hyperlabel.model_selection.near_duplicates import count_near_duplicates, near_duplicate_groups

    words = columns.cells(table) if columns.text_columns else []
    texts, categories = words[: len(columns.text)], words[len(columns.text) :]
    joined = ["\n".join(row) for row in zip(*texts, strict=True)] if texts else None
    values = table.X
    if categories:
        codes = [np.unique(cells, return_inverse=True)[1] for cells in categories]
        values = np.column_stack([*codes, *([table.X] if columns.n_features else [])])
    group = near_duplicate_groups(joined, values)
    n_rows, sizes = count_near_duplicates(group), np.bincount(group)
    many = n_rows >= MANY * len(group) and len(sizes) > 1 and sizes.max() <= _LARGEST * len(group)
    return NearDuplicates(group, n_rows, bool(many))


def keep_together(table: Any, columns: Any) -> tuple[Any, str | None]:
    """Return a data set with near copies as groups, where they are many, and what to say about them.

    Groups that the user named stay as they are, and then there is nothing to say.
    """
    if table.groups is not None or columns.group == "":
        return table, None
    twins = find_near_duplicates(table, columns)
    return (replace(table, groups=twins.group) if twins.stay_together else table), twins.sentence


def count_near_copies(data: Any, path: str, settled: dict[str, Any]) -> int:
    """Count the rows of a data set, read as `fit` would, that have a near copy."""
    from hyperlabel.datasets import data_format
    from hyperlabel.tabular.model_file import ModelColumns
    from hyperlabel.tabular.training_table import word_columns

    kind = "npz" if path == "debtags" else data_format(path)
    text, categories = word_columns(data, kind, settled.get("text") or [])
    columns = ModelColumns(kind, [], n_features=data.n_features, text=text, categories=categories)
    return find_near_duplicates(data, columns).n_rows

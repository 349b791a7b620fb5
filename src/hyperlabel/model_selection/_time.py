"""Splits for rows that come in time order: train on the past, test on what came next."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import column_or_1d

from hyperlabel._sklearn_compat import num_samples


@dataclass(eq=False, repr=False)
class TimeOrderedSplit(BaseCrossValidator):
    """Train on earlier rows, test on the block that follows, and roll forward.

    Unlike scikit-learn's `TimeSeriesSplit` the rows need not be sorted and moments may be
    shared: pass the time of each row as `groups` (numbers, dates, anything sortable). Rows of
    one moment stay together, so every training row is strictly earlier than every test row.

    Parameters
    ----------
    n_splits : int, default=5
        Number of test blocks.
    test_size : int, default=None
        Rows of a test block (before shared moments are kept together);
        None: n // (n_splits + 1).
    gap : int, default=0
        Rows left out between the training rows and the test block.
    max_train_size : int, default=None
        Keep only the latest that many training rows; None keeps all.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.model_selection import TimeOrderedSplit
    >>> year = np.array([2003, 2001, 2002, 2003, 2001, 2004])
    >>> for train, test in TimeOrderedSplit(2).split(year, groups=year):
    ...     print(year[train], year[test])
    [2001 2001] [2002]
    [2001 2001 2002] [2003 2003 2004]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012 (scikit-learn's declaration form)

    n_splits: int = 5
    _: KW_ONLY
    test_size: int | None = None
    gap: int = 0
    max_train_size: int | None = None

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; the arguments are ignored."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and test rows of each block, each in time order.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, …)
            Only the number of rows is used, of y where X is None.
        groups : array-like of shape (n_samples,), default=None
            The time of each row; None: the rows are in time order.

        Yields
        ------
        train, test : ndarray of int
        """
        n = num_samples(y if X is None else X)
        time_order, first_of_moment = _time_order(groups, n)
        if self.n_splits < 1:
            raise ValueError(f"n_splits must be at least 1, got {self.n_splits}.")
        test_size = n // (self.n_splits + 1) if self.test_size is None else self.test_size
        if test_size < 1 or n - self.n_splits * test_size - self.gap < 1:
            raise ValueError(
                f"{self.n_splits} test blocks of {max(test_size, 1)} rows with a gap of {self.gap} leave no "
                f"training rows among {n}: lower n_splits, test_size or gap."
            )
        block_starts = [int(first_of_moment[n - b * test_size]) for b in range(self.n_splits, 0, -1)] + [n]
        for start, stop in pairwise(block_starts):
            train_rows = time_order[: max(start - self.gap, 0)]
            if start == stop or not len(train_rows):
                raise ValueError(
                    f"Too many rows share one moment for {self.n_splits} test blocks: lower n_splits."
                )
            yield (
                train_rows[-self.max_train_size :] if self.max_train_size else train_rows,
                time_order[start:stop],
            )


def _time_order(times: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in time order, and for each place the first place of the same moment."""
    if times is None:
        return np.arange(n), np.arange(n)
    values = column_or_1d(np.asarray(times))
    if len(values) != n:
        raise ValueError(f"groups (the times) has {len(values)} entries for {n} rows: pass one per row.")
    order = np.argsort(values, kind="stable")
    new_moment = np.append(True, values[order][1:] != values[order][:-1])
    return order, np.maximum.accumulate(np.where(new_moment, np.arange(n), 0))

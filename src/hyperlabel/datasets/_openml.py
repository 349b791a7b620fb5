"""Multi-label data sets of openml.org, through scikit-learn."""

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets._dataset import Dataset
from hyperlabel.datasets.table_columns import zero_one


def fetch_openml(
    name: str | None = None,
    *,
    version: int | str = "active",
    data_id: int | None = None,
    label_names: list[str] | None = None,
    data_home: str | None = None,
) -> Dataset:
    """Download a multi-label data set from openml.org (needs a network; kept on disk afterwards).

    Parameters
    ----------
    name : str, optional
        Its name, such as ``"emotions"``; or give ``data_id``.
    version : int or "active"
        The version of a named data set.
    data_id : int, optional
        Its number.
    label_names : list of str, optional
        The columns that are labels; by default those OpenML has as its targets.
    data_home : path, optional
        Where to keep downloads; scikit-learn's folder by default.

    Returns
    -------
    Dataset

    Notes
    -----
    Goes through `sklearn.datasets.fetch_openml`, which checks the checksum of the file.

    Examples
    --------
    >>> from hyperlabel.datasets import fetch_openml
    >>> data = fetch_openml("emotions", version=4)  # doctest: +SKIP
    >>> data.n_labels  # doctest: +SKIP
    6
    """
    from sklearn.datasets import fetch_openml as fetch

    bunch = fetch(
        name,
        version=version,
        data_id=data_id,
        data_home=data_home,
        target_column="default-target" if label_names is None else label_names,
        as_frame=False,
        parser="liac-arff",
    )
    targets = bunch.target
    if targets is None or np.ndim(targets) < 2:
        raise ValueError(
            f"OpenML's {name or data_id} has no more than one target column: name the label columns "
            "in label_names."
        )
    Y = np.column_stack(
        [_parse_label_column(targets[:, j], label) for j, label in enumerate(bunch.target_names)]
    )
    X: Any = bunch.data
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    return Dataset(X, Y, list(bunch.feature_names), list(bunch.target_names), name=name or str(data_id))


def _parse_label_column(column: np.ndarray, label: str) -> np.ndarray:
    try:
        return np.array([zero_one(value) for value in column], dtype=np.int8)
    except ValueError:
        raise ValueError(
            f"The column {label!r} is not a label: it holds values other than true and false."
        ) from None
